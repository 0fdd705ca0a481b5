// What goes into journal records comes back bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "tests/storage/journal_test_util.h"

namespace cistern {
namespace {

using journal_test::RandomJournal;
using journal_test::RecordingSink;
using journal_test::Seen;

TEST(JournalRoundTrip, TenThousandRandomRecordsOfOneFamily) {
  for (const uint64_t seed : {1, 2, 3}) {
    const auto tables = journal_test::Tables();
    RandomJournal journal(seed, tables);
    JournalDecoder decoder(journal_test::LookupIn(tables), nullptr);
    size_t operations = 0;
    for (int i = 0; i < 10'000; ++i) {
      std::vector<Seen> want;
      const std::string record = journal.NextRecord(&want);
      if (!want.empty()) {
        ASSERT_EQ(JournalDecoder::BeginsFamily(record), operations == 0) << "record " << i;
      }
      RecordingSink sink;
      const Status s = decoder.Decode(record, journal.sequence(), &sink);
      ASSERT_TRUE(s.ok()) << "seed " << seed << " record " << i << ": " << s.ToString();
      ASSERT_EQ(sink.seen.size(), want.size()) << "seed " << seed << " record " << i;
      for (size_t k = 0; k < want.size(); ++k) {
        ASSERT_EQ(sink.seen[k], want[k]) << "seed " << seed << " record " << i << " row " << k;
      }
      operations += want.size();
    }
    EXPECT_GT(operations, 30'000u);
  }
}

TEST(JournalRoundTrip, SameOperationsGiveTheSameBytes) {
  const auto tables = journal_test::Tables();
  RandomJournal one(9, tables);
  RandomJournal two(9, tables);
  for (int i = 0; i < 200; ++i) {
    std::vector<Seen> a, b;
    ASSERT_EQ(one.NextRecord(&a), two.NextRecord(&b));
  }
}

class JournalTest : public testing::Test {
 protected:
  JournalTest() { BeginFamily(); }
  void BeginFamily() {
    encoder_.emplace(nullptr);
    decoder_.emplace(journal_test::LookupIn({schema_}), nullptr);
    sequence_ = 0;
    sequence_us_ = 1'700'000'000'000'000;
  }
  // Encodes rows (ts, d) of one entity in one record each; gives the records' sizes.
  std::vector<size_t> Encode(const std::vector<std::pair<int64_t, double>>& rows) {
    std::vector<size_t> sizes;
    for (const auto& [ts, d] : rows) {
      RowBatch batch(schema_);
      batch.BeginRow();
      EXPECT_TRUE(batch.SetBytes(0, "p").ok());
      EXPECT_TRUE(batch.SetInt(*schema_->FindColumn("ts"), ts).ok());
      EXPECT_TRUE(batch.SetDouble(*schema_->FindColumn("d"), d).ok());
      EXPECT_TRUE(batch.EndRow().ok());
      encoder_->Begin(++sequence_);
      encoder_->AddRow(*slot_, batch, 0, 0, RowStamp{sequence_us_++, 0, 0, kVersionLiveness});
      const std::string record(encoder_->Finish());
      RecordingSink sink;
      const Status s = decoder_->Decode(record, sequence_, &sink);
      EXPECT_TRUE(s.ok()) << s.ToString();
      EXPECT_EQ(sink.seen.size(), 1u);
      EXPECT_EQ(sink.seen[0].fixed[*schema_->FindColumn("d")], std::bit_cast<int64_t>(d));
      EXPECT_EQ(sink.seen[0].fixed[*schema_->FindColumn("ts")], ts);
      sizes.push_back(record.size());
    }
    return sizes;
  }
  std::shared_ptr<const TableSchema> schema_ = row_test::PlainTable();
  Head head_{nullptr};
  EntitySlot* slot_ = head_.FindOrAddEntity(0, schema_, std::string_view("\0\1p", 3));
  std::optional<JournalEncoder> encoder_;
  std::optional<JournalDecoder> decoder_;
  uint64_t sequence_ = 0;
  int64_t sequence_us_ = 0;
};

TEST_F(JournalTest, SteadyRowsTakeTwoBytesBesideTheHeader) {
  const auto sizes = Encode({{1000, 21.5}, {2000, 21.5}, {3000, 21.5}, {4000, 21.6}, {5000, 21.6}});
  EXPECT_EQ(sizes[3], sizes[2] + 1) << "a step of one tenth is one byte";
  EXPECT_EQ(sizes[4], sizes[2]) << "flags and mask alone";
}

TEST_F(JournalTest, NoiseIsStoredRawAndDecimalsComeBackAfterIt) {
  std::vector<std::pair<int64_t, double>> rows;
  for (int i = 0; i < 2000; ++i) rows.emplace_back(i * 1000, std::sin(i + 1));
  const auto noise = Encode(rows);
  EXPECT_LE(noise.back(), noise[2] + 1) << "9 bytes each";
  rows.clear();
  for (int i = 0; i < 2000; ++i) rows.emplace_back(3'000'000 + i * 1000, (100 + i % 7) / 100.0);
  EXPECT_LT(Encode(rows).back(), noise.back() - 6);
}

TEST_F(JournalTest, EachFamilyBeginsAnew) {
  const auto first = Encode({{1000, 1.5}, {2000, 1.5}});
  BeginFamily();
  EXPECT_EQ(Encode({{1000, 1.5}, {2000, 1.5}}), first);
}

TEST_F(JournalTest, SlotsThatNoRowUsedAreNotNamed) {
  for (int i = 0; i < 10; ++i) (void)head_.FindOrAddEntity(0, schema_, std::to_string(i));
  slot_ = head_.FindOrAddEntity(0, schema_, std::string_view("\0\1z", 3));
  Encode({{1, 1}, {2, 2}});
}

TEST(JournalMemory, StateIsChargedAndSmall) {
  MemoryBudget budget(size_t{1} << 30);
  const auto schema = row_test::PlainTable();
  {
    Head head(nullptr);
    JournalEncoder encoder(&budget);
    RowBatch batch(schema);
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "p").ok());
    ASSERT_TRUE(batch.SetInt(*schema->FindColumn("ts"), 1).ok());
    ASSERT_TRUE(batch.EndRow().ok());
    encoder.Begin(1);
    for (int i = 0; i < 100'000; ++i) {
      EntitySlot* slot = head.FindOrAddEntity(0, schema, std::to_string(i));
      encoder.AddRow(*slot, batch, 0, 0, RowStamp{i, 0, 0, kVersionLiveness});
    }
    EXPECT_GT(encoder.Finish().size(), 100'000u);
    EXPECT_EQ(encoder.memory_bytes(), budget.used_bytes());
    EXPECT_LT(encoder.memory_bytes(), 100'000u * 250);
    EXPECT_GT(encoder.memory_bytes(), 100'000u * 40);
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST(JournalMemory, TheDecodersStateIsChargedWhileItLives) {
  MemoryBudget budget(size_t{1} << 30);
  const auto schema = row_test::PlainTable();
  Head head(nullptr);
  JournalEncoder encoder(nullptr);
  RowBatch batch(schema);
  batch.BeginRow();
  ASSERT_TRUE(batch.SetBytes(0, "p").ok());
  ASSERT_TRUE(batch.SetInt(*schema->FindColumn("ts"), 1).ok());
  ASSERT_TRUE(batch.EndRow().ok());
  encoder.Begin(1);
  for (int i = 100'000; i < 200'000; ++i) {
    const std::string key = std::string("\0\6", 2) + std::to_string(i);
    EntitySlot* slot = head.FindOrAddEntity(0, schema, key);
    encoder.AddRow(*slot, batch, 0, 0, RowStamp{i, 0, 0, kVersionLiveness});
  }
  const std::string record(encoder.Finish());
  {
    JournalDecoder decoder(journal_test::LookupIn({schema}), &budget);
    RecordingSink sink;
    const Status s = decoder.Decode(record, 1, &sink);
    ASSERT_TRUE(s.ok()) << s.ToString();
    EXPECT_EQ(sink.seen.size(), 100'000u);
    EXPECT_EQ(decoder.memory_bytes(), budget.used_bytes());
    EXPECT_LT(decoder.memory_bytes(), 100'000u * 300);
    EXPECT_GT(decoder.memory_bytes(), 100'000u * 60);
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
}

}  // namespace
}  // namespace cistern
