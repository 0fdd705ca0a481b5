#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cistern/arrow.h"
#include "tests/lib/arrow/arrow_columns.h"
#include "tests/lib/arrow/arrow_reader.h"

namespace cistern {
namespace {

using arrow_test::Owned, arrow_test::TableOf, arrow_test::ValuesOf;
using Values = std::vector<std::string>;

// Gives batches of one bigint column, then ends with a status.
class ListedCursor : public Cursor {
 public:
  ListedCursor(std::vector<std::vector<int64_t>> batches, Status end, int* living)
      : batches_(std::move(batches)), end_(std::move(end)), living_(living) {
    ++*living_;
  }
  ~ListedCursor() override { --*living_; }
  bool Next(ResultBatch* batch) override {
    batch->row_count = 0;
    if (next_ == batches_.size()) {
      status_ = end_;
      return false;
    }
    batch->columns.assign(1, ColumnData{});
    for (const int64_t value : batches_[next_++]) batch->columns[0].AppendFixed(value);
    batch->row_count = batch->columns[0].size();
    return true;
  }
  const Status& status() const override { return status_; }
  const std::vector<ScanGap>& gaps() const override { return gaps_; }
  const std::shared_ptr<const TableSchema>& schema() const override { return schema_; }
  const std::vector<size_t>& columns() const override { return columns_; }
  std::string Token() const override { return {}; }

 private:
  const std::vector<std::vector<int64_t>> batches_;
  const Status end_;
  int* const living_;
  size_t next_ = 0;
  Status status_;
  std::vector<ScanGap> gaps_;
  std::shared_ptr<const TableSchema> schema_ = TableOf("bigint");
  std::vector<size_t> columns_ = {3};
};

class ArrowStreamTest : public ::testing::Test {
 protected:
  void Stream(std::vector<std::vector<int64_t>> batches, Status end = Status::Ok()) {
    auto cursor = std::make_unique<ListedCursor>(std::move(batches), std::move(end), &living_);
    ASSERT_TRUE(ExportArrowStream(std::move(cursor), &stream_).ok());
    ASSERT_EQ(stream_.get_schema(&stream_, &schema_), 0);
  }
  // The next batch; "end"; or the number of an error and its words.
  Values Next() {
    Owned<ArrowArray> array;
    const int error = stream_.get_next(&stream_, &array);
    if (error == 0) return array.release == nullptr ? Values{"end"} : ValuesOf(schema_, array);
    EXPECT_EQ(array.release, nullptr);
    return {std::to_string(error), stream_.get_last_error(&stream_)};
  }
  int living_ = 0;  // cursors
  Owned<ArrowArrayStream> stream_;
  Owned<ArrowSchema> schema_;
};

TEST_F(ArrowStreamTest, GivesWhatTheCursorGives) {
  Stream({{1, 2}, {}, {3}});
  EXPECT_EQ(Next(), (Values{"{x: 1}", "{x: 2}"}));
  EXPECT_EQ(Next(), Values{});
  Owned<ArrowSchema> again;  // at any time
  EXPECT_EQ(stream_.get_schema(&stream_, &again), 0);
  EXPECT_STREQ(again.children[0]->name, "x");
  EXPECT_EQ(Next(), (Values{"{x: 3}"}));
  EXPECT_EQ(stream_.get_last_error(&stream_), nullptr);
  EXPECT_EQ(living_, 1);
  EXPECT_EQ(Next(), Values{"end"});
  EXPECT_EQ(living_, 0);  // it holds the store no more
  EXPECT_EQ(Next(), Values{"end"});
  Owned<ArrowSchema> last;
  EXPECT_EQ(stream_.get_schema(&stream_, &last), 0);
}

TEST_F(ArrowStreamTest, EndsWithTheCursorsError) {
  Stream({{1}}, Status::Corruption("rows are missing from this scan: page 7"));
  EXPECT_EQ(Next(), (Values{"{x: 1}"}));
  const Values error = {std::to_string(EIO), "Corruption: rows are missing from this scan: page 7"};
  EXPECT_EQ(Next(), error);
  EXPECT_EQ(Next(), error);
}

TEST_F(ArrowStreamTest, TellsThatMemoryIsShort) {
  Stream({}, Status::OutOfMemory("a page of 16 MiB"));
  EXPECT_EQ(Next(), (Values{std::to_string(ENOMEM), "OutOfMemory: a page of 16 MiB"}));
}

TEST_F(ArrowStreamTest, ReleasesItsCursorUnread) {
  Stream({{1}, {2}});
  EXPECT_EQ(Next(), (Values{"{x: 1}"}));
  stream_.release(&stream_);
  EXPECT_EQ(stream_.release, nullptr);
  EXPECT_EQ(living_, 0);
}

TEST_F(ArrowStreamTest, NeedsACursor) {
  EXPECT_EQ(ExportArrowStream(nullptr, &stream_).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(stream_.release, nullptr);
}

}  // namespace
}  // namespace cistern
