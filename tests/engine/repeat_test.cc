// Rows that come again as they are: counted, and not kept where nothing depends on it.
#include <algorithm>
#include <climits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/seal_reader.h"
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

// What comes again before a head is written is spilled once, in tables of either kind.
class SpilledRepeatTest : public RepeatTest {
 protected:
  // Another store.
  void BeginAnew(const char* cql) {
    engine_.reset();
    directory_ = std::string(temp_.path()) + "/store-" + std::to_string(++copies_);
    OpenWithTable(cql);
  }
  uint64_t Unsealed() { return engine_->GetMetrics().versions_open; }
  uint64_t Superseded() { return engine_->GetMetrics().versions_superseded; }
  void Write(double flow, std::optional<uint32_t> ttl_s, RowKind kind = RowKind::kInsert) {
    RowBatch batch(schema_);
    AddRow(&batch, "a", kStartMs, flow, kind, ttl_s);
    const Status s = engine_->Append(batch).status();
    ASSERT_TRUE(s.ok()) << s.ToString();
    clock_->AdvanceSeconds(1);
  }
  // The write timestamps of what is sealed, earliest and latest.
  std::pair<int64_t, int64_t> SealedStamps() {
    ManifestWalker walker(Core()->store().spills().view(), "");
    std::pair<int64_t, int64_t> stamps{INT64_MAX, INT64_MIN};
    for (auto item = walker.Next(); item.ok() && *item; item = walker.Next()) {
      stamps.first = std::min(stamps.first, (*item)->manifest.write_us_first);
      stamps.second = std::max(stamps.second, (*item)->manifest.write_us_last);
    }
    return stamps;
  }
};

TEST_F(SpilledRepeatTest, AFileReadInTwiceIsSpilledOnce) {
  for (const char* cql : {kPumps, kEventPumps}) {
    SCOPED_TRACE(cql);
    BeginAnew(cql);
    AppendAll();
    const Rows before = ScanAll("a");
    for (int again = 0; again < 3; ++again) AppendAll();
    EXPECT_EQ(Unsealed(), static_cast<uint64_t>(4 * kRows));
    Rotate();
    EXPECT_EQ(Unsealed(), static_cast<uint64_t>(kRows));
    EXPECT_EQ(Superseded(), static_cast<uint64_t>(3 * kRows));
    EXPECT_EQ(Repeated(), static_cast<uint64_t>(3 * kRows));
    EXPECT_EQ(ScanAll("a"), before);
    ExpectSound();
    SealAll();
    EXPECT_EQ(Sealed(), static_cast<uint64_t>(kRows));
    EXPECT_EQ(Repeated(), static_cast<uint64_t>(3 * kRows));
    Crash();
    EXPECT_EQ(ScanAll("a"), before);
    EXPECT_EQ(Superseded(), static_cast<uint64_t>(3 * kRows));
    ExpectSound();
  }
}

// Of two the younger stays: what another writer wrote upstream between the two loses to it.
TEST_F(SpilledRepeatTest, TheYoungerOneStays) {
  for (const bool repeats : {false, true}) {
    BeginAnew(kPumps);
    AppendAll();
    const int64_t between_us = clock_->WallMicros();
    if (repeats) AppendAll();
    Rotate();
    SealAll();
    ASSERT_EQ(Sealed(), static_cast<uint64_t>(kRows)) << "one of each key";
    const auto [first, last] = SealedStamps();
    // So the older ones would show here.
    EXPECT_EQ(first >= between_us, repeats);
    EXPECT_EQ(last >= between_us, repeats);
    EXPECT_EQ(Repeated(), repeats ? static_cast<uint64_t>(kRows) : 0u);
  }
}

// What is sealed may be upstream: there another writer's row may lie between it and its repeat.
TEST_F(SpilledRepeatTest, ARepeatOfASealedRowStays) {
  OpenWithTable(kPumps);
  AppendAll();
  SealAll();
  const int64_t between_us = clock_->WallMicros();
  AppendAll();
  Rotate();
  EXPECT_EQ(Unsealed(), static_cast<uint64_t>(kRows));
  EXPECT_EQ(Repeated(), 0u);
  SealAll();
  EXPECT_EQ(Sealed(), static_cast<uint64_t>(2 * kRows));
  EXPECT_EQ(Repeated(), 0u);
  EXPECT_GE(SealedStamps().second, between_us);
}

// A reader of files that is killed and begins again, now and then behind a rotation.
TEST_F(SpilledRepeatTest, KillsAndReruns) {
  OpenWithTable(kPumps);
  uint64_t repeated = 0;
  for (int run = 1; run <= 6; ++run) {
    const int64_t end = run == 6 ? kRows : kRows * run / 7;
    for (int64_t i = 0; i < end; i += 50) {
      RowBatch batch(schema_);
      for (int64_t k = i; k < std::min(i + 50, end); ++k) {
        AddRow(&batch, "a", kStartMs + k * 1000, static_cast<double>(k));
      }
      ASSERT_TRUE(engine_->Append(batch).ok());
    }
    if (run == 3) Rotate();
    repeated += Repeated();
    Crash();
  }
  Rotate();
  SealAll();
  repeated += Repeated();
  EXPECT_EQ(Sealed(), static_cast<uint64_t>(kRows));
  EXPECT_EQ(repeated, Superseded());
  EXPECT_GT(repeated, static_cast<uint64_t>(kRows));
  const Rows rows = ScanAll("a");
  ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
  for (int64_t i = 0; i < kRows; ++i) EXPECT_EQ(rows[i].second, static_cast<double>(i));
  ExpectSound();
}

// The later version decides how long the row lives, be it longer or shorter.
TEST_F(SpilledRepeatTest, TheLaterLifeCounts) {
  struct Case {
    std::optional<uint32_t> first, second;
    uint64_t repeats;       // is the first one a repeat of the second?
    bool is_there_in_an_hour;
  };
  const Case cases[] = {{600, 7200, 1, true},  {7200, 600, 0, false}, {{}, 600, 0, false},
                        {600, {}, 1, true},    {{}, {}, 1, true}};
  int n = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(n++);
    BeginAnew(kPumps);
    Write(1, c.first);
    Write(1, c.second);
    Rotate();
    EXPECT_EQ(Unsealed(), 1u);
    EXPECT_EQ(Superseded(), 1u);
    EXPECT_EQ(Repeated(), c.repeats);
    EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
    clock_->AdvanceSeconds(3600);
    EXPECT_EQ(ScanAll("a").size(), c.is_there_in_an_hour ? 1u : 0u);
  }
}

TEST_F(SpilledRepeatTest, DeletesInBetween) {
  OpenWithTable(kPumps);
  const auto delete_all = [&] {
    const auto deleted =
        engine_->DeleteRange(schema_->name, Entity("a"), {kStartMs, kStartMs + kDayMs});
    ASSERT_TRUE(deleted.ok());
    clock_->AdvanceSeconds(1);
  };
  Write(1, {});
  Write(0, {}, RowKind::kDeleteRow);
  Write(1, {});
  Rotate();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
  Write(1, {});
  Write(1, {});
  Write(0, {}, RowKind::kDeleteRow);
  Write(0, {}, RowKind::kDeleteRow);
  Rotate();
  EXPECT_EQ(ScanAll("a"), Rows());
  Write(2, {});
  delete_all();
  Write(2, {});
  Rotate();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}}));
  Write(2, {});
  Write(2, {});
  delete_all();
  Rotate();
  EXPECT_EQ(ScanAll("a"), Rows());
  SealAll();
  EXPECT_EQ(ScanAll("a"), Rows());
  ExpectSound();
}

// A version that sets fewer columns is none of one that sets more, nor the other way round.
TEST_F(SpilledRepeatTest, ColumnsPartlySet) {
  OpenWithTable(kPumps);
  const auto update = [&](std::optional<double> flow, const char* state) {
    RowBatch batch(schema_);
    batch.BeginRow(RowKind::kUpdate);
    EXPECT_TRUE(batch.SetBytes(0, "a").ok());
    EXPECT_TRUE(batch.SetInt(2, kStartMs).ok());
    if (flow) {
      EXPECT_TRUE(batch.SetDouble(3, *flow).ok());
    }
    if (state != nullptr) {
      EXPECT_TRUE(batch.SetBytes(4, state).ok());
    }
    EXPECT_TRUE(batch.EndRow().ok());
    ASSERT_TRUE(engine_->Append(batch).ok());
  };
  update(1, nullptr);
  update({}, "on");
  update(1, nullptr);
  update({}, "on");
  Rotate();
  EXPECT_EQ(Unsealed(), 2u) << "one version of each column";
  EXPECT_EQ(Repeated(), 2u);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
  update(1, "on");
  update(1, nullptr);
  Rotate();
  EXPECT_EQ(Unsealed(), 4u) << "the state is of the first of the two alone";
  EXPECT_EQ(Repeated(), 2u);
  SealAll();
  EXPECT_EQ(Sealed(), 2u);
  ExpectSound();
}

// Which of two is the later one is not known before the boot's time is.
TEST_F(SpilledRepeatTest, ProvisionalRowsStay) {
  OpenWithTable(kPumps);
  Write(1, {});
  clock_->Reboot("boot-2", 0);  // 1970: below the floor
  Reopen();
  Write(1, {});
  Write(1, {});
  ASSERT_EQ(engine_->GetMetrics().rows_provisional, 2u);
  Rotate();
  EXPECT_EQ(Repeated(), 0u);
  clock_->SetWallMicros(kStartUs + 3600'000'000ll);
  TickAll();
  SealAll();
  EXPECT_EQ(Sealed(), 1u);
  EXPECT_EQ(Repeated(), 2u);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
  ExpectSound();
}

// Many small rotations become one, and the repeats among them are left out there.
TEST_F(SpilledRepeatTest, RepeatsOfManyRotationsAreGathered) {
  OpenWithTable(kPumps);
  for (int i = 0; i < 70; ++i) {
    Write(1, {});
    Rotate();
    TickAll();
  }
  ASSERT_GT(engine_->GetMetrics().respill_bytes, 0u);
  EXPECT_GT(Repeated(), 30u);
  EXPECT_EQ(Repeated(), Superseded());
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
