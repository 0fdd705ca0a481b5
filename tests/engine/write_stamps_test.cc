// Which rows share a write timestamp, and that no two versions of one row ever do.
#include <map>
#include <string>
#include <vector>

#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

class WriteStampsTest : public EngineFixture {
 protected:
  using Keys = std::vector<std::pair<std::string, int64_t>>;  // sensor, seconds after the start

  // Appends the rows, and returns the largest timestamp that the last one's entity has in the head,
  // in us after the start.
  int64_t Stamp(const Keys& rows) {
    RowBatch batch(schema_);
    for (const auto& [sensor, at_s] : rows) AddRow(&batch, sensor, kStartMs + 1000 * at_s, 1);
    EXPECT_TRUE(engine_->Append(batch).ok());
    const HeadSet& heads = Core()->heads();
    const HeadBucket* bucket = heads.active->FindBucket(
        (*Core()->tables().Find(schema_->name))->id, Entity(rows.back().first).bytes,
        kStartMs / 1000, 0);
    return bucket->newest_write_us() - kStartUs;
  }
};

TEST_F(WriteStampsTest, RowsThatAreNotTheSameShareTheMillisecond) {
  clock_->SetWallMicros(kStartUs + 5'999);
  EXPECT_EQ(Stamp({{"a", 1}, {"b", 1}, {"c", 1}, {"a", 2}, {"a", 3}}), 5'000);
  EXPECT_EQ(Stamp({{"d", 1}, {"b", 2}}), 5'000);
  EXPECT_EQ(Stamp({{"a", 4}}), 5'000) << "of another append too";
  clock_->AdvanceMicros(1);
  EXPECT_EQ(Stamp({{"a", 1}}), 6'000);
}

TEST_F(WriteStampsTest, RowsOfAnEntityWhoseTimesDoNotRiseDoNot) {
  EXPECT_EQ(Stamp({{"a", 5}, {"b", 5}}), 0);
  EXPECT_EQ(Stamp({{"b", 5}}), 1) << "the same row";
  EXPECT_EQ(Stamp({{"a", 6}}), 0) << "of another entity";
  EXPECT_EQ(Stamp({{"b", 6}}), 1) << "the times rise again";
  EXPECT_EQ(Stamp({{"b", 4}, {"b", 5}, {"b", 6}}), 2);
  EXPECT_EQ(Stamp({{"b", 6}, {"b", 6}, {"b", 6}}), 5);
  EXPECT_EQ(Stamp({{"c", 6}}), 0);
}

TEST_F(WriteStampsTest, TheyNeverFall) {
  const Keys same(2'001, {"a", 1});
  EXPECT_EQ(Stamp(same), 2'000) << "ahead of the clock";
  clock_->AdvanceMicros(1'000);
  EXPECT_EQ(Stamp({{"a", 1}}), 2'001);
  EXPECT_EQ(Stamp({{"b", 1}}), 1'000);
  clock_->StepWallMicros(-3'000);
  EXPECT_EQ(Stamp({{"c", 1}}), 1'000);
  clock_->StepWallMicros(5'000);
  EXPECT_EQ(Stamp({{"a", 1}}), 3'000);
}

TEST_F(WriteStampsTest, WhatIsForgottenIsNotShared) {
  clock_->AdvanceMicros(5'000);
  EXPECT_EQ(Stamp({{"a", 1}}), 5'000);
  Rotate();
  EXPECT_EQ(Stamp({{"b", 1}}), 5'001);
  Reopen();
  EXPECT_EQ(Stamp({{"c", 1}}), 5'002);
  Crash();
  EXPECT_EQ(Stamp({{"d", 1}}), 5'003);
}

TEST_F(WriteStampsTest, ADeleteHasItsOwn) {
  clock_->AdvanceMicros(5'000);
  const auto deletes_all = [this] {
    return engine_->DeleteRange("pumps", Entity("a"), {kStartMs, kStartMs + kDayMs}).ok();
  };
  EXPECT_EQ(Stamp({{"a", 1}}), 5'000);
  ASSERT_TRUE(deletes_all());
  EXPECT_TRUE(ScanAll("a").empty());
  EXPECT_EQ(Stamp({{"b", 1}}), 5'000);
  EXPECT_GT(Stamp({{"a", 2}}), 5'001);
  EXPECT_EQ(ScanAll("a").size(), 1u);
  ASSERT_TRUE(deletes_all());
  EXPECT_TRUE(ScanAll("a").empty());
}

// The clock stands still, or goes to where it is not believed and comes back: what was written last
// is what is read, through everything.
TEST_F(WriteStampsTest, TheLastVersionWinsThoughTheClockStandsStill) {
  Rng random(20261126);
  std::map<std::string, std::map<int64_t, double>> expected;
  double value = 0;
  const auto write = [&] {
    RowBatch batch(schema_);
    for (uint64_t i = random.Below(12); i > 0; --i) {
      const std::string sensor(1, static_cast<char>('a' + random.Below(3)));
      const int64_t ts = kStartMs + 1000 * static_cast<int64_t>(random.Below(4));
      const bool removes = random.Below(8) == 0;
      AddRow(&batch, sensor, ts, ++value, removes ? RowKind::kDeleteRow : RowKind::kInsert);
      if (removes) {
        expected[sensor].erase(ts);
      } else {
        expected[sensor][ts] = value;
      }
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
  };
  for (int step = 0; step < 1500; ++step) {
    switch (random.Below(16)) {
      case 0: Rotate(); break;
      case 1: Reopen(); break;
      case 2: Crash(); break;
      case 3: {
        const Status sealed = engine_->Seal({.due_only = false}).status();
        // Busy: some wait for their time.
        ASSERT_TRUE(sealed.ok() || sealed.code() == StatusCode::kBusy) << sealed.ToString();
        break;
      }
      case 4:
        ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("b"), {kStartMs, kStartMs + kDayMs}).ok());
        expected["b"].clear();
        break;
      case 5: clock_->SetWallMicros(random.Below(2) == 0 ? 0 : kStartUs); break;
      case 6: ASSERT_TRUE(engine_->Tick({10}).ok()); break;
      default: write();
    }
    if (step % 5 != 0) continue;
    for (const auto& [sensor, rows] : expected) {
      ASSERT_EQ(ScanAll(sensor), Rows(rows.begin(), rows.end())) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace cistern::testing
