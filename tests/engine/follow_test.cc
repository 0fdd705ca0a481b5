// Cursors that wait for rows; first and last events; many buckets without a row.
#include <chrono>
#include <thread>

#include "engine/query/follow_cursor.h"
#include "engine/query/scan_token.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class FollowTest : public EngineFixture {
 protected:
  std::unique_ptr<Cursor> Follow(int64_t wait_us, const std::string& token = "") {
    ScanRequest request = Request("a", kStartMs, INT64_MAX);
    request.token = token;
    auto cursor = engine_->Follow(request, wait_us);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    return cursor.ok() ? *std::move(cursor) : nullptr;
  }
  // What it gives until nothing comes.
  static Rows Take(Cursor* cursor) {
    Rows rows;
    Drain(cursor, &rows);
    EXPECT_TRUE(cursor->status().ok()) << cursor->status().ToString();
    return rows;
  }
};

TEST_F(FollowTest, GivesEachRowOnceWhateverHappensToItsBucket) {
  const auto cursor = Follow(0);
  EXPECT_TRUE(Take(cursor.get()).empty());
  MustAppend("a", kStartMs, 1);
  MustAppend("other", kStartMs, 7);
  EXPECT_EQ(Take(cursor.get()), (Rows{{kStartMs, 1}}));
  EXPECT_TRUE(Take(cursor.get()).empty());
  Rotate();
  MustAppend("a", kStartMs + 1, 2);
  MustAppend("a", kStartMs + kDayMs - 1, 3);
  MustAppend("a", kStartMs + kDayMs, 4);  // the next bucket
  EXPECT_EQ(Take(cursor.get()),
            (Rows{{kStartMs + 1, 2}, {kStartMs + kDayMs - 1, 3}, {kStartMs + kDayMs, 4}}));
  SealRequest all;
  all.due_only = false;
  ASSERT_TRUE(engine_->Seal(all).ok());
  EXPECT_TRUE(Take(cursor.get()).empty());
  MustAppend("a", kStartMs, 9);  // behind it already
  MustAppend("a", kStartMs + kDayMs + 5, 5);
  EXPECT_EQ(Take(cursor.get()), (Rows{{kStartMs + kDayMs + 5, 5}}));
}

TEST_F(FollowTest, GoesOnByItsTokenAfterARestart) {
  MustAppend("a", kStartMs, 1);
  auto cursor = Follow(0);
  EXPECT_EQ(Take(cursor.get()).size(), 1u);
  const std::string token = cursor->Token();
  cursor.reset();
  MustAppend("a", kStartMs + 1, 2);
  Reopen();
  cursor = Follow(0, token);
  EXPECT_EQ(Take(cursor.get()), (Rows{{kStartMs + 1, 2}}));
}

TEST_F(FollowTest, WaitsForRowsAndNotMuchLonger) {
  const auto cursor = Follow(60'000'000);
  std::thread writer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    MustAppend("other", kStartMs, 1);  // wakes it for nothing
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    MustAppend("a", kStartMs, 2);
  });
  ResultBatch batch;
  Rows rows;
  EXPECT_TRUE(cursor->Next(&batch));
  AddRows(batch, &rows);
  EXPECT_EQ(rows, (Rows{{kStartMs, 2}}));
  writer.join();
  const auto brief = Follow(1000, cursor->Token());
  EXPECT_FALSE(brief->Next(&batch));
  EXPECT_TRUE(brief->status().ok());
}

TEST_F(FollowTest, CloseEndsTheWaiting) {
  const auto cursor = Follow(3'600'000'000);
  std::thread closer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(engine_->Close().ok());
  });
  ResultBatch batch;
  EXPECT_FALSE(cursor->Next(&batch));
  closer.join();
  EXPECT_FALSE(cursor->Next(&batch));
  EXPECT_EQ(cursor->status().code(), StatusCode::kClosed);
}

TEST_F(FollowTest, SaysWhatCannotBeFollowed) {
  ScanRequest request = Request("a", kStartMs, kStartMs - 1);
  EXPECT_EQ(engine_->Follow(request, 0).status().code(), StatusCode::kInvalidArgument);
  request.to = INT64_MAX;
  request.limit = 5;
  EXPECT_EQ(engine_->Follow(request, 0).status().code(), StatusCode::kInvalidArgument);
  request.limit = 0;
  for (const int64_t wait_us : {int64_t{-1}, limits::kFollowWaitUsMax + 1}) {
    EXPECT_EQ(engine_->Follow(request, wait_us).status().code(), StatusCode::kInvalidArgument);
  }
  request.table = "none";
  EXPECT_EQ(engine_->Follow(request, 0).status().code(), StatusCode::kNotFound);
}

TEST_F(FollowTest, FirstAndLastEventAreOfVisibleRows) {
  const auto first = [&] { return *engine_->FirstEvent(schema_->name, Entity("a")); };
  const auto last = [&] { return *engine_->LastEvent(schema_->name, Entity("a")); };
  EXPECT_EQ(first(), std::nullopt);
  clock_->PassTo(kStartUs + 30 * kDayMs * 1000);
  for (int day = 0; day < 30; ++day) {
    RowBatch batch(schema_);
    const bool brief = day < 5 || day >= 25;
    AddRow(&batch, "a", kStartMs + day * kDayMs, day, RowKind::kInsert, brief ? 60u : 0u);
    ASSERT_TRUE(engine_->Append(batch).ok());
    if (day == 20) Rotate();
  }
  EXPECT_EQ(first(), kStartMs);
  EXPECT_EQ(last(), kStartMs + 29 * kDayMs);
  clock_->AdvanceSeconds(60);
  EXPECT_EQ(first(), kStartMs + 5 * kDayMs);
  EXPECT_EQ(last(), kStartMs + 24 * kDayMs);
  EXPECT_EQ(engine_->FirstEvent("none", Entity("a")).status().code(), StatusCode::kNotFound);
}

// A scan as it may go: batches of one number each, with tokens of their buckets.
class ScriptedScan : public Cursor {
 public:
  // (start of the bucket, number)
  explicit ScriptedScan(std::vector<std::pair<int64_t, int64_t>> rows,
                        bool is_short_of_memory = false)
      : rows_(std::move(rows)), is_short_of_memory_(is_short_of_memory) {}
  bool Next(ResultBatch* batch) override {
    batch->row_count = 0;
    if (next_ == rows_.size()) return false;
    batch->row_count = 1;
    batch->columns.assign(1, ColumnData{});
    batch->columns[0].AppendFixed(rows_[next_++].second);
    return true;
  }
  const Status& status() const override { return status_; }
  const std::vector<ScanGap>& gaps() const override { return gaps_; }
  const std::shared_ptr<const TableSchema>& schema() const override { return schema_; }
  const std::vector<size_t>& columns() const override { return columns_; }
  std::string Token() const override {
    if (next_ == 0) return {};
    if (is_short_of_memory_) return kNoScanToken;
    const auto& [start_s, number] = rows_[next_ - 1];
    return EncodeScanToken({1, 0, 0, start_s, std::to_string(number)});
  }

 private:
  const std::vector<std::pair<int64_t, int64_t>> rows_;
  const bool is_short_of_memory_;  // for a token
  size_t next_ = 0;
  Status status_;
  std::vector<ScanGap> gaps_;
  std::shared_ptr<const TableSchema> schema_;
  std::vector<size_t> columns_;
};

std::vector<int64_t> Followed(std::vector<ScriptedScan> scans, bool has_splits) {
  size_t scan = 0;
  const auto next_scan = [&](const ScanRequest&) -> Result<std::unique_ptr<Cursor>> {
    if (scan == scans.size()) return Status::Closed("no more scans");
    return std::unique_ptr<Cursor>(std::make_unique<ScriptedScan>(scans[scan++]));
  };
  FollowCursor cursor(next_scan, std::make_shared<RowSignal>(), {}, nullptr, {}, has_splits, 0);
  std::vector<int64_t> numbers;
  ResultBatch batch;
  while (cursor.status().ok()) {
    if (cursor.Next(&batch)) numbers.push_back(batch.columns[0].fixed[0]);
  }
  EXPECT_EQ(scan, scans.size());
  return numbers;
}

// Where there was no memory for a token the rows are read again, from the last place that is known.
TEST(FollowCursor, RowsWithoutAPlaceBehindThemAreGivenLater) {
  std::vector<ScriptedScan> scans = {ScriptedScan({{0, 58}}, true), ScriptedScan({{0, 58}}),
                                     ScriptedScan({{0, 58}}), ScriptedScan({{0, 59}}, true),
                                     ScriptedScan({{0, 59}})};
  std::vector<std::string> tokens;
  size_t scan = 0;
  const auto next_scan = [&](const ScanRequest& request) -> Result<std::unique_ptr<Cursor>> {
    tokens.push_back(request.token);
    if (scan == scans.size()) return Status::Closed("no more scans");
    return std::unique_ptr<Cursor>(std::make_unique<ScriptedScan>(scans[scan++]));
  };
  FollowCursor cursor(next_scan, std::make_shared<RowSignal>(), {}, nullptr, {}, false, 0);
  ResultBatch batch;
  EXPECT_FALSE(cursor.Next(&batch));
  EXPECT_EQ(cursor.status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(batch.row_count, 0u);
  EXPECT_EQ(cursor.Token(), "");
  ASSERT_TRUE(cursor.Next(&batch));
  EXPECT_EQ(batch.columns[0].fixed[0], 58);
  const std::string behind = cursor.Token();
  EXPECT_FALSE(cursor.Next(&batch));  // the end of that scan
  EXPECT_TRUE(cursor.status().ok());
  EXPECT_FALSE(cursor.Next(&batch));
  EXPECT_EQ(cursor.status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(cursor.Token(), behind);
  ASSERT_TRUE(cursor.Next(&batch));
  EXPECT_EQ(batch.columns[0].fixed[0], 59);
  EXPECT_EQ(tokens, (std::vector<std::string>{"", "", "", behind, behind}));
}

// The writer put 59 into the bucket that the scan had passed, and then 60 into the next.
TEST(FollowCursor, ARowThatWasOvertakenComesFirst) {
  EXPECT_EQ(Followed({ScriptedScan({{0, 58}}), ScriptedScan({{0, 58}, {3600, 60}}),
                      ScriptedScan({{0, 59}, {3600, 60}}), ScriptedScan({{3600, 60}}),
                      ScriptedScan({})},
                     false),
            (std::vector<int64_t>{58, 59, 60}));
}

// The first scan began in the middle of what is one bucket since the table was altered.
TEST(FollowCursor, ARowOfABucketThatBeganEarlierComesFirst) {
  EXPECT_EQ(Followed({ScriptedScan({{3600, 60}}), ScriptedScan({{0, 59}, {3600, 60}}),
                      ScriptedScan({{0, 59}, {3600, 60}}), ScriptedScan({{3600, 60}}),
                      ScriptedScan({})},
                     false),
            (std::vector<int64_t>{59, 60}));
}

// And into another split of the same bucket.
TEST(FollowCursor, ASplitsRowThatWasOvertakenComesFirst) {
  EXPECT_EQ(Followed({ScriptedScan({{0, 2}}), ScriptedScan({{0, 1}}),
                      ScriptedScan({{0, 1}, {0, 2}}), ScriptedScan({{0, 2}}), ScriptedScan({})},
                     true),
            (std::vector<int64_t>{1, 2}));
}

// All is expired in 600 buckets: the scan gives its caller the word in between, and no row.
TEST_F(FollowTest, EmptyBucketsArePassedInBoundedMoves) {
  constexpr int kDays = 600;
  clock_->PassTo(kStartUs + kDays * kDayMs * 1000);
  RowBatch batch(schema_);
  for (int day = 0; day < kDays; ++day) {
    AddRow(&batch, "a", kStartMs + day * kDayMs, day, RowKind::kInsert, 60);
  }
  AddRow(&batch, "a", kStartMs + kDays * kDayMs, 1);
  ASSERT_TRUE(engine_->Append(batch).ok());
  clock_->AdvanceSeconds(60);
  const auto cursor = engine_->Scan(Request("a", kStartMs, kStartMs + 2 * kDays * kDayMs));
  ASSERT_TRUE(cursor.ok());
  ResultBatch got;
  std::vector<size_t> counts;
  while ((*cursor)->Next(&got)) {
    EXPECT_EQ(got.columns.size(), 2u);
    counts.push_back(got.row_count);
  }
  EXPECT_TRUE((*cursor)->status().ok());
  EXPECT_EQ(counts, (std::vector<size_t>{0, 0, 1}));
  EXPECT_EQ(*engine_->FirstEvent(schema_->name, Entity("a")), kStartMs + kDays * kDayMs);
  EXPECT_EQ(*engine_->LastEvent(schema_->name, Entity("a")), kStartMs + kDays * kDayMs);
}

}  // namespace
}  // namespace cistern::testing
