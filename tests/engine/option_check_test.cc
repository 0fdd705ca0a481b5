// Options that are out of their range: refused at the opening, with the range.
#include "engine/option_check.h"

#include <filesystem>
#include <functional>

#include "cistern/engine.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

struct OptionCase {
  const char* option;
  int64_t EngineOptions::*member;
  int64_t min;
  int64_t max;
};
const OptionCase kTimes[] = {
    {"clock_floor_s", &EngineOptions::clock_floor_s, 0, limits::kEventSecondsMax},
    {"clock_ceiling_ahead_s", &EngineOptions::clock_ceiling_ahead_s, 0, limits::kFutureSecondsMax},
    {"event_future_s_max", &EngineOptions::event_future_s_max, 0, limits::kFutureSecondsMax},
    {"sync_interval_us", &EngineOptions::sync_interval_us, 1, limits::kSyncIntervalUsMax},
    {"commit_interval_us", &EngineOptions::commit_interval_us, 0, limits::kCommitIntervalUsMax},
    {"head_age_us_max", &EngineOptions::head_age_us_max, 1, limits::kHeadAgeUsMax},
    {"seal_grace_s", &EngineOptions::seal_grace_s, 0, limits::kSealDelaySecondsMax},
    {"seal_idle_s", &EngineOptions::seal_idle_s, 0, limits::kSealDelaySecondsMax},
    {"keep_confirmed_s", &EngineOptions::keep_confirmed_s, 0, limits::kKeepSecondsMax},
    {"keep_unconfirmed_s", &EngineOptions::keep_unconfirmed_s, 0, limits::kKeepSecondsMax},
};

TEST(OptionCheckTest, TimesOutOfTheirRangeAreToldWithIt) {
  EXPECT_TRUE(CheckOptions({}).ok());
  for (const OptionCase& c : kTimes) {
    for (const int64_t value : {c.min - 1, c.max + 1, INT64_MIN, INT64_MAX, int64_t{-100'000}}) {
      EngineOptions options;
      options.*c.member = value;
      const Status s = CheckOptions(options);
      EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << c.option << " " << value;
      EXPECT_EQ(s.message(), std::string("EngineOptions::") + c.option + " is " +
                                 std::to_string(value) + "; it may be from " +
                                 std::to_string(c.min) + " to " + std::to_string(c.max));
    }
    for (const int64_t value : {c.min, c.max}) {
      EngineOptions options;
      options.*c.member = value;
      EXPECT_TRUE(CheckOptions(options).ok()) << c.option << " " << value;
    }
  }
}

TEST(OptionCheckTest, BudgetsBelowTheirMinimum) {
  EngineOptions options;
  options.memory_budget_bytes = limits::kMemoryBudgetBytesMin - 1;
  EXPECT_EQ(CheckOptions(options).message(),
            "EngineOptions::memory_budget_bytes is 8388607; it may be at least 8388608");
  options = {};
  options.disk_budget_bytes = limits::kDiskBudgetBytesMin - 1;
  EXPECT_EQ(CheckOptions(options).message(),
            "EngineOptions::disk_budget_bytes is 33554431; it may be 0, or at least 33554432");
  options = {};
  options.disk_shed = static_cast<DiskShed>(3);
  EXPECT_EQ(CheckOptions(options).code(), StatusCode::kInvalidArgument);
  // What is clamped is no error.
  options = {};
  options.scan_threads = 1'000'000;
  EXPECT_TRUE(CheckOptions(options).ok());
}

using RefusedOptionTest = EngineFixture;

// What nobody confirmed must not go because a minus slipped in.
TEST_F(RefusedOptionTest, NothingIsMadeOrDropped) {
  MustAppend("a", kStartMs, 1);
  options_.keep_unconfirmed_s = -1;
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  EXPECT_EQ(TryOpen(options_).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Engine::Open(directory() + ".new", options_).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(directory() + ".new"));
  options_.keep_unconfirmed_s = 0;
  Open();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
}

}  // namespace
}  // namespace cistern::testing
