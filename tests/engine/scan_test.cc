// Scans: bounds, directions, tokens, limits, splits, several clustering columns, partial rows.
#include <algorithm>
#include <climits>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class ScanTest : public EngineFixture {
 protected:
  // Four days, a row an hour, with a rotation in the middle.
  Rows WriteHours() {
    clock_->PassTo(kStartUs + 10 * kDayMs * 1000);
    Rows rows;
    for (int i = 0; i < 96; ++i) {
      MustAppend("a", kStartMs + i * 3'600'000, i, {Durability::kLog});
      rows.emplace_back(kStartMs + i * 3'600'000, i);
      if (i == 40) Rotate();
    }
    return rows;
  }
  // Rows of a scan that is broken off after every batch and continued by its token, with
  // `between` called in the pauses.
  Rows ScanByTokens(ScanRequest request, const std::function<void(int)>& between) {
    Rows out;
    for (int page = 0; page < 1000; ++page) {
      auto cursor = engine_->Scan(request);
      EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
      if (!cursor.ok()) return out;
      ResultBatch batch;
      if (!(*cursor)->Next(&batch)) {
        EXPECT_EQ((*cursor)->Token(), "");
        return out;
      }
      AddRows(batch, &out);
      if (out.size() == request.limit) return out;
      request.token = (*cursor)->Token();
      cursor->reset();
      between(page);
    }
    ADD_FAILURE() << "the scan does not end";
    return out;
  }
};

TEST_F(ScanTest, BothDirectionsAtEveryBound) {
  const Rows rows = WriteHours();
  const int64_t first = rows.front().first;
  const int64_t last = rows.back().first;
  for (const int64_t from : {first - 1, first, first + 1, kStartMs + kDayMs, last, last + 1}) {
    for (const int64_t to : {first, first + 1, kStartMs + 2 * kDayMs, last, last + 1}) {
      if (from >= to) continue;
      Rows expected;
      for (const auto& row : rows) {
        if (row.first >= from && row.first < to) expected.push_back(row);
      }
      EXPECT_EQ(Scan("a", from, to), expected) << from << " to " << to;
      std::reverse(expected.begin(), expected.end());
      EXPECT_EQ(Scan("a", to, from), expected) << to << " down to " << from;
    }
  }
}

TEST_F(ScanTest, UnboundedScansNeedALimitAndSeeTheEnds) {
  const Rows rows = WriteHours();
  EXPECT_EQ(engine_->Scan(Request("a", INT64_MIN, 0)).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->Scan(Request("a", INT64_MAX, 0)).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->Scan(Request("a", 5, 5)).status().code(), StatusCode::kInvalidArgument);
  ScanRequest up = Request("a", INT64_MIN, INT64_MAX);
  up.limit = 1000;
  EXPECT_EQ(Scan(up), rows);
  ScanRequest down = Request("a", INT64_MAX, INT64_MIN);
  down.limit = 3;
  EXPECT_EQ(Scan(down), Rows(rows.rbegin(), rows.rbegin() + 3));
}

TEST_F(ScanTest, TokensGoOnAcrossRotationsReopeningsAndNewBuckets) {
  Rows rows = WriteHours();
  for (const bool down : {false, true}) {
    ScanRequest request = down ? Request("a", kStartMs + 30 * kDayMs, kStartMs - kDayMs)
                               : Request("a", kStartMs - kDayMs, kStartMs + 30 * kDayMs);
    request.batch_rows_max = 7;
    Rows expected = rows;
    if (down) std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(ScanByTokens(request,
                           [&](int page) {
                             if (page == 1) Rotate();
                             if (page == 3) Reopen();
                             // Behind the scan, and of another entity: not seen by it.
                             if (page == 5) MustAppend("b", kStartMs, 1);
                           }),
              expected);
  }
}

TEST_F(ScanTest, TheLimitCountsOverTokens) {
  const Rows rows = WriteHours();
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.batch_rows_max = 7;
  request.limit = 30;
  EXPECT_EQ(ScanByTokens(request, [](int) {}), Rows(rows.begin(), rows.begin() + 30));
}

// Pages by the limit, as Cursor::Token says: every row comes once, and the last page ends
// the scan though the page before it was full.
TEST_F(ScanTest, PagesByTheLimitGoOnBehindTheLastRow) {
  const Rows rows = WriteHours();  // 96 of them
  for (const size_t page_rows : {1u, 7u, 32u, 95u, 96u, 97u}) {
    for (const bool down : {false, true}) {
      ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
      if (down) std::swap(request.from, request.to);
      request.batch_rows_max = 5;
      Rows out;
      for (size_t page = 0;; ++page) {
        ASSERT_LE(page, rows.size()) << "the pages do not end";
        request.limit += page_rows;
        auto cursor = engine_->Scan(request);
        ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
        Drain(cursor->get(), &out);
        ASSERT_TRUE((*cursor)->status().ok());
        EXPECT_EQ(out.size(), std::min<size_t>(rows.size(), request.limit));
        request.token = (*cursor)->Token();
        if (request.token.empty()) break;
      }
      if (down) std::reverse(out.begin(), out.end());
      EXPECT_EQ(out, rows) << page_rows;
    }
  }
}

// Nobody pages for ever on one spot.
TEST_F(ScanTest, ATokenAtTheLimitIsRefused) {
  (void)WriteHours();
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.limit = 10;
  auto cursor = engine_->Scan(request);
  ASSERT_TRUE(cursor.ok());
  Rows out;
  Drain(cursor->get(), &out);
  EXPECT_EQ(out.size(), 10u);
  request.token = (*cursor)->Token();
  ASSERT_NE(request.token, "");
  const Status refused = engine_->Scan(request).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("limit is 10"), std::string::npos) << refused.message();
}

TEST_F(ScanTest, TokensOfOtherScansAndDamagedOnesAreRefused) {
  (void)WriteHours();
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.batch_rows_max = 5;
  auto cursor = engine_->Scan(request);
  ASSERT_TRUE(cursor.ok());
  ResultBatch batch;
  ASSERT_TRUE((*cursor)->Next(&batch));
  const std::string token = (*cursor)->Token();
  ScanRequest other = request;
  other.to += 1;
  other.token = token;
  EXPECT_EQ(engine_->Scan(other).status().code(), StatusCode::kInvalidArgument);
  other = request;
  other.entity = Entity("b");
  other.token = token;
  EXPECT_EQ(engine_->Scan(other).status().code(), StatusCode::kInvalidArgument);
  for (size_t i = 0; i < token.size(); ++i) {
    other = request;
    other.token = token;
    other.token[i] = other.token[i] == '0' ? '1' : '0';
    EXPECT_EQ(engine_->Scan(other).status().code(), StatusCode::kInvalidArgument) << i;
  }
  for (const std::string& bad : {std::string("x"), token + "0", token.substr(2),
                                 std::string(10'000, '0')}) {
    other.token = bad;
    EXPECT_EQ(engine_->Scan(other).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST_F(ScanTest, ARotationUnderAnOpenCursorLosesAndRepeatsNothing) {
  const Rows rows = WriteHours();
  for (const bool down : {false, true}) {
    ScanRequest request = down ? Request("a", kStartMs + 30 * kDayMs, kStartMs)
                               : Request("a", kStartMs, kStartMs + 30 * kDayMs);
    request.batch_rows_max = 10;
    auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok());
    Rows seen;
    ResultBatch batch;
    for (int i = 0; (*cursor)->Next(&batch); ++i) {
      AddRows(batch, &seen);
      MustAppend("other", kStartMs + i, 1);
      if (i % 2 == 0) Rotate();
    }
    EXPECT_TRUE((*cursor)->status().ok());
    Rows expected = rows;
    if (down) std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(seen, expected);
  }
}

TEST_F(ScanTest, RowsOfUpdatesLiveByTheirCellsWhateverIsProjected) {
  RowBatch batch(schema_);
  AddRow(&batch, "a", kStartMs, 1, RowKind::kUpdate);
  AddRow(&batch, "a", kStartMs + 1, 2, RowKind::kInsert);
  ASSERT_TRUE(engine_->Append(batch).ok());
  ScanRequest request = Request("a", kStartMs, kStartMs + 10);
  request.columns = {"ts", "state"};  // not the column that keeps the row alive
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Scan(request), (Rows{{kStartMs, -1}, {kStartMs + 1, -1}}));
    Rotate();
  }
  batch.Clear();
  for (const int64_t ts : {kStartMs, kStartMs + 1}) {
    batch.BeginRow(RowKind::kUpdate);
    ASSERT_TRUE(batch.SetBytes(0, "a").ok());
    ASSERT_TRUE(batch.SetInt(2, ts).ok());
    ASSERT_TRUE(batch.SetNull(3).ok());
    ASSERT_TRUE(batch.EndRow().ok());
  }
  ASSERT_TRUE(engine_->Append(batch).ok());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Scan(request), (Rows{{kStartMs + 1, -1}}));  // the inserted one has its marker
    Rotate();
  }
}

TEST_F(ScanTest, ExpiryIsTheSecondItselfAndShadowsWhatIsOlder) {
  RowBatch batch(schema_);
  AddRow(&batch, "a", kStartMs, 1);
  ASSERT_TRUE(engine_->Append(batch).ok());
  batch.Clear();
  AddRow(&batch, "a", kStartMs, 2, RowKind::kInsert, 10);
  AddRow(&batch, "a", kStartMs + 1, 3, RowKind::kInsert, 1);
  ASSERT_TRUE(engine_->Append(batch).ok());
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}, {kStartMs + 1, 3}}));
  clock_->AdvanceSeconds(1);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}}));
  clock_->AdvanceMicros(8'999'999);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}}));
  clock_->AdvanceMicros(1);
  for (int round = 0; round < 3; ++round) {
    // As in Cassandra: the expired cell and marker still hide the older ones.
    EXPECT_EQ(ScanAll("a"), Rows{}) << round;
    round == 0 ? Rotate() : Reopen();
  }
}

TEST_F(ScanTest, DeletesHoldInHeadAndSegmentsAndLaterRowsLive) {
  for (const int rotate_at : {-1, 0, 1, 2}) {
    const std::string sensor = "s" + std::string(1, static_cast<char>('0' + rotate_at + 1));
    for (int i = 0; i < 6; ++i) MustAppend(sensor, kStartMs + i, i);
    if (rotate_at == 0) Rotate();
    ASSERT_TRUE(engine_->DeleteRange("pumps", Entity(sensor), {kStartMs + 1, kStartMs + 3}).ok());
    if (rotate_at == 1) Rotate();
    MustAppend(sensor, kStartMs + 2, 20);
    RowBatch batch(schema_);
    AddRow(&batch, sensor, kStartMs + 4, 0, RowKind::kDeleteRow);
    ASSERT_TRUE(engine_->Append(batch).ok());
    if (rotate_at == 2) Rotate();
    EXPECT_EQ(ScanAll(sensor), (Rows{{kStartMs, 0}, {kStartMs + 2, 20}, {kStartMs + 3, 3},
                                     {kStartMs + 5, 5}}))
        << rotate_at;
  }
  Reopen();
  ExpectSound();
}

TEST_F(ScanTest, WideRowsComeInSmallBatches) {
  RowBatch batch(schema_);
  const std::string wide(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    batch.Clear();
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "a").ok());
    ASSERT_TRUE(batch.SetInt(2, kStartMs + i).ok());
    ASSERT_TRUE(batch.SetBytes(4, wide).ok());
    ASSERT_TRUE(batch.EndRow().ok());
    ASSERT_TRUE(engine_->Append(batch, {Durability::kLog}).ok());
  }
  ScanRequest request = Request("a", kStartMs, kStartMs + 1000);
  request.columns = {"ts", "state"};
  auto cursor = engine_->Scan(request);
  ASSERT_TRUE(cursor.ok());
  ResultBatch got;
  size_t rows = 0;
  while ((*cursor)->Next(&got)) {
    EXPECT_LT(got.row_count, 40u);
    rows += got.row_count;
  }
  EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
  EXPECT_EQ(rows, 100u);
}

TEST_F(ScanTest, CursorsAreCountedAndMayOutliveTheirEngine) {
  MustAppend("a", kStartMs, 1);
  std::vector<std::unique_ptr<Cursor>> cursors;
  for (size_t i = 0; i < limits::kCursorCountMax; ++i) {
    auto cursor = engine_->Scan(Request("a", kStartMs, kStartMs + 10));
    ASSERT_TRUE(cursor.ok());
    cursors.push_back(*std::move(cursor));
  }
  EXPECT_EQ(engine_->Scan(Request("a", kStartMs, kStartMs + 10)).status().code(),
            StatusCode::kTooLarge);
  cursors.resize(1);
  EXPECT_TRUE(engine_->Scan(Request("a", kStartMs, kStartMs + 10)).ok());
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  Rows rows;
  Drain(cursors[0].get(), &rows);
  EXPECT_EQ(rows, (Rows{{kStartMs, 1}}));
}

class SplitScanTest : public EngineFixture {
 protected:
  void SetUp() override {
    OpenWithTable(R"(
CREATE TABLE t (
  sensor text, day date, part int, ts timestamp, flow double, seq int,
  PRIMARY KEY ((sensor, day, part), ts, seq))
WITH CLUSTERING ORDER BY (ts DESC, seq ASC)
AND comment = 'cistern: bucket day = 1 day; split part = round_robin 4';
)");
  }
};

TEST_F(SplitScanTest, SplitsMergeByClusteringKeyInBothDirectionsAndByTokens) {
  if (schema_ == nullptr) return;
  std::vector<std::pair<int64_t, int64_t>> keys;
  RowBatch batch(schema_);
  for (int i = 0; i < 200; ++i) {
    const int64_t ts = kStartMs + (i * 37 % 50) * 1000;  // four rows at each time
    const int64_t seq = i % 7;
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "a").ok());
    ASSERT_TRUE(batch.SetInt(3, ts).ok());
    ASSERT_TRUE(batch.SetDouble(4, i).ok());
    ASSERT_TRUE(batch.SetInt(5, seq).ok());
    ASSERT_TRUE(batch.EndRow().ok());
    keys.emplace_back(ts, seq);
    if (i == 100) {
      ASSERT_TRUE(engine_->Append(batch).ok());
      batch.Clear();
      Rotate();
    }
  }
  ASSERT_TRUE(engine_->Append(batch).ok());
  // Declared ts DESC, seq ASC: upwards in time seq falls, downwards it rises.
  for (const bool down : {false, true}) {
    auto expected = keys;
    std::sort(expected.begin(), expected.end(), [down](const auto& a, const auto& b) {
      if (a.first != b.first) return down ? a.first > b.first : a.first < b.first;
      return down ? a.second < b.second : a.second > b.second;
    });
    ScanRequest request = down ? Request("a", kStartMs + kDayMs, kStartMs)
                               : Request("a", kStartMs, kStartMs + kDayMs);
    request.columns = {"ts", "seq", "part", "flow"};
    request.batch_rows_max = 3;
    std::vector<std::pair<int64_t, int64_t>> seen;
    std::vector<int64_t> flows;
    for (int page = 0; page < 500; ++page) {
      auto cursor = engine_->Scan(request);
      ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
      ResultBatch got;
      if (!(*cursor)->Next(&got)) break;
      for (size_t i = 0; i < got.row_count; ++i) {
        seen.emplace_back(got.columns[0].fixed[i], got.columns[1].fixed[i]);
        flows.push_back(static_cast<int64_t>(got.columns[3].AsDouble(i)));
      }
      request.token = (*cursor)->Token();
    }
    EXPECT_EQ(seen, expected);
    std::sort(flows.begin(), flows.end());
    EXPECT_EQ(std::unique(flows.begin(), flows.end()), flows.end());  // none twice
  }
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
