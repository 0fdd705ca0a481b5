// A model of reconciliation: versions expanded into cells, Cassandra's rules asked one
// after the other; and random versions for comparing anything with it.
#ifndef CISTERN_TESTS_LIB_ROW_RECONCILE_MODEL_H_
#define CISTERN_TESTS_LIB_ROW_RECONCILE_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/row/reconcile.h"
#include "tests/lib/row/row_test_util.h"

namespace cistern::row_test {

// One column's cell of one version; the liveness marker counts as one without a value.
struct ModelCell {
  int64_t write_us;
  bool tombstone;
  int64_t expiry_s;  // 0: plain
  std::string wire;
};

// The value that a reader sees: nullopt when there is none.
inline std::optional<std::string> ModelRead(std::vector<ModelCell> cells, int64_t now_s) {
  if (cells.empty()) return std::nullopt;
  // 1. the largest write timestamp
  int64_t newest = INT64_MIN;
  for (const auto& c : cells) newest = std::max(newest, c.write_us);
  std::erase_if(cells, [&](const ModelCell& c) { return c.write_us != newest; });
  // 2. a deleted cell beats everything
  if (std::any_of(cells.begin(), cells.end(), [](const ModelCell& c) { return c.tombstone; })) {
    return std::nullopt;
  }
  // 3. an expiring cell beats a plain one, the later expiry an earlier one
  int64_t latest = 0;
  for (const auto& c : cells) latest = std::max(latest, c.expiry_s);
  std::erase_if(cells, [&](const ModelCell& c) { return c.expiry_s != latest; });
  if (latest != 0 && now_s >= latest) return std::nullopt;
  // 4. the larger bytes
  std::string best;
  bool first = true;
  for (const auto& c : cells) {
    const auto below = [](const std::string& x, const std::string& y) {
      return std::lexicographical_compare(
          x.begin(), x.end(), y.begin(), y.end(),
          [](char p, char q) { return static_cast<uint8_t>(p) < static_cast<uint8_t>(q); });
    };
    if (first || below(best, c.wire)) best = c.wire;
    first = false;
  }
  return best;
}

inline std::string IntWire(int64_t v) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(v >> shift));
  return out;
}

// Values as wire bytes.
struct ModelRow {
  bool exists = false;
  std::optional<std::string> a;
  std::optional<std::string> b;
  friend bool operator==(const ModelRow&, const ModelRow&) = default;
};

// The row of these versions at second now_s.
inline ModelRow ReadModel(const std::vector<Version>& versions, int64_t deleted_up_to,
                          int64_t now_s) {
  for (const Version& v : versions) {
    if ((v.flags & kVersionDeleteRow) != 0) deleted_up_to = std::max(deleted_up_to, v.write_us);
  }
  std::vector<ModelCell> marker, a, b;
  for (const Version& v : versions) {
    if (v.write_us <= deleted_up_to) continue;
    const int64_t expiry_s = v.expiry_s;
    if ((v.flags & kVersionLiveness) != 0) marker.push_back({v.write_us, false, expiry_s, ""});
    if (v.a_state != CellState::kAbsent) {
      a.push_back({v.write_us, v.a_state == CellState::kNull, expiry_s, IntWire(v.a)});
    }
    if (v.b_state != CellState::kAbsent) {
      b.push_back({v.write_us, v.b_state == CellState::kNull, expiry_s, std::string(v.b)});
    }
  }
  ModelRow row{false, ModelRead(a, now_s), ModelRead(b, now_s)};
  row.exists = ModelRead(marker, now_s).has_value() || row.a || row.b;
  return row;
}

// Few write timestamps, expiries and values, so that ties are common.
inline Version RandomVersion(std::mt19937_64* random) {
  const auto below = [&](uint64_t n) { return (*random)() % n; };
  Version v;
  v.write_us = 1 + static_cast<int64_t>(below(4));
  if (below(8) == 0) {
    v.flags = kVersionDeleteRow;
    return v;
  }
  if (below(2) == 0) v.flags = kVersionLiveness;
  if (below(2) == 0) v.expiry_s = static_cast<uint32_t>(10 * (1 + below(3)));
  v.a_state = static_cast<CellState>(below(3));
  if (v.a_state == CellState::kValue) v.a = static_cast<int64_t>(below(4)) - 2;
  v.b_state = static_cast<CellState>(below(3));
  static constexpr std::string_view kTexts[] = {"", "a", "\xc3\xa4", "ab"};
  if (v.b_state == CellState::kValue) v.b = kTexts[below(4)];
  return v;
}

// What RowMerger makes of versions of PlainTable; the columns a and b, or a alone.
inline ModelRow ReadMerged(const TableSchema& schema, std::span<const VersionRef> refs,
                           int64_t deleted_up_to, int64_t now_s, bool project_b) {
  const size_t a = *schema.FindColumn("a");
  const size_t b = *schema.FindColumn("b");
  RowMerger merger(schema, project_b ? std::vector<size_t>{a, b} : std::vector<size_t>{a});
  ModelRow row;
  row.exists = merger.Merge(refs, deleted_up_to, now_s);
  if (!row.exists) return row;
  if (const auto w = merger.winner(0)) row.a = IntWire(w->rows->columns[a].fixed[w->index]);
  if (!project_b) return row;
  if (const auto w = merger.winner(1)) row.b = std::string(w->rows->columns[b].bytes(w->index));
  return row;
}

}  // namespace cistern::row_test

#endif  // CISTERN_TESTS_LIB_ROW_RECONCILE_MODEL_H_
