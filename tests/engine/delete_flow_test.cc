// Range deletes on their way: in the head, in a frozen head, in segments, rewritten. What
// they cover stays away at every step, wherever the rows lie.
#include <algorithm>
#include <functional>
#include <string>

#include "tests/engine/spill_fixture.h"

namespace cistern::testing {
namespace {

class DeleteFlowTest : public SpillFixture {
 protected:
  void MustDelete(const std::string& sensor, int64_t from, int64_t to) {
    const auto deleted = engine_->DeleteRange("pumps", Entity(sensor), {from, to});
    ASSERT_TRUE(deleted.ok()) << deleted.status().ToString();
  }
  // A rotation in single steps, checked before each of them.
  void RotateInSteps(const std::function<void(int step)>& check) {
    ASSERT_TRUE(Core()->committer().Freeze());
    for (int step = 0; step < 100; ++step) {
      check(step);
      const auto report = engine_->Tick({1});
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      if (!report->more_due) return check(step + 1);
    }
    FAIL() << "the rotation does not come to an end";
  }
};

// The delete is in the frozen head; what it covers in segments, beside it and in the new
// head's past. A row that was written again afterwards is there.
TEST_F(DeleteFlowTest, AFrozenDeleteCoversRowsInSegmentsAndBesideIt) {
  for (int i = 0; i < 6; ++i) MustAppend("a", kStartMs + i, i);
  Rotate();
  MustAppend("a", kStartMs + 6, 6);
  MustDelete("a", kStartMs + 1, kStartMs + 7);
  MustAppend("a", kStartMs + 2, 20);
  ASSERT_TRUE(Core()->committer().Freeze());
  MustAppend("a", kStartMs + 3, 30);
  const Rows expected{{kStartMs, 0}, {kStartMs + 2, 20}, {kStartMs + 3, 30}};
  RotateInSteps([&](int step) { EXPECT_EQ(ScanAll("a"), expected) << "step " << step; });
  Rotate();
  EXPECT_EQ(ScanAll("a"), expected);
  Reopen();
  EXPECT_EQ(ScanAll("a"), expected);
  ExpectSound();
}

// The frozen head holds the delete alone, and the bucket's only rows lie in a segment.
TEST_F(DeleteFlowTest, AFrozenDeleteAloneHidesABucketOfSegments) {
  for (int i = 0; i < 3; ++i) MustAppend("a", kStartMs + i, i);
  Rotate();
  MustDelete("a", kStartMs, kStartMs + kDayMs);
  RotateInSteps([&](int step) { EXPECT_EQ(ScanAll("a"), Rows{}) << "step " << step; });
  ExpectSound();
}

// Rows in one spill family, their delete in a later one that is rewritten first: it still
// covers rows that it does not lie with.
TEST_F(DeleteFlowTest, ARewrittenDeleteStillCoversRowsOfAnotherFamily) {
  FillUntilFamilies(1, "ab");
  Fill("ab");  // beyond its base size: the next rotation begins a second family
  const uint64_t rows_family = Oldest();
  const Rows& a = expected_["a"];
  const int64_t from = a[2].first;
  const int64_t to = a[a.size() / 2].first;
  MustDelete("a", from, to);
  std::erase_if(expected_["a"], [&](const auto& r) { return r.first >= from && r.first < to; });
  Rotate();
  const uint64_t deletes_family = Families().back()->id;
  ASSERT_NE(deletes_family, rows_family);
  // Small rotations roll the family of the delete: it is due to be gathered.
  const uint64_t respilled_before = engine_->GetMetrics().respill_bytes;
  const auto has_deletes_family = [&] {
    const auto families = Families();
    return std::any_of(families.begin(), families.end(),
                       [&](const auto& f) { return f->id == deletes_family; });
  };
  for (int i = 0; i < 100 && has_deletes_family(); ++i) {
    MustAppend("c", kStartMs + i, i);
    Rotate();
    ASSERT_TRUE(engine_->Tick({100}).ok());
  }
  ASSERT_FALSE(has_deletes_family()) << "the delete's family was not rewritten";
  ASSERT_GT(engine_->GetMetrics().respill_bytes, respilled_before);
  ASSERT_EQ(Oldest(), rows_family) << "the rows were rewritten too";
  ExpectAllBut("");
  Reopen();
  ExpectAllBut("");
  ExpectSound();
}

// Nothing but deletes has no event times.
TEST_F(DeleteFlowTest, ABucketWithoutRowsHasItsOwnBoundsAlone) {
  MustAppend("a", kStartMs + 7, 1);
  MustDelete("b", kStartMs, kStartMs + 5);
  ASSERT_TRUE(engine_->DeleteBucket("pumps", Entity("c"), kStartMs).ok());
  const auto check = [this] {
    std::vector<BucketInfo> buckets;
    ASSERT_TRUE(engine_
                    ->ListBuckets([&](const BucketInfo& info) {
                      buckets.push_back(info);
                      return true;
                    })
                    .ok());
    ASSERT_EQ(buckets.size(), 3u);
    EXPECT_EQ(buckets[0].first_time, kStartMs + 7);
    EXPECT_EQ(buckets[0].last_time, kStartMs + 7);
    for (const BucketInfo& info : buckets) {
      EXPECT_EQ(info.bucket_start, kStartMs);
      EXPECT_EQ(info.bucket_end, kStartMs + kDayMs);
      if (info.entity == buckets[0].entity) continue;
      EXPECT_EQ(info.first_time, std::nullopt);
      EXPECT_EQ(info.last_time, std::nullopt);
      EXPECT_EQ(info.versions, 1u);
    }
  };
  check();
  Rotate();
  check();
  ASSERT_TRUE(engine_->Seal({.due_only = false}).ok());
  check();
}

// How far ahead the store takes rows, and what a delete beyond that does.
class DeleteAheadTest : public SpillFixture {
 protected:
  static constexpr int64_t kAheadMs = kStartMs + 300 * kDayMs;
  void AppendAhead() {
    options_.event_future_s_max = 400 * 86'400;
    Reopen();
    MustAppend("a", kAheadMs + 5, 1);
    options_.event_future_s_max = 86'400;
    Reopen();
  }
  [[nodiscard]] size_t CountBuckets() {
    size_t count = 0;
    const Status s = engine_->ListBuckets([&](const BucketInfo&) { return ++count > 0; });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return count;
  }
  [[nodiscard]] Status DeleteBucket(const std::string& sensor, int64_t time) {
    return engine_->DeleteBucket("pumps", Entity(sensor), time).status();
  }
};

TEST_F(DeleteAheadTest, ARowThatCameWhenMoreWasAllowedCanBeDeleted) {
  AppendAhead();
  EXPECT_EQ(Append("a", kAheadMs + 6, 2).code(), StatusCode::kOutOfRange);
  RowBatch batch(schema_);
  AddRow(&batch, "a", kAheadMs + 5, 0, RowKind::kDeleteRow);
  const Status deleted = engine_->Append(batch).status();
  EXPECT_TRUE(deleted.ok()) << deleted.ToString();
  EXPECT_EQ(Scan("a", kAheadMs, kAheadMs + kDayMs), Rows{});
  // A row beside the deletes is still looked at.
  AddRow(&batch, "a", kAheadMs + 6, 1);
  EXPECT_EQ(engine_->Append(batch).status().code(), StatusCode::kOutOfRange);
}

TEST_F(DeleteAheadTest, ABucketFarAheadIsDeletedIfSomethingIsInIt) {
  AppendAhead();
  EXPECT_EQ(DeleteBucket("b", kAheadMs).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(DeleteBucket("a", kAheadMs + kDayMs).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(CountBuckets(), 1u);
  EXPECT_TRUE(DeleteBucket("a", kAheadMs).ok());
  EXPECT_EQ(Scan("a", kAheadMs, kAheadMs + kDayMs), Rows{});
  EXPECT_TRUE(DeleteBucket("b", kStartMs + kDayMs).ok());  // rows may come there
  EXPECT_TRUE(DeleteBucket("b", kStartMs - 4000 * kDayMs).ok());  // and be there, upstream
  ExpectSound();
}

TEST_F(DeleteAheadTest, ARangeEndsWhereNothingCanBe) {
  AppendAhead();
  Rotate();
  MustAppend("a", kStartMs, 1);
  // Two days before, today, tomorrow, and the one that has a row, whatever the end.
  const auto deleted =
      engine_->DeleteRange("pumps", Entity("a"), {kStartMs - 2 * kDayMs, INT64_MAX});
  ASSERT_TRUE(deleted.ok()) << deleted.status().ToString();
  EXPECT_EQ(CountBuckets(), 5u);
  EXPECT_EQ(Scan("a", kStartMs, kAheadMs + kDayMs), Rows{});
  ExpectSound();
}

// Nobody knows then what is ahead.
TEST_F(DeleteAheadTest, AnUntrustedClockRefusesNothing) {
  clock_->Reboot("boot-2", 0);
  Reopen();
  ASSERT_FALSE(engine_->GetMetrics().clock_trusted);
  EXPECT_TRUE(DeleteBucket("a", kAheadMs).ok());
  ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("b"), {kAheadMs, kAheadMs + 3 * kDayMs}).ok());
  EXPECT_EQ(CountBuckets(), 4u);
}

}  // namespace
}  // namespace cistern::testing
