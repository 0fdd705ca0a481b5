// When rows were written, told by few pages.
#include "storage/journal_times.h"

#include <cstdlib>
#include <limits>

#include "storage/segment_walker.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kHourUs = 3600 * kSecondUs;

TEST(JournalTimes, WhatLiesBetweenCloseTimesIsKnown) {
  JournalTimes times;
  const int64_t now_us = 100 * kHourUs;
  EXPECT_FALSE(times.Find(10, 10, now_us).has_value());
  times.Note(10, 20, {50 * kHourUs, 51 * kHourUs});
  EXPECT_EQ(times.Find(10, 20, now_us), (WriteTimes{50 * kHourUs, 51 * kHourUs}));
  EXPECT_EQ(times.Find(12, 15, now_us), (WriteTimes{50 * kHourUs, 51 * kHourUs}))
      << "an hour of fifty";
  EXPECT_FALSE(times.Find(12, 15, 52 * kHourUs).has_value()) << "an hour of one";
  EXPECT_FALSE(times.Find(9, 15, now_us).has_value());
  EXPECT_FALSE(times.Find(12, 21, now_us).has_value());
  times.Note(1000, 1000, {90 * kHourUs, 90 * kHourUs});
  EXPECT_FALSE(times.Find(500, 500, now_us).has_value());
}

// A segment whose first rows are gone says too late a time of its first record.
TEST(JournalTimes, WhatContradictsALaterWordIsForgotten) {
  JournalTimes times;
  const int64_t now_us = 10'000 * kHourUs;
  times.Note(10, 40, {9 * kHourUs, 9 * kHourUs});
  times.Note(20, 30, {3 * kHourUs, 4 * kHourUs});
  EXPECT_EQ(times.Find(20, 30, now_us), (WriteTimes{3 * kHourUs, 4 * kHourUs}));
  EXPECT_FALSE(times.Find(10, 10, now_us).has_value());
  times.Note(5, 5, {5 * kHourUs, 5 * kHourUs});  // later than what follows
  EXPECT_EQ(times.Find(20, 30, now_us), (WriteTimes{5 * kHourUs, 9 * kHourUs}));
}

TEST(JournalTimes, RecordsAreAsOldAsTheyWereSeen) {
  JournalTimes times;
  EXPECT_FALSE(times.SeenAt(1).has_value());
  times.NoteSeen(10, 50 * kHourUs);
  times.NoteSeen(20, 51 * kHourUs);
  EXPECT_EQ(times.SeenAt(1), 50 * kHourUs);
  EXPECT_EQ(times.SeenAt(11), 51 * kHourUs);
  EXPECT_FALSE(times.SeenAt(21).has_value());
  times.NoteSeen(20, 20 * kHourUs);  // the clock was ahead
  EXPECT_EQ(times.SeenAt(1), 20 * kHourUs);
  EXPECT_EQ(times.SeenAt(11), 20 * kHourUs);
}

class JournalTimesTest : public EngineFixture {
 protected:
  void SetUp() override {
    faults_ = std::make_shared<FaultFileSystem>();
    fs_ = faults_;
    options_.seal_when_due = false;
    EngineFixture::SetUp();
  }
  std::vector<SegmentRef> Segments() {
    std::vector<SegmentRef> segments;
    const Status s = VisitSegments(Core()->store().spills().view(), "",
                                   [&](const BucketKey&, SegmentRef segment) -> Result<bool> {
                                     segments.push_back(std::move(segment));
                                     return true;
                                   });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return segments;
  }
  std::optional<WriteTimes> Of(const SegmentRef& segment) {
    return times_.Of(segment, Core()->tables().FindById(1), Core()->boots().bases(),
                     clock_->WallMicros());
  }
  std::shared_ptr<FaultFileSystem> faults_;
  JournalTimes times_;
};

// Sensors of two weeks, each with rows of one hour, in rotations that were gathered.
TEST_F(JournalTimesTest, FewPagesTellTheAgeOfMany) {
  constexpr int kHours = 14 * 24;
  constexpr int kSensorsAnHour = 5;
  constexpr int kSensors = kHours * kSensorsAnHour;
  const uint64_t before = Core()->committer().last_sequence();
  for (int hour = 0; hour < kHours; ++hour) {
    for (int i = 0; i < kSensorsAnHour; ++i) {
      const int number = (hour * kSensorsAnHour + i) * 997 % kSensors;  // not in order of time
      MustAppend("s" + std::to_string(number), kStartMs, hour);
      clock_->AdvanceSeconds(3600 / kSensorsAnHour);
    }
    if (hour % 3 == 0) {
      Rotate();
      TickAll();
    }
  }
  Rotate();
  const int64_t now_us = clock_->WallMicros();
  size_t seen = 0;
  for (const bool once_more : {false, true}) {
    for (const SegmentRef& segment : Segments()) {
      const auto times = Of(segment);
      ASSERT_TRUE(times.has_value());
      // One row an event of the journal, at even distances.
      const auto record = static_cast<int64_t>(segment.header.journal_first - before);
      const int64_t written_us = kStartUs + (record - 1) * kHourUs / kSensorsAnHour;
      const int64_t off_us = std::max(60 * kSecondUs, (now_us - written_us) / 16) + kSecondUs;
      EXPECT_LE(std::abs(times->first_us - written_us), off_us) << record;
      EXPECT_LE(std::abs(times->last_us - written_us), off_us) << record;
      ++seen;
    }
    if (!once_more) {
      EXPECT_LE(times_.pages_read(), seen / 4);
    }
  }
  EXPECT_EQ(seen, 2u * kSensors);
}

// One error of the device does not take the time from what lies there for good.
TEST_F(JournalTimesTest, AFailedReadIsNotRemembered) {
  RowBatch batch(schema_);
  for (int i = 0; i < 3000; ++i) AddRow(&batch, "a", kStartMs + i * 1000, i * 0.37);
  ASSERT_TRUE(engine_->Append(batch).ok());
  const int64_t written_us = clock_->WallMicros();
  Rotate();
  Reopen();
  const std::vector<SegmentRef> segments = Segments();
  ASSERT_EQ(segments.size(), 1u);
  faults_->Arm({.op = FaultOp::kRead, .kind = FileKind::kSst, .forever = true});
  EXPECT_FALSE(Of(segments.front()).has_value());
  EXPECT_GE(faults_->injected(), 1u);
  faults_->Disarm();
  const auto times = Of(segments.front());
  ASSERT_TRUE(times.has_value());
  EXPECT_LT(std::abs(times->first_us - written_us), kSecondUs);
}

}  // namespace
}  // namespace cistern::testing
