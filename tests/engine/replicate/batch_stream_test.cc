// Where batches begin and end, what they are sent with, and what is left out.
#include "engine/replicate/batch_stream.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "engine/replicate/bound_batch.h"
#include "storage/column_map.h"
#include "tests/engine/replicate/push_test_util.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kTs = kDayStartS * 1'000;
constexpr int64_t kWriteS = kDayStartS + 90'000;
constexpr int64_t kWriteUs = kWriteS * 1'000'000;
constexpr int64_t kLaterS = kWriteS + 1'000'000;

TestVersion Row(int64_t i, uint32_t expiry_s = 0) {
  return Small(kTs + i, kWriteUs + i, expiry_s, kVersionLiveness, Cell::Fixed(i), Cell::Absent());
}

uint32_t In(int64_t seconds) { return static_cast<uint32_t>(kWriteS + seconds); }

class BatchStreamTest : public ::testing::Test {
 protected:
  BatchStream Stream(const std::vector<std::vector<TestVersion>>& pages, PushPosition from = {},
                     std::vector<RangeDelete> deletes = {}) {
    std::vector<VersionColumns> columns;
    for (const auto& versions : pages) columns.push_back(PageOf(*schema_, versions));
    return BatchStream(binder_, options_, ContentOf(std::move(columns), std::move(deletes)), from);
  }
  // All batches to the end.
  static std::vector<PushBatch> Drain(BatchStream stream, std::optional<int64_t> now_s = kWriteS) {
    std::vector<PushBatch> all;
    while (!stream.at_end()) {
      PushBatch batch;
      const Status next = stream.Next(now_s, &batch);
      EXPECT_TRUE(next.ok()) << next.ToString();
      if (!next.ok()) break;
      all.push_back(std::move(batch));
    }
    return all;
  }
  // The kinds of a batch's statements, as "IiUuD": INSERT, with TTL, UPDATE, with TTL, DELETE.
  static std::string Kinds(const PushBatch& batch) {
    std::string kinds;
    for (const PushBatch::Entry& e : batch.entries()) {
      kinds.push_back("IiUuDRFBP"[static_cast<size_t>(e.kind)]);
    }
    return kinds;
  }

  std::shared_ptr<const TableSchema> schema_ = SmallTable();
  std::shared_ptr<const RowBinder> binder_ = BinderOf(schema_, {"p1"});
  PushOptions options_;
};

TEST_F(BatchStreamTest, EndsABatchAtItsCount) {
  options_.statement_count_max = 2;
  const auto batches = Drain(Stream({{Row(0), Row(1), Row(2), Row(3), Row(4)}}));
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(Kinds(batches[0]), "II");
  EXPECT_EQ(Kinds(batches[2]), "I");
  EXPECT_EQ(batches[0].next, (PushPosition{0, 0, PushPass::kWhole, 0, 2}));
  EXPECT_EQ(batches[2].next, (PushPosition{0, 1, PushPass::kWhole, 0, 0}));
  EXPECT_EQ(batches[0].tally.sent, 2u);
}

TEST_F(BatchStreamTest, EndsABatchAtItsBytesButSendsOneStatementAlways) {
  const size_t one = Drain(Stream({{Row(0)}}))[0].byte_count();
  options_.byte_count_max = 2 * one;
  EXPECT_EQ(Drain(Stream({{Row(0), Row(1), Row(2)}})).size(), 2u);
  options_.byte_count_max = 2 * one - 1;
  EXPECT_EQ(Drain(Stream({{Row(0), Row(1), Row(2)}})).size(), 3u);
  options_.byte_count_max = 0;
  EXPECT_EQ(Drain(Stream({{Row(0), Row(1), Row(2)}})).size(), 3u);
}

TEST_F(BatchStreamTest, NeverCrossesAPage) {
  const auto batches = Drain(Stream({{Row(0)}, {Row(1)}}));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(Kinds(batches[0]), "I");
}

TEST_F(BatchStreamTest, DeletesOfRangesComeFirst) {
  const auto batches =
      Drain(Stream({{Row(0)}}, {}, {{kTs, kTs + 5, kWriteUs - 1, 0}, {}, {9, 9, 1, 0}}));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(Kinds(batches[0]), "RP");
  EXPECT_EQ(batches[0].tally, (PushTally{2, 0, 0, 1}));
  EXPECT_EQ(batches[0].next.range_delete, 3u);
  EXPECT_EQ(Kinds(batches[1]), "I");
}

TEST_F(BatchStreamTest, GoesOnAtAPosition) {
  options_.statement_count_max = 2;
  const std::vector<std::vector<TestVersion>> pages = {{Row(0), Row(1), Row(2)}, {Row(3)}};
  const auto all = Drain(Stream(pages));
  for (size_t b = 0; b < all.size(); ++b) {
    const auto rest = Drain(Stream(pages, all[b].next));
    ASSERT_EQ(rest.size(), all.size() - b - 1);
    for (size_t r = 0; r < rest.size(); ++r) {
      EXPECT_EQ(rest[r].values(), all[b + 1 + r].values());
    }
  }
}

TEST_F(BatchStreamTest, ExpiryIsExactAndEqualOnEveryRepeat) {
  const std::vector<std::vector<TestVersion>> pages = {{Row(0, In(50)), Row(1), Row(2, In(70))}};
  const auto first = Drain(Stream(pages), kWriteS);
  const auto again = Drain(Stream(pages), kWriteS + 49);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(Kinds(first[0]), "iIi");
  EXPECT_EQ(first[0].now_in_seconds, kWriteS);
  EXPECT_EQ(again[0].now_in_seconds, kWriteS);
  EXPECT_EQ(first[0].values(), again[0].values());
  const auto values = SplitValues(first[0].values_of(2));
  EXPECT_EQ(GetBig<int32_t>(values.back().bytes->data()), 70);
}

TEST_F(BatchStreamTest, WithoutExpiryNoNowIsNamed) {
  EXPECT_EQ(Drain(Stream({{Row(0)}}))[0].now_in_seconds, std::nullopt);
}

TEST_F(BatchStreamTest, OnV4TheTtlIsWhatRemains) {
  options_.names_now = false;
  const auto batches = Drain(Stream({{Row(0, In(50)), Row(1)}}), kWriteS + 20);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(Kinds(batches[0]), "iI");
  EXPECT_EQ(batches[0].now_in_seconds, std::nullopt);
  EXPECT_EQ(GetBig<int32_t>(SplitValues(batches[0].values_of(0)).back().bytes->data()), 30);
}

TEST_F(BatchStreamTest, OnV4RowsThatExpireWaitForTheClock) {
  options_.names_now = false;
  options_.statement_count_max = 1;
  BatchStream stream = Stream({{Row(0), Row(1, In(50))}});
  PushBatch batch;
  ASSERT_TRUE(stream.Next(std::nullopt, &batch).ok());
  EXPECT_EQ(Kinds(batch), "I");
  const PushPosition before = stream.position();
  EXPECT_EQ(stream.Next(std::nullopt, &batch).code(), StatusCode::kBusy);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(stream.position(), before);
  ASSERT_TRUE(stream.Next(kWriteS, &batch).ok());
  EXPECT_EQ(Kinds(batch), "i");
  EXPECT_TRUE(stream.at_end());
}

TEST_F(BatchStreamTest, DeletionsOfAPageWithAnOldNowGoBeforeItsRows) {
  TestVersion partly = Row(0, In(50));
  partly.cells[2] = Cell::Null();
  TestVersion gone = Row(2);
  gone.flags = kVersionDeleteRow;
  gone.cells[1] = Cell::Absent();
  const auto batches = Drain(Stream({{partly, Row(1), gone}}));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(Kinds(batches[0]), "UD");
  EXPECT_EQ(batches[0].now_in_seconds, std::nullopt);
  EXPECT_EQ(batches[0].tally.versions(), 0u);  // each version is counted once
  EXPECT_EQ(batches[0].next, (PushPosition{0, 0, PushPass::kRows, In(0), 0}));
  EXPECT_EQ(Kinds(batches[1]), "iI");
  EXPECT_EQ(batches[1].now_in_seconds, kWriteS);
  EXPECT_EQ(batches[1].tally, (PushTally{3, 0, 0, 0}));
}

// What a value replaces is a deletion too, and would be forgotten at once under an old now.
TEST_F(BatchStreamTest, WhatACollectionReplacesIsDeletedBeforeRowsThatHaveAnOldNow) {
  schema_ = ParseTable(
      "CREATE TABLE ks.t (id text, day date, ts timestamp, a int, b map<text, int>, "
      "PRIMARY KEY ((id, day), ts))");
  binder_ = BinderOf(schema_, {"p1"});
  TestVersion with = Row(0, In(50));
  with.cells[2] = Cell::Bytes(std::string(4, '\0'));
  const auto batches = Drain(Stream({{with, Row(1)}}));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(Kinds(batches[0]), "U");
  EXPECT_EQ(batches[0].now_in_seconds, std::nullopt);
  const auto deleted = SplitValues(batches[0].values_of(0));  // timestamp, a, b, ...
  EXPECT_TRUE(deleted[1].is_unset);
  EXPECT_FALSE(deleted[2].is_unset);
  EXPECT_FALSE(deleted[2].bytes.has_value());
  EXPECT_EQ(Kinds(batches[1]), "iI");
  EXPECT_EQ(batches[1].now_in_seconds, kWriteS);
  EXPECT_EQ(batches[1].tally, (PushTally{2, 0, 0, 0}));
}

TEST_F(BatchStreamTest, WhatExpiresBetweenThePassesIsSentAsARow) {
  TestVersion partly = Row(0, In(50));
  partly.cells[2] = Cell::Null();
  BatchStream stream = Stream({{partly}});
  PushBatch batch;
  ASSERT_TRUE(stream.Next(kWriteS, &batch).ok());
  EXPECT_EQ(Kinds(batch), "U");
  ASSERT_TRUE(stream.Next(kWriteS + 60, &batch).ok());
  EXPECT_EQ(Kinds(batch), "i");
  EXPECT_TRUE(SplitValues(batch.values_of(0))[2].bytes.has_value());  // a has its value
}

TEST_F(BatchStreamTest, WhatIsOverIsLeftOutWhereNothingOlderCanBe) {
  options_.older_may_exist = false;
  const std::vector<std::vector<TestVersion>> pages = {{Row(0, In(1)), Row(1), Row(2, In(2))}};
  const auto batches = Drain(Stream(pages), kLaterS);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(Kinds(batches[0]), "I");
  EXPECT_EQ(batches[0].tally, (PushTally{1, 2, 0, 0}));
  EXPECT_EQ(Kinds(Drain(Stream(pages), std::nullopt)[0]), "iIi");  // nothing is known to be over
}

TEST_F(BatchStreamTest, WhatIsOverIsADeletionWhereItMayShadow) {
  options_.older_may_exist = false;
  TestVersion older = Row(0);
  older.write_us -= 10;
  TestVersion update = Row(0, In(1));
  update.flags = 0;
  const auto batches = Drain(Stream({{older, update, Row(1, In(1)), Row(2)}}), kLaterS);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(Kinds(batches[0]), "U");
  EXPECT_FALSE(SplitValues(batches[0].values_of(0))[1].bytes.has_value());
  EXPECT_EQ(Kinds(batches[1]), "II");
  EXPECT_EQ(batches[1].tally, (PushTally{3, 1, 0, 0}));
}

TEST_F(BatchStreamTest, TheOtherVersionsOfAKeyMayBeInTheNextPage) {
  options_.older_may_exist = false;
  const auto batches = Drain(Stream({{Row(0), Row(1, In(1))}, {Row(2, In(1)), Row(3)}}), kLaterS);
  std::string kinds;
  for (const PushBatch& batch : batches) kinds += Kinds(batch) + " ";
  // The last of the first page and the first of the next: a deletion and an expired marker each.
  EXPECT_EQ(kinds, "U Ii U iI ");
}

TEST_F(BatchStreamTest, ARowOutsideThePagesNowHasABatchOfItsOwn) {
  constexpr uint32_t kTtlMax = limits::kTtlSecondsMax;
  const auto batches = Drain(Stream({{Row(0, In(1)), Row(1, In(100) + kTtlMax), Row(2, In(200))}}));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].now_in_seconds, kWriteS);
  EXPECT_EQ(batches[1].now_in_seconds, kWriteS + 100);
  EXPECT_EQ(Kinds(batches[1]), "ii");
}

TEST_F(BatchStreamTest, LeavesOutWhatIsShadowed) {
  for (const bool names_now : {true, false}) {
    options_.names_now = names_now;
    SealContent content;
    content.page_count = 1;
    content.read_page = [&](uint32_t, std::optional<int64_t> now_s) -> Result<SealPage> {
      EXPECT_EQ(now_s, kWriteS);
      return SealPage{PageOf(*schema_, {Row(0), Row(1, In(9)), Row(2)}), {true, true, false}};
    };
    const auto batches = Drain(BatchStream(binder_, options_, content, {}));
    ASSERT_EQ(batches.size(), 1u);
    EXPECT_EQ(batches[0].tally, (PushTally{1, 0, 2, 0}));
  }
}

TEST_F(BatchStreamTest, APageThatSaysNothingGivesAnEmptyBatch) {
  TestVersion none = Row(0);
  none.flags = 0;
  none.cells[1] = Cell::Absent();
  const auto batches = Drain(Stream({{none}, {Row(1)}}));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_TRUE(batches[0].empty());
  EXPECT_EQ(batches[0].tally, (PushTally{0, 0, 0, 1}));
  EXPECT_EQ(batches[0].next.page, 1u);
}

TEST_F(BatchStreamTest, AnotherProtocolVersionBeginsThePageAgain) {
  options_.statement_count_max = 1;
  const std::vector<std::vector<TestVersion>> pages = {{Row(0, In(50)), Row(1), Row(2)}};
  const auto on_v5 = Drain(Stream(pages));
  options_.names_now = false;
  EXPECT_EQ(Drain(Stream(pages, on_v5[0].next)).size(), 3u);
  const auto on_v4 = Drain(Stream(pages));
  EXPECT_EQ(Drain(Stream(pages, on_v4[0].next)).size(), 2u);
  options_.names_now = true;
  EXPECT_EQ(Drain(Stream(pages, on_v4[0].next)).size(), 3u);
}

TEST_F(BatchStreamTest, RefusesWhatNoServerTakes) {
  PushBatch batch;
  TestVersion lowest = Row(0);
  lowest.write_us = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(Stream({{lowest}}).Next(kWriteS, &batch).code(), StatusCode::kOutOfRange);
  const RangeDelete range = {1, 2, std::numeric_limits<int64_t>::min(), 0};
  EXPECT_EQ(Stream({}, {}, {range}).Next(kWriteS, &batch).code(), StatusCode::kOutOfRange);
  const TestVersion late = Row(0, 4'294'967'294u);
  EXPECT_EQ(Stream({{late}}).Next(kWriteS, &batch).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(Stream({{Row(0)}}, {0, 0, PushPass::kWhole, 0, 2}).Next(kWriteS, &batch).code(),
            StatusCode::kCorruption);
}

TEST_F(BatchStreamTest, EventTimeRefusesDeletes) {
  options_.mode = TimestampMode::kEventTime;
  PushBatch batch;
  EXPECT_EQ(Stream({}, {}, {RangeDelete{}}).Next(kWriteS, &batch).code(),
            StatusCode::kNotSupported);
  TestVersion null = Row(0);
  null.cells[2] = Cell::Null();
  EXPECT_EQ(Stream({{null}}).Next(kWriteS, &batch).code(), StatusCode::kNotSupported);
  BatchStream stream = Stream({{Row(3)}});
  ASSERT_TRUE(stream.Next(kWriteS, &batch).ok());
  const auto values = SplitValues(batch.values_of(0));
  EXPECT_EQ(GetBig<int64_t>(values.back().bytes->data()), (kTs + 3) * 1'000);
}

TEST_F(BatchStreamTest, RowsOfFormerVersionsOfTheTable) {
  const auto former = ParseTable(
      "CREATE TABLE ks.t (id text, dropped int, day date, b text, ts timestamp, "
      "PRIMARY KEY ((id, day), ts))");
  const ColumnMap map(former, schema_, [](const std::string&) { return true; });
  TestVersion both{kWriteUs, 0, 0, {Cell::Fixed(kTs), Cell::Fixed(1), Cell::Bytes("kept")}};
  TestVersion gone{kWriteUs, 0, 0, {Cell::Fixed(kTs + 1), Cell::Fixed(1), Cell::Absent()}};
  SealContent content;
  content.page_count = 1;
  content.read_page = [&](uint32_t, std::optional<int64_t>) -> Result<SealPage> {
    return SealPage{map.Apply(PageOf(*former, {both, gone})), {}};
  };
  BatchStream stream(binder_, options_, content, {});
  PushBatch batch;
  ASSERT_TRUE(stream.Next(kWriteS, &batch).ok());
  ASSERT_EQ(Kinds(batch), "U");
  EXPECT_EQ(batch.tally, (PushTally{1, 0, 0, 1}));
  const auto values = SplitValues(batch.values_of(0));  // timestamp, a, b, ...
  EXPECT_TRUE(values[1].is_unset);
  EXPECT_EQ(values[2].bytes, "kept");
}

TEST_F(BatchStreamTest, AFailedReadChangesNothing) {
  bool fails = true;
  SealContent content;
  content.page_count = 1;
  content.read_page = [&](uint32_t, std::optional<int64_t>) -> Result<SealPage> {
    if (fails) return Status::IoError("the device failed");
    return SealPage{PageOf(*schema_, {Row(0)}), {}};
  };
  BatchStream stream(binder_, options_, content, {});
  PushBatch batch;
  EXPECT_EQ(stream.Next(kWriteS, &batch).code(), StatusCode::kIoError);
  EXPECT_EQ(stream.position(), PushPosition{});
  fails = false;
  ASSERT_TRUE(stream.Next(kWriteS, &batch).ok());
  EXPECT_EQ(Kinds(batch), "I");
}

TEST_F(BatchStreamTest, TheCodecTakesItAsItIs) {
  const PushBatch batch = Drain(Stream({{Row(0, In(5)), Row(1)}}))[0];
  cql::BoundBatch bound;
  const StatementNumbers numbers = {7, 3};
  AppendStatements(batch, numbers, &bound);
  EXPECT_EQ(bound.values(), batch.values());
  EXPECT_EQ(bound.WireBytes(16), batch.byte_count());
  ASSERT_EQ(bound.size(), 2u);
  EXPECT_EQ(bound.entries()[0].statement, 3u);
  EXPECT_EQ(bound.entries()[1].statement, 7u);
  EXPECT_EQ(bound.entries()[1].value_begin, batch.entries()[1].value_begin);
  EXPECT_EQ(bound.entries()[1].value_count, 6u);
}

TEST(PushPositionCoding, RefusesDamage) {
  const PushPosition position = {65'536, 65'536, PushPass::kRows, UINT32_MAX, 4'096};
  const std::string bytes = EncodePushPosition({position, "f5a7"});
  ASSERT_TRUE(DecodePushPosition(bytes).ok());
  EXPECT_EQ(DecodePushPosition(bytes)->position, position);
  EXPECT_EQ(DecodePushPosition(bytes)->upstream_id, "f5a7");
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_EQ(DecodePushPosition(bytes.substr(0, cut)).status().code(), StatusCode::kCorruption);
  }
  EXPECT_FALSE(DecodePushPosition(bytes + "x").ok());
  EXPECT_TRUE(DecodePushPosition(std::string("\0\0\0\0\0\0", 6)).ok());
  EXPECT_FALSE(DecodePushPosition(std::string("\0\0\3\0\0\0", 6)).ok());
  EXPECT_FALSE(DecodePushPosition(std::string("\0\0\0\0\x81\x20\0", 7)).ok());  // row 4097
  EXPECT_FALSE(DecodePushPosition(std::string(5, '\0') + "\x41" + std::string(65, 'i')).ok());
}

TEST(PushPositionOrder, IsToldWithinOnePassAlone) {
  const PushPosition end = {2, 3, PushPass::kDeletions, 9, 5};
  EXPECT_TRUE(HasPassed(end, end));
  EXPECT_TRUE(HasPassed({2, 3, PushPass::kDeletions, 10, 6}, end));
  EXPECT_TRUE(HasPassed({2, 4, PushPass::kWhole, 0, 0}, end));
  EXPECT_FALSE(HasPassed({2, 3, PushPass::kDeletions, 9, 4}, end));
  EXPECT_FALSE(HasPassed({2, 3, PushPass::kWhole, 9, 6}, end));
  EXPECT_FALSE(HasPassed({1, 4, PushPass::kWhole, 0, 0}, end));
  EXPECT_FALSE(HasPassed({2, 2, PushPass::kRows, 9, 700}, end));
}

}  // namespace
}  // namespace cistern::replicate
