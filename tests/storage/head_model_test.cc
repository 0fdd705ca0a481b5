// The head against a list of rows that is sorted from scratch for every question.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "storage/head.h"
#include "tests/lib/row/row_test_util.h"

namespace cistern {
namespace {

struct ModelRow {
  int64_t ts = 0;
  int64_t k = 0;
  std::string t;
  RowStamp stamp;
  RowKind kind = RowKind::kInsert;
  CellState a_state = CellState::kAbsent;
  int64_t a = 0;
  CellState f_state = CellState::kAbsent;
  uint32_t f = 0;
  CellState s_state = CellState::kAbsent;
  std::string s;
  CellState b_state = CellState::kAbsent;
  bool b = false;
  size_t arrival = 0;
};

struct ModelKey {
  std::string entity;
  int64_t start_s;
  uint32_t split;
  friend auto operator<=>(const ModelKey&, const ModelKey&) = default;
};

constexpr const char* kColumns = "CREATE TABLE t (id text, day date, ts timestamp, k int, t text, "
                                 "a bigint, f float, s text, b boolean, "
                                 "PRIMARY KEY ((id, day), ts, k, t))";

constexpr const char* kReversed = " WITH CLUSTERING ORDER BY (ts DESC, k ASC, t DESC)";

class HeadModel : public testing::TestWithParam<uint64_t> {
 protected:
  HeadModel() : random_(GetParam()), reversed_k_(GetParam() % 2 == 1) {
    // Relative to the time, k ascends in one table and descends in the other.
    schema_ = row_test::Parse(std::string(kColumns) +
                              (reversed_k_ ? kReversed : ""));
  }
  size_t C(const char* name) const { return *schema_->FindColumn(name); }
  uint64_t Below(uint64_t n) { return random_() % n; }

  ModelRow RandomRow() {
    static const std::string kTexts[] = {"", "x", "yy", std::string(300, 'z')};
    ModelRow r;
    clock_ += static_cast<int64_t>(Below(3));
    r.ts = Below(4) == 0 ? static_cast<int64_t>(Below(static_cast<uint64_t>(clock_) + 1)) : clock_;
    r.ts -= 50;  // before 1970 too
    r.k = static_cast<int64_t>(Below(3)) - 1;
    r.t = kTexts[Below(3)];
    r.kind = static_cast<RowKind>(Below(3));
    r.stamp.write_us = Below(3) == 0 ? static_cast<int64_t>(Below(100)) : ++write_us_;
    r.stamp.boot = Below(20) == 0 ? 2 : 0;
    r.stamp.expiry_s = Below(10) == 0 ? 77 : 0;
    r.stamp.flags = r.kind == RowKind::kInsert      ? kVersionLiveness
                    : r.kind == RowKind::kDeleteRow ? kVersionDeleteRow
                                                    : uint8_t{0};
    if (r.kind == RowKind::kDeleteRow) return r;
    const auto state = [&] {
      return Below(3) != 0 ? CellState::kValue : static_cast<CellState>(Below(3));
    };
    if ((r.a_state = state()) == CellState::kValue) r.a = static_cast<int64_t>(random_());
    if ((r.f_state = state()) == CellState::kValue) r.f = static_cast<uint32_t>(random_());
    if ((r.s_state = state()) == CellState::kValue) r.s = kTexts[Below(4)];
    if ((r.b_state = state()) == CellState::kValue) r.b = Below(2) != 0;
    if (r.kind == RowKind::kUpdate) {  // must set something
      r.a_state = CellState::kNull;
      r.a = 0;
    }
    return r;
  }

  RowBatch BatchOf(const ModelRow& r) const {
    RowBatch batch(schema_);
    batch.BeginRow(r.kind);
    EXPECT_TRUE(batch.SetBytes(C("id"), "p").ok());
    EXPECT_TRUE(batch.SetInt(C("ts"), r.ts).ok());
    EXPECT_TRUE(batch.SetInt(C("k"), r.k).ok());
    EXPECT_TRUE(batch.SetBytes(C("t"), r.t).ok());
    const auto put = [&](const char* name, CellState state, auto set) {
      if (state == CellState::kAbsent) return;
      EXPECT_TRUE((state == CellState::kValue ? set() : batch.SetNull(C(name))).ok());
    };
    put("a", r.a_state, [&] { return batch.SetInt(C("a"), r.a); });
    put("f", r.f_state, [&] { return batch.SetFloat(C("f"), std::bit_cast<float>(r.f)); });
    put("s", r.s_state, [&] { return batch.SetBytes(C("s"), r.s); });
    put("b", r.b_state, [&] { return batch.SetInt(C("b"), r.b); });
    EXPECT_TRUE(batch.EndRow().ok());
    return batch;
  }

  // The clustering key as the row order compares it.
  auto KeyOf(const ModelRow& r) const { return std::tuple(r.ts, reversed_k_ ? -r.k : r.k, r.t); }

  // By key; of one key the newest first.
  std::vector<ModelRow> Sorted(std::vector<ModelRow> rows) const {
    std::map<std::tuple<int64_t, int64_t, std::string>, std::vector<ModelRow>> keys;
    for (const ModelRow& r : rows) keys[KeyOf(r)].push_back(r);
    rows.clear();
    for (auto& [key, versions] : keys) {
      const bool provisional = std::any_of(versions.begin(), versions.end(),
                                           [](const ModelRow& r) { return r.stamp.boot != 0; });
      std::sort(versions.begin(), versions.end(), [&](const ModelRow& x, const ModelRow& y) {
        if (!provisional && x.stamp.write_us != y.stamp.write_us) {
          return x.stamp.write_us > y.stamp.write_us;
        }
        return x.arrival > y.arrival;
      });
      rows.insert(rows.end(), versions.begin(), versions.end());
    }
    return rows;
  }

  void ExpectCell(const VersionColumns& got, size_t i, const char* name, CellState state,
                  const std::vector<bool>* wanted, int64_t fixed, const std::string& bytes) {
    const ColumnData& column = got.columns[C(name)];
    ASSERT_EQ(column.state(i), state) << name;
    if (wanted != nullptr && !(*wanted)[C(name)]) {
      ASSERT_EQ(column.size(), 0u) << name;
    } else if (column.lane == Lane::kFixed) {
      ASSERT_EQ(column.fixed[i], fixed) << name;
    } else {
      ASSERT_EQ(column.bytes(i), bytes) << name;
    }
  }

  void ExpectRow(const VersionColumns& got, size_t i, const ModelRow& want,
                 const std::vector<bool>* wanted) {
    ASSERT_EQ(got.write_us[i], want.stamp.write_us);
    ASSERT_EQ(got.boot_of(i), want.stamp.boot);
    ASSERT_EQ(got.expiry_of(i), want.stamp.expiry_s);
    ASSERT_EQ(got.flags[i], want.stamp.flags);
    ExpectCell(got, i, "ts", CellState::kValue, nullptr, want.ts, "");
    ExpectCell(got, i, "k", CellState::kValue, nullptr, want.k, "");
    ExpectCell(got, i, "t", CellState::kValue, nullptr, 0, want.t);
    ExpectCell(got, i, "a", want.a_state, wanted, want.a, "");
    ExpectCell(got, i, "f", want.f_state, wanted, want.f, "");
    ExpectCell(got, i, "s", want.s_state, wanted, 0, want.s);
    ExpectCell(got, i, "b", want.b_state, wanted, want.b, "");
    ASSERT_EQ(got.columns[C("id")].size(), 0u);
  }

  void CheckSteps(const Head& head, const HeadBucket& bucket, const std::vector<ModelRow>& sorted);
  void CheckInclusive(const Head& head, const HeadBucket& bucket,
                      const std::vector<ModelRow>& sorted);
  void CheckStarts(const Head& head);

  std::mt19937_64 random_;
  const bool reversed_k_;
  std::shared_ptr<const TableSchema> schema_;
  int64_t clock_ = 0;
  int64_t write_us_ = 1000;
  std::map<ModelKey, std::vector<ModelRow>> model_;
};

// Copies a random span in small steps; the steps together are the whole.
void HeadModel::CheckSteps(const Head& head, const HeadBucket& bucket,
                           const std::vector<ModelRow>& sorted) {
  CopyRequest request;
  request.descending = Below(2) != 0;
  request.unbounded_to = Below(2) != 0;
  request.from = Below(2) != 0 ? INT64_MIN : static_cast<int64_t>(Below(clock_ + 9)) - 52;
  request.to = static_cast<int64_t>(Below(clock_ + 9)) - 52;
  request.max_rows = 1 + Below(Below(2) != 0 ? 4 : 200);
  std::vector<bool> wanted(schema_->columns.size());
  for (size_t c = 0; c < wanted.size(); ++c) wanted[c] = Below(2) != 0;
  if (Below(2) != 0) request.wanted = &wanted;
  std::vector<ModelRow> want;
  for (const ModelRow& r : sorted) {
    if (r.ts >= request.from && (request.unbounded_to || r.ts < request.to)) want.push_back(r);
  }
  size_t begin = 0;
  size_t end = want.size();
  VersionColumns rows = head.CopyRows(bucket, request);
  while (rows.row_count > 0) {
    ASSERT_LE(rows.row_count, end - begin);
    const size_t first = request.descending ? end - rows.row_count : begin;
    for (size_t i = 0; i < rows.row_count; ++i) ExpectRow(rows, i, want[first + i], request.wanted);
    const size_t cut = request.descending ? first : first + rows.row_count;
    if (cut > 0 && cut < want.size()) {
      ASSERT_NE(KeyOf(want[cut - 1]), KeyOf(want[cut])) << "a key was cut";
    }
    request.descending ? end = first : begin = cut;
    request.after = &rows;
    request.after_row = request.descending ? 0 : rows.row_count - 1;
    VersionColumns next = head.CopyRows(bucket, request);
    rows = std::move(next);
  }
  ASSERT_EQ(begin, end) << "rows are missing";
}

// A position that is included starts with its own key, one that is not behind it.
void HeadModel::CheckInclusive(const Head& head, const HeadBucket& bucket,
                               const std::vector<ModelRow>& sorted) {
  if (sorted.empty()) return;
  const VersionColumns all = head.ToSorted(bucket);
  CopyRequest request;
  request.after = &all;
  request.after_row = Below(sorted.size());
  request.descending = Below(2) != 0;
  request.inclusive = Below(2) != 0;
  const auto position = KeyOf(sorted[request.after_row]);
  size_t count = 0;
  for (const ModelRow& r : sorted) {
    const auto key = KeyOf(r);
    const bool behind = request.descending ? key < position : key > position;
    count += behind || (request.inclusive && key == position);
  }
  request.max_rows = 100'000;
  ASSERT_EQ(head.CopyRows(bucket, request).row_count, count);
}

void HeadModel::CheckStarts(const Head& head) {
  for (int e = 0; e < 3; ++e) {
    const std::string entity = "entity" + std::to_string(e);
    for (int64_t s = -130; s <= 130; s += 10) {
      std::optional<int64_t> next;
      std::optional<int64_t> previous;
      std::vector<uint32_t> splits;
      for (const auto& [key, rows] : model_) {  // ascending
        if (key.entity != entity) continue;
        if (key.start_s >= s && !next) next = key.start_s;
        if (key.start_s <= s) previous = key.start_s;
        if (key.start_s == s) splits.push_back(key.split);
      }
      EXPECT_EQ(head.NextBucketStart(1, entity, s), next);
      EXPECT_EQ(head.PreviousBucketStart(1, entity, s), previous);
      EXPECT_EQ(head.SplitsOf(1, entity, s), splits);
    }
  }
}

TEST_P(HeadModel, AgreesInEveryQuestion) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  MemoryBudget budget(size_t{1} << 30);
  Head head(&budget);
  size_t versions = 0;
  const size_t row_count = GetParam() % 4 == 0 ? 6000 : 400;
  for (size_t n = 0; n < row_count; ++n) {
    const std::string entity = "entity" + std::to_string(Below(3));
    const int64_t start_s = (static_cast<int64_t>(Below(4)) - 2) * 60;
    const ModelKey key{entity, start_s, static_cast<uint32_t>(Below(2))};
    HeadBucket* bucket = head.FindOrAddBucket(head.FindOrAddEntity(1, schema_, key.entity),
                                              key.start_s, key.split);
    ModelRow row = RandomRow();
    row.arrival = n;
    head.AppendRow(bucket, BatchOf(row), 0, row.stamp);
    model_[key].push_back(row);
    ++versions;
    if (n % 97 != 0) continue;
    // Reading in between must not disturb what comes later.
    CheckSteps(head, *bucket, Sorted(model_[key]));
  }
  ASSERT_EQ(head.version_count(), versions);
  const auto buckets = head.SortedBuckets();
  ASSERT_EQ(buckets.size(), model_.size());
  size_t at = 0;
  for (const auto& [key, rows] : model_) {
    const HeadBucket* bucket = head.FindBucket(1, key.entity, key.start_s, key.split);
    ASSERT_EQ(bucket, buckets[at++]);
    ASSERT_EQ(bucket->row_count(), rows.size());
    const auto sorted = Sorted(rows);
    ASSERT_EQ(bucket->first_time(), sorted.front().ts);
    ASSERT_EQ(bucket->last_time(), sorted.back().ts);
    const VersionColumns all = head.ToSorted(*bucket);
    ASSERT_EQ(all.row_count, sorted.size());
    for (size_t i = 0; i < sorted.size(); ++i) ExpectRow(all, i, sorted[i], nullptr);
    for (int round = 0; round < 10; ++round) {
      CheckSteps(head, *bucket, sorted);
      CheckInclusive(head, *bucket, sorted);
      if (HasFatalFailure()) return;
    }
  }
  CheckStarts(head);
  EXPECT_EQ(head.FindBucket(2, "entity0", 0, 0), nullptr);
  EXPECT_EQ(head.NextBucketStart(1, "nobody", 0), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Seeds, HeadModel, testing::Range<uint64_t>(0, 24));

}  // namespace
}  // namespace cistern
