#include "lib/row/reconcile.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "cistern/limits.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

int64_t BaseOf(const BootBases& bases, uint32_t boot) {
  return boot < bases.size() ? bases[boot] : 0;
}

// The timestamps of versions of one key, as far as they are compared with each other. By event time
// all are equal, and above those of the deletes that a table of that kind cannot have.
class Timestamps {
 public:
  explicit Timestamps(const TableSchema& schema)
      : are_equal_(schema.timestamps == TimestampMode::kEventTime) {}
  [[nodiscard]] int64_t Of(const VersionRef& v) const {
    return are_equal_ ? 0 : v.rows->write_us[v.index];
  }

 private:
  const bool are_equal_;
};

uint32_t ExpiryOf(const VersionRef& v) { return v.rows->expiry_of(v.index); }
bool HasFlag(const VersionRef& v, uint8_t flag) { return (v.rows->flags[v.index] & flag) != 0; }
bool Lives(const VersionRef& v, int64_t now_s) {
  const uint32_t expiry_s = ExpiryOf(v);
  return expiry_s == 0 || now_s < int64_t{expiry_s};
}
CellState StateOf(const VersionRef& v, size_t column) {
  return v.rows->columns[column].state(v.index);
}

// Compares values by their serialised bytes, unsigned, as Cassandra breaks its last tie.
// Columns outside a projection carry states without values; which of two values with the
// same write and expiry wins makes no difference to the row's existence.
std::strong_ordering CompareCellBytes(const ColumnType& type, const VersionRef& a,
                                      const VersionRef& b, size_t column) {
  const ColumnData& x = a.rows->columns[column];
  const ColumnData& y = b.rows->columns[column];
  if (x.size() == 0 || y.size() == 0) return std::strong_ordering::equal;
  if (type.lane() == Lane::kBytes) return x.bytes(a.index).compare(y.bytes(b.index)) <=> 0;
  // A date is serialised as days + 2^31, so its bytes are in the order of the days. The
  // others are two's complement or a float's bits.
  if (type.kind == CqlType::kDate) return x.fixed[a.index] <=> y.fixed[b.index];
  return static_cast<uint64_t>(x.fixed[a.index]) <=> static_cast<uint64_t>(y.fixed[b.index]);
}

// Whether a's cell beats b's; both have one. False on complete equality.
bool CellBeats(const TableSchema& schema, const VersionRef& a, const VersionRef& b,
               size_t column) {
  const Timestamps stamps(schema);
  if (stamps.Of(a) != stamps.Of(b)) return stamps.Of(a) > stamps.Of(b);
  const bool null_a = StateOf(a, column) == CellState::kNull;
  const bool null_b = StateOf(b, column) == CellState::kNull;
  if (null_a != null_b) return null_a;
  if (null_a) return false;
  const uint32_t expiry_a = ExpiryOf(a);
  const uint32_t expiry_b = ExpiryOf(b);
  if (expiry_a != expiry_b) return expiry_a > expiry_b;  // 0, not expiring, is beaten by all
  return CompareCellBytes(schema.columns[column].type, a, b, column) > 0;
}

bool LivenessBeats(const Timestamps& stamps, const VersionRef& a, const VersionRef& b) {
  if (stamps.Of(a) != stamps.Of(b)) return stamps.Of(a) > stamps.Of(b);
  return ExpiryOf(a) > ExpiryOf(b);
}

// The deletion that holds for the row: of its ranges and of its own deleting versions.
int64_t RowDeletedUpTo(const Timestamps& stamps, std::span<const VersionRef> versions,
                       int64_t deleted_up_to) {
  for (const VersionRef& v : versions) {
    if (HasFlag(v, kVersionDeleteRow)) deleted_up_to = std::max(deleted_up_to, stamps.Of(v));
  }
  return deleted_up_to;
}

// Index of the version whose cell of `column` wins, before expiry is asked; none: no cell.
std::optional<size_t> WinnerOf(const TableSchema& schema, std::span<const VersionRef> versions,
                               int64_t deleted_up_to, size_t column) {
  const Timestamps stamps(schema);
  std::optional<size_t> best;
  for (size_t i = 0; i < versions.size(); ++i) {
    if (stamps.Of(versions[i]) <= deleted_up_to) continue;
    if (StateOf(versions[i], column) == CellState::kAbsent) continue;
    if (!best || CellBeats(schema, versions[i], versions[*best], column)) best = i;
  }
  return best;
}

std::optional<size_t> LivenessWinner(const Timestamps& stamps, std::span<const VersionRef> versions,
                                     int64_t deleted_up_to) {
  std::optional<size_t> best;
  for (size_t i = 0; i < versions.size(); ++i) {
    if (!HasFlag(versions[i], kVersionLiveness)) continue;
    if (stamps.Of(versions[i]) <= deleted_up_to) continue;
    if (!best || LivenessBeats(stamps, versions[i], versions[*best])) best = i;
  }
  return best;
}

void ResolveRow(int64_t base_us, VersionColumns* rows, size_t i) {
  rows->write_us[i] = SaturatingAdd(base_us, rows->write_us[i]);
  if (rows->expiry_of(i) == 0) return;
  const int64_t expiry_s =
      SaturatingAdd(rows->write_us[i] / kMicrosPerSecond, int64_t{rows->expiry_s[i]});
  const int64_t bounded_s = std::clamp(expiry_s, int64_t{1}, limits::kExpirySecondsMax);
  rows->expiry_s[i] = base_us == 0 ? 0 : static_cast<uint32_t>(bounded_s);
}

}  // namespace

void ResolveBoots(const BootBases& bases, VersionColumns* rows, std::span<RangeDelete> deletes) {
  if (rows != nullptr) {
    for (size_t i = 0; i < rows->boot.size(); ++i) {
      if (rows->boot[i] != 0) ResolveRow(BaseOf(bases, rows->boot[i]), rows, i);
    }
    rows->boot.clear();
  }
  for (RangeDelete& d : deletes) {
    if (d.boot == 0) continue;
    d.write_us = SaturatingAdd(BaseOf(bases, d.boot), d.write_us);
    d.boot = 0;
  }
}

int64_t DeletedUpTo(std::span<const RangeDelete> deletes, int64_t event_time) {
  int64_t up_to = std::numeric_limits<int64_t>::min();
  for (const RangeDelete& d : deletes) {
    const bool before_end = event_time < d.to || d.to == std::numeric_limits<int64_t>::max();
    if (event_time >= d.from && before_end) up_to = std::max(up_to, d.write_us);
  }
  return up_to;
}

void FoldDeletes(std::vector<RangeDelete>* deletes) {
  std::stable_sort(deletes->begin(), deletes->end(),
                   [](const auto& a, const auto& b) { return a.write_us > b.write_us; });
  std::map<int64_t, int64_t> covered;  // from, to: apart from each other
  std::erase_if(*deletes, [&](const RangeDelete& d) {
    auto at = covered.upper_bound(d.from);
    if (at != covered.begin() && std::prev(at)->second >= d.from) --at;
    int64_t from = d.from;
    int64_t to = d.to;
    if (at != covered.end() && at->first <= from && at->second >= to) return true;
    while (at != covered.end() && at->first <= to) {
      from = std::min(from, at->first);
      to = std::max(to, at->second);
      at = covered.erase(at);
    }
    covered.emplace(from, to);
    return false;
  });
}

namespace {

bool HasValue(const TableSchema& schema, const VersionColumns& rows, size_t i) {
  return std::any_of(schema.regular_columns.begin(), schema.regular_columns.end(), [&](size_t c) {
    return rows.columns[c].state(i) == CellState::kValue;
  });
}

// Most tables have the event time alone for a key, as a number.
bool KeysRise(const TableSchema& schema, const VersionColumns& rows, size_t begin, size_t end) {
  const ColumnData& times = rows.columns[schema.time_column()];
  if (schema.clustering_columns.size() > 1 || times.lane != Lane::kFixed) {
    for (size_t i = begin + 1; i < end; ++i) {
      if (CompareRows(schema, rows, i - 1, rows, i) == 0) return false;
    }
    return true;
  }
  bool rise = true;
  for (size_t i = begin + 1; i < end; ++i) rise &= times.fixed[i - 1] < times.fixed[i];
  return rise;
}

}  // namespace

bool StandAlone(const TableSchema& schema, const VersionColumns& rows, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (rows.flags[i] == kVersionLiveness) continue;
    if ((rows.flags[i] & kVersionDeleteRow) != 0) return false;
    if ((rows.flags[i] & kVersionLiveness) == 0 && !HasValue(schema, rows, i)) return false;
  }
  return KeysRise(schema, rows, begin, end);
}

RowMerger::RowMerger(const TableSchema& schema, std::vector<size_t> columns)
    : schema_(schema), columns_(std::move(columns)), winners_(columns_.size()) {
  for (const size_t c : schema_.regular_columns) {
    if (std::find(columns_.begin(), columns_.end(), c) == columns_.end()) others_.push_back(c);
  }
}

// One version has nothing to lose against: the common case.
bool RowMerger::MergeOne(const VersionRef& version, int64_t deleted_up_to, int64_t now_s) {
  const bool alive = Timestamps(schema_).Of(version) > deleted_up_to && Lives(version, now_s) &&
                     !HasFlag(version, kVersionDeleteRow);
  bool exists = alive && HasFlag(version, kVersionLiveness);
  for (size_t k = 0; k < columns_.size(); ++k) {
    const bool shown = alive && StateOf(version, columns_[k]) == CellState::kValue;
    winners_[k] = shown ? std::optional(version) : std::nullopt;
    exists |= shown;
  }
  for (size_t k = 0; alive && !exists && k < others_.size(); ++k) {
    exists = StateOf(version, others_[k]) == CellState::kValue;
  }
  return exists;
}

bool RowMerger::Merge(std::span<const VersionRef> versions, int64_t deleted_up_to, int64_t now_s) {
  if (versions.size() == 1) return MergeOne(versions[0], deleted_up_to, now_s);
  const Timestamps stamps(schema_);
  deleted_up_to = RowDeletedUpTo(stamps, versions, deleted_up_to);
  const auto shown = [&](size_t column) -> std::optional<VersionRef> {
    const auto best = WinnerOf(schema_, versions, deleted_up_to, column);
    if (!best || StateOf(versions[*best], column) != CellState::kValue) return std::nullopt;
    if (!Lives(versions[*best], now_s)) return std::nullopt;
    return versions[*best];
  };
  const auto marker = LivenessWinner(stamps, versions, deleted_up_to);
  bool exists = marker && Lives(versions[*marker], now_s);
  for (size_t k = 0; k < columns_.size(); ++k) {
    winners_[k] = shown(columns_[k]);
    exists |= winners_[k].has_value();
  }
  for (size_t k = 0; !exists && k < others_.size(); ++k) exists = shown(others_[k]).has_value();
  return exists;
}

void KeepUnshadowed(const TableSchema& schema, std::span<const VersionRef> versions,
                    int64_t deleted_up_to, std::vector<bool>* keep) {
  keep->assign(versions.size(), false);
  const Timestamps stamps(schema);
  const int64_t range_deleted_up_to = deleted_up_to;
  deleted_up_to = RowDeletedUpTo(stamps, versions, deleted_up_to);
  if (deleted_up_to > range_deleted_up_to) {
    for (size_t i = 0; i < versions.size(); ++i) {
      if (!HasFlag(versions[i], kVersionDeleteRow) || stamps.Of(versions[i]) != deleted_up_to) {
        continue;
      }
      (*keep)[i] = true;
      break;
    }
  }
  if (const auto i = LivenessWinner(stamps, versions, deleted_up_to)) (*keep)[*i] = true;
  for (const size_t column : schema.regular_columns) {
    if (const auto i = WinnerOf(schema, versions, deleted_up_to, column)) (*keep)[*i] = true;
  }
}

}  // namespace cistern
