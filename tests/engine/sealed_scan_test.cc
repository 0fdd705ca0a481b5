// Scans of buckets that are in one seal alone: what is read without a merge is what a merge gives,
// and where something else has a say about a row it is merged.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "storage/keyspace.h"
#include "tests/engine/sealed_scan_fixture.h"

namespace cistern::testing {
namespace {

class SealedScanTest : public SealedScanFixture {};

TEST_F(SealedScanTest, ABucketOfOnePage) {
  AppendRun(kStartMs, 300, 0);
  EXPECT_EQ(ReadUnmerged(), std::nullopt) << "it is in the head";
  Rotate();
  EXPECT_EQ(ReadUnmerged(), std::nullopt) << "it is spilled";
  SealAll();
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{300}, State::kEnd));
  EXPECT_EQ(ExpectAsMerged().size(), 300u);
}

TEST_F(SealedScanTest, ABucketOfManyPagesAtEveryBound) {
  AppendRun(kStartMs, 10'000, 0);
  SealAll();
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{10'000}, State::kEnd));
  const auto at = [](int64_t i) { return kStartMs + i * kRowMs; };
  for (const int64_t from : {int64_t{0}, at(0), at(1), at(4095), at(4096), at(4100) - 1,
                             at(9999)}) {
    for (const int64_t to : {at(0) + 1, at(4096), at(4097), at(8192), at(9999), at(20'000)}) {
      if (from >= to) continue;
      const auto first = std::max<int64_t>(0, (from - kStartMs + kRowMs - 1) / kRowMs);
      const auto end = std::min<int64_t>(10'000, (to - kStartMs + kRowMs - 1) / kRowMs);
      const auto count = static_cast<size_t>(std::max<int64_t>(0, end - first));
      EXPECT_EQ(ReadUnmerged(from, to), std::pair(count, State::kEnd)) << from << " to " << to;
      EXPECT_EQ(ExpectAsMerged(Request("a", from, to)).size(), count);
    }
  }
}

TEST_F(SealedScanTest, ASpanThatCutsAnOnlyPage) {
  AppendRun(kStartMs, 300, 0);
  SealAll();
  const int64_t end = kStartMs + 300 * kRowMs;
  for (const auto& [from, to] : {std::pair(kStartMs + 1, end), std::pair(kStartMs, end - kRowMs),
                                 std::pair(kStartMs + 5 * kRowMs, kStartMs + 6 * kRowMs),
                                 std::pair(kStartMs - kDayMs, kStartMs),
                                 std::pair(end, end + 1)}) {
    const Rows rows = ExpectAsMerged(Request("a", from, to));
    EXPECT_EQ(ReadUnmerged(from, to), std::pair(rows.size(), State::kEnd));
    for (const auto& row : rows) EXPECT_TRUE(row.first >= from && row.first < to);
  }
}

TEST_F(SealedScanTest, WhatIsAmendedIsMerged) {
  AppendRun(kStartMs, 300, 0);
  SealAll();
  AppendRun(kStartMs + 10 * kRowMs, 1, 7000);
  EXPECT_EQ(ReadUnmerged(), std::nullopt) << "by the head";
  EXPECT_EQ(ExpectAsMerged()[10].second, 7000);
  Rotate();
  EXPECT_EQ(ReadUnmerged(), std::nullopt) << "by what is spilled";
  EXPECT_EQ(ExpectAsMerged()[10].second, 7000);
  SealAll();
  EXPECT_EQ(ReadUnmerged(), std::nullopt) << "by a second seal";
  EXPECT_EQ(ExpectAsMerged()[10].second, 7000);
}

TEST_F(SealedScanTest, ADeletionOfTheSealIsMergedFromItsPageOn) {
  AppendRun(kStartMs, 10'000, 0);
  DeleteTimes(kStartMs + 5000 * kRowMs, kStartMs + 5001 * kRowMs);
  SealAll();
  const auto unmerged = ReadUnmerged();
  ASSERT_TRUE(unmerged.has_value());
  EXPECT_EQ(unmerged->second, State::kMerge);
  EXPECT_GT(unmerged->first, 0u) << "the page before it";
  EXPECT_EQ(ExpectAsMerged().size(), 9999u);
}

TEST_F(SealedScanTest, AnOnlyPageWithADeletionBesideItIsMerged) {
  AppendRun(kStartMs, 300, 0);
  DeleteTimes(kStartMs + 100 * kRowMs, kStartMs + 200 * kRowMs);
  SealAll();
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{0}, State::kMerge));
  EXPECT_EQ(ExpectAsMerged().size(), 200u);
}

TEST_F(SealedScanTest, ADeletionOfTheHeadIsSeen) {
  AppendRun(kStartMs, 300, 0);
  SealAll();
  DeleteTimes(kStartMs, kStartMs + 100 * kRowMs);
  EXPECT_EQ(ReadUnmerged(), std::nullopt);
  EXPECT_EQ(ExpectAsMerged().size(), 200u);
}

TEST_F(SealedScanTest, WhatExpiresGoesInItsSecond) {
  AppendRun(kStartMs, 300, 0, RowKind::kInsert, 1000);
  SealAll();
  clock_->AdvanceSeconds(999);
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{300}, State::kEnd));
  EXPECT_EQ(ExpectAsMerged().size(), 300u);
  clock_->AdvanceSeconds(1);
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{0}, State::kMerge));
  EXPECT_EQ(ExpectAsMerged().size(), 0u);
}

// The second page is asked for when its rows have expired, which those of the first may not have:
// those given out before stay, and none comes twice.
TEST_F(SealedScanTest, WhatExpiresBetweenTwoPagesIsNotGiven) {
  AppendRun(kStartMs, 5000, 0, RowKind::kInsert, 100'000);
  AppendRun(kStartMs + 5000 * kRowMs, 5000, 5000, RowKind::kInsert, 1000);
  SealAll();
  ScanRequest request = Request("a", kStartMs, kStartMs + kDayMs);
  request.batch_rows_max = 4096;
  const auto [first_count, rows] = ScanAcross(request, 1000);
  ASSERT_LT(first_count, 5000u) << "a page of rows that stay";
  ASSERT_EQ(rows.size(), 5000u);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].second, static_cast<double>(i));
}

// Nor what expires in a page of which some rows were given already.
TEST_F(SealedScanTest, WhatExpiresInAPageInHandIsNotGiven) {
  AppendRun(kStartMs, 100, 0);
  AppendRun(kStartMs + 100 * kRowMs, 200, 100, RowKind::kInsert, 1000);
  AppendRun(kStartMs + kDayMs, 5000, 0, RowKind::kInsert, 1000);
  SealAll();
  for (const int64_t day : {0, 1}) {
    ScanRequest request = Request("a", kStartMs + day * kDayMs, kStartMs + (day + 1) * kDayMs);
    request.batch_rows_max = 50;
    const auto [first_count, rows] = ScanAcross(request, 1000);
    EXPECT_EQ(first_count, 50u);
    EXPECT_EQ(rows.size(), day == 0 ? 100u : 50u);
    clock_->SetWallMicros(kStartUs);
    ASSERT_TRUE(engine_->ConfirmClock().ok());
  }
}

TEST_F(SealedScanTest, CellsWithoutAValueAreNull) {
  RowBatch batch(schema_);
  for (int i = 0; i < 300; ++i) {
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "a").ok());
    ASSERT_TRUE(batch.SetInt(2, kStartMs + i * kRowMs).ok());
    if (i % 3 == 0) {
      ASSERT_TRUE(batch.SetDouble(3, i).ok());
    }
    if (i % 3 == 1) {
      ASSERT_TRUE(batch.SetNull(3).ok());
    }
    ASSERT_TRUE(batch.EndRow().ok());
  }
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{300}, State::kEnd));
  EXPECT_EQ(ExpectAsMerged()[1].second, -1);
  ScanRequest request = Request("a", kStartMs, kStartMs + kDayMs);
  request.columns = {"flow", "state"};
  const auto cursor = engine_->Scan(request);
  ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
  ResultBatch got;
  ASSERT_TRUE((*cursor)->Next(&got));
  ASSERT_EQ(got.row_count, 300u);
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(got.columns[0].state(i), i % 3 == 0 ? CellState::kValue : CellState::kNull) << i;
    EXPECT_EQ(got.columns[1].state(i), CellState::kNull) << i;
  }
}

// A row of updates alone is there as long as it has a value.
TEST_F(SealedScanTest, RowsOfUpdatesThatBecomeEmptyAreNotGiven) {
  AppendRun(kStartMs, 300, 0, RowKind::kUpdate);
  RowBatch batch(schema_);
  batch.BeginRow(RowKind::kUpdate);
  ASSERT_TRUE(batch.SetBytes(0, "a").ok());
  ASSERT_TRUE(batch.SetInt(2, kStartMs + 7 * kRowMs).ok());
  ASSERT_TRUE(batch.SetNull(3).ok());
  ASSERT_TRUE(batch.EndRow().ok());
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  EXPECT_EQ(ExpectAsMerged().size(), 299u);
}

TEST_F(SealedScanTest, AFilterPassesOverPagesAndRows) {
  AppendRun(kStartMs, 10'000, 0);
  AppendRun(kStartMs + kDayMs, 50, 0);
  SealAll();
  for (const char* flow : {"5", "4095", "4096", "4999.5", "9998", "20000"}) {
    for (const Comparison comparison : {Comparison::kGreater, Comparison::kLess,
                                        Comparison::kEqual, Comparison::kNotEqual}) {
      ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
      request.where = {{"flow", comparison, flow}};
      (void)ExpectAsMerged(request);
    }
  }
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.where = {{"flow", Comparison::kGreater, "9996"}};
  EXPECT_EQ(ExpectAsMerged(request).size(), 3u);
}

TEST_F(SealedScanTest, ADamagedPageIsAGapAndTheRestIsThere) {
  AppendRun(kStartMs, 10'000, 0);
  AppendRun(kStartMs + kDayMs, 100, 0);
  SealAll();
  const auto view = Core()->store().spills().view();
  const auto& family = view->windows.front()->family;
  const auto sealed = ListSealed(*view, {1, Entity("a").bytes, kStartMs / 1000, 0});
  ASSERT_TRUE(sealed.ok() && sealed->size() == 1);
  const PageInfo& lost = sealed->front().header.pages[1];
  const auto key = PageKey(sealed->front().id, 1);
  ASSERT_TRUE(family->db()->Delete({}, family->handle(), key).ok());
  EXPECT_EQ(ReadUnmerged(),
            std::pair(size_t{sealed->front().header.pages[0].row_count}, State::kMerge));
  expect_gaps_ = true;
  EXPECT_EQ(ExpectAsMerged().size(), 10'100u - lost.row_count);
  ScanRequest request = Request("a", kStartMs, lost.first_time);
  expect_gaps_ = false;
  EXPECT_EQ(ExpectAsMerged(request).size(), sealed->front().header.pages[0].row_count);
}

TEST_F(SealedScanTest, ADamagedHeaderIsAGap) {
  AppendRun(kStartMs, 10'000, 0);
  AppendRun(kStartMs + kDayMs, 100, 0);
  SealAll();
  const auto view = Core()->store().spills().view();
  const auto& family = view->windows.front()->family;
  const BucketKey bucket{1, Entity("a").bytes, kStartMs / 1000, 0};
  const auto sealed = ListSealed(*view, bucket);
  ASSERT_TRUE(sealed.ok() && sealed->size() == 1);
  const auto key = HeaderKey(RotationOf(sealed->front().id), bucket);
  ASSERT_TRUE(family->db()->Put({}, family->handle(), key, "no header").ok());
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{0}, State::kMerge));
  expect_gaps_ = true;
  EXPECT_EQ(ExpectAsMerged().size(), 100u);
}

TEST_F(SealedScanTest, ADamagedOnlyPageIsAGap) {
  AppendRun(kStartMs, 100, 0);
  AppendRun(kStartMs + kDayMs, 100, 0);
  SealAll();
  const auto view = Core()->store().spills().view();
  const auto& family = view->windows.front()->family;
  const auto sealed = ListSealed(*view, {1, Entity("a").bytes, kStartMs / 1000, 0});
  ASSERT_TRUE(sealed.ok() && sealed->size() == 1);
  const auto key = PageKey(sealed->front().id, 0);
  ASSERT_TRUE(family->db()->Put({}, family->handle(), key, "no page").ok());
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{0}, State::kMerge));
  expect_gaps_ = true;
  EXPECT_EQ(ExpectAsMerged().size(), 100u);
}

// Whatever is written, rotated and sealed in the pauses: what was there before comes once.
TEST_F(SealedScanTest, TheStoreMovesUnderACursor) {
  for (int day = 0; day < 4; ++day) AppendRun(kStartMs + day * kDayMs, 1000, day * 1000);
  SealAll();
  const Rows expected = ScanAll("a");
  const std::vector<std::function<void(int)>> moves = {
      [&](int i) { MustAppend("a", kStartMs + 3 * kDayMs + i * kRowMs, 3000 + i); },
      [&](int) { Rotate(); },
      [&](int) { SealAll(); },
      [&](int) { TickAll(); },
  };
  for (const size_t rows_max : {90u, 333u, 1000u}) {
    ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
    request.batch_rows_max = rows_max;
    const auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    Rows rows;
    ResultBatch batch;
    for (int i = 0; (*cursor)->Next(&batch); ++i) {
      AddRows(batch, &rows);
      moves[static_cast<size_t>(i) % moves.size()](i);
    }
    EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    EXPECT_EQ(rows, expected) << rows_max;
  }
  ExpectSound();
}

TEST_F(SealedScanTest, LimitsAndTokensInsideAPage) {
  AppendRun(kStartMs, 1000, 0);
  AppendRun(kStartMs + kDayMs, 1000, 1000);
  SealAll();
  const Rows all = ScanAll("a");
  ASSERT_EQ(all.size(), 2000u);
  for (const size_t limit : {1u, 999u, 1000u, 1001u, 2000u, 2001u}) {
    ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
    request.limit = limit;
    request.batch_rows_max = 4096;
    const size_t first_count = std::min<size_t>(limit, all.size());
    EXPECT_EQ(Scan(request), Rows(all.begin(), all.begin() + static_cast<ptrdiff_t>(first_count)));
    const auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok());
    Rows rows;
    Drain(cursor->get(), &rows);
    request.token = (*cursor)->Token();
    if (request.token.empty()) continue;
    request.limit = 0;
    const Rows rest = Scan(request);
    rows.insert(rows.end(), rest.begin(), rest.end());
    EXPECT_EQ(rows, all) << limit;
  }
}

// One batch for scans of other columns: what it held is used again, and not seen.
TEST_F(SealedScanTest, ABatchIsUsedForOtherColumns) {
  RowBatch rows(schema_);
  for (int i = 0; i < 300; ++i) {
    AddState(&rows, kStartMs + i * kRowMs, i, "state " + std::to_string(i % 5));
  }
  ASSERT_TRUE(engine_->Append(rows).ok());
  AppendRun(kStartMs + kDayMs, 100, 300);
  SealAll();
  ResultBatch batch;
  const std::vector<std::vector<std::string>> choices = {{"state", "flow", "ts"},
                                                         {"ts", "state", "flow"},
                                                         {"flow", "flow", "state"},
                                                         {"sensor", "ts"}};
  for (size_t turn = 0; turn < 12; ++turn) {
    ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
    request.columns = choices[turn % choices.size()];
    const auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    size_t at = 0;
    while ((*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.row_count; ++i, ++at) {
        for (size_t c = 0; c < request.columns.size(); ++c) {
          const ColumnData& column = batch.columns[c];
          if (request.columns[c] == "flow") {
            ASSERT_EQ(column.AsDouble(i), static_cast<double>(at));
          } else if (request.columns[c] == "sensor") {
            ASSERT_EQ(column.bytes(i), "a");
          } else if (request.columns[c] == "ts") {
            const auto day = at < 300 ? int64_t{0} : kDayMs - 300 * kRowMs;
            ASSERT_EQ(column.fixed[i], kStartMs + day + static_cast<int64_t>(at) * kRowMs);
          } else if (at < 300) {
            ASSERT_EQ(column.bytes(i), "state " + std::to_string(at % 5));
          } else {
            ASSERT_EQ(column.state(i), CellState::kNull);
          }
        }
      }
    }
    EXPECT_EQ(at, 400u);
  }
}

// Rows of several windows, in the order of time, with windows between that have none of them.
TEST_F(SealedScanTest, BucketsOfManyWindows) {
  for (const int day : {0, 1, 9, 17, 18, 29}) AppendRun(kStartMs + day * kDayMs, 200, day);
  for (const int day : {3, 12, 25}) MustAppend("b", kStartMs + day * kDayMs, day);
  SealAll();
  EXPECT_GT(Core()->store().spills().view()->windows.size(), 2u);
  EXPECT_EQ(ExpectAsMerged().size(), 1200u);
  for (const int64_t from : {1, 2, 17}) {
    const auto request = Request("a", kStartMs + from * kDayMs, kStartMs + (from + 9) * kDayMs);
    EXPECT_FALSE(ExpectAsMerged(request).empty());
  }
  EXPECT_EQ(ScanAll("b").size(), 3u);
}

// Whatever was looked for before, and in whichever order: the nearest bucket from there.
TEST_F(SealedScanTest, AWalkFindsWhatItHasPassed) {
  for (const int day : {0, 1, 5, 6}) AppendRun(kStartMs + day * kDayMs, 3, day);
  SealAll();
  MustAppend("a", kStartMs + 3 * kDayMs, 3);
  MustAppend("a", kStartMs + 5 * kDayMs, 5);
  const int64_t start_s = kStartMs / 1000;
  constexpr int64_t kDayS = 86'400;
  const std::vector<int64_t> days = {0, 1, 3, 5, 6};
  for (const bool down : {false, true}) {
    BucketWalk walk(&Core()->query(), 1, Entity("a").bytes, down, false);
    for (const int64_t at : {0, 7, 1, 1, 2, 5, 2, 2, 3, 4, 5, 6, 7, 6, 0, 6, -1}) {
      const auto found = walk.Find(start_s + at * kDayS);
      ASSERT_TRUE(found.ok()) << found.status().ToString();
      std::optional<int64_t> expected;
      for (const int64_t day : days) {
        const bool is_nearer = !expected || (down && day > *expected);
        if ((down ? day <= at : day >= at) && is_nearer) expected = day;
      }
      ASSERT_EQ(found->has_value(), expected.has_value()) << at;
      if (expected) {
        EXPECT_EQ((*found)->start_s, start_s + *expected * kDayS) << at;
      }
    }
  }
}

class SealedClusteringTest : public EngineFixture {
 protected:
  void SetUp() override {
    OpenWithTable(R"(
CREATE TABLE t (
  sensor text, day date, ts timestamp, seq int, flow double,
  PRIMARY KEY ((sensor, day), ts, seq))
WITH comment = 'cistern: bucket day = 1 day';
)");
  }
};

// Two pages have a time in common: neither stands alone.
TEST_F(SealedClusteringTest, RowsOfOneTimeInTwoPages) {
  RowBatch batch(schema_);
  for (int i = 0; i < 9000; ++i) {
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "a").ok());
    ASSERT_TRUE(batch.SetInt(2, kStartMs + i / 1000 * kRowMs).ok());
    ASSERT_TRUE(batch.SetInt(3, i).ok());
    ASSERT_TRUE(batch.SetDouble(4, i).ok());
    ASSERT_TRUE(batch.EndRow().ok());
  }
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  ScanRequest request = Request("a", kStartMs, kStartMs + kDayMs);
  request.batch_rows_max = 4096;
  const Rows rows = Scan(request);
  ASSERT_EQ(rows.size(), 9000u);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].second, static_cast<double>(i));
}

class SealedSplitsTest : public EngineFixture {
 protected:
  void SetUp() override {
    OpenWithTable(R"(
CREATE TABLE t (
  sensor text, day date, part int, ts timestamp, flow double,
  PRIMARY KEY ((sensor, day, part), ts))
WITH comment = 'cistern: bucket day = 1 day; split part = round_robin 8';
)");
  }
  void AppendAt(int64_t ts, double flow) {
    RowBatch batch(schema_);
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "a").ok());
    ASSERT_TRUE(batch.SetInt(3, ts).ok());
    ASSERT_TRUE(batch.SetDouble(4, flow).ok());
    ASSERT_TRUE(batch.EndRow().ok());
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  Rows ScanDay(size_t rows_max, bool down) {
    ScanRequest request = Request("a", kStartMs, kStartMs + 3 * kDayMs);
    if (down) std::swap(request.from, request.to);
    request.batch_rows_max = rows_max;
    return Scan(request);
  }
};

// Some splits sealed, some amended, some with nothing: all rows, those of one time by their split.
TEST_F(SealedSplitsTest, SplitsOfAllKindsAreOneScan) {
  int written = 0;
  for (const int count : {3, 8, 11}) {
    for (int i = 0; i < count; ++i) AppendAt(kStartMs + i, ++written);
    SealAll();
    for (int i = 0; i < 2; ++i) AppendAt(kStartMs + kDayMs + i, ++written);
    for (const size_t rows_max : {1u, 4u, 100u}) {
      Rows down = ScanDay(rows_max, true);
      std::reverse(down.begin(), down.end());
      EXPECT_EQ(ScanDay(rows_max, false), down) << rows_max;
    }
  }
  EXPECT_EQ(ScanDay(100, false).size(), 3u + 8 + 11 + 3 * 2);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
