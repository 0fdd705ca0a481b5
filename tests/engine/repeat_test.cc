// Rows that come again as they are: counted, and not sealed again where nothing depends on it.
#include <string>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int64_t kRows = 500;

class RepeatTest : public EngineFixture {
 protected:
  void SetUp() override {}
  // `shift` is added to the value of every hundredth row.
  void AppendAll(double shift = 0) {
    RowBatch batch(schema_);
    for (int64_t i = 0; i < kRows; ++i) {
      AddRow(&batch, "a", kStartMs + i * 1000, static_cast<double>(i) + (i % 100 == 0 ? shift : 0));
    }
    const Status s = engine_->Append(batch).status();
    ASSERT_TRUE(s.ok()) << s.ToString();
    clock_->AdvanceSeconds(10);
  }
  uint64_t Sealed() { return engine_->GetMetrics().versions_sealed; }
  uint64_t Repeated() { return engine_->GetMetrics().versions_repeated; }
};

TEST_F(RepeatTest, ATableOfEventTimeSealsARowOnce) {
  OpenWithTable(kEventPumps);
  AppendAll();
  SealAll();
  const Rows before = ScanAll("a");
  ASSERT_EQ(before.size(), static_cast<size_t>(kRows));
  for (int again = 1; again <= 3; ++again) {
    AppendAll();
    SealAll();
    // No segment is empty: one version of each amendment stays.
    EXPECT_EQ(Sealed(), static_cast<uint64_t>(kRows + again));
    EXPECT_EQ(Repeated(), static_cast<uint64_t>(again * (kRows - 1)));
    EXPECT_EQ(ScanAll("a"), before);
    ExpectSound();
  }
  Reopen();
  EXPECT_EQ(ScanAll("a"), before);
  ExpectSound();
}

TEST_F(RepeatTest, WhatIsNewAmongRepeatsIsSealed) {
  OpenWithTable(kEventPumps);
  AppendAll();
  SealAll();
  AppendAll(0.5);  // larger: it shows
  SealAll();
  EXPECT_EQ(Sealed(), static_cast<uint64_t>(kRows + 5));
  EXPECT_EQ(Repeated(), static_cast<uint64_t>(kRows - 5));
  const Rows rows = ScanAll("a");
  ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
  EXPECT_EQ(rows[100].second, 100.5);
  EXPECT_EQ(rows[101].second, 101);
  // What loses to a sealed value is no repeat, and is not sealed either.
  RowBatch lost(schema_);
  AddRow(&lost, "a", kStartMs + 100'000, 100);
  AddRow(&lost, "a", kStartMs + kRows * 1000, 1);
  ASSERT_TRUE(engine_->Append(lost).ok());
  SealAll();
  EXPECT_EQ(Sealed(), static_cast<uint64_t>(kRows + 6));
  EXPECT_EQ(Repeated(), static_cast<uint64_t>(kRows - 5));
  EXPECT_EQ(ScanAll("a").size(), static_cast<size_t>(kRows + 1));
  ExpectSound();
}

// A row that is there already and lives longer now.
TEST_F(RepeatTest, ALaterExpiryIsNoRepeat) {
  OpenWithTable(kEventPumps);
  RowBatch batch(schema_);
  AddRow(&batch, "a", kStartMs, 1, RowKind::kInsert, 3600);
  AddRow(&batch, "a", kStartMs + 1, 2);
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  clock_->AdvanceSeconds(1800);
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  EXPECT_EQ(Sealed(), 3u);
  EXPECT_EQ(Repeated(), 1u);
  clock_->AdvanceSeconds(2700);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 2}}));
}

// Here the row that came again is the younger: upstream another writer's may lie between the two.
TEST_F(RepeatTest, ATableOfWriteTimeSealsTheYoungerVersion) {
  OpenWithTable(kPumps);
  AppendAll();
  AppendAll();
  SealAll();
  EXPECT_EQ(Sealed(), static_cast<uint64_t>(kRows)) << "of what is not sealed one version is kept";
  EXPECT_EQ(Repeated(), static_cast<uint64_t>(kRows));
  AppendAll();
  SealAll();
  EXPECT_EQ(Sealed(), static_cast<uint64_t>(2 * kRows));
  EXPECT_EQ(Repeated(), static_cast<uint64_t>(kRows));
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
