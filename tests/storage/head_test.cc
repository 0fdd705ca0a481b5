#include "storage/head.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/lib/row/row_test_util.h"

namespace cistern {
namespace {

using row_test::Parse;

class HeadTest : public testing::Test {
 protected:
  size_t C(const char* name) const { return *schema_->FindColumn(name); }
  // A batch of one row with event time `ts` and integer `a`.
  RowBatch Row(int64_t ts, int64_t a) const {
    RowBatch batch(schema_);
    batch.BeginRow();
    EXPECT_TRUE(batch.SetBytes(C("id"), "p").ok());
    EXPECT_TRUE(batch.SetInt(C("ts"), ts).ok());
    EXPECT_TRUE(batch.SetInt(C("a"), a).ok());
    EXPECT_TRUE(batch.SetBytes(C("b"), "text").ok());
    EXPECT_TRUE(batch.EndRow().ok());
    return batch;
  }
  HeadBucket* Bucket(std::string_view entity, int64_t start_s = 0, uint32_t split = 0) {
    return head_.FindOrAddBucket(head_.FindOrAddEntity(1, schema_, entity), start_s, split);
  }
  void Append(HeadBucket* bucket, int64_t ts, int64_t a, int64_t write_us, uint32_t boot = 0) {
    head_.AppendRow(bucket, Row(ts, a), 0, RowStamp{write_us, boot, 0, kVersionLiveness});
  }
  std::vector<int64_t> ValuesOfA(const HeadBucket& bucket) const {
    return head_.ToSorted(bucket).columns[C("a")].fixed;
  }
  std::shared_ptr<const TableSchema> schema_ = row_test::PlainTable();
  MemoryBudget budget_{size_t{1} << 32};
  Head head_{&budget_};
};

TEST_F(HeadTest, EntitiesAreNumberedByFirstUseAndStay) {
  EntitySlot* first = head_.FindOrAddEntity(1, schema_, "a");
  EntitySlot* other_table = head_.FindOrAddEntity(2, schema_, "a");
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(head_.FindOrAddEntity(1, schema_, std::to_string(i))->number(), 2u + i);
  }
  EXPECT_EQ(first->number(), 0u);
  EXPECT_EQ(other_table->number(), 1u);
  EXPECT_EQ(head_.FindOrAddEntity(1, schema_, "a"), first);
  EXPECT_EQ(head_.FindOrAddEntity(2, schema_, "a"), other_table);
  EXPECT_EQ(first->entity(), "a");
  EXPECT_EQ(other_table->table_id(), 2u);
  EXPECT_EQ(&first->schema(), schema_.get());
  EXPECT_EQ(head_.FindOrAddEntity(1, schema_, "")->entity(), "");
}

TEST_F(HeadTest, NewestWriteComesFirstWithinAKey) {
  HeadBucket* bucket = Bucket("p");
  Append(bucket, 5, 1, 10);
  Append(bucket, 9, 2, 11);
  Append(bucket, 5, 3, 12);  // late
  Append(bucket, 9, 4, 13);
  Append(bucket, 5, 5, 11);  // late, older than the row before it
  EXPECT_EQ(ValuesOfA(*bucket), (std::vector<int64_t>{3, 5, 1, 4, 2}));
}

TEST_F(HeadTest, KeysWithProvisionalWritesGoByArrival) {
  HeadBucket* bucket = Bucket("p");
  Append(bucket, 5, 1, 1'000'000);
  Append(bucket, 5, 2, 7, /*boot=*/3);
  const VersionColumns rows = head_.ToSorted(*bucket);
  EXPECT_EQ(rows.columns[C("a")].fixed, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(rows.boot, (std::vector<uint32_t>{3, 0}));
  EXPECT_TRUE(rows.expiry_s.empty());
}

TEST_F(HeadTest, BucketTellsItsBoundsAndSequences) {
  HeadBucket* bucket = Bucket("p", 86400, 3);
  head_.set_sequence(7);
  head_.AddRangeDelete(bucket, RangeDelete{.from = 1, .to = 2, .write_us = 3});
  EXPECT_EQ(bucket->row_count(), 0u);
  Append(bucket, 50, 1, 1);
  head_.set_sequence(9);
  Append(bucket, 40, 1, 2);
  EXPECT_EQ(bucket->row_count(), 2u);
  EXPECT_EQ(bucket->first_time(), 40);
  EXPECT_EQ(bucket->last_time(), 50);
  EXPECT_EQ(bucket->journal_first(), 7u);
  EXPECT_EQ(bucket->journal_last(), 9u);
  EXPECT_EQ(bucket->start_s(), 86400);
  EXPECT_EQ(bucket->split(), 3u);
  ASSERT_EQ(head_.deletes(*bucket).size(), 1u);
  EXPECT_EQ(head_.deletes(*bucket)[0].write_us, 3);
  EXPECT_EQ(head_.version_count(), 3u);
  EXPECT_TRUE(head_.deletes(*Bucket("q")).empty());
}

TEST_F(HeadTest, EqualTextsOfNeighboursAreStoredOnce) {
  HeadBucket* bucket = Bucket("p");
  RowBatch batch(schema_);
  batch.BeginRow();
  ASSERT_TRUE(batch.SetBytes(C("id"), "p").ok());
  ASSERT_TRUE(batch.SetInt(C("ts"), 1).ok());
  ASSERT_TRUE(batch.SetBytes(C("b"), std::string(10'000, 'x')).ok());
  ASSERT_TRUE(batch.EndRow().ok());
  for (int i = 0; i < 1000; ++i) head_.AppendRow(bucket, batch, 0, RowStamp{i, 0, 0, 0});
  EXPECT_LT(head_.memory_bytes(), 300'000u);
  const VersionColumns rows = head_.ToSorted(*bucket);
  EXPECT_EQ(rows.columns[C("b")].bytes(999), std::string(10'000, 'x'));
}

TEST_F(HeadTest, SmallEntitiesTakeLittleMemoryAndAllOfItIsCharged) {
  const RowBatch batch = Row(1, 2);
  {
    Head head(&budget_);
    for (int i = 0; i < 100'000; ++i) {
      EntitySlot* slot = head.FindOrAddEntity(1, schema_, std::to_string(10'000'000 + i));
      head.AppendRow(head.FindOrAddBucket(slot, 0, 0), batch, 0, RowStamp{1, 0, 0, 0});
    }
    EXPECT_LT(head.memory_bytes(), 100'000u * 1024);
    EXPECT_GT(head.memory_bytes(), 100'000u * 100);
    EXPECT_EQ(budget_.used_bytes(), head.memory_bytes() + head_.memory_bytes());
  }
  EXPECT_EQ(budget_.used_bytes(), head_.memory_bytes());
}

TEST_F(HeadTest, MemoryOfALongBucketStaysNearItsRows) {
  HeadBucket* bucket = Bucket("p");
  const size_t packed = 8 + 1 + 8 + 4 + 8 + 8;  // stamp, flags, ts, a, b, d
  for (int i = 0; i < 50'000; ++i) Append(bucket, i, i, i);
  EXPECT_LT(head_.memory_bytes(), 50'000 * (packed + 12) + 200'000);  // d is absent: states
  EXPECT_EQ(ValuesOfA(*bucket).size(), 50'000u);
  EXPECT_EQ(ValuesOfA(*bucket)[49'999], 49'999);
}

TEST_F(HeadTest, ReadersSortLateRowsTogether) {
  HeadBucket* bucket = Bucket("p");
  for (int i = 0; i < 3000; ++i) Append(bucket, 5000 - i, i, i);
  std::vector<std::thread> readers;
  std::vector<std::vector<int64_t>> seen(4);
  for (auto& values : seen) readers.emplace_back([&, out = &values] { *out = ValuesOfA(*bucket); });
  for (std::thread& t : readers) t.join();
  for (const auto& values : seen) {
    ASSERT_EQ(values.size(), 3000u);
    for (int i = 0; i < 3000; ++i) ASSERT_EQ(values[i], 2999 - i);
  }
}

TEST_F(HeadTest, TimeuuidRowsAreOrderedByTheirTime) {
  const auto schema = Parse(
      "CREATE TABLE u (id text, day date, at timeuuid, v int, PRIMARY KEY ((id, day), at))");
  const auto append = [&](HeadBucket* bucket, uint8_t tick, uint8_t node) {
    std::string uuid("\0\0\0\0\x1d\xd2\x11\xb2\x80\0\0\0\0\0\0\0", 16);
    uuid[3] = static_cast<char>(tick);
    uuid[15] = static_cast<char>(node);
    RowBatch batch(schema);
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(*schema->FindColumn("id"), "p").ok());
    ASSERT_TRUE(batch.SetBytes(*schema->FindColumn("at"), uuid).ok());
    ASSERT_TRUE(batch.SetInt(*schema->FindColumn("v"), tick * 256 + node).ok());
    ASSERT_TRUE(batch.EndRow().ok());
    head_.AppendRow(bucket, batch, 0, RowStamp{1, 0, 0, kVersionLiveness});
  };
  HeadBucket* bucket = head_.FindOrAddBucket(head_.FindOrAddEntity(9, schema, "p"), 0, 0);
  for (const auto& [tick, node] : {std::pair(3, 1), {5, 1}, {5, 0x80}, {4, 1}, {5, 0}}) {
    append(bucket, static_cast<uint8_t>(tick), static_cast<uint8_t>(node));
  }
  EXPECT_EQ(head_.ToSorted(*bucket).columns[*schema->FindColumn("v")].fixed,
            (std::vector<int64_t>{769, 1025, 1408, 1280, 1281}))
      << "0x80 is a negative byte";
  EXPECT_EQ(bucket->last_time() - bucket->first_time(), 2);
}

}  // namespace
}  // namespace cistern
