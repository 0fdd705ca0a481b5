// Until when no open bucket can be due: told by walks and rotations, without a store.
#include "engine/seal/seal_outlook.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "storage/bucket_starts.h"

namespace cistern {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kEndS = 1'800'057'600;  // of the bucket: midnight
constexpr int64_t kEndUs = kEndS * kSecond;
constexpr int64_t kNoonUs = kEndUs - 43'200 * kSecond;
constexpr SealLimits kLimits{.grace_s = 300, .idle_s = 60};
constexpr uint64_t kTables = 7;  // changes of them

SpillView View(std::initializer_list<SequenceIntervals> families) {
  SpillView view;
  for (const SequenceIntervals& committed : families) {
    SpillRecord record;
    record.committed = committed;
    view.families.push_back(
        std::make_shared<const SpillFamily>(view.families.size(), nullptr, record));
  }
  return view;
}

// What a rotation has spilled into one bucket.
SpilledBuckets Spilled(uint64_t rotation, int64_t end_s, uint64_t rows = 1, uint64_t bytes = 1) {
  SpilledBuckets spilled;
  spilled.rotation = rotation;
  spilled.Note(end_s, rows, bytes);
  return spilled;
}

// The rotations 10 to 12, which a walk looks at, and one that comes later or none.
class SealOutlookTest : public ::testing::Test {
 protected:
  // Over a bucket of so much that is not due.
  void Walk(int64_t end_s, int64_t last_row_us, uint64_t rows = 1, uint64_t bytes = 1) {
    outlook_->BeginWalk(view_, kTables);
    outlook_->NoteOpen(end_s, last_row_us, rows, bytes);
    outlook_->EndWalk();
  }
  void LimitTo(uint64_t rows, uint64_t bytes) {
    SealLimits limits = kLimits;
    limits.open_rows_max = rows;
    limits.open_bytes_max = bytes;
    outlook_.emplace(limits);
  }
  [[nodiscard]] bool MayBeDue(int64_t now_us) const {
    return outlook_->MayBeDue(view_, kTables, now_us);
  }
  // From exactly then on.
  void ExpectDueFrom(int64_t due_us) const {
    EXPECT_FALSE(MayBeDue(due_us - 1));
    EXPECT_TRUE(MayBeDue(due_us));
    EXPECT_TRUE(MayBeDue(INT64_MAX));
  }

  SpillView view_ = View({{{10, 3}}});
  const SpillView later_ = View({{{10, 3}, {20, 1}}});
  std::optional<SealOutlook> outlook_{kLimits};
};

TEST(SealOutlookDueAt, IsTheLaterOfGraceBehindTheEndAndIdleBehindTheLastRow) {
  EXPECT_EQ(DueAt(kEndS, kNoonUs, kLimits), kEndUs + 300 * kSecond);
  EXPECT_EQ(DueAt(kEndS, INT64_MIN, kLimits), kEndUs + 300 * kSecond);
  EXPECT_EQ(DueAt(kEndS, kEndUs + 240 * kSecond, kLimits), kEndUs + 300 * kSecond);
  EXPECT_EQ(DueAt(kEndS, kEndUs + 240 * kSecond + 1, kLimits), kEndUs + 300 * kSecond + 1);
  EXPECT_EQ(DueAt(kEndS, kEndUs + 7, {.grace_s = 0, .idle_s = 0}), kEndUs + 7);
  EXPECT_EQ(DueAt(-86'400, INT64_MIN, kLimits), (300 - 86'400) * kSecond) << "before 1970";
}

TEST(SealOutlookDueAt, TimesThatNobodyReachesAreTheLastOne) {
  EXPECT_EQ(DueAt(INT64_MAX, 0, kLimits), INT64_MAX);
  EXPECT_EQ(DueAt(INT64_MAX / kSecond, 0, kLimits), INT64_MAX) << "its grace is beyond";
  EXPECT_EQ(DueAt(kEndS, INT64_MAX, kLimits), INT64_MAX);
  EXPECT_EQ(DueAt(kEndS, INT64_MAX - 60 * kSecond + 1, kLimits), INT64_MAX);
  EXPECT_EQ(DueAt(kEndS, INT64_MAX - 60 * kSecond - 1, kLimits), INT64_MAX - 1);
  EXPECT_FALSE(IsDue(INT64_MAX, INT64_MIN, INT64_MAX - 1, kLimits));
  // The first and the last second that a bucket may have.
  EXPECT_TRUE(IsDue(limits::kEventSecondsMin, INT64_MIN, kEndUs, kLimits));
  EXPECT_FALSE(IsDue(limits::kEventSecondsMax, INT64_MIN, kEndUs, kLimits));
}

TEST_F(SealOutlookTest, NothingIsKnownBeforeAWalkHasEnded) {
  EXPECT_TRUE(outlook_->MayBeDue(SpillView(), 0, INT64_MIN));
  outlook_->NoteRotation(Spilled(12, INT64_MAX), kNoonUs);
  EXPECT_TRUE(MayBeDue(kNoonUs)) << "there may be others";
  outlook_->BeginWalk(view_, kTables);
  outlook_->NoteOpen(kEndS, kNoonUs, 1, 1);
  EXPECT_TRUE(MayBeDue(kNoonUs)) << "half a walk";
  outlook_->EndWalk();
  EXPECT_FALSE(MayBeDue(kNoonUs));
  outlook_->BeginWalk(view_, kTables);
  EXPECT_TRUE(MayBeDue(kNoonUs)) << "the next one was not finished";
}

TEST_F(SealOutlookTest, NothingIsKnownOnceItIsForgotten) {
  Walk(kEndS, kNoonUs);
  outlook_->Forget();
  EXPECT_TRUE(MayBeDue(kNoonUs));
  Walk(kEndS, kNoonUs);
  EXPECT_FALSE(MayBeDue(kNoonUs));
}

TEST_F(SealOutlookTest, WhereNothingIsOpenNothingIsEverDue) {
  outlook_->BeginWalk(view_, kTables);
  outlook_->EndWalk();
  EXPECT_FALSE(MayBeDue(INT64_MAX - 1));
}

TEST_F(SealOutlookTest, TheFirstBucketThatIsDueDecides) {
  for (const int first : {0, 1, 2}) {
    outlook_->BeginWalk(view_, kTables);
    for (const int n : {0, 1, 2}) {
      outlook_->NoteOpen(n == first ? kEndS : kEndS + 86'400 * (n + 1), kNoonUs, 1, 1);
    }
    outlook_->EndWalk();
    ExpectDueFrom(kEndUs + 300 * kSecond);
  }
  outlook_->BeginWalk(view_, kTables);
  outlook_->NoteOpen(kEndS, kEndUs + 1000 * kSecond, 1, 1);  // over, but not idle
  outlook_->NoteOpen(kEndS + 86'400, kNoonUs, 1, 1);
  outlook_->EndWalk();
  ExpectDueFrom(kEndUs + 1060 * kSecond);
}

TEST_F(SealOutlookTest, AWalkForgetsWhatTheOneBeforeHasSeen) {
  LimitTo(100, 1000);
  Walk(kEndS, kNoonUs, 99, 999);
  outlook_->NoteRotation(Spilled(12, kEndS, 99, 999), kNoonUs);
  ASSERT_TRUE(MayBeDue(kNoonUs));
  Walk(kEndS + 86'400, kNoonUs, 1, 1);
  ExpectDueFrom(kEndUs + (86'400 + 300) * kSecond);
}

TEST_F(SealOutlookTest, ARotationBringsTheEndOfItsFirstBucket) {
  Walk(kEndS + 86'400, kNoonUs);
  SpilledBuckets spilled = Spilled(20, kEndS + 3600);
  spilled.Note(kEndS, 1, 1);
  spilled.Note(kEndS + 7200, 1, 1);
  outlook_->NoteRotation(spilled, kNoonUs);
  view_ = later_;
  ExpectDueFrom(kEndUs + 300 * kSecond);
}

TEST_F(SealOutlookTest, LateRowsOfARotationRestSinceItHasCommitted) {
  Walk(kEndS, kNoonUs);
  outlook_->NoteRotation(Spilled(20, kEndS - 5 * 86'400), kNoonUs + 5);
  view_ = later_;
  ExpectDueFrom(kNoonUs + 60 * kSecond + 5);
}

TEST_F(SealOutlookTest, ALaterRotationPutsNothingOff) {
  Walk(kEndS, kNoonUs);
  outlook_->NoteRotation(Spilled(20, kEndS + 86'400), kNoonUs);
  outlook_->NoteRotation(Spilled(21, kEndS - 86'400), kNoonUs);
  outlook_->NoteRotation(Spilled(22, kEndS - 86'400), kNoonUs + 30 * kSecond);
  view_ = View({{{10, 3}, {20, 3}}});
  ExpectDueFrom(kNoonUs + 60 * kSecond);
}

TEST_F(SealOutlookTest, ARotationWhileAWalkIsUnderWayCounts) {
  for (const bool noted_first : {true, false}) {
    outlook_->BeginWalk(view_, kTables);
    if (!noted_first) outlook_->NoteOpen(kEndS + 86'400, kNoonUs, 1, 1);
    outlook_->NoteRotation(Spilled(20, kEndS), kNoonUs);
    if (noted_first) outlook_->NoteOpen(kEndS + 86'400, kNoonUs, 1, 1);
    EXPECT_TRUE(outlook_->MayBeDue(later_, kTables, kNoonUs)) << "the walk has not ended";
    outlook_->EndWalk();
    EXPECT_FALSE(outlook_->MayBeDue(later_, kTables, kEndUs + 300 * kSecond - 1));
    EXPECT_TRUE(outlook_->MayBeDue(later_, kTables, kEndUs + 300 * kSecond));
  }
}

TEST_F(SealOutlookTest, ARotationThatNobodyToldOfMayBeDue) {
  Walk(kEndS, kNoonUs);
  EXPECT_TRUE(outlook_->MayBeDue(later_, kTables, kNoonUs));
  EXPECT_TRUE(outlook_->MayBeDue(View({{{10, 4}}}), kTables, kNoonUs)) << "the next one";
  EXPECT_TRUE(outlook_->MayBeDue(View({{{10, 3}}, {}, {{15, 1}}}), kTables, kNoonUs));
  outlook_->NoteRotation(Spilled(20, kEndS), kNoonUs);
  EXPECT_FALSE(outlook_->MayBeDue(later_, kTables, kNoonUs));
  EXPECT_TRUE(outlook_->MayBeDue(View({{{10, 3}, {20, 2}}}), kTables, kNoonUs));
  EXPECT_TRUE(outlook_->MayBeDue(View({{{10, 3}, {19, 2}}}), kTables, kNoonUs));
  EXPECT_TRUE(outlook_->MayBeDue(View({{{20, 1}}, {{22, 1}}}), kTables, kNoonUs));
  EXPECT_FALSE(outlook_->MayBeDue(View({{{20, 1}}}), kTables, kNoonUs)) << "the others went";
  EXPECT_FALSE(outlook_->MayBeDue(SpillView(), kTables, kNoonUs));
}

// Families need not lie in the order of their rotations: one may be rewritten into an older one.
TEST_F(SealOutlookTest, AWalkLooksAtTheRotationsOfAllFamilies) {
  view_ = View({{{3, 1}, {30, 2}}, {{10, 3}, {20, 1}}});
  Walk(kEndS, kNoonUs);
  ExpectDueFrom(kEndUs + 300 * kSecond);
  EXPECT_TRUE(outlook_->MayBeDue(View({{{3, 1}, {30, 3}}, {{20, 1}}}), kTables, kNoonUs));
}

TEST_F(SealOutlookTest, AWalkKnowsWhatWasRotatedBeforeItAlone) {
  outlook_->NoteRotation(Spilled(20, kEndS), kNoonUs);
  Walk(kEndS, kNoonUs);  // over a view without it
  EXPECT_TRUE(outlook_->MayBeDue(later_, kTables, kNoonUs));
}

TEST_F(SealOutlookTest, TablesThatHaveChangedMakeItUnknown) {
  Walk(kEndS, kNoonUs);
  EXPECT_TRUE(outlook_->MayBeDue(view_, kTables + 1, kNoonUs));
  EXPECT_TRUE(outlook_->MayBeDue(view_, kTables - 1, kNoonUs));
  EXPECT_FALSE(MayBeDue(kNoonUs));
  outlook_->BeginWalk(view_, kTables + 1);
  outlook_->EndWalk();
  EXPECT_FALSE(outlook_->MayBeDue(view_, kTables + 1, kNoonUs));
  EXPECT_TRUE(MayBeDue(kNoonUs));
}

TEST_F(SealOutlookTest, AWalkAndRotationsFillABucketWithRows) {
  LimitTo(100, 0);
  Walk(kEndS, kNoonUs, 50, 1 << 30);
  view_ = later_;
  outlook_->NoteRotation(Spilled(20, kEndS, 49, 1 << 30), kNoonUs);
  EXPECT_FALSE(MayBeDue(kNoonUs));
  outlook_->NoteRotation(Spilled(21, kEndS, 1, 0), kNoonUs);
  EXPECT_TRUE(MayBeDue(kNoonUs));
}

TEST_F(SealOutlookTest, AWalkAndRotationsFillABucketWithBytes) {
  LimitTo(0, 1000);
  Walk(kEndS, kNoonUs, 1 << 30, 500);
  view_ = later_;
  outlook_->NoteRotation(Spilled(20, kEndS, 1 << 30, 499), kNoonUs);
  EXPECT_FALSE(MayBeDue(kNoonUs));
  outlook_->NoteRotation(Spilled(21, kEndS, 0, 2), kNoonUs);
  EXPECT_TRUE(MayBeDue(kNoonUs)) << "more than the limit, too";
}

TEST_F(SealOutlookTest, TheFullestBucketDecides) {
  LimitTo(100, 1000);
  outlook_->BeginWalk(view_, kTables);
  outlook_->NoteOpen(kEndS, kNoonUs, 10, 990);
  outlook_->NoteOpen(kEndS, kNoonUs, 90, 10);
  outlook_->NoteOpen(kEndS, kNoonUs, 20, 20);
  outlook_->EndWalk();
  view_ = later_;
  SpilledBuckets spilled = Spilled(20, kEndS, 9, 1);
  spilled.Note(kEndS, 1, 9);
  outlook_->NoteRotation(spilled, kNoonUs);
  EXPECT_FALSE(MayBeDue(kNoonUs));
  SealOutlook by_bytes = *outlook_;
  outlook_->NoteRotation(Spilled(20, kEndS, 1, 0), kNoonUs);
  EXPECT_TRUE(MayBeDue(kNoonUs));
  by_bytes.NoteRotation(Spilled(20, kEndS, 0, 1), kNoonUs);
  EXPECT_TRUE(by_bytes.MayBeDue(view_, kTables, kNoonUs));
}

TEST_F(SealOutlookTest, RotationsAloneFillABucket) {
  LimitTo(100, 1000);
  outlook_->BeginWalk(view_, kTables);
  outlook_->EndWalk();
  for (uint64_t n = 0; n < 10; ++n) {
    EXPECT_FALSE(MayBeDue(kNoonUs)) << n;
    view_ = View({{{10, 3}, {20, n + 1}}});
    outlook_->NoteRotation(Spilled(20 + n, kEndS, 10, 1), kNoonUs);
  }
  EXPECT_TRUE(MayBeDue(kNoonUs));
}

// The walk meets a bucket as it was when it began.
TEST_F(SealOutlookTest, ARotationFillsABucketThatTheWalkMeetsLater) {
  for (const bool by_rows : {true, false}) {
    LimitTo(by_rows ? 100 : 0, by_rows ? 0 : 100);
    outlook_->BeginWalk(view_, kTables);
    outlook_->NoteRotation(Spilled(20, kEndS, 40, 40), kNoonUs);
    outlook_->NoteOpen(kEndS, kNoonUs, 60, 60);
    outlook_->EndWalk();
    EXPECT_TRUE(outlook_->MayBeDue(later_, kTables, kNoonUs)) << by_rows;
  }
}

TEST_F(SealOutlookTest, ARotationFillsABucketThatTheWalkHasMet) {
  for (const bool by_rows : {true, false}) {
    LimitTo(by_rows ? 100 : 0, by_rows ? 0 : 100);
    outlook_->BeginWalk(view_, kTables);
    outlook_->NoteOpen(kEndS, kNoonUs, 60, 60);
    outlook_->NoteRotation(Spilled(20, kEndS, 40, 40), kNoonUs);
    outlook_->EndWalk();
    EXPECT_TRUE(outlook_->MayBeDue(later_, kTables, kNoonUs)) << by_rows;
  }
}

TEST_F(SealOutlookTest, WithoutALimitNothingIsFull) {
  Walk(kEndS, kNoonUs, UINT64_MAX, UINT64_MAX);
  outlook_->NoteRotation(Spilled(20, kEndS, UINT64_MAX, UINT64_MAX), kNoonUs);
  view_ = later_;
  ExpectDueFrom(kEndUs + 300 * kSecond);
}

TEST_F(SealOutlookTest, HugeNumbersDoNotOverflow) {
  LimitTo(UINT64_MAX, UINT64_MAX);
  Walk(INT64_MAX, INT64_MAX, UINT64_MAX - 1, 1);
  outlook_->NoteRotation(Spilled(20, INT64_MAX), INT64_MAX - 1);
  view_ = View({{{10, 3}, {20, 2}}});
  outlook_->NoteRotation(Spilled(21, INT64_MAX, 0, UINT64_MAX - 2), 0);
  EXPECT_TRUE(MayBeDue(kNoonUs)) << "rows";
  Walk(INT64_MAX, INT64_MIN);
  EXPECT_FALSE(MayBeDue(INT64_MAX - 1));
  outlook_->NoteRotation(SpilledBuckets{.rotation = 22}, kNoonUs);  // nothing in it
  EXPECT_FALSE(MayBeDue(INT64_MAX - 1));
}

TEST_F(SealOutlookTest, ARotationIsDueByTheAgeOfItsOldestRow) {
  SealLimits limits = kLimits;
  limits.age_s_max = 7200;
  outlook_.emplace(limits);
  SpilledBuckets spilled = Spilled(20, kEndS + 365 * 86'400);
  view_ = later_;
  Walk(kEndS + 365 * 86'400, kNoonUs);
  spilled.oldest_us = kNoonUs - 3600 * kSecond;
  outlook_->NoteRotation(spilled, kNoonUs);
  ExpectDueFrom(kNoonUs + 3600 * kSecond);
  Walk(kEndS + 365 * 86'400, kNoonUs);
  outlook_->NoteRotation(Spilled(20, kEndS + 365 * 86'400), kNoonUs);
  EXPECT_TRUE(MayBeDue(kNoonUs)) << "its age is not known";
}

TEST(SealOutlookSpilledBuckets, KeepTheFirstEndAndTheMostOfOneBucket) {
  SpilledBuckets spilled;
  EXPECT_EQ(spilled.end_first_s, INT64_MAX);
  spilled.Note(20, 5, 700);
  spilled.Note(10, 9, 100);
  spilled.Note(30, 1, 300);
  EXPECT_EQ(spilled.end_first_s, 10);
  EXPECT_EQ(spilled.rows_max, 9u);
  EXPECT_EQ(spilled.bytes_max, 700u);
}

using Ranges = std::map<uint32_t, std::pair<int64_t, int64_t>>;

Ranges RangesOf(const BucketStarts& starts) {
  Ranges out;
  for (const auto& [id, range] : starts.ranges()) out[id] = {range.first_s, range.last_s};
  return out;
}

TEST(SealOutlookBucketStarts, KeepTheFirstAndTheLastOfEachTable) {
  BucketStarts starts;
  EXPECT_TRUE(starts.ranges().empty());
  starts.Note(1, 500);
  EXPECT_EQ(RangesOf(starts), (Ranges{{1, {500, 500}}}));
  for (const int64_t start_s : {400, 600, 450}) starts.Note(1, start_s);
  starts.Note(2, -100);
  EXPECT_EQ(RangesOf(starts), (Ranges{{1, {400, 600}}, {2, {-100, -100}}}));
  EXPECT_TRUE(starts.HasFrom(1, 600));
  EXPECT_FALSE(starts.HasFrom(1, 601));
  EXPECT_FALSE(starts.HasFrom(2, 0));
  EXPECT_FALSE(starts.HasFrom(3, INT64_MIN));
}

TEST(SealOutlookBucketStarts, TakeThoseOfOthersAndForgetATable) {
  BucketStarts starts;
  starts.Note(1, 500);
  starts.Note(2, 7);
  BucketStarts others;
  for (const int64_t start_s : {100, 900}) others.Note(1, start_s);
  for (const int64_t start_s : {30, 20}) others.Note(3, start_s);
  starts.Note(others);
  EXPECT_EQ(RangesOf(starts), (Ranges{{1, {100, 900}}, {2, {7, 7}}, {3, {20, 30}}}));
  starts.Note(BucketStarts());
  starts.Forget(1);
  starts.Forget(4);
  EXPECT_EQ(RangesOf(starts), (Ranges{{2, {7, 7}}, {3, {20, 30}}}));
  EXPECT_FALSE(starts.HasFrom(1, INT64_MIN));
  starts.Note(1, 300);
  EXPECT_EQ(RangesOf(starts)[1], (std::pair<int64_t, int64_t>{300, 300})) << "begun anew";
}

}  // namespace
}  // namespace cistern
