#include "tools/ingest_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/fake_clock.h"

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// An engine that refuses the event times it is told to, and the whole batch with them.
class IngestRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name = "ingest_run_test." + std::to_string(getpid());
    directory_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(directory_);
    auto schema = ParseCreateTable("CREATE TABLE t (e text, day date, ts timestamp, v int, "
                                   "PRIMARY KEY ((e, day), ts))");
    ASSERT_TRUE(schema.ok());
    schema_ = *schema;
    settings_.batch_rows_max = 8;
    mapping_.time.number_unit = TimeUnit::kMillis;
    mapping_.time_unit_given = true;
    settings_.append = [this](const RowBatch& batch) { return Append(batch); };
    settings_.complain = [this](const std::string& line) { complaints_.push_back(line); };
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Status Append(const RowBatch& batch) {
    ++appends_;
    if (!failure_.ok()) return failure_;
    for (size_t row = 0; row < batch.row_count(); ++row) {
      if (refused_.contains(batch.fixed(row, 2))) return Status::OutOfRange("the year 2106");
    }
    for (size_t row = 0; row < batch.row_count(); ++row) times_.push_back(batch.fixed(row, 2));
    return Status::Ok();
  }

  Status Read(const std::string& text) {
    Progress progress(false);
    IngestRun run(schema_, settings_, &progress);
    auto mapper = RowMapper::Make(schema_, mapping_, std::nullopt);
    EXPECT_TRUE(mapper.ok());
    EXPECT_TRUE(mapper->BindHeader({"e", "ts", "v"}).ok());
    const auto input = Input::FromText(text);
    const auto reader = NewCsvReader(input.get(), {});
    RejectFile rejects(directory_ / "rejects", "e,ts,v\n");
    const Status s = run.Read("in.csv", input.get(), reader.get(), &*mapper, &rejects);
    totals_ = run.totals();
    kept_ = rejects.kept();
    return s;
  }
  std::string Rejects() const {
    std::ifstream file(directory_ / "rejects", std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::filesystem::path directory_;
  std::shared_ptr<const TableSchema> schema_;
  IngestSettings settings_;
  MappingOptions mapping_;
  std::set<int64_t> refused_;
  Status failure_;
  std::vector<int64_t> times_;
  std::vector<std::string> complaints_;
  IngestTotals totals_;
  uint64_t kept_ = 0;
  int appends_ = 0;
};

TEST_F(IngestRunTest, BadLinesGoToTheRejectFileWordForWord) {
  const Status s = Read("a,1,1\r\nb,2,x\r\nc,3,3\nd,4\n\xff,5,5\ne,6,6\n");
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_THAT(times_, ElementsAre(1, 3, 6));
  EXPECT_EQ(totals_.rows, 3u);
  EXPECT_EQ(totals_.rejected, 3u);
  EXPECT_EQ(Rejects(), "e,ts,v\nb,2,x\r\nd,4\n\xff,5,5\n");
  ASSERT_THAT(complaints_, SizeIs(3));
  EXPECT_EQ(complaints_[0], "in.csv:2: column 'v': 'x' is not an integer, as int needs");
  EXPECT_THAT(complaints_[1], HasSubstr("in.csv:4: 2 cells"));
  EXPECT_THAT(complaints_[2], HasSubstr("in.csv:5: not UTF-8"));
}

TEST_F(IngestRunTest, ALineWhoseRestNeverComesIsKept) {
  const std::string longest(kLineBytesMax, 'x');  // the input may go on, as far as that tells
  const Status s = Read("a,1,1\n" + longest);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(totals_.rejected, 1u);
  EXPECT_EQ(kept_, 1u);
  EXPECT_EQ(Rejects(), "e,ts,v\n" + longest);
}

TEST_F(IngestRunTest, AFirstTimeThatLooksLikeAnotherUnitStoresNothing) {
  mapping_.time.number_unit.reset();
  mapping_.time_unit_given = false;
  const Status s = Read("a,1772524800,1\na,1772524801,2\n");
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(s.message(),
            "in.csv:1: event time 1772524800 looks like seconds, 2026-03-03T08:00:00Z, and would "
            "be taken for milliseconds, 1970-01-21T12:22:04.800Z; say --time-unit s, or "
            "--time-unit ms if that is meant; nothing of in.csv is stored");
  EXPECT_THAT(times_, SizeIs(0));
  EXPECT_EQ(appends_, 0);
  EXPECT_FALSE(Read("a,1772524800123456,1\n").ok()) << "microseconds";
  EXPECT_FALSE(Read("a,1772524800.5,x\n").ok()) << "though the line cannot be stored";
  EXPECT_FALSE(Read("bad\na,,1\na,1772524800,1\n").ok()) << "the first that has a time";
  EXPECT_FALSE(Read("a, 1772524800,1\n").ok()) << "a blank before it";
  EXPECT_FALSE(Read("a,+1772524800 ,1\n").ok()) << "a sign, and a blank behind it";
  EXPECT_FALSE(Read("a,1.772524800e9,1\n").ok()) << "an exponent that costs no digit";
  EXPECT_FALSE(Read("a,202603031200,1\n").ok()) << "a date";
  EXPECT_THAT(times_, SizeIs(0));
  EXPECT_TRUE(Read("a,1772524800123,1\na,1772524800,1\n").ok()) << "only the first is looked at";
  EXPECT_TRUE(Read("a,2026-03-03,1\na,1772524800,1\n").ok());
  mapping_.time_unit_given = true;
  mapping_.time.number_unit = TimeUnit::kMillis;
  EXPECT_TRUE(Read("a,1772524800,1\n").ok()) << "a person said so";
}

TEST_F(IngestRunTest, AnotherColumnOfTimesIsNotTakenInAWrongUnitEither) {
  schema_ = *ParseCreateTable("CREATE TABLE t (e text, day date, ts timestamp, v timestamp, "
                              "PRIMARY KEY ((e, day), ts))");
  mapping_.time.number_unit.reset();
  mapping_.time_unit_given = false;
  const Status s = Read("a,1772524800000,\nb,1772524800000,1772524800\n");
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(),
              HasSubstr("in.csv:2: column 'v': 1772524800 looks like seconds, "
                        "2026-03-03T08:00:00Z, and would be taken for milliseconds, "
                        "1970-01-21T12:22:04.800Z; say --time-unit s, or --time-unit ms"));
  EXPECT_THAT(times_, SizeIs(1));
  EXPECT_TRUE(Read("a,1,1772524800000\nb,2,1772524800\n").ok()) << "only the first is looked at";
  EXPECT_TRUE(Read("a,1,2026-03-03\nb,2,5\n").ok());
  EXPECT_FALSE(Read("a,1,0\nb,2,1772524800\n").ok()) << "no time of this century came before";
  mapping_.time_unit_given = true;
  EXPECT_TRUE(Read("a,1,1772524800\n").ok()) << "a person said so";
}

TEST_F(IngestRunTest, RowsWithTheTimeOfTheirArrivalTellNoUnit) {
  mapping_.time.number_unit.reset();
  mapping_.time_unit_given = false;
  mapping_.arrival_clock = std::make_shared<FakeClock>();
  const Status s = Read("a,,1\nb,,2\na,1772524800,3\n");
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("in.csv:3: event time 1772524800 looks like seconds"));
  EXPECT_THAT(s.message(), HasSubstr("lines up to 2 of in.csv are stored"));
  EXPECT_THAT(times_, SizeIs(2));
}

TEST_F(IngestRunTest, AFirstTimeIn1970IsTold) {
  mapping_.time.number_unit.reset();
  mapping_.time_unit_given = false;
  ASSERT_TRUE(Read("bad\na,500000000,1\na,500000001,2\n").ok());
  ASSERT_THAT(complaints_, SizeIs(2));
  EXPECT_EQ(complaints_[1], "in.csv:2: event time 500000000 is taken for milliseconds, "
                            "1970-01-06T18:53:20.000Z; if it counts seconds, say --time-unit s");
  for (const char* sure : {"a,1700000000000,1\n", "a,1970-01-20,1\n", "a,-1,1\n"}) {
    complaints_.clear();
    ASSERT_TRUE(Read(sure).ok());
    EXPECT_THAT(complaints_, SizeIs(0)) << sure;
  }
  mapping_.time.base = Instant{1'700'000'000, 0};
  ASSERT_TRUE(Read("a,5,1\n").ok());
  EXPECT_THAT(complaints_, SizeIs(0));
}

TEST_F(IngestRunTest, RowsThatReplaceOthersAreCounted) {
  ASSERT_TRUE(Read("a,1,1\na,2,2\nb,1,3\na,1,4\na,1,5\na,2,\n").ok());
  EXPECT_EQ(totals_.rows, 6u);
  EXPECT_EQ(totals_.replaced, 2u) << "the last line says nothing that would replace a value";
  EXPECT_EQ(totals_.first_replaced, "in.csv:4");
  EXPECT_EQ(totals_.uncompared, 0u);
  settings_.duplicates = DuplicatePolicy::kAllow;
  ASSERT_TRUE(Read("a,1,1\na,1,2\n").ok());
  EXPECT_EQ(totals_.replaced, 0u);
}

TEST_F(IngestRunTest, RowsThatReplaceOthersAreRefusedIfAsked) {
  settings_.duplicates = DuplicatePolicy::kRefuse;
  settings_.batch_rows_max = 3;
  refused_ = {7};
  ASSERT_TRUE(Read("a,1,1\na,1,2\na,2,1\na,7,1\na,7,2\na,1,3\na,3,1\n").ok());
  EXPECT_THAT(times_, ElementsAre(1, 2, 3));
  EXPECT_EQ(Rejects(), "e,ts,v\na,1,2\na,7,2\na,1,3\na,7,1\n");
  EXPECT_EQ(complaints_[0], "in.csv:2: a value of an earlier line of this run would be replaced, "
                            "which has the same key; --duplicates allow takes the last one");
  EXPECT_EQ(totals_.rows, 3u);
  EXPECT_EQ(totals_.replaced, 0u);
}

TEST_F(IngestRunTest, ARowThatTheEngineRefusedIsReplacedByNone) {
  settings_.duplicates = DuplicatePolicy::kRefuse;
  settings_.batch_rows_max = 1;
  refused_ = {7};
  settings_.append = [this](const RowBatch& batch) {
    const Status s = Append(batch);
    refused_.clear();
    return s;
  };
  ASSERT_TRUE(Read("a,7,1\na,7,2\na,7,3\n").ok());
  EXPECT_THAT(times_, ElementsAre(7));
  EXPECT_EQ(Rejects(), "e,ts,v\na,7,1\na,7,3\n");
}

TEST_F(IngestRunTest, TheRejectLimitEndsARunThatRefusesDuplicatesToo) {
  settings_.duplicates = DuplicatePolicy::kRefuse;
  settings_.rejected_max = 0;
  const Status s = Read("a,1,1\na,1,2\na,2,1\n");
  EXPECT_THAT(s.message(), HasSubstr("more than 0 lines were rejected"));
  EXPECT_THAT(times_, ElementsAre(1, 2));
}

// Two rows and a half come in a second, without a pause.
class SlowClock : public FakeClock {
 public:
  int64_t MonotonicMicros() override {
    AdvanceMicros(400'000);
    return FakeClock::MonotonicMicros();
  }
};

TEST_F(IngestRunTest, ASlowStreamIsStoredEverySecond) {
  const std::string rows = "a,1,1\na,2,2\na,3,3\na,4,4\na,5,5\na,6,6\n";
  ASSERT_TRUE(Read(rows).ok());
  EXPECT_EQ(appends_, 1);
  settings_.clock = std::make_shared<SlowClock>();
  ASSERT_TRUE(Read(rows).ok());
  EXPECT_EQ(appends_, 3) << "of four rows and of two";
}

TEST_F(IngestRunTest, NoRejectFileWithoutRejects) {
  ASSERT_TRUE(Read("a,1,1\n").ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "rejects"));
}

TEST_F(IngestRunTest, RowsThatTheEngineRefusesAreFoundInTheirBatch) {
  refused_ = {3, 12, 16};
  std::string text;
  for (int i = 1; i <= 20; ++i) text += "a," + std::to_string(i) + ",0\n";
  ASSERT_TRUE(Read(text).ok());
  EXPECT_EQ(totals_.rows, 17u);
  EXPECT_EQ(Rejects(), "e,ts,v\na,3,0\na,12,0\na,16,0\n");
  EXPECT_EQ(complaints_[1], "in.csv:12: the year 2106");
  EXPECT_THAT(times_, ElementsAre(1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 17, 18, 19, 20));
}

TEST_F(IngestRunTest, StorageFailureStopsAndSaysHowFar) {
  settings_.append = [this](const RowBatch& batch) {
    return ++appends_ == 2 ? Status::NoSpace("the disk is full")
                           : (times_.resize(times_.size() + batch.row_count()), Status::Ok());
  };
  std::string text;
  for (int i = 1; i <= 100; ++i) text += "a," + std::to_string(i) + ",0\n";
  const Status s = Read(text);
  EXPECT_EQ(s.code(), StatusCode::kNoSpace);
  EXPECT_EQ(s.message(), "the disk is full; lines up to 8 of in.csv are stored");
  EXPECT_EQ(totals_.rows, 8u);
  EXPECT_EQ(Rejects(), "");
}

TEST_F(IngestRunTest, RejectLimitStopsAfterTheGoodRowsBeforeIt) {
  settings_.rejected_max = 1;
  const Status s = Read("a,1,1\nb\na,2,1\nc\na,3,1\n");
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("more than 1 line was rejected"));
  EXPECT_THAT(times_, ElementsAre(1, 2));
}

TEST_F(IngestRunTest, OnlySoManyReasonsAreShown) {
  settings_.reasons_shown_max = 2;
  ASSERT_TRUE(Read("a\nb\nc\nd\n").ok());
  EXPECT_EQ(totals_.rejected, 4u);
  EXPECT_THAT(complaints_, SizeIs(3));
  EXPECT_EQ(Rejects(), "e,ts,v\na\nb\nc\nd\n");
}

TEST_F(IngestRunTest, TooLongLineIsOneRejectAndKeptWhole) {
  const std::string longest(300'000, 'x');
  ASSERT_TRUE(Read("a,1,1\n" + longest + "\na,2,1\n").ok());
  EXPECT_EQ(totals_.rejected, 1u);
  EXPECT_EQ(Rejects(), "e,ts,v\n" + longest + "\n");
  EXPECT_THAT(times_, ElementsAre(1, 2));
}

TEST_F(IngestRunTest, RejectFileIsNeverTruncated) {
  std::ofstream(directory_ / "rejects") << "e,ts,v\nearlier\n";
  ASSERT_TRUE(Read("bad\n").ok());
  EXPECT_EQ(Rejects(), "e,ts,v\nearlier\nbad\n");
}

TEST_F(IngestRunTest, NoMoreLinesAreKeptThanTheRejectFileTakes) {
  std::filesystem::create_symlink("/dev/full", directory_ / "rejects");
  const Status s = Read("a,1,1\nbad\nworse\na,2,2\n");
  EXPECT_EQ(s.code(), StatusCode::kNoSpace);
  EXPECT_THAT(s.message(), HasSubstr("No space left on device; name another file with --reject"));
  EXPECT_EQ(totals_.rejected, 2u);
  EXPECT_EQ(kept_, 0u);
  EXPECT_THAT(times_, ElementsAre(1, 2));
}

TEST_F(IngestRunTest, AFirstRecordThatIsTheNamedHeaderIsNoRow) {
  settings_.header_names = {"e", "ts", "v"};
  ASSERT_TRUE(Read("e,ts,v\na,1,1\ne,ts,v\n").ok());
  EXPECT_THAT(times_, ElementsAre(1));
  EXPECT_EQ(totals_.rejected, 1u) << "the second one is a row like others";
}

TEST_F(IngestRunTest, ANamedHeaderMayEndWithADelimiter) {
  settings_.header_names = {"e", "ts", "v"};
  ASSERT_TRUE(Read("e,ts,v,\na,1,1\n").ok());
  EXPECT_THAT(times_, ElementsAre(1));
  EXPECT_EQ(totals_.rejected, 0u);
  ASSERT_TRUE(Read("e,ts,v,x\n").ok());
  EXPECT_EQ(totals_.rejected, 1u) << "that is another line";
}

}  // namespace
}  // namespace cistern::tool
