// AlterTable to another width of buckets from a date on: which bucket each row is in, and what
// scans, deletes, seals and the inventory make of it.
#include <algorithm>
#include <climits>
#include <filesystem>
#include <map>

#include "engine/bucketing/bucket_value.h"
#include "engine/ingest/write_unit.h"
#include "engine/producer_impl.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

// Days are counted from 2027-01-15; February begins on day 17, March on day 45, both a Monday.
std::string Pumps(const std::string& widths, const std::string& type = "date") {
  return "CREATE TABLE plant.pumps (sensor text, day " + type +
         ", ts timestamp, flow double, state text, PRIMARY KEY ((sensor, day), ts))"
         " WITH comment = 'cistern: bucket day = " + widths + "';";
}
constexpr int64_t Day(int64_t day, int64_t ms = 0) {
  return kStartMs + day * kDayMs + ms;
}

class AlterWidthTest : public EngineFixture {
 protected:
  AlterWidthTest() {
    options_.event_future_s_max = 100 * 86'400;
    options_.seal_when_due = false;
  }
  void Alter(const std::string& widths, const std::string& type = "date") {
    const Status s = engine_->AlterTable(Pumps(widths, type));
    ASSERT_TRUE(s.ok()) << s.ToString();
    schema_ = *engine_->FindTable("pumps");
  }
  std::string WhyNot(const std::string& widths) {
    const std::string before = (*engine_->FindTable("pumps"))->ToCql();
    const Status s = engine_->AlterTable(Pumps(widths));
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << s.ToString();
    EXPECT_EQ((*engine_->FindTable("pumps"))->ToCql(), before);
    return s.message();
  }
  // The widths that a refusal proposes.
  static std::string Advice(const std::string& why) {
    const std::string begin = "'bucket day = ";
    const size_t at = why.find(": " + begin);
    if (why.find("The first date") == std::string::npos || at == std::string::npos) return why;
    const size_t from = at + 2 + begin.size();
    return why.substr(from, why.find('\'', from) - from);
  }
  // Row versions by bucket.
  std::map<std::string, uint64_t> Buckets() {
    std::map<std::string, uint64_t> out;
    const Status s = engine_->ListBuckets([&](const BucketInfo& info) {
      out[info.bucket] += info.versions;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return out;
  }
  // Instead of the table by days.
  void StartWith(const std::string& widths, const std::string& type = "date") {
    engine_.reset();
    directory_ = std::string(temp_.path()) + "/other-" + std::to_string(++others_);
    OpenWithTable(Pumps(widths, type).c_str());
  }
  std::unique_ptr<Cursor> Follow(const ScanRequest& request) {
    auto cursor = engine_->Follow(request, 0);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    return cursor.ok() ? *std::move(cursor) : nullptr;
  }
  // What it gives until nothing comes, which it must come to.
  static Rows Take(Cursor* cursor) {
    Rows rows;
    ResultBatch batch;
    int calls = 0;
    while (cursor->Next(&batch) && ++calls < 100) AddRows(batch, &rows);
    EXPECT_LT(calls, 100) << "the same rows again and again";
    EXPECT_TRUE(cursor->status().ok()) << cursor->status().ToString();
    return rows;
  }
  Rows Backwards(int64_t from, int64_t to) {
    Rows rows = Scan("a", to, from);
    return {rows.rbegin(), rows.rend()};
  }
  // The same in every layer that rows come through.
  void ExpectEverywhere(const Rows& rows, const std::map<std::string, uint64_t>& buckets) {
    const auto expect = [&](const char* where) {
      EXPECT_EQ(Scan("a", Day(0), Day(90)), rows) << where;
      EXPECT_EQ(Backwards(Day(0), Day(90)), rows) << where;
      EXPECT_EQ(Buckets(), buckets) << where;
      ExpectSound();
    };
    expect("as written");
    Crash();
    expect("after a crash");
    Rotate();
    expect("rotated");
    SealAll();
    expect("sealed");
    Reopen();
    expect("reopened");
  }

  int others_ = 0;  // stores beside the first one
};

TEST_F(AlterWidthTest, RowsGoByTheWidthOfTheirTime) {
  MustAppend("a", Day(1), 1);
  Alter("1 day until 2027-02-01, 1 month");
  MustAppend("a", Day(16, kDayMs - 1), 16);  // before the date: a day still, though it came later
  MustAppend("a", Day(17), 17);
  MustAppend("a", Day(44), 44);
  ExpectEverywhere({{Day(1), 1}, {Day(16, kDayMs - 1), 16}, {Day(17), 17}, {Day(44), 44}},
                   {{"2027-01-16", 1}, {"2027-01-31", 1}, {"2027-02-01", 2}});
  Alter("1 day until 2027-02-01, 1 month until 2027-03-01, 1 week");
  MustAppend("a", Day(2), 2);  // late
  MustAppend("a", Day(18), 18);
  MustAppend("a", Day(46), 46);
  MustAppend("a", Day(53), 53);
  ExpectEverywhere({{Day(1), 1}, {Day(2), 2}, {Day(16, kDayMs - 1), 16}, {Day(17), 17},
                    {Day(18), 18}, {Day(44), 44}, {Day(46), 46}, {Day(53), 53}},
                   {{"2027-01-16", 1}, {"2027-01-17", 1}, {"2027-01-31", 1}, {"2027-02-01", 3},
                    {"2027-03-01", 1}, {"2027-03-08", 1}});
}

TEST_F(AlterWidthTest, PagesAndDeletesCrossTheDate) {
  for (int64_t day = 10; day < 17; ++day) MustAppend("a", Day(day), static_cast<double>(day));
  Alter("1 day until 2027-02-01, 1 week");
  for (int64_t day = 17; day < 30; ++day) MustAppend("a", Day(day), static_cast<double>(day));
  for (const bool sealed : {false, true}) {
    if (sealed) SealAll();
    ScanRequest request = Request("a", Day(0), Day(90));
    request.limit = 3;
    Rows seen;
    for (int page = 0; page < 7; ++page) {
      auto cursor = engine_->Scan(request);
      ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
      Drain(cursor->get(), &seen);
      request.token = (*cursor)->Token();
      request.limit += 3;  // counts all rows of the scan
    }
    ASSERT_EQ(seen.size(), 20u);
    EXPECT_EQ(seen, Scan("a", Day(0), Day(90)));
  }
  ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), {Day(15), Day(19)}).ok());
  EXPECT_EQ(Scan("a", Day(14), Day(20)), (Rows{{Day(14), 14}, {Day(19), 19}}));
  ASSERT_TRUE(engine_->DeleteBucket("pumps", Entity("a"), Day(25)).ok());  // a week
  ASSERT_TRUE(engine_->DeleteBucket("pumps", Entity("a"), Day(12)).ok());  // a day
  EXPECT_EQ(Scan("a", Day(11), Day(90)),
            (Rows{{Day(11), 11}, {Day(13), 13}, {Day(14), 14}, {Day(19), 19}, {Day(20), 20},
                  {Day(21), 21}, {Day(22), 22}, {Day(23), 23}}));
  ExpectSound();
}

TEST_F(AlterWidthTest, NoBucketMayBeThereYetFromTheDateOn) {
  MustAppend("b", Day(1), 1);
  MustAppend("a", Day(27), 1);  // of the future
  MustAppend("b", Day(2), 1);
  for (const bool sealed : {false, true}) {
    if (sealed) SealAll();
    const std::string why = WhyNot("1 day until 2027-02-01, 1 month");
    EXPECT_NE(why.find("from 2027-02-01 on"), std::string::npos) << why;
    EXPECT_NE(why.find("the last bucket is '2027-02-11' of entity 'a' in table plant.pumps"),
              std::string::npos) << why;
    // A bucket of both widths begins there.
    EXPECT_NE(why.find("The first date for the change is 2027-03-01"), std::string::npos) << why;
    EXPECT_EQ(Advice(why), "1 day until 2027-03-01, 1 month");
  }
  EXPECT_EQ(Advice(WhyNot("1 day until 2027-02-01, 1 week")), "1 day until 2027-02-15, 1 week");
  EXPECT_EQ(Advice(WhyNot("1 day until 2027-02-01, 1 month until 2028-01-01, 1 year")),
            "1 day until 2027-03-01, 1 month until 2028-01-01, 1 year");
  Alter(Advice(WhyNot("1 day until 2027-02-01, 1 month")));
  MustAppend("a", Day(28), 2);
  EXPECT_EQ(Buckets(), (std::map<std::string, uint64_t>{
                           {"2027-01-16", 1}, {"2027-01-17", 1}, {"2027-02-11", 1},
                           {"2027-02-12", 1}}));
}

// Between the look at the buckets and the change.
TEST_F(AlterWidthTest, RowsThatComeMeanwhileAreSeen) {
  MustAppend("a", Day(1), 1);
  auto producer = engine_->NewProducer();
  for (const bool again : {false, true}) {  // the bucket is there then
    const auto ticket = (*producer)->Submit(Row("a", Day(27) + again, 27));
    const std::string why = WhyNot("1 day until 2027-02-01, 1 month");
    EXPECT_NE(why.find("the last bucket is '2027-02-11'"), std::string::npos) << why;
    EXPECT_EQ(Advice(why), "1 day until 2027-03-01, 1 month");
    EXPECT_TRUE((*producer)->Wait(*ticket).ok());
  }
  const auto ticket = (*producer)->Submit(Row("a", Day(44), 44));  // the last day of February
  Alter("1 day until 2027-03-01, 1 month");
  EXPECT_TRUE((*producer)->Wait(*ticket).ok());
  producer->reset();
  ExpectEverywhere({{Day(1), 1}, {Day(27), 27}, {Day(27) + 1, 27}, {Day(44), 44}},
                   {{"2027-01-16", 1}, {"2027-02-11", 2}, {"2027-02-28", 1}});
}

// Another table's, and another entity's in between, are not this table's.
TEST_F(AlterWidthTest, BucketsOfOtherTablesAreNoObstacle) {
  ASSERT_TRUE(engine_->CreateTable("CREATE TABLE plant.tanks (sensor text, day date, ts timestamp,"
                                   " flow double, state text, PRIMARY KEY ((sensor, day), ts))"
                                   " WITH comment = 'cistern: bucket day = 1 day';").ok());
  MustAppend("a", Day(1), 1);
  schema_ = *engine_->FindTable("tanks");
  MustAppend("a", Day(40), 1);
  const auto producer = engine_->NewProducer();
  ASSERT_TRUE((*producer)->Submit(Row("b", Day(41), 1)).ok());
  Alter("1 day until 2027-02-01, 1 month");
  EXPECT_EQ(Buckets(), (std::map<std::string, uint64_t>{
                           {"2027-01-16", 1}, {"2027-02-24", 1}, {"2027-02-25", 1}}));
}

TEST_F(AlterWidthTest, WidthsThatHeldStay) {
  MustAppend("a", Day(1), 1);
  Alter("1 day until 2027-02-01, 1 month");
  MustAppend("a", Day(20), 2);
  const std::pair<const char*, const char*> kWidths[] = {
      {"1 week", "1 day until 2027-02-01, 1 month until 2027-03-01, 1 week"},
      {"1 day", "1 day until 2027-02-01, 1 month until 2027-03-01, 1 day"},
      {"1 day until 2027-03-01, 1 month", nullptr},  // after February it is what there is
      {"1 month", nullptr},
      {"1 week until 2027-02-01, 1 month", nullptr},
      {"1 week until 2027-02-01, 1 day",
       "1 day until 2027-02-01, 1 month until 2027-03-01, 1 day"},
      {"1 day until 2027-02-01, 1 week until 2027-03-01, 1 month", nullptr},
      {"1 day until 2028-01-01, 1 year",
       "1 day until 2027-02-01, 1 month until 2027-03-01, 1 day until 2028-01-01, 1 year"},
      {"1 week until 2027-01-04, 1 day until 2027-02-01, 1 month until 2029-01-01, 1 year",
       "1 day until 2027-02-01, 1 month until 2029-01-01, 1 year"},
  };
  for (const auto& [widths, advice] : kWidths) {
    const std::string why = WhyNot(widths);
    EXPECT_NE(why.find("stay"), std::string::npos) << widths << ": " << why;
    if (advice != nullptr) {
      EXPECT_EQ(Advice(why), advice) << widths << ": " << why;
    } else {
      EXPECT_NE(why.find("There is no date for the change: the rule is 'bucket day = 1 day until "
                         "2027-02-01, 1 month'"), std::string::npos) << widths << ": " << why;
    }
  }
  // What the advice says is taken.
  Alter(Advice(WhyNot("1 week")));
  ExpectEverywhere({{Day(1), 1}, {Day(20), 2}}, {{"2027-01-16", 1}, {"2027-02-01", 1}});
}

TEST_F(AlterWidthTest, WithoutBucketsTheFirstWidthStaysToo) {
  EXPECT_EQ(Advice(WhyNot("1 month")), "1 day until 2027-02-01, 1 month");  // it is January
  EXPECT_EQ(Advice(WhyNot("1 week until 2027-03-01, 1 month")),
            "1 day until 2027-01-18, 1 week until 2027-03-01, 1 month");
  Alter(Advice(WhyNot("1 month")));
}

TEST_F(AlterWidthTest, AWidthToComeCanBeWithdrawnAndItsDateCorrected) {
  MustAppend("a", Day(1), 1);
  Alter("1 day until 2027-02-01, 1 month");
  MustAppend("a", Day(16), 16);
  Alter("1 day until 2027-03-01, 1 month");  // later
  MustAppend("a", Day(20), 20);
  ExpectEverywhere({{Day(1), 1}, {Day(16), 16}, {Day(20), 20}},
                   {{"2027-01-16", 1}, {"2027-01-31", 1}, {"2027-02-04", 1}});
  Alter("1 day until 2027-02-15, 1 week");  // earlier, and another one
  Alter("1 day");
  MustAppend("a", Day(35), 35);
  MustAppend("a", Day(50), 50);
  const Rows rows = {{Day(1), 1}, {Day(16), 16}, {Day(20), 20}, {Day(35), 35}, {Day(50), 50}};
  ExpectEverywhere(rows, {{"2027-01-16", 1}, {"2027-01-31", 1}, {"2027-02-04", 1},
                          {"2027-02-19", 1}, {"2027-03-06", 1}});
  // With buckets on both sides of the date it stays.
  Alter("1 day until 2027-04-01, 1 month");
  MustAppend("a", Day(80), 80);
  EXPECT_EQ(Advice(WhyNot("1 day")), "1 day until 2027-04-01, 1 month until 2027-05-01, 1 day");
}

TEST_F(AlterWidthTest, TombstonesAloneAreBuckets) {
  Alter("1 day until 2027-02-01, 1 month");
  ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), {Day(14), Day(18)}).ok());
  for (const bool sealed : {false, true}) {
    if (sealed) SealAll();
    const std::string why = WhyNot("1 day");
    EXPECT_NE(why.find("the last bucket is '2027-02-01' of entity 'a'"), std::string::npos) << why;
    EXPECT_EQ(Advice(why), "1 day until 2027-02-01, 1 month until 2027-03-01, 1 day");
  }
}

TEST_F(AlterWidthTest, TokensLeadOnAcrossAWithdrawal) {
  Alter("1 day until 2027-03-01, 1 month");
  for (int64_t day = 10; day < 30; ++day) MustAppend("a", Day(day), static_cast<double>(day));
  Rows seen[2];
  std::string tokens[2];
  const auto read_on = [&](bool down, uint64_t limit) {
    ScanRequest request = Request("a", Day(down ? 90 : 0), Day(down ? 0 : 90));
    request.limit = limit;
    request.token = tokens[down];
    const auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    Drain(cursor->get(), &seen[down]);
    tokens[down] = (*cursor)->Token();
  };
  for (const bool down : {false, true}) read_on(down, 12);
  Alter("1 day until 2027-02-15, 1 week");  // day 31
  MustAppend("a", Day(33), 33);
  for (const bool down : {false, true}) read_on(down, 100);
  EXPECT_EQ(seen[0], Scan("a", Day(0), Day(90)));
  EXPECT_EQ(seen[1], Scan("a", Day(30), Day(0)));
}

TEST_F(AlterWidthTest, BatchesForTheWidthBeforeAreRefused) {
  const RowBatch before = Row("a", Day(60), 1);
  Alter("1 day until 2027-02-01, 1 month");
  EXPECT_FALSE(engine_->Append(before).ok());
  EXPECT_TRUE(Buckets().empty());
}

// A delete of the bucket that starts on the day, worked out for the table as it was given.
Status DeleteWorkedOutFor(Engine* engine, TablePtr table, const EntityKey& entity, int64_t day) {
  WriteUnit unit;
  unit.table = std::move(table);
  unit.delete_entity = entity.bytes;
  unit.deletes.push_back({Day(day) / 1000, 0, RangeDelete{}});
  const auto producer = engine->NewProducer();
  EXPECT_TRUE(producer.ok());
  const auto core = EngineImpl::Of(engine)->core();
  EXPECT_TRUE(core.ok());
  bool was_refused = false;
  return static_cast<ProducerImpl&>(**producer)
      .PushAndCommit(core->get(), &unit, &was_refused)
      .status();
}

// It waited in the queue while the table was altered.
TEST_F(AlterWidthTest, DeletesForTheWidthBeforeAreRefused) {
  StartWith("1 day", "text");
  MustAppend("a", Day(1), 1);
  const TablePtr days = *Core()->tables().Find("pumps");
  std::string cql = Pumps("1 day", "text");
  cql.replace(cql.find("state text"), 10, "state text, rpm int");
  ASSERT_TRUE(engine_->AlterTable(cql).ok());
  EXPECT_TRUE(DeleteWorkedOutFor(engine_.get(), days, Entity("a"), 1).ok());  // a column is nothing
  EXPECT_TRUE(ScanAll("a").empty());
  cql.replace(cql.find("1 day"), 5, "1 day until 2027-02-01, 1 month");
  ASSERT_TRUE(engine_->AlterTable(cql).ok());
  for (const int64_t day : {20, 1}) {
    const Status s = DeleteWorkedOutFor(engine_.get(), days, Entity("a"), day);
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << s.ToString();
    EXPECT_NE(s.message().find("table plant.pumps was altered before the delete was written"),
              std::string::npos) << s.ToString();
  }
  ASSERT_TRUE(engine_->DeleteBucket("pumps", Entity("a"), Day(20)).ok());
  EXPECT_EQ(Buckets(), (std::map<std::string, uint64_t>{{"2027-01-16", 2}, {"2027-02", 1}}));
  ExpectSound();
}

TEST_F(AlterWidthTest, VerifyNamesABucketThatTheTableDoesNotHave) {
  Alter("1 day until 2027-02-01, 1 month");
  const TablePtr table = *Core()->tables().Find("pumps");
  for (const int64_t day : {16, 17}) {
    ASSERT_TRUE(DeleteWorkedOutFor(engine_.get(), table, Entity("a"), day).ok());
  }
  ExpectSound();
  ASSERT_TRUE(DeleteWorkedOutFor(engine_.get(), table, Entity("a"), 20).ok());
  const auto expect = [&](const std::string& where) {
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    ASSERT_EQ(report->problems.size(), 1u) << where;
    EXPECT_NE(report->problems[0].find(where), std::string::npos) << report->problems[0];
  };
  const std::string what =
      " of plant.pumps a at 2027-02-04T00:00:00Z: no bucket of the table starts there";
  expect(what);
  Rotate();
  expect(what);
  SealAll();
  expect(what);
}

struct Change {
  const char* before;
  const char* after;
};
constexpr Change kChanges[] = {
    {"1 day", "1 day until 2027-02-01, 1 month"},
    {"1 month", "1 month until 2027-02-01, 1 day"},
    {"1 day", "1 day until 2027-02-01, 1 week"},
    {"1 week", "1 week until 2027-02-01, 1 month"},
};

// A follower that shows the declaration of before finds rows where the last one puts them.
TEST_F(AlterWidthTest, AFollowerGivesEachRowOnceAcrossTheDate) {
  for (const Change& change : kChanges) {
    for (const int64_t to : {Day(90), Day(23), INT64_MAX}) {
      SCOPED_TRACE(std::string(change.after) + ", up to " + std::to_string(to));
      StartWith(change.before);
      const auto early = Follow(Request("a", Day(0), to));
      const auto within = Follow(Request("a", Day(18), to));  // begins inside of a bucket
      MustAppend("a", Day(16), 16);
      EXPECT_EQ(Take(early.get()), (Rows{{Day(16), 16}}));
      Alter(change.after);
      for (int64_t day = 17; day < 52; ++day) {
        const Rows row = {{Day(day), static_cast<double>(day)}};
        MustAppend("a", Day(day), static_cast<double>(day));
        if (day == 20) Rotate();
        if (day == 22) SealAll();
        EXPECT_EQ(Take(early.get()), Day(day) < to ? row : Rows()) << day;
        EXPECT_EQ(Take(within.get()), day >= 18 && Day(day) < to ? row : Rows()) << day;
        MustAppend("a", Day(16), 99);  // behind both
        EXPECT_TRUE(Take(early.get()).empty()) << day;
      }
    }
  }
}

// One that was given nothing yet, and one that has its token, after everything came at once.
TEST_F(AlterWidthTest, AFollowerCatchesUpAcrossTheDate) {
  for (const Change& change : kChanges) {
    SCOPED_TRACE(change.after);
    StartWith(change.before);
    ScanRequest request = Request("a", Day(0), INT64_MAX);
    request.batch_rows_max = 7;  // batches end inside of buckets
    const auto fresh = Follow(request);
    const auto begun = Follow(request);
    MustAppend("a", Day(16), 16);
    EXPECT_EQ(Take(begun.get()).size(), 1u);
    Alter(change.after);
    Rows rows = {{Day(16), 16}};
    for (int64_t day = 17; day < 52; ++day) rows.emplace_back(Day(day), day);
    for (size_t i = rows.size(); i-- > 1;) MustAppend("a", rows[i].first, rows[i].second);
    EXPECT_EQ(Take(fresh.get()), rows);
    EXPECT_EQ(Take(begun.get()), Rows(rows.begin() + 1, rows.end()));
    request.token = begun->Token();
    MustAppend("a", Day(52), 52);
    EXPECT_EQ(Take(Follow(request).get()), (Rows{{Day(52), 52}}));
  }
}

// Tokens of before an alteration, in both directions: those of rows that were there, and those
// of a cursor of before that was given rows of the new width.
TEST_F(AlterWidthTest, TokensLeadOnAcrossTheDate) {
  for (const Change& change : kChanges) {
    for (const bool down : {false, true}) {
      SCOPED_TRACE(std::string(change.after) + (down ? ", backwards" : ""));
      StartWith(change.before);
      for (int64_t day = 10; day < 17; ++day) MustAppend("a", Day(day), static_cast<double>(day));
      ScanRequest request = Request("a", down ? Day(90) : Day(0), down ? Day(0) : Day(90));
      request.limit = 3;
      request.batch_rows_max = 1;
      auto cursor = *engine_->Scan(request);
      Rows seen;
      ResultBatch batch;
      ASSERT_TRUE(cursor->Next(&batch));
      AddRows(batch, &seen);
      const std::string token = cursor->Token();
      Alter(change.after);
      for (int64_t day = 17; day < 52; ++day) MustAppend("a", Day(day), static_cast<double>(day));
      Drain(cursor.get(), &seen);
      request.token = cursor->Token();
      request.limit = 100;
      Drain(engine_->Scan(request)->get(), &seen);
      Rows expected;
      for (int64_t day = 10; day < (down ? 17 : 52); ++day) expected.emplace_back(Day(day), day);
      if (down) std::reverse(expected.begin(), expected.end());
      EXPECT_EQ(seen, expected);
      request.token = token;
      Rows again;
      Drain(engine_->Scan(request)->get(), &again);
      EXPECT_EQ(again, Rows(expected.begin() + 1, expected.end()));
    }
  }
}

// Shown by the declaration of before, which would write the day.
TEST_F(AlterWidthTest, ACursorOfBeforeNamesTheBucketThatTheRowIsIn) {
  StartWith("1 day", "text");
  MustAppend("a", Day(16), 16);
  ScanRequest request = Request("a", Day(0), INT64_MAX);
  request.columns = {"ts", "day"};
  request.limit = 5;
  request.batch_rows_max = 1;
  const auto scan = *engine_->Scan(request);
  request.limit = 0;
  const auto follower = Follow(request);
  ResultBatch batch;
  for (Cursor* cursor : {scan.get(), follower.get()}) {
    ASSERT_TRUE(cursor->Next(&batch));
    EXPECT_EQ(batch.columns[1].bytes(0), "2027-01-31");
  }
  Alter("1 day until 2027-02-01, 1 month", "text");
  MustAppend("a", Day(18), 18);
  for (Cursor* cursor : {scan.get(), follower.get()}) {
    ASSERT_TRUE(cursor->Next(&batch));
    EXPECT_EQ(batch.columns[1].bytes(0), "2027-02");
  }
}

}  // namespace
}  // namespace cistern::testing
