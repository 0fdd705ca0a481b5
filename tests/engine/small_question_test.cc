// Small questions, which pick rows from pages and go by what is known of buckets, against the
// general scan: whatever is written, deleted, sealed, expired, altered or damaged meanwhile.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/query/bucket_index.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr char kSequenced[] = R"(
CREATE TABLE plant.pumps (
  sensor text, day date, flow double, ts timestamp, seq int, state text,
  PRIMARY KEY ((sensor, day), ts, seq))
WITH comment = 'cistern: bucket day = 1 day';
)";
constexpr char kSplit[] = R"(
CREATE TABLE plant.pumps (
  sensor text, day date, part int, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day, part), ts))
WITH comment = 'cistern: bucket day = 1 day; split part = hash 3';
)";
constexpr int64_t kStepMs = 120'000;
constexpr int64_t kDays = 6;

class SmallQuestionTest : public EngineFixture {
 protected:
  SmallQuestionTest() { options_.event_future_s_max = 400 * 86'400; }

  // --- writing

  int64_t SomeTime() {
    const int64_t steps = kDays * kDayMs / kStepMs;
    return kStartMs + static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(steps))) * kStepMs;
  }
  std::string SomeSensor() { return std::string(1, "ab"[rng_.Below(2)]); }
  size_t ColumnOf(const std::string& name) const { return *schema_->FindColumn(name); }

  void AddSome(RowBatch* batch, const std::string& sensor, int64_t ts, RowKind kind,
               std::optional<uint32_t> ttl_s) {
    batch->BeginRow(kind);
    ASSERT_TRUE(batch->SetBytes(ColumnOf("sensor"), sensor).ok());
    ASSERT_TRUE(batch->SetInt(ColumnOf("ts"), ts).ok());
    if (schema_->FindColumn("seq")) {
      ASSERT_TRUE(batch->SetInt(ColumnOf("seq"), static_cast<int64_t>(rng_.Below(3))).ok());
    }
    if (kind != RowKind::kDeleteRow) {
      if (!rng_.OneIn(8) || kind == RowKind::kUpdate) {
        const auto flow = static_cast<double>(rng_.Below(5000)) / 10;
        ASSERT_TRUE(batch->SetDouble(ColumnOf("flow"), flow).ok());
      }
      if (rng_.OneIn(2)) {
        const std::string state = "state " + std::to_string(rng_.Below(4));
        ASSERT_TRUE(batch->SetBytes(ColumnOf("state"), state).ok());
      }
      if (ttl_s) {
        ASSERT_TRUE(batch->SetTtl(*ttl_s).ok());
      }
    }
    const Status ended = batch->EndRow();
    ASSERT_TRUE(ended.ok()) << ended.ToString();
  }
  void AppendSome() {
    RowBatch batch(schema_);
    const std::string sensor = SomeSensor();
    const int64_t first = SomeTime();
    const RowKind kind = rng_.OneIn(5) ? RowKind::kUpdate : RowKind::kInsert;
    std::optional<uint32_t> ttl_s;
    if (rng_.OneIn(6)) ttl_s = static_cast<uint32_t>(10 + rng_.Below(4000));
    const auto count = static_cast<int64_t>(1 + rng_.Below(rng_.OneIn(3) ? 300 : 30));
    for (int64_t i = 0; i < count; ++i) AddSome(&batch, sensor, first + i * kStepMs, kind, ttl_s);
    const auto appended = engine_->Append(batch);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
  }
  void DeleteSome() {
    const EntityKey entity = Entity(SomeSensor());
    const int64_t from = SomeTime();
    if (rng_.OneIn(3)) {
      RowBatch batch(schema_);
      AddSome(&batch, SomeSensor(), from, RowKind::kDeleteRow, {});
      ASSERT_TRUE(engine_->Append(batch).ok());
    } else if (rng_.OneIn(2)) {
      const auto length = static_cast<int64_t>(1 + rng_.Below(40));
      ASSERT_TRUE(
          engine_->DeleteRange(schema_->name, entity, {from, from + length * kStepMs}).ok());
    } else {
      ASSERT_TRUE(engine_->DeleteBucket(schema_->name, entity, from).ok());
    }
  }
  void DoSomething() {
    const uint64_t what = rng_.Below(20);
    if (what < 9) AppendSome();
    if (what == 9 || what == 10) DeleteSome();
    if (what == 11 || what == 12) Rotate();
    if (what >= 13 && what < 17) SealAll();
    if (what == 17) clock_->AdvanceSeconds(static_cast<int64_t>(rng_.Below(2000)));
    if (what == 18) TickAll();
    if (what == 19 && rng_.OneIn(3)) Reopen();
  }

  // --- asking

  // Each row as a text, all columns of the schema of the scan.
  using Texts = std::vector<std::pair<int64_t, std::string>>;
  struct Told {
    Texts rows;
    bool ok = true;
    std::string token;
  };
  Told Ask(const ScanRequest& request) {
    Told told;
    auto cursor = engine_->Scan(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    if (!cursor.ok()) return told;
    const size_t time = schema_->time_column();
    for (ResultBatch batch; (*cursor)->Next(&batch);) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        std::string text;
        for (const ColumnData& column : batch.columns) {
          text += column.state(i) != CellState::kValue ? "null"
                  : column.lane == Lane::kFixed        ? std::to_string(column.fixed[i])
                                                       : std::string(column.bytes(i));
          text += " | ";
        }
        told.rows.emplace_back(batch.columns[time].fixed[i], std::move(text));
      }
    }
    told.ok = (*cursor)->status().ok();
    told.token = (*cursor)->Token();
    EXPECT_TRUE(told.ok || expect_gaps_) << (*cursor)->status().ToString();
    return told;
  }
  ScanRequest All(const std::string& sensor) {
    ScanRequest request;
    request.table = schema_->name;
    request.entity = Entity(sensor);
    request.from = kStartMs - kDayMs;
    request.to = kStartMs + 30 * kDayMs;
    return request;
  }
  // In batches of a few rows, and in pages of a few, each from the token of the one before.
  void ExpectInPieces(ScanRequest request, const Texts& expected) {
    request.limit = expected.size() + rng_.Below(3);
    if (request.limit == 0) request.limit = 1;
    request.batch_rows_max = 1 + rng_.Below(5);
    EXPECT_EQ(Ask(request).rows, expected) << "batches of " << request.batch_rows_max;
    Texts paged;
    request.limit = 0;
    request.batch_rows_max = rng_.OneIn(2) ? 1 + rng_.Below(3) : limits::kPageRowsMax;
    for (size_t page = 0; page <= expected.size() + 1; ++page) {
      request.limit += 1 + rng_.Below(std::max<size_t>(expected.size() / 2, 2));
      Told told = Ask(request);
      std::move(told.rows.begin(), told.rows.end(), std::back_inserter(paged));
      request.token = told.token;
      if (told.token.empty()) break;
    }
    EXPECT_EQ(request.token, "") << "a page more than there can be";
    EXPECT_EQ(paged, expected);
  }
  void ExpectOuter(const ScanRequest& all, const Texts& rows, uint64_t limit) {
    ScanRequest request = all;
    request.limit = limit;
    const size_t count = std::min<size_t>(limit, rows.size());
    EXPECT_EQ(Ask(request).rows, Texts(rows.begin(), rows.begin() + count)) << limit;
    std::swap(request.from, request.to);
    EXPECT_EQ(Ask(request).rows, Texts(rows.rbegin(), rows.rbegin() + count)) << limit;
  }
  // Rows of from <= ts < to.
  static Texts Within(const Texts& rows, int64_t from, int64_t to) {
    Texts some;
    for (const auto& row : rows) {
      if (row.first >= from && row.first < to) some.push_back(row);
    }
    return some;
  }
  void ExpectSpan(ScanRequest request, const Texts& rows, int64_t from, int64_t to) {
    request.from = from;
    request.to = to;
    const Texts expected = Within(rows, from, to);
    EXPECT_EQ(Ask(request).rows, expected) << from << " to " << to;
    request.limit = 1 + rng_.Below(6);
    const size_t count = std::min<size_t>(request.limit, expected.size());
    EXPECT_EQ(Ask(request).rows, Texts(expected.begin(), expected.begin() + count));
    std::swap(request.from, request.to);
    EXPECT_EQ(Ask(request).rows, Texts(expected.rbegin(), expected.rbegin() + count));
    if (expected.size() > 40 || !rng_.OneIn(3)) return;
    ExpectInPieces(request, Texts(expected.rbegin(), expected.rend()));
    std::swap(request.from, request.to);
    ExpectInPieces(request, expected);
  }
  // Twice, as what was asked once is known.
  void ExpectAsScanned() {
    for (const char* sensor : {"a", "b", "none"}) {
      const ScanRequest all = All(sensor);
      const Texts rows = Ask(all).rows;
      for (int time = 0; time < 2; ++time) {
        const auto first = engine_->FirstEvent(schema_->name, all.entity);
        const auto last = engine_->LastEvent(schema_->name, all.entity);
        ASSERT_TRUE(first.ok() && last.ok()) << last.status().ToString();
        ASSERT_EQ(first->has_value(), !rows.empty());
        ASSERT_EQ(last->has_value(), !rows.empty());
        if (!rows.empty()) {
          EXPECT_EQ(**first, rows.front().first);
          EXPECT_EQ(**last, rows.back().first);
        }
        for (const uint64_t limit : {1u, 3u, 64u, 65u}) ExpectOuter(all, rows, limit);
        for (int i = 0; i < 4; ++i) {
          const int64_t at = SomeTime() + (rng_.OneIn(4) ? 1 : 0);
          ExpectSpan(all, rows, at, at + 1);
          const int64_t length = 1 + static_cast<int64_t>(rng_.Below(60));
          ExpectSpan(all, rows, at, at + length * kStepMs);
        }
        if (HasFailure()) return;
      }
    }
  }
  // Of windows, that with the highest number.
  std::string NewestWindowFile() {
    std::vector<rocksdb::LiveFileMetaData> files;
    Core()->store().db().db()->GetLiveFilesMetaData(&files);
    std::string newest;
    for (const auto& file : files) {
      if (FamilyKindOf(file.column_family_name) != FamilyKind::kWindow) continue;
      newest = std::max(newest, file.relative_filename);
    }
    EXPECT_FALSE(newest.empty());
    return std::filesystem::path(directory()) / newest;
  }
  void RunModel(const char* cql, uint64_t seed) {
    SCOPED_TRACE(::testing::Message() << "CISTERN_SEED=" << seed);
    rng_ = Rng(seed);
    OpenWithTable(cql);
    for (int step = 0; step < 60 && !HasFailure(); ++step) {
      for (uint64_t i = rng_.Below(5) + 1; i > 0; --i) DoSomething();
      ExpectAsScanned();
    }
  }
  void SetUp() override {}

  Rng rng_{EnvNumber("CISTERN_SEED", std::random_device()())};
};

TEST_F(SmallQuestionTest, AreAnsweredAsTheScanAnswers) { RunModel(kPumps, rng_.Next()); }

TEST_F(SmallQuestionTest, OfSeveralRowsOfOneTime) { RunModel(kSequenced, rng_.Next()); }

TEST_F(SmallQuestionTest, OfSplitBuckets) { RunModel(kSplit, rng_.Next()); }

TEST_F(SmallQuestionTest, OfManyPagesOfABucket) {
  OpenWithTable(kPumps);
  for (int64_t day = 0; day < 2; ++day) {
    RowBatch batch(schema_);
    for (int64_t i = 0; i < 5000; ++i) {
      AddSome(&batch, "a", kStartMs + day * kDayMs + i * 10'000, RowKind::kInsert, {});
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
    SealAll();
    ExpectAsScanned();
  }
  // Statistics tell nothing of what a delete meets.
  const int64_t middle = kStartMs + kDayMs + 2000 * 10'000;
  ASSERT_TRUE(engine_->DeleteRange(schema_->name, Entity("a"), {middle, middle + kDayMs}).ok());
  ExpectAsScanned();
  SealAll();
  ExpectAsScanned();
}

TEST_F(SmallQuestionTest, AreAnsweredInColumnsThatCameLater) {
  OpenWithTable(kPumps);
  for (int i = 0; i < 6; ++i) AppendSome();
  SealAll();
  ExpectAsScanned();
  const Status altered = engine_->AlterTable(R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text, note text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day';
)");
  ASSERT_TRUE(altered.ok()) << altered.ToString();
  schema_ = engine_->ListTables().front();
  ExpectAsScanned();
  for (int i = 0; i < 6; ++i) AppendSome();
  SealAll();
  ExpectAsScanned();
}

// Each row that the scan gives is given by its key, and of what it does not give it is said that
// something is missing.
TEST_F(SmallQuestionTest, OfDamagedPages) {
  OpenWithTable(kPumps);
  for (int i = 0; i < 8; ++i) AppendSome();
  SealAll();
  const Texts whole_a = Ask(All("a")).rows;
  const Texts whole_b = Ask(All("b")).rows;
  const std::string path = NewestWindowFile();
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  FlipBit(path, 40);
  expect_gaps_ = true;
  Open();
  for (const auto& [sensor, whole] : {std::pair("a", whole_a), std::pair("b", whole_b)}) {
    const Told scanned = Ask(All(sensor));
    for (const auto& row : whole) {
      ScanRequest request = All(sensor);
      request.from = row.first;
      request.to = row.first + 1;
      const Told told = Ask(request);
      const bool is_given = std::count(scanned.rows.begin(), scanned.rows.end(), row) > 0;
      EXPECT_EQ(told.rows, is_given ? Texts{row} : Texts());
      EXPECT_EQ(told.ok, is_given);
    }
    ScanRequest newest = All(sensor);
    std::swap(newest.from, newest.to);
    // A long scan downwards reads headers too, and may lack what this one and the upward one give.
    newest.limit = 1;
    const Told one = Ask(newest);
    for (int time = 0; time < 2; ++time) {
      const auto last = engine_->LastEvent(schema_->name, newest.entity);
      ASSERT_EQ(last.ok(), one.ok);
      if (one.ok && !one.rows.empty()) {
        EXPECT_EQ(*last, one.rows[0].first);
      }
    }
    ASSERT_EQ(one.rows.empty(), scanned.rows.empty());
    if (!one.rows.empty()) {
      EXPECT_EQ(one.rows[0], scanned.rows.back());
    }
  }
}

// The newest page is damaged: what was the newest row before it may not be the newest.
TEST_F(SmallQuestionTest, TheOuterTimeOfADamagedPageIsNotTold) {
  constexpr int64_t kDayRows = 300;  // in one page, which has statistics
  OpenWithTable(kPumps);
  for (int64_t day = 0; day < 2; ++day) {
    RowBatch batch(schema_);
    for (int64_t i = 0; i < kDayRows; ++i) {
      AddSome(&batch, "a", kStartMs + day * kDayMs + i * kStepMs, RowKind::kInsert, {});
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
    SealAll();
  }
  const Texts rows = Ask(All("a")).rows;
  ASSERT_EQ(rows.size(), size_t{2 * kDayRows});
  ASSERT_EQ(*engine_->LastEvent(schema_->name, Entity("a")), rows.back().first);
  const std::string path = NewestWindowFile();
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  // Its first half is within its header and its only page.
  const auto end = static_cast<int64_t>(std::filesystem::file_size(path) / 2);
  for (int64_t offset = 40; offset < end; offset += 40) FlipBit(path, offset);
  expect_gaps_ = true;
  Open();
  ScanRequest newest = All("a");
  std::swap(newest.from, newest.to);
  newest.limit = 1;
  for (int time = 0; time < 2; ++time) {
    const auto last = engine_->LastEvent(schema_->name, newest.entity);
    EXPECT_EQ(last.status().code(), StatusCode::kCorruption) << last.status().ToString();
    const auto first = engine_->FirstEvent(schema_->name, newest.entity);
    ASSERT_TRUE(first.ok()) << first.status().ToString();
    EXPECT_EQ(*first, rows.front().first);
    const Told told = Ask(newest);
    EXPECT_FALSE(told.ok);
    EXPECT_EQ(told.rows, Texts{rows[kDayRows - 1]});
  }
}

// Notes buckets of one page in one window, which no store has.
class KnownBuckets {
 public:
  explicit KnownBuckets(MemoryBudget* budget) : index_(budget) {
    auto view = std::make_shared<SpillView>();
    window_ = std::make_shared<const WindowFamily>(1, nullptr, WindowRecord{});
    view->windows.push_back(window_);
    view_ = std::move(view);
    BucketIndex::Answer nothing;
    EXPECT_FALSE(index_.Find(view_, {1, "a", 0, false}, &nothing));
  }
  void Note(const std::string& entity, int64_t start_s, uint64_t seal) {
    BucketOutline outline;
    outline.start_s = start_s;
    outline.window = window_;
    outline.seal = seal;
    index_.Note(view_, {1, entity, start_s - 5, false}, {{outline}});
  }
  // With that page, if it has one; none: it is not known.
  std::optional<BucketOutline> Find(const std::string& entity, int64_t at_s, bool down = false) {
    BucketIndex::Answer answer;
    if (!index_.Find(view_, {1, entity, at_s, down}, &answer)) return std::nullopt;
    return answer.splits.at(0);
  }
  void KeepPage(const std::string& entity, int64_t start_s, uint64_t seal,
                const std::string& page) {
    index_.KeepPage(view_, {1, entity, start_s, 0}, seal, page);
  }

 private:
  BucketIndex index_;
  std::shared_ptr<const WindowFamily> window_;
  std::shared_ptr<const SpillView> view_;
};

std::string NameOf(int64_t i) { return "sensor " + std::to_string(i); }

// What is known of buckets takes a bounded part of the budget, whatever is asked; and so do pages.
TEST_F(SmallQuestionTest, WhatIsKnownIsBounded) {
  MemoryBudget budget(1 << 20);
  {
    KnownBuckets known(&budget);
    for (int64_t i = 0; i < 10'000; ++i) {
      const std::string entity = NameOf(i);
      known.Note(entity, i, static_cast<uint64_t>(i) + 1);
      ASSERT_EQ(known.Find(entity, i - 3)->start_s, i);
      EXPECT_FALSE(known.Find(entity, i - 6));
      EXPECT_FALSE(known.Find(entity, i + 1));
      EXPECT_FALSE(known.Find(entity, i + 1, true));
      known.KeepPage(entity, i, static_cast<uint64_t>(i) + 1, entity + std::string(100, 'x'));
      ASSERT_EQ(*known.Find(entity, i)->page, entity + std::string(100, 'x'));
      ASSERT_LE(budget.used_bytes(), budget.limit_bytes() / 8 * 5);
    }
    EXPECT_GT(budget.used_bytes(), budget.limit_bytes() / 2);
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
}

// Also where old ones are asked for again and again, between new ones.
TEST_F(SmallQuestionTest, WhatIsAskedForAgainIsBounded) {
  MemoryBudget budget(1 << 20);
  KnownBuckets known(&budget);
  size_t found = 0;
  for (int64_t i = 0; i < 3000; ++i) {
    known.Note(NameOf(i), i, static_cast<uint64_t>(i) + 1);
    ASSERT_LE(budget.used_bytes(), budget.limit_bytes() / 8);
    if (i % 50 != 0) continue;
    for (int64_t old = 0; old <= i; ++old) {
      found += known.Find(NameOf(old), old) ? 1 : 0;
      ASSERT_LE(budget.used_bytes(), budget.limit_bytes() / 8);
    }
  }
  EXPECT_GT(found, 3000u);
}

// And many buckets of one entity, which are known or not, and never wrong.
TEST_F(SmallQuestionTest, OneEntityDoesNotPushOutAllOthers) {
  MemoryBudget budget(1 << 20);
  KnownBuckets known(&budget);
  known.Note("other", 7, 1'000'000);
  for (int64_t i = 0; i < 5000; ++i) {
    known.Note("a", i * 10, static_cast<uint64_t>(i) + 1);
    ASSERT_LE(budget.used_bytes(), budget.limit_bytes() / 8);
    ASSERT_EQ(known.Find("other", 7)->seal, 1'000'000u);
    const auto some = static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(i) + 1));
    const auto outline = known.Find("a", some * 10);
    ASSERT_TRUE(!outline || outline->seal == static_cast<uint64_t>(some) + 1);
  }
}

// A page that is asked for stays, whatever comes meanwhile.
TEST_F(SmallQuestionTest, PagesThatAreAskedForStay) {
  MemoryBudget budget(8 << 20);
  KnownBuckets known(&budget);
  constexpr int64_t kOthers = 900;
  for (int64_t i = 0; i <= kOthers; ++i) known.Note("a", i * 10, static_cast<uint64_t>(i) + 1);
  known.KeepPage("a", 0, 1, "the page");
  for (int64_t i = 1; i <= kOthers; ++i) {
    known.KeepPage("a", i * 10, static_cast<uint64_t>(i) + 1, std::string(8000, 'x'));
    ASSERT_EQ(*known.Find("a", 0)->page, "the page");
  }
  EXPECT_EQ(known.Find("a", 10)->page, nullptr);
  EXPECT_NE(known.Find("a", kOthers * 10)->page, nullptr);
}

}  // namespace
}  // namespace cistern::testing
