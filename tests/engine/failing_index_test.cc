// What is remembered for reads, and what cursors tell of damage, where there is no memory for it:
// the question is answered all the same, and no row is passed over.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/held_cursor.h"
#include "engine/query/bucket_index.h"
#include "tests/support/failing_new.h"

namespace cistern::testing {
namespace {

constexpr char kEntity[] = "an entity whose key is beyond a short string";
constexpr uint64_t kAllocationsMax = 40;

std::shared_ptr<const SpillView> ViewOf(uint64_t round) {
  auto view = std::make_shared<SpillView>();
  view->round_last = round;
  view->windows.push_back(std::make_shared<const WindowFamily>(1, nullptr, WindowRecord{}));
  return view;
}

// A question, its answer and its page: each allocation fails in turn, once or with all behind it.
// None of the calls throws, and what is known afterwards is true.
TEST(FailingIndex, AnAllocationThatFailsIsNotKept) {
  uint64_t failed = 0;
  for (const auto times : {FailingNew::Times::kOnce, FailingNew::Times::kForGood}) {
    for (uint64_t nth = 1; nth <= kAllocationsMax; ++nth) {
      MemoryBudget budget(1 << 20);
      {
        BucketIndex index(&budget);
        const auto view = ViewOf(1);
        const BucketIndex::Question question{1, kEntity, 5, false};
        const BucketKey bucket{1, kEntity, 7, 0};
        const std::string page(500, 'x');
        BucketIndex::Answer answer;
        BucketIndex::Answer known;
        BucketOutline outline;
        outline.start_s = 7;
        outline.window = view->windows[0];
        outline.seal = 3;
        known.splits.push_back(outline);
        FailingNew::Arm(nth, times);
        EXPECT_FALSE(index.Find(view, question, &answer));
        for (int round = 0; round < 2; ++round) {
          index.Note(view, question, known);
          index.KeepPage(view, bucket, 3, page);
          index.NoteRows(view, bucket, 3, {});
          index.NoteSound(view, bucket, 3, true, false);
          (void)index.NoteMiss(question);
          if (index.Find(view, question, &answer)) {
            EXPECT_TRUE(answer.splits.size() == 1 && answer.splits[0].start_s == 7);
          }
        }
        failed += FailingNew::Disarm() != 0 ? 1 : 0;
        // With memory it is kept, and under another view nothing is.
        EXPECT_FALSE(index.Find(ViewOf(2), question, &answer));
        EXPECT_FALSE(index.Find(view, question, &answer));
        index.Note(view, question, known);
        index.KeepPage(view, bucket, 3, page);
        ASSERT_TRUE(index.Find(view, question, &answer));
        ASSERT_NE(answer.splits[0].page, nullptr);
        EXPECT_EQ(*answer.splits[0].page, page);
        EXPECT_LT(budget.used_bytes(), 4096u) << "nothing is charged that is not there";
      }
      EXPECT_EQ(budget.used_bytes(), 0u);
    }
  }
  EXPECT_GT(failed, 10u);
}

// Gives a row in each batch, and finds something damaged beside the second one.
class DamagedRows : public Cursor {
 public:
  DamagedRows() {
    found_.push_back({1, 2, true, 3, "a page of a bucket, which is damaged"});
  }
  bool Next(ResultBatch* batch) override {
    batch->row_count = 0;
    if (given_ == 3) {
      status_ = Status::Corruption("rows are missing from this");
      return false;
    }
    batch->row_count = 1;
    if (++given_ == 2) gaps_.swap(found_);
    return true;
  }
  const Status& status() const override { return status_; }
  const std::vector<ScanGap>& gaps() const override { return gaps_; }
  const std::shared_ptr<const TableSchema>& schema() const override { return schema_; }
  const std::vector<size_t>& columns() const override { return columns_; }
  std::string Token() const override { return std::to_string(given_); }

 private:
  int given_ = 0;
  std::vector<ScanGap> found_;
  std::vector<ScanGap> gaps_;
  Status status_;
  std::shared_ptr<const TableSchema> schema_;
  std::vector<size_t> columns_;
};

// Token() has passed the rows that were read: so they are given, and what is damaged is told later.
TEST(FailingCursor, RowsBesideAGapAreGivenWithoutMemoryForTheGap) {
  HeldCursor cursor(nullptr, std::make_unique<DamagedRows>());
  ResultBatch batch;
  ASSERT_TRUE(cursor.Next(&batch));
  FailingNew::Arm(1, FailingNew::Times::kForGood);
  const bool is_given = cursor.Next(&batch);
  EXPECT_NE(FailingNew::Disarm(), 0u) << "nothing was to be kept";
  EXPECT_TRUE(is_given) << cursor.status().ToString();
  EXPECT_EQ(batch.row_count, 1u);
  EXPECT_EQ(cursor.Token(), "2");
  ASSERT_TRUE(cursor.Next(&batch));
  ASSERT_EQ(cursor.gaps().size(), 1u);
  EXPECT_EQ(cursor.gaps()[0].versions, 3u);
  EXPECT_FALSE(cursor.Next(&batch));
  EXPECT_EQ(cursor.status().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace cistern::testing
