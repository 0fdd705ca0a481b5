#include "cistern/row_batch.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cistern/limits.h"
#include "lib/row/row_batch_filler.h"
#include "lib/row/row_order.h"
#include "tests/lib/row/row_test_util.h"
#include "tests/support/rng.h"

namespace cistern {
namespace {

using ::testing::Test;

class RowBatchTest : public Test {
 protected:
  size_t C(const char* name) const { return *schema_->FindColumn(name); }
  void Key(RowBatch* b, int64_t ts = 1000, std::string_view id = "p") {
    EXPECT_TRUE(b->SetBytes(C("id"), id).ok());
    EXPECT_TRUE(b->SetInt(C("ts"), ts).ok());
  }
  std::shared_ptr<const TableSchema> schema_ = row_test::Parse(
      "CREATE TABLE t (id text, day date, ts timestamp, b boolean, ti tinyint, "
      "si smallint, i int, l bigint, f float, d double, s text, a ascii, bl blob, da date, "
      "tm time, u uuid, tu timeuuid, ip inet, PRIMARY KEY ((id, day), ts))");
  RowBatch batch_{schema_};
};

TEST_F(RowBatchTest, ASetterOutsideOfARowLeavesTheNextRowAlone) {
  for (size_t rows = 0; rows < 3; ++rows) {
    EXPECT_EQ(batch_.row_count(), rows);
    EXPECT_EQ(batch_.SetInt(C("ts"), 5).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(batch_.SetDouble(C("d"), 5).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(batch_.SetBytes(C("s"), "5").code(), StatusCode::kInvalidArgument);
    batch_.BeginRow();
    Key(&batch_);
    EXPECT_TRUE(batch_.EndRow().ok());
    EXPECT_EQ(batch_.state(rows, C("d")), CellState::kAbsent);
    EXPECT_EQ(batch_.state(rows, C("s")), CellState::kAbsent);
  }
}

TEST_F(RowBatchTest, ACollectionWithoutElementsIsNullUnlessItIsFrozen) {
  const auto schema = row_test::Parse(
      "CREATE TABLE t (id text, day date, ts timestamp, m map<text, int>, f frozen<set<int>>, "
      "PRIMARY KEY ((id, day), ts))");
  const std::string none(4, '\0');
  RowBatch batch(schema);
  batch.BeginRow();
  ASSERT_TRUE(batch.SetBytes(0, "p").ok());
  ASSERT_TRUE(batch.SetInt(2, 1000).ok());
  ASSERT_TRUE(batch.SetBytes(3, none).ok());
  ASSERT_TRUE(batch.SetBytes(4, none).ok());
  ASSERT_TRUE(batch.EndRow().ok());
  EXPECT_EQ(batch.state(0, 3), CellState::kNull);
  EXPECT_EQ(batch.state(0, 4), CellState::kValue);
  EXPECT_EQ(batch.bytes(0, 4), none);
  // Many at once.
  ColumnData ids, times, maps, sets;
  for (ColumnData* bytes : {&ids, &maps, &sets}) bytes->lane = Lane::kBytes;
  ids.AppendBytes("p");
  times.AppendFixed(2000);
  maps.AppendBytes(none);
  sets.AppendBytes(none);
  const size_t columns[] = {0, 2, 3, 4};
  const ColumnData* data[] = {&ids, &times, &maps, &sets};
  ASSERT_TRUE(batch.AppendColumns(columns, data).ok());
  EXPECT_EQ(batch.state(1, 3), CellState::kNull);
  EXPECT_EQ(batch.state(1, 4), CellState::kValue);
  EXPECT_EQ(batch.bytes(1, 4), none);
}

TEST_F(RowBatchTest, KeepsValuesBitForBit) {
  batch_.BeginRow();
  Key(&batch_, -7);
  ASSERT_TRUE(batch_.SetDouble(C("d"), -0.0).ok());
  ASSERT_TRUE(batch_.SetFloat(C("f"), -1.5f).ok());
  ASSERT_TRUE(batch_.SetInt(C("ti"), -128).ok());
  ASSERT_TRUE(batch_.SetNull(C("l")).ok());
  ASSERT_TRUE(batch_.SetBytes(C("s"), "w\xc3\xa4rme").ok());
  ASSERT_TRUE(batch_.SetTtl(60).ok());
  ASSERT_TRUE(batch_.EndRow().ok());
  batch_.BeginRow(RowKind::kDeleteRow);
  Key(&batch_);
  ASSERT_TRUE(batch_.EndRow().ok());
  ASSERT_EQ(batch_.row_count(), 2u);
  EXPECT_EQ(batch_.fixed(0, C("d")), std::bit_cast<int64_t>(-0.0));
  EXPECT_EQ(batch_.fixed(0, C("f")), int64_t{0xbfc00000});
  EXPECT_EQ(batch_.fixed(0, C("ti")), -128);
  EXPECT_EQ(batch_.state(0, C("l")), CellState::kNull);
  EXPECT_EQ(batch_.state(0, C("i")), CellState::kAbsent);
  EXPECT_EQ(batch_.bytes(0, C("s")), "w\xc3\xa4rme");
  EXPECT_EQ(batch_.bytes(0, C("id")), "p");
  EXPECT_EQ(batch_.ttl(0), 60u);
  EXPECT_EQ(batch_.ttl(1), std::nullopt);
  EXPECT_EQ(batch_.kind(1), RowKind::kDeleteRow);
  EXPECT_EQ(EventTime(*schema_, batch_, 0), -7);
}

TEST_F(RowBatchTest, IntegersBeyondTheirTypeAreOutOfRange) {
  const std::tuple<const char*, int64_t, int64_t> kRanges[] = {
      {"b", 0, 1},           {"ti", -128, 127},
      {"si", -32768, 32767}, {"i", INT32_MIN, INT32_MAX},
      {"da", INT32_MIN, INT32_MAX}, {"tm", 0, 86'399'999'999'999}};
  for (const auto& [name, low, high] : kRanges) {
    for (const auto& [value, fits] :
         {std::pair(low, true), {high, true}, {low - 1, false}, {high + 1, false}}) {
      batch_.BeginRow();
      const Status s = batch_.SetInt(C(name), value);
      EXPECT_EQ(s.ok(), fits) << name << " " << value << " " << s.ToString();
      if (fits) continue;
      EXPECT_EQ(s.code(), StatusCode::kOutOfRange);
      EXPECT_NE(s.message().find(std::string("'") + name + "'"), std::string::npos) << s.message();
    }
  }
}

TEST_F(RowBatchTest, DoublesBeyondFloatAreRefused) {
  const double most = std::numeric_limits<float>::max();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {most, -most, 1e-300, infinity, -infinity, std::nan("")}) {
    batch_.BeginRow();
    Key(&batch_);
    EXPECT_TRUE(batch_.SetDouble(C("f"), value).ok()) << value;
    ASSERT_TRUE(batch_.EndRow().ok());
    const size_t row = batch_.row_count() - 1;
    const auto bits = static_cast<uint32_t>(batch_.fixed(row, C("f")));
    EXPECT_EQ(bits, std::bit_cast<uint32_t>(static_cast<float>(value))) << value;
  }
  for (const double value : {std::nextafter(most, infinity), 1e300, -1e300}) {
    batch_.BeginRow();
    const Status s = batch_.SetDouble(C("f"), value);
    EXPECT_EQ(s.code(), StatusCode::kOutOfRange) << value;
    EXPECT_NE(s.message().find("'f'"), std::string::npos) << s.message();
  }
}

TEST_F(RowBatchTest, WrongLaneAndDerivedColumnsAreRefused) {
  batch_.BeginRow();
  EXPECT_EQ(batch_.SetInt(C("d"), 1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(batch_.SetInt(C("s"), 1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(batch_.SetDouble(C("i"), 1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(batch_.SetBytes(C("i"), "1").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(batch_.SetInt(C("day"), 1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(batch_.SetNull(C("ts")).code(), StatusCode::kInvalidArgument);
  for (const size_t beyond : {schema_->columns.size(), schema_->columns.size() + 1, SIZE_MAX}) {
    EXPECT_EQ(batch_.SetInt(beyond, 1).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(batch_.SetDouble(beyond, 1).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(batch_.SetBytes(beyond, "1").code(), StatusCode::kInvalidArgument);
  }
  batch_.DropRow();
  EXPECT_EQ(batch_.SetInt(C("i"), 1).code(), StatusCode::kInvalidArgument) << "no open row";
}

TEST_F(RowBatchTest, BytesAreCheckedByType) {
  const std::pair<const char*, std::string> kBad[] = {
      {"s", "\xff"}, {"s", "\xed\xa0\x80"}, {"s", "a longer\xff"},
      {"s", "more than sixteen bytes, \xff among them"}, {"a", "\x80"}, {"u", "short"},
      {"tu", std::string(16, '\0')}, {"ip", "12345"}};
  for (const auto& [name, value] : kBad) {
    batch_.BeginRow();
    EXPECT_EQ(batch_.SetBytes(C(name), value).code(), StatusCode::kInvalidArgument) << name;
  }
  batch_.BeginRow();
  EXPECT_EQ(batch_.SetBytes(C("bl"), std::string(limits::kCellBytesMax + 1, 'x')).code(),
            StatusCode::kTooLarge);
}

TEST_F(RowBatchTest, FailedRowIsDroppedAndTheOthersStay) {
  batch_.BeginRow();
  Key(&batch_, 1);
  ASSERT_TRUE(batch_.EndRow().ok());
  batch_.BeginRow();
  Key(&batch_, 2);
  EXPECT_FALSE(batch_.SetInt(C("ti"), 999).ok());
  EXPECT_TRUE(batch_.SetInt(C("ti"), 9).ok());
  EXPECT_EQ(batch_.EndRow().code(), StatusCode::kOutOfRange) << "the first error stays";
  EXPECT_EQ(batch_.row_count(), 1u);
  EXPECT_EQ(batch_.byte_count(), 18 * sizeof(int64_t) + 24 + 1) << "slots, padded states, a text";
  batch_.BeginRow();
  Key(&batch_, 3);
  ASSERT_TRUE(batch_.EndRow().ok());
  EXPECT_EQ(batch_.fixed(1, C("ts")), 3);
  EXPECT_EQ(batch_.bytes(1, C("id")), "p");
}

TEST_F(RowBatchTest, EndRowChecksTheWholeRow) {
  EXPECT_FALSE(batch_.EndRow().ok());
  batch_.BeginRow();
  ASSERT_TRUE(batch_.SetInt(C("ts"), 1).ok());
  const Status s = batch_.EndRow();
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(s.message().find("'id'"), std::string::npos);
  batch_.BeginRow(RowKind::kUpdate);
  Key(&batch_);
  EXPECT_EQ(batch_.EndRow().code(), StatusCode::kInvalidArgument);
  batch_.BeginRow(RowKind::kDeleteRow);
  Key(&batch_);
  ASSERT_TRUE(batch_.SetInt(C("i"), 1).ok());
  EXPECT_EQ(batch_.EndRow().code(), StatusCode::kInvalidArgument);
  batch_.BeginRow();
  Key(&batch_, 1, std::string(limits::kEntityKeyBytesMax - 1, 'x'));
  EXPECT_EQ(batch_.EndRow().code(), StatusCode::kTooLarge);
  batch_.BeginRow();
  Key(&batch_, 1, std::string(limits::kEntityKeyBytesMax - 2, 'x'));
  EXPECT_TRUE(batch_.EndRow().ok());
  EXPECT_EQ(batch_.row_count(), 1u);
}

TEST_F(RowBatchTest, RowAndTtlLimits) {
  batch_.BeginRow();
  Key(&batch_);
  ASSERT_TRUE(batch_.SetBytes(C("bl"), std::string(limits::kRowBytesMax - 10, 'x')).ok());
  EXPECT_EQ(batch_.SetBytes(C("s"), "twelve bytes").code(), StatusCode::kTooLarge);
  batch_.BeginRow();
  EXPECT_EQ(batch_.SetTtl(limits::kTtlSecondsMax + 1).code(), StatusCode::kOutOfRange);
  batch_.BeginRow();
  EXPECT_TRUE(batch_.SetTtl(limits::kTtlSecondsMax).ok());
}

TEST_F(RowBatchTest, BatchLimits) {
  for (int i = 0; i < 9; ++i) {
    batch_.BeginRow();
    Key(&batch_, i);
    ASSERT_TRUE(batch_.SetBytes(C("bl"), std::string(limits::kRowBytesMax - 1000, 'x')).ok());
    EXPECT_EQ(batch_.EndRow().code(), i < 8 ? StatusCode::kOk : StatusCode::kTooLarge) << i;
  }
  EXPECT_EQ(batch_.row_count(), 8u);
  batch_.Clear();
  EXPECT_TRUE(batch_.empty());
  EXPECT_EQ(batch_.byte_count(), 0u);
}

class ColumnsTest : public RowBatchTest {
 protected:
  ColumnsTest() {
    id_.lane = Lane::kBytes;
    for (int i = 0; i < 3; ++i) {
      id_.AppendBytes(std::string(1, static_cast<char>('p' + i)));
      ts_.AppendFixed(i);
      value_.AppendFixed(10 * i);
    }
  }
  Status Append(RowKind kind = RowKind::kInsert) {
    const size_t columns[] = {C("ts"), C("id"), C("si")};
    const ColumnData* data[] = {&ts_, &id_, &value_};
    return batch_.AppendColumns(columns, data, kind);
  }
  ColumnData id_, ts_, value_;
};

TEST_F(ColumnsTest, AddsAllRows) {
  ASSERT_TRUE(Append().ok());
  ASSERT_TRUE(Append(RowKind::kUpdate).ok());
  ASSERT_EQ(batch_.row_count(), 6u);
  EXPECT_EQ(batch_.fixed(5, C("si")), 20);
  EXPECT_EQ(batch_.bytes(4, C("id")), "q");
  EXPECT_EQ(batch_.bytes(5, C("id")), "r");
  EXPECT_EQ(batch_.kind(5), RowKind::kUpdate);
  EXPECT_EQ(batch_.state(5, C("i")), CellState::kAbsent);
}

TEST_F(ColumnsTest, AddsNoneOfBadOnes) {
  ASSERT_TRUE(Append().ok());
  const size_t bytes = batch_.byte_count();
  value_.fixed[2] = 40000;
  EXPECT_EQ(Append().code(), StatusCode::kOutOfRange);
  value_.fixed[2] = 0;
  value_.states = {CellState::kAbsent, CellState::kAbsent, CellState::kAbsent};
  EXPECT_EQ(Append(RowKind::kUpdate).code(), StatusCode::kInvalidArgument);
  value_.states[1] = static_cast<CellState>(9);
  EXPECT_EQ(Append().code(), StatusCode::kInvalidArgument);
  value_.states.resize(2);
  EXPECT_EQ(Append().code(), StatusCode::kInvalidArgument);
  value_.states.clear();
  value_.fixed.pop_back();
  EXPECT_EQ(Append().code(), StatusCode::kInvalidArgument);
  value_.fixed.push_back(1);
  id_.offsets.back() = 99;
  EXPECT_EQ(Append().code(), StatusCode::kInvalidArgument);
  id_.offsets = {0, 2, 1, 3};
  EXPECT_EQ(Append().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(batch_.row_count(), 3u);
  EXPECT_EQ(batch_.byte_count(), bytes);
  batch_.BeginRow();
  EXPECT_EQ(batch_.EndRow().code(), StatusCode::kInvalidArgument) << "no key is left of them";
}

// Rows that were dropped, cleared or moved away leave nothing behind in those that take their room.
TEST_F(RowBatchTest, AnotherUseIsLikeTheFirst) {
  testing::Rng random(5);
  for (int round = 0; round < 2000; ++round) {
    if (random.Below(20) == 0) {
      RowBatch moved = std::move(batch_);
      if (random.Below(2) == 0) moved.BeginRow();
      batch_ = std::move(moved);
    }
    batch_.Clear();
    RowBatch fresh(schema_);
    for (uint64_t row = random.Below(40); row > 0; --row) {
      const auto kind = static_cast<RowKind>(random.Below(3));
      const uint64_t sets = random.Next();
      const std::string text(random.Below(30), 'x');
      for (RowBatch* batch : {&batch_, &fresh}) {
        batch->BeginRow(kind);
        if (sets & 7) Key(batch, static_cast<int64_t>(row));
        if (sets & 8) {
          EXPECT_TRUE(batch->SetDouble(C("d"), 2).ok());
        }
        if (sets & 16) {
          EXPECT_TRUE(batch->SetBytes(C("s"), text).ok());
        }
        if (sets & 32) (void)batch->SetTtl(60);
        if (sets & 64) {
          EXPECT_TRUE(batch->SetNull(C("i")).ok());
        }
        if (sets & (7 << 7)) (void)batch->EndRow();
      }
    }
    batch_.DropRow();
    fresh.DropRow();
    ASSERT_EQ(batch_.row_count(), fresh.row_count());
    ASSERT_EQ(batch_.byte_count(), fresh.byte_count());
    for (size_t row = 0; row < fresh.row_count(); ++row) {
      ASSERT_EQ(batch_.kind(row), fresh.kind(row));
      ASSERT_EQ(batch_.ttl(row), fresh.ttl(row));
      ASSERT_EQ(batch_.bytes(row, C("s")), fresh.bytes(row, C("s")));
      for (size_t c = 0; c < schema_->columns.size(); ++c) {
        ASSERT_EQ(batch_.state(row, c), fresh.state(row, c));
        ASSERT_EQ(batch_.fixed(row, c), fresh.fixed(row, c));
      }
    }
  }
}

// A copy is as large as its rows, however large the batch was before; what was moved away is gone.
TEST_F(RowBatchTest, CopiesHaveNoRoomForTexts) {
  batch_.BeginRow();
  Key(&batch_);
  ASSERT_TRUE(batch_.SetBytes(C("bl"), std::string(limits::kRowBytesMax - 1000, 'x')).ok());
  batch_.Clear();
  batch_.BeginRow();
  Key(&batch_, 1, "sensor");
  ASSERT_TRUE(batch_.EndRow().ok());
  const auto allocated = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const size_t before = allocated();
  const std::vector<RowBatch> copies(16, batch_);
  EXPECT_LT(allocated() - before, limits::kRowBytesMax) << "of all of them";
  RowBatch copy = copies.back();
  EXPECT_EQ(copy.bytes(0, C("id")), "sensor");
  copy.BeginRow();
  Key(&copy, 2, "another");
  ASSERT_TRUE(copy.EndRow().ok());
  EXPECT_EQ(copy.bytes(1, C("id")), "another");
  EXPECT_EQ(batch_.row_count(), 1u);
  const RowBatch moved = std::move(copy);
  EXPECT_EQ(moved.bytes(0, C("id")), "sensor");
  EXPECT_EQ(moved.bytes(1, C("id")), "another");
}

// Batches of one row are many: they have room for few more where rows are wide, a copy has none,
// and what is known of the columns is the table's.
TEST_F(RowBatchTest, AnEmptyBatchAndOneOfOneRowAreSmall) {
  constexpr size_t kColumns = 200;
  std::string cql = "CREATE TABLE w (id int, day date, ts timestamp";
  for (size_t c = 0; c < kColumns; ++c) cql += ", c" + std::to_string(c) + " double";
  const auto schema = row_test::Parse((cql + ", PRIMARY KEY ((id, day), ts))").c_str());
  constexpr size_t kRowBytes = (kColumns + 3) * sizeof(int64_t) + 208 + 1;
  const auto allocated = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const RowBatch first(schema);
  std::vector<RowBatch> batches;
  batches.reserve(100);
  size_t before = allocated();
  for (int i = 0; i < 100; ++i) batches.emplace_back(schema);
  EXPECT_LT(allocated() - before, 100u) << "an empty one has nothing";
  EXPECT_EQ(batches[0].MemoryBytes(), 0u);
  before = allocated();
  for (RowBatch& batch : batches) {
    batch.BeginRow();
    EXPECT_TRUE(batch.SetInt(0, 1).ok());
    EXPECT_TRUE(batch.SetInt(2, 1).ok());
    EXPECT_TRUE(batch.EndRow().ok());
  }
  EXPECT_EQ(batches[0].MemoryBytes(), kRowBytes);
  EXPECT_LT(allocated() - before, 100 * (kRowBytes + 128));
  RowBatch grown = batches[0];
  for (int row = 0; row < 100; ++row) {
    grown.BeginRow();
    EXPECT_TRUE(grown.SetInt(0, 1).ok());
    EXPECT_TRUE(grown.SetInt(2, row).ok());
    EXPECT_TRUE(grown.EndRow().ok());
  }
  EXPECT_GT(grown.MemoryBytes(), 101 * kRowBytes);
  EXPECT_EQ(RowBatch(grown).MemoryBytes(), 101 * kRowBytes);
  grown.Clear();
  EXPECT_EQ(RowBatch(grown).MemoryBytes(), 0u);
}

TEST_F(RowBatchTest, TakesItsOwnTexts) {
  batch_.BeginRow();
  Key(&batch_);
  ASSERT_TRUE(batch_.SetBytes(C("s"), "a text that is copied again and again").ok());
  ASSERT_TRUE(batch_.EndRow().ok());
  for (size_t row = 1; row < 100; ++row) {
    batch_.BeginRow();
    Key(&batch_);
    ASSERT_TRUE(batch_.SetBytes(C("s"), batch_.bytes(row - 1, C("s"))).ok());
    ASSERT_TRUE(batch_.EndRow().ok());
    ASSERT_EQ(batch_.bytes(row, C("s")), "a text that is copied again and again");
  }
}

// Rows whose keys are numbers alone are checked with fewer questions, and refused as others are.
class NumberKeysTest : public Test {
 protected:
  static constexpr size_t kId = 0, kTime = 2, kValue = 3, kBlob = 4;
  Status Add(RowKind kind = RowKind::kInsert, size_t blob_bytes = 0) {
    batch_.BeginRow(kind);
    EXPECT_TRUE(batch_.SetInt(kId, 7).ok());
    EXPECT_TRUE(batch_.SetInt(kTime, 1).ok());
    if (blob_bytes != 0) {
      EXPECT_TRUE(batch_.SetBytes(kBlob, std::string(blob_bytes, 'x')).ok());
    }
    return batch_.EndRow();
  }
  RowBatch batch_{row_test::Parse(
      "CREATE TABLE t (id int, day date, ts timestamp, v int, bl blob, "
      "PRIMARY KEY ((id, day), ts))")};
};

TEST_F(NumberKeysTest, EveryKeyMustBeSet) {
  for (const size_t missing : {kId, kTime}) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(Add().ok());  // in the room of those that are refused
    batch_.Clear();
    for (size_t rows = 0; rows < 3; ++rows) {
      batch_.BeginRow();
      ASSERT_TRUE(batch_.SetInt(kId + kTime - missing, 1).ok());
      const Status s = batch_.EndRow();
      EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
      EXPECT_NE(s.message().find(missing == kId ? "'id'" : "'ts'"), std::string::npos);
      EXPECT_EQ(batch_.row_count(), rows);
      ASSERT_TRUE(Add().ok());
    }
    batch_.Clear();
  }
}

TEST_F(NumberKeysTest, KindsAndFirstErrorsCount) {
  EXPECT_EQ(batch_.EndRow().code(), StatusCode::kInvalidArgument) << "no row is open";
  EXPECT_EQ(Add(RowKind::kUpdate).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Add(RowKind::kDeleteRow, 1).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Add(RowKind::kDeleteRow).ok());
  batch_.BeginRow();
  ASSERT_TRUE(batch_.SetInt(kId, 7).ok());
  ASSERT_TRUE(batch_.SetInt(kTime, 1).ok());
  EXPECT_EQ(batch_.SetInt(kValue, int64_t{1} << 40).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(batch_.EndRow().code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(Add().ok());
  EXPECT_EQ(batch_.EndRow().code(), StatusCode::kInvalidArgument) << "it has ended";
  EXPECT_EQ(batch_.row_count(), 2u);
}

TEST_F(NumberKeysTest, BatchLimits) {
  for (size_t i = 0; i < limits::kBatchRowsMax; ++i) ASSERT_TRUE(Add().ok()) << i;
  EXPECT_EQ(Add().code(), StatusCode::kTooLarge);
  EXPECT_EQ(batch_.row_count(), limits::kBatchRowsMax);
  batch_.Clear();
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(Add(RowKind::kInsert, limits::kRowBytesMax - 1000).code(),
              i < 8 ? StatusCode::kOk : StatusCode::kTooLarge)
        << i;
  }
  EXPECT_EQ(batch_.row_count(), 8u);
}

TEST_F(RowBatchTest, FillerRowsReadLikeBuiltOnes) {
  RowBatchFiller filler(&batch_);
  filler.AddRow(RowKind::kUpdate);
  filler.slots()[C("s")] = filler.AddBytes("hello");
  filler.states()[C("s")] = CellState::kValue;
  const int64_t other = filler.AddBytes("world");
  EXPECT_EQ(filler.bytes_of(filler.slots()[C("s")]), "hello");
  EXPECT_EQ(filler.bytes_of(other), "world");
  EXPECT_EQ(batch_.row_count(), 1u);
  EXPECT_EQ(batch_.bytes(0, C("s")), "hello");
  EXPECT_EQ(batch_.state(0, C("i")), CellState::kAbsent);
}

}  // namespace
}  // namespace cistern
