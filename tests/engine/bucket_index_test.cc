// What is remembered of buckets never answers for a store that has changed since: each way in which
// it changes, and many at once.
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/query/bucket_index.h"
#include "engine/replicate/push_memory.h"
#include "storage/keyspace.h"
#include "storage/seal_reader.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/window_merge_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr int64_t Day(int64_t day, int64_t ms = 0) { return kStartMs + day * kDayMs + ms; }

// Asks small questions of a sensor of which the rows are known.
class SmallAnswers {
 public:
  SmallAnswers(Engine* engine, std::shared_ptr<const TableSchema> schema)
      : engine_(engine), schema_(std::move(schema)) {}

  // Up to `limit` rows from `from` to `to`, downwards if that is before it.
  Rows Ask(const std::string& sensor, int64_t from, int64_t to, uint64_t limit) {
    ScanRequest request;
    request.table = schema_->QualifiedName();
    request.entity = Entity(sensor);
    request.from = from;
    request.to = to;
    request.columns = {"ts", "flow"};
    request.limit = limit;
    Rows rows;
    const auto cursor = engine_->Scan(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    if (!cursor.ok()) return rows;
    for (ResultBatch batch; (*cursor)->Next(&batch);) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        rows.emplace_back(batch.columns[0].fixed[i], batch.columns[1].AsDouble(i));
      }
    }
    EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    return rows;
  }
  Rows Newest(const std::string& sensor) { return Ask(sensor, INT64_MAX, INT64_MIN, 1); }
  Rows Oldest(const std::string& sensor) { return Ask(sensor, INT64_MIN, INT64_MAX, 1); }
  Rows At(const std::string& sensor, int64_t time) { return Ask(sensor, time, time + 1, 0); }
  std::optional<int64_t> LastEvent(const std::string& sensor) {
    const auto last = engine_->LastEvent(schema_->QualifiedName(), Entity(sensor));
    EXPECT_TRUE(last.ok()) << last.status().ToString();
    return last.ok() ? *last : std::nullopt;
  }
  std::optional<int64_t> FirstEvent(const std::string& sensor) {
    const auto first = engine_->FirstEvent(schema_->QualifiedName(), Entity(sensor));
    EXPECT_TRUE(first.ok()) << first.status().ToString();
    return first.ok() ? *first : std::nullopt;
  }

  // Every small question about them is answered with these rows. Twice, as what was asked once is
  // known, with more of what is around it each time.
  void Expect(const std::string& sensor, const Rows& rows) {
    for (int time = 0; time < 2; ++time) {
      ASSERT_EQ(LastEvent(sensor).has_value(), !rows.empty());
      ASSERT_EQ(FirstEvent(sensor).has_value(), !rows.empty());
      if (rows.empty()) {
        EXPECT_EQ(Newest(sensor), Rows());
        EXPECT_EQ(Oldest(sensor), Rows());
        continue;
      }
      EXPECT_EQ(*LastEvent(sensor), rows.back().first);
      EXPECT_EQ(*FirstEvent(sensor), rows.front().first);
      EXPECT_EQ(Newest(sensor), Rows{rows.back()});
      EXPECT_EQ(Oldest(sensor), Rows{rows.front()});
      for (const auto& row : rows) EXPECT_EQ(At(sensor, row.first), Rows{row});
      EXPECT_EQ(At(sensor, rows.back().first + 1), Rows());
    }
  }

 private:
  EntityKey Entity(const std::string& sensor) {
    const std::string_view parts[] = {sensor};
    return *EntityFromText(*schema_, parts);
  }
  Engine* const engine_;
  const std::shared_ptr<const TableSchema> schema_;
};

class BucketIndexTest : public EngineFixture {
 protected:
  BucketIndexTest() {
    options_.seal_when_due = false;
    options_.event_future_s_max = 100 * 86'400;
  }
  void Expect(const Rows& rows) { SmallAnswers(engine_.get(), schema_).Expect("a", rows); }
  void MustAppendFor(int64_t ts, double flow, uint32_t ttl_s) {
    RowBatch batch(schema_);
    AddRow(&batch, "a", ts, flow, RowKind::kInsert, ttl_s);
    const Status s = engine_->Append(batch).status();
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  // Three days of three rows, sealed, asked for.
  void LiveThreeDays() {
    for (int64_t day = 0; day < 3; ++day) {
      for (int64_t i = 0; i < 3; ++i) {
        rows_.emplace_back(Day(day, i * 1000), static_cast<double>(day * 10 + i));
        MustAppend("a", rows_.back().first, rows_.back().second);
      }
    }
    SealAll();
    Expect(rows_);
  }
  void Delete(int64_t from, int64_t to) {
    const auto deleted = engine_->DeleteRange(schema_->name, Entity("a"), {from, to});
    ASSERT_TRUE(deleted.ok()) << deleted.status().ToString();
    std::erase_if(rows_, [&](const auto& row) { return row.first >= from && row.first < to; });
  }
  // In the head, spilled, and sealed.
  void ExpectThroughALife() {
    Expect(rows_);
    Rotate();
    Expect(rows_);
    SealAll();
    Expect(rows_);
  }

  Rows rows_;
};

// More is looked for than was asked, and what is damaged there is for who asks for it.
TEST_F(BucketIndexTest, ADamagedManifestOfALaterBucketFailsNoEarlierOne) {
  for (int64_t day = 0; day < 30; ++day) {
    rows_.emplace_back(Day(day), static_cast<double>(day));
    MustAppend("a", rows_.back().first, rows_.back().second);
  }
  SealAll();
  const auto view = Core()->store().spills().view();
  ManifestWalker manifests(view, "");
  size_t damaged = 0;
  while (true) {
    const auto item = manifests.Next();
    ASSERT_TRUE(item.ok());
    if (!*item) break;
    const auto& [window, bucket, seal, manifest] = **item;
    if (bucket.start_s != Day(20) / 1000) continue;
    ++damaged;
    // A key that means nothing ends the walk, where a value costs its bucket alone.
    const std::string key = ManifestKey(window->id, bucket, seal);
    ASSERT_TRUE(view->meta->db()->Put({}, view->meta->handle(), key, "?").ok());
    ASSERT_TRUE(view->meta->db()->Put({}, view->meta->handle(), key + "?", "?").ok());
  }
  ASSERT_EQ(damaged, 1u);
  SmallAnswers answers(engine_.get(), schema_);
  for (const auto& row : rows_) {
    if (row.first >= Day(20)) break;
    EXPECT_EQ(answers.At("a", row.first), Rows{row}) << row.second;
  }
}

TEST_F(BucketIndexTest, ALateRowOfAKnownBucketIsSeen) {
  LiveThreeDays();
  MustAppend("b", Day(0), 1);  // keeps a family of spilled rows, which the late ones join
  Rotate();
  Expect(rows_);
  MustAppend("a", Day(2, 5000), 25);
  rows_.emplace_back(Day(2, 5000), 25);
  ExpectThroughALife();
  MustAppend("a", Day(0, 500), 5);
  rows_.insert(rows_.begin() + 1, {Day(0, 500), 5});
  ExpectThroughALife();
}

TEST_F(BucketIndexTest, ABucketBetweenKnownOnesAndBeyondThemIsSeen) {
  for (const int64_t day : {2, 6}) {
    MustAppend("a", Day(day), static_cast<double>(day));
    rows_.emplace_back(Day(day), day);
  }
  SealAll();
  Expect(rows_);
  EXPECT_EQ(SmallAnswers(engine_.get(), schema_).At("a", Day(4)), Rows());
  MustAppend("a", Day(4), 4);
  rows_.insert(rows_.begin() + 1, {Day(4), 4});
  ExpectThroughALife();
  MustAppend("a", Day(9), 9);
  rows_.emplace_back(Day(9), 9);
  ExpectThroughALife();
  MustAppend("a", Day(0), 0);
  rows_.insert(rows_.begin(), {Day(0), 0});
  ExpectThroughALife();
}

TEST_F(BucketIndexTest, AnotherValueOfAKnownRowIsSeen) {
  LiveThreeDays();
  for (const size_t which : {size_t{8}, size_t{0}, size_t{4}}) {
    rows_[which].second += 0.5;
    MustAppend("a", rows_[which].first, rows_[which].second);
    ExpectThroughALife();
  }
}

TEST_F(BucketIndexTest, ADeleteIsSeen) {
  LiveThreeDays();
  Delete(Day(2, 2000), Day(2, 2001));  // the newest row
  ExpectThroughALife();
  Delete(Day(0), Day(0, 2000));  // the oldest ones
  ExpectThroughALife();
  Delete(Day(2), Day(3));  // the newest bucket
  ExpectThroughALife();
  RowBatch batch(schema_);
  AddRow(&batch, "a", Day(1, 2000), 0, RowKind::kDeleteRow);
  ASSERT_TRUE(engine_->Append(batch).ok());
  rows_.pop_back();
  ExpectThroughALife();
  Delete(Day(0), Day(9));  // all that there is
  ExpectThroughALife();
  MustAppend("a", Day(1), 7);
  rows_ = {{Day(1), 7}};
  ExpectThroughALife();
}

TEST_F(BucketIndexTest, AnExpiryIsSeen) {
  LiveThreeDays();
  MustAppendFor(Day(2, 7000), 27, 3600);
  MustAppendFor(Day(3), 30, 1800);
  rows_.emplace_back(Day(2, 7000), 27);
  rows_.emplace_back(Day(3), 30);
  ExpectThroughALife();
  clock_->AdvanceSeconds(1799);
  Expect(rows_);
  clock_->AdvanceSeconds(1);  // the newest bucket
  rows_.pop_back();
  Expect(rows_);
  clock_->AdvanceSeconds(1800);  // a row of another
  rows_.pop_back();
  Expect(rows_);
}

// Rotations of one row each are gathered into families of higher tiers, under the questions.
TEST_F(BucketIndexTest, RewrittenFamiliesAreSeen) {
  LiveThreeDays();
  for (int64_t i = 0; i < 70; ++i) {
    MustAppend("a", Day(2, 10'000 + i), static_cast<double>(i));
    rows_.emplace_back(Day(2, 10'000 + i), static_cast<double>(i));
    Rotate();
    TickAll();
    SmallAnswers answers(engine_.get(), schema_);
    ASSERT_EQ(answers.LastEvent("a"), rows_.back().first);
    ASSERT_EQ(answers.Newest("a"), Rows{rows_.back()});
    ASSERT_EQ(answers.At("a", Day(2, 10'000 + i / 2)).size(), 1u);
  }
  ASSERT_GT(engine_->GetMetrics().respill_bytes, 0u);
  Expect(rows_);
  SealAll();
  Expect(rows_);
}

TEST_F(BucketIndexTest, AnotherOpeningKnowsNothingOfTheOneBefore) {
  LiveThreeDays();
  const auto before = Core()->query().buckets;
  Reopen();
  EXPECT_NE(Core()->query().buckets, before);
  Expect(rows_);
  MustAppend("a", Day(2, 3000), 23);
  rows_.emplace_back(Day(2, 3000), 23);
  Crash();  // replayed
  Expect(rows_);
  SealAll();
  Crash();
  Expect(rows_);
}

TEST_F(BucketIndexTest, ConfirmedSealsStayKnown) {
  LiveThreeDays();
  std::vector<SealName> seals;
  const auto view = Core()->store().spills().view();
  for (const auto& window : view->windows) {
    OutboxWalker walker(view, window->id);
    for (auto entry = walker.Next(); entry.ok() && *entry; entry = walker.Next()) {
      seals.push_back(**entry);
    }
  }
  ASSERT_EQ(seals.size(), 3u);
  ASSERT_TRUE(TryConfirm({seals[0]}, ProofLevel::kRows).ok());
  Expect(rows_);
  ASSERT_TRUE(TryConfirm(seals).ok());
  Expect(rows_);
}

// The same entity in two tables, of which one is altered.
TEST_F(BucketIndexTest, TablesAreKnownApart) {
  LiveThreeDays();
  const Status made = engine_->CreateTable(R"(
CREATE TABLE plant.valves (
  sensor text, day date, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day';
)");
  ASSERT_TRUE(made.ok()) << made.ToString();
  const auto pumps = schema_;
  const auto valves = *engine_->FindTable("plant.valves");
  SmallAnswers(engine_.get(), valves).Expect("a", {});
  schema_ = valves;
  MustAppend("a", Day(1, 1), 500);
  SealAll();
  SmallAnswers(engine_.get(), valves).Expect("a", {{Day(1, 1), 500}});
  SmallAnswers(engine_.get(), pumps).Expect("a", rows_);
}

TEST_F(BucketIndexTest, AnotherWidthOfBucketsIsSeen) {
  LiveThreeDays();
  const Status s = engine_->AlterTable(R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day until 2027-02-01, 1 month';
)");
  ASSERT_TRUE(s.ok()) << s.ToString();
  schema_ = *engine_->FindTable("pumps");
  Expect(rows_);
  MustAppend("a", Day(30), 30);  // of February
  rows_.emplace_back(Day(30), 30);
  ExpectThroughALife();
}

// Where the budget has nothing left, a batch is queued all the same.
TEST_F(BucketIndexTest, WhatIsKnownGivesWayToRows) {
  constexpr int kSensors = 300;
  RowBatch batch(schema_);
  for (int i = 0; i < kSensors; ++i) AddRow(&batch, "s" + std::to_string(i), Day(0), i);
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  MemoryBudget& budget = *Core()->budget();
  const size_t before = budget.used_bytes();
  SmallAnswers answers(engine_.get(), schema_);
  for (int i = 0; i < kSensors; ++i) {
    ASSERT_EQ(answers.Newest("s" + std::to_string(i)).size(), 1u);
  }
  const size_t known = budget.used_bytes() - before;
  EXPECT_GT(known, size_t{kSensors} * 200);
  MemoryCharge others(&budget);
  others.Set(budget.free_bytes());
  auto producer = engine_->NewProducer();
  ASSERT_TRUE(producer.ok());
  const auto ticket = (*producer)->Submit(Row("a", Day(0), 1));
  EXPECT_TRUE(ticket.ok()) << ticket.status().ToString();
  EXPECT_EQ(answers.Newest("s7"), (Rows{{Day(0), 7}}));
  EXPECT_LE(budget.used_bytes(), budget.limit_bytes());
  others.Set(0);
  ASSERT_TRUE((*producer)->Wait(*ticket).ok());
  rows_ = {{Day(0), 1}};
  ExpectThroughALife();
}

// And to whoever else charges: a backup, and what a replicator reads of a seal.
TEST_F(BucketIndexTest, WhatIsKnownGivesWayToBackupsAndReplication) {
  constexpr int kSensors = 300;
  RowBatch batch(schema_);
  for (int i = 0; i < kSensors; ++i) AddRow(&batch, "s" + std::to_string(i), Day(0), i);
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  MemoryBudget& budget = *Core()->budget();
  SmallAnswers answers(engine_.get(), schema_);
  const size_t before = budget.used_bytes();
  const auto ask_all = [&] {
    for (int i = 0; i < kSensors; ++i) {
      ASSERT_EQ(answers.Newest("s" + std::to_string(i)).size(), 1u);
    }
    ASSERT_GT(budget.used_bytes(), before + kSensors * 200);
  };
  MemoryCharge others(&budget);
  const auto leave = [&](size_t bytes) { others.Set(budget.limit_bytes() - before - bytes); };
  ask_all();
  leave(limits::kBackupMemoryBytes);
  const std::string target = directory() + "-backups";
  std::filesystem::remove_all(target);
  const auto backup = engine_->Backup(target);
  EXPECT_TRUE(backup.ok()) << backup.status().ToString();
  std::filesystem::remove_all(target);
  others.Set(0);
  ask_all();
  {
    const auto memory = std::make_shared<replicate::PushMemory>(&budget);
    leave(memory->share_bytes());
    replicate::PushCharge pages(memory, replicate::PushCharge::Kind::kPages);
    EXPECT_TRUE(pages.TrySet(memory->share_bytes()));
    EXPECT_LE(budget.used_bytes(), budget.limit_bytes());
  }
  EXPECT_EQ(answers.Newest("s9"), (Rows{{Day(0), 9}}));
}

class EndedWindowTest : public BucketIndexTest {
 protected:
  void SetUp() override {
    OpenWithTable(R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day' AND default_time_to_live = 86400;
)");
  }
};

// Windows of a day each, which end one behind the other.
TEST_F(EndedWindowTest, AnEndedWindowIsSeen) {
  for (int64_t day = 0; day < 5; ++day) {
    MustAppend("a", Day(day), static_cast<double>(day));
    rows_.emplace_back(Day(day), static_cast<double>(day));
    SealAll();
    if (rows_.size() > 1) rows_.erase(rows_.begin());
    Expect(rows_);
    clock_->AdvanceSeconds(86'400 / 2);
    Expect(rows_);
    clock_->AdvanceSeconds(86'400 / 2);
    const auto expired = engine_->Expire();
    ASSERT_TRUE(expired.ok()) << expired.status().ToString();
    rows_.clear();
    Expect(rows_);
    TickAll();
    Expect(rows_);
  }
  EXPECT_GE(engine_->GetMetrics().windows_dropped, 3u);
}

TEST_F(WindowMergeTest, MergedWindowsAreSeenBySmallQuestions) {
  LiveDays(10);
  SmallAnswers answers(engine_.get(), schema_);
  answers.Expect("a", written_);
  ASSERT_EQ(engine_->GetMetrics().window_merges, 0u);
  for (int i = 0; i < 10; ++i) {
    LiveDays(3);
    ASSERT_EQ(answers.Newest("a"), Rows{written_.back()});
    for (const auto& row : written_) ASSERT_EQ(answers.At("a", row.first), Rows{row});
  }
  ASSERT_GT(engine_->GetMetrics().window_merges, 0u);
  answers.Expect("a", written_);
}

// Whoever asks sees at least what was acknowledged before, while rows come, are spilled, sealed and
// deleted.
TEST_F(BucketIndexTest, QuestionsOfOtherThreadsSeeWhatWasAcknowledged) {
  constexpr int64_t kSteps = 250;
  constexpr int64_t kStepMs = 20'000'000;  // a few rows in each bucket
  std::atomic<int64_t> acknowledged{-1};
  std::atomic<bool> stop{false};
  const auto ask = [&](uint64_t seed) {
    SmallAnswers answers(engine_.get(), schema_);
    Rng rng(seed);
    while (!stop) {
      const int64_t promised = acknowledged;
      if (promised < 0) continue;
      const auto last = answers.LastEvent("a");
      ASSERT_TRUE(last && *last >= Day(0, promised * kStepMs)) << promised;
      const Rows newest = answers.Newest("a");
      ASSERT_EQ(newest.size(), 1u);
      ASSERT_GE(newest[0].first, Day(0, promised * kStepMs));
      const auto some = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(promised) + 1));
      const Rows row = answers.At("a", Day(0, some * kStepMs));
      if (some % 7 == 3) {  // every seventh is gone before the next one is told
        ASSERT_TRUE(row.empty()) << some;
        continue;
      }
      ASSERT_EQ(row, (Rows{{Day(0, some * kStepMs), static_cast<double>(some)}}));
    }
  };
  std::vector<std::thread> readers;
  for (uint64_t seed = 1; seed <= 2; ++seed) readers.emplace_back(ask, seed);
  Rng rng(7);
  for (int64_t i = 0; i < kSteps && !HasFailure(); ++i) {
    MustAppend("a", Day(0, i * kStepMs), static_cast<double>(i));
    if (i % 7 == 3) {
      RowBatch batch(schema_);
      AddRow(&batch, "a", Day(0, i * kStepMs), 0, RowKind::kDeleteRow);
      MustAppend("a", Day(0, (i + 1) * kStepMs), static_cast<double>(i + 1));
      ASSERT_TRUE(engine_->Append(batch).ok());
    }
    acknowledged = i % 7 == 3 ? i + 1 : i;
    if (rng.OneIn(3)) Rotate();
    if (rng.OneIn(5)) SealAll();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace cistern::testing
