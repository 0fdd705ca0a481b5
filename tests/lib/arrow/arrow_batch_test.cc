#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cistern/arrow.h"
#include "cistern/row_batch.h"
#include "tests/lib/arrow/arrow_columns.h"
#include "tests/lib/arrow/arrow_reader.h"

namespace cistern {
namespace {

using arrow_test::ColumnOf, arrow_test::MoveTo, arrow_test::Owned, arrow_test::TableOf;
using arrow_test::ValuesOf;
using Columns = std::vector<size_t>;
using Values = std::vector<std::string>;

class ArrowBatchTest : public ::testing::Test {
 protected:
  // Columns ts and x: 5 "a", 6 null.
  ResultBatch Batch() {
    ResultBatch batch;
    batch.row_count = 2;
    batch.columns = {Ts(), ColumnOf(table_->columns[3].type, {"a", {}})};
    return batch;
  }
  ColumnData Ts() { return ColumnOf(table_->columns[2].type, {"5", "6"}); }
  Status Export(ResultBatch batch) {
    return ExportArrowBatch(*table_, columns_, std::move(batch), &array_);
  }
  // Refused, with nothing filled in.
  void Refuses(ResultBatch batch, const std::string& message) {
    const Status s = Export(std::move(batch));
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(s.message(), message);
    EXPECT_EQ(array_.release, nullptr);
  }
  Values Exported() {
    Owned<ArrowSchema> schema;
    EXPECT_TRUE(ExportArrowSchema(*table_, columns_, &schema).ok());
    return ValuesOf(schema, array_);
  }

  std::shared_ptr<const TableSchema> table_ = TableOf("text");
  Columns columns_ = {2, 3};
  Owned<ArrowArray> array_;
};

TEST_F(ArrowBatchTest, IsAStructOfItsColumns) {
  ASSERT_TRUE(Export(Batch()).ok());
  EXPECT_EQ(array_.length, 2);
  EXPECT_EQ(array_.null_count, 0);
  EXPECT_EQ(array_.n_buffers, 1);
  EXPECT_EQ(array_.buffers[0], nullptr);
  EXPECT_EQ(array_.n_children, 2);
  EXPECT_EQ(Exported(), (Values{"{ts: 5, x: a}", "{ts: 6, x: null}"}));
}

TEST_F(ArrowBatchTest, HoldsWhatItShowsUntilItIsReleased) {
  ResultBatch batch = Batch();
  const void* values = batch.columns[0].fixed.data();
  ASSERT_TRUE(Export(std::move(batch)).ok());
  EXPECT_EQ(array_.children[0]->buffers[1], values);
  batch = {};
  Owned<ArrowArray> child;
  MoveTo<ArrowArray>(array_.children[1], &child);
  Owned<ArrowArray> moved;
  MoveTo<ArrowArray>(&array_, &moved);
  EXPECT_EQ(arrow_test::At<int64_t>(*moved.children[0], 1, 1), 6);
  moved.release(&moved);
  EXPECT_EQ(moved.release, nullptr);
  EXPECT_EQ(arrow_test::BytesOf(child, 0), "a");  // it outlives its parent
}

TEST_F(ArrowBatchTest, MayBeWithoutRowsOrColumns) {
  ResultBatch batch;
  batch.columns.resize(2);
  batch.columns[1].lane = Lane::kBytes;
  ASSERT_TRUE(Export(std::move(batch)).ok());
  EXPECT_EQ(Exported(), Values{});
  array_.release(&array_);
  ResultBatch rows;
  rows.row_count = 3;
  columns_ = {};
  ASSERT_TRUE(Export(std::move(rows)).ok());
  EXPECT_EQ(Exported(), (Values{"{}", "{}", "{}"}));
}

TEST_F(ArrowBatchTest, RefusesWhatDoesNotFit) {
  ResultBatch batch = Batch();
  batch.columns.pop_back();
  Refuses(batch, "the batch has 1 columns, named are 2");
  batch = Batch();
  std::swap(batch.columns[0], batch.columns[1]);
  Refuses(batch, "column 'ts': is timestamp and takes the other lane");
  batch = Batch();
  batch.row_count = 1;
  Refuses(batch, "column 'ts': has 2 values in a batch of 1 rows");
  batch = Batch();
  batch.columns[1].states.pop_back();
  Refuses(batch, "column 'x': has as many states as values, or none");
  batch = Batch();
  batch.columns[1].heap.clear();
  Refuses(batch, "column 'x': has offsets outside its heap");
  batch = Batch();
  batch.columns[1].offsets = {0, 1, 0};
  Refuses(batch, "column 'x': has offsets that go back");
  batch = Batch();
  batch.columns[0].Truncate(1);
  batch.columns[0].AppendMissing(CellState::kNull);
  Refuses(batch, "column 'ts': is part of the key and cannot be null");
  columns_ = {2, 4};
  Refuses(Batch(), "table plant.t has no column number 4");
}

TEST_F(ArrowBatchTest, NamesTheColumnWhoseValueIsNone) {
  table_ = TableOf("uuid");
  ResultBatch batch;
  batch.row_count = 2;
  batch.columns = {Ts(), {}};
  batch.columns[1].lane = Lane::kBytes;
  batch.columns[1].AppendMissing(CellState::kNull);
  batch.columns[1].AppendBytes("fifteen bytes..");
  Refuses(batch, "column 'x': a uuid is 16 bytes, got 15");
}

class ArrowRowsTest : public ::testing::Test {
 protected:
  void Begin(RowKind kind, int64_t ts) {
    rows_.BeginRow(kind);
    EXPECT_TRUE(rows_.SetBytes(0, "p").ok());
    EXPECT_TRUE(rows_.SetInt(2, ts).ok());
  }
  std::shared_ptr<const TableSchema> table_ = TableOf("int");
  RowBatch rows_{table_};
  Owned<ArrowSchema> schema_;
  Owned<ArrowArray> array_;
};

TEST_F(ArrowRowsTest, HaveTheColumnsThatAWriterSets) {
  Begin(RowKind::kInsert, 1);
  ASSERT_TRUE(rows_.SetInt(3, 42).ok() && rows_.EndRow().ok());
  Begin(RowKind::kUpdate, 2);
  ASSERT_TRUE(rows_.SetNull(3).ok() && rows_.EndRow().ok());
  Begin(RowKind::kInsert, 3);
  ASSERT_TRUE(rows_.EndRow().ok());
  Begin(RowKind::kInsert, 4);  // not ended: no row yet
  ASSERT_TRUE(ExportArrowRows(rows_, &schema_, &array_).ok());
  rows_.Clear();
  EXPECT_EQ(ValuesOf(schema_, array_), (Values{"{id: p, ts: 1, x: 42}", "{id: p, ts: 2, x: null}",
                                               "{id: p, ts: 3, x: null}"}));
}

TEST_F(ArrowRowsTest, MayBeNone) {
  ASSERT_TRUE(ExportArrowRows(rows_, &schema_, &array_).ok());
  EXPECT_EQ(array_.length, 0);
  EXPECT_EQ(array_.n_children, 3);
}

TEST_F(ArrowRowsTest, ADeletionIsNoRow) {
  Begin(RowKind::kInsert, 1);
  ASSERT_TRUE(rows_.EndRow().ok());
  Begin(RowKind::kDeleteRow, 2);
  ASSERT_TRUE(rows_.EndRow().ok());
  const Status s = ExportArrowRows(rows_, &schema_, &array_);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(s.message(), "row 1 deletes, which Arrow has no row for");
  EXPECT_EQ(schema_.release, nullptr);
  EXPECT_EQ(array_.release, nullptr);
}

}  // namespace
}  // namespace cistern
