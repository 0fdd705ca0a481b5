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

}  // namespace
}  // namespace cistern::testing
