// Whether a wall clock is believed, and what has passed for certain. Pure.
#include "engine/ingest/clock_guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/rng.h"

namespace cistern {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kHourUs = 3'600 * kSecondUs;
constexpr int64_t kDayUs = 24 * kHourUs;
constexpr int64_t kYearUs = 365 * kDayUs;
constexpr int64_t kFloorUs = 1'800'000'000 * kSecondUs;
constexpr ClockLimits kLimits{.floor_us = kFloorUs, .ceiling_ahead_us = 10 * kYearUs};

// A machine whose clocks a test moves, and the guard of its boot.
class Machine {
 public:
  explicit Machine(ClockLimits limits = kLimits) : limits_(limits) { Boot(); }

  void Boot() {
    monotonic_us_ = kSecondUs;
    boot_ = "boot-" + std::to_string(++boots_);
    Restart();
  }
  // The process alone.
  void Restart() {
    guard_.emplace(limits_, guard_ ? guard_->record() : known_, boot_, monotonic_us_);
  }
  void Know(ClockRecord known) {
    known_ = std::move(known);
    guard_.reset();
    Boot();
  }
  void Pass(int64_t us) {
    monotonic_us_ += us;
    wall_us_ += us;
  }
  // Time passes, looked at every ten minutes; the last verdict.
  ClockVerdict Live(int64_t us) {
    for (; us > 0; us -= 600 * kSecondUs) {
      Pass(std::min(us, 600 * kSecondUs));
      Look();
    }
    return guard_->verdict();
  }
  ClockVerdict Look(ClockSync sync = ClockSync::kUnknown) {
    return guard_->Observe({wall_us_, monotonic_us_, sync});
  }
  ClockVerdict Set(int64_t wall_us, ClockSync sync = ClockSync::kUnknown) {
    wall_us_ = wall_us;
    return Look(sync);
  }
  void Confirm() { guard_->Confirm({wall_us_, monotonic_us_}); }
  [[nodiscard]] int64_t wall_us() const { return wall_us_; }
  [[nodiscard]] ClockGuard& guard() { return *guard_; }
  [[nodiscard]] const ClockRecord& known() const { return guard_->record(); }

 private:
  const ClockLimits limits_;
  ClockRecord known_;
  int64_t wall_us_ = kFloorUs;
  int64_t monotonic_us_ = 0;
  int boots_ = 0;
  std::string boot_;
  std::optional<ClockGuard> guard_;
};

TEST(ClockGuard, TheFirstTimeBetweenFloorAndCeilingIsBelieved) {
  EXPECT_EQ(Machine().Set(kFloorUs - 1), ClockVerdict::kBeforeFloor);
  EXPECT_EQ(Machine().Set(kFloorUs), ClockVerdict::kBelieved);
  EXPECT_EQ(Machine().Set(kFloorUs + 10 * kYearUs), ClockVerdict::kBelieved);
  EXPECT_EQ(Machine().Set(kFloorUs + 10 * kYearUs + 1), ClockVerdict::kBeyondCeiling);
  Machine machine;
  EXPECT_EQ(machine.known().trusted_us, 0);
  EXPECT_EQ(machine.Set(0), ClockVerdict::kBeforeFloor);
  EXPECT_EQ(machine.Set(kFloorUs + kYearUs), ClockVerdict::kBelieved) << "the first";
  EXPECT_EQ(machine.known().certain_us, kFloorUs + kYearUs);
}

TEST(ClockGuard, WithinABootTheMonotonicClockIsAWitness) {
  const int64_t step_us = kLimits.step_us;
  for (const int64_t jump_us : {step_us + 1, -step_us - 1, 60 * kDayUs, 5 * kYearUs}) {
    Machine machine;
    machine.Set(kFloorUs + kYearUs);
    machine.Pass(kDayUs);
    ASSERT_EQ(machine.Look(), ClockVerdict::kBelieved);
    const int64_t true_us = machine.wall_us();
    EXPECT_EQ(machine.Set(true_us + jump_us), ClockVerdict::kDwells) << jump_us;
    EXPECT_EQ(machine.known().trusted_us, true_us);
    machine.Pass(kSecondUs);
    EXPECT_EQ(machine.Look(), ClockVerdict::kDwells);
    EXPECT_EQ(machine.known().trusted_us, true_us + kSecondUs) << "time passes all the same";
    EXPECT_EQ(machine.Set(true_us + kSecondUs), ClockVerdict::kBelieved);
    EXPECT_EQ(machine.guard().dwell_left_us(), 0);
  }
  Machine machine;
  machine.Set(kFloorUs + kYearUs);
  EXPECT_EQ(machine.Set(kFloorUs + kYearUs + step_us), ClockVerdict::kBelieved);
  EXPECT_EQ(machine.Set(kFloorUs + kYearUs - step_us), ClockVerdict::kBelieved);
  // One step behind another is a jump.
  EXPECT_EQ(machine.Set(kFloorUs + kYearUs - 2 * step_us), ClockVerdict::kDwells);
}

TEST(ClockGuard, AWallClockThatDriftsIsFollowed) {
  Machine machine;
  machine.Set(kFloorUs + kYearUs);
  for (int minute = 0; minute < 100'000; ++minute) {
    machine.Pass(60 * kSecondUs);
    ASSERT_EQ(machine.Set(machine.wall_us() + 30'000), ClockVerdict::kBelieved) << minute;
  }
}

TEST(ClockGuard, AJumpDwellsAsLongAsItIsWideAndNoLongerThanThat) {
  for (const auto& [jump_us, dwell_us] :
       {std::pair(kHourUs, kHourUs), std::pair(-kHourUs, kHourUs),
        std::pair(60 * kDayUs, kLimits.dwell_us), std::pair(-60 * kDayUs, kLimits.dwell_us)}) {
    Machine machine;
    machine.Set(kFloorUs + kYearUs);
    machine.Set(machine.wall_us() + jump_us);
    EXPECT_EQ(machine.guard().dwell_left_us(), dwell_us);
    EXPECT_EQ(machine.Live(dwell_us - kSecondUs), ClockVerdict::kDwells) << jump_us;
    EXPECT_EQ(machine.guard().dwell_left_us(), kSecondUs);
    EXPECT_EQ(machine.Live(kSecondUs), ClockVerdict::kBelieved) << jump_us;
    EXPECT_EQ(machine.known().trusted_us, machine.wall_us());
  }
}

TEST(ClockGuard, AnotherJumpDwellsAnew) {
  Machine machine;
  machine.Set(kFloorUs + kYearUs);
  machine.Set(machine.wall_us() + 60 * kDayUs);
  machine.Live(kLimits.dwell_us - kSecondUs);
  machine.Set(machine.wall_us() + kHourUs);
  EXPECT_EQ(machine.guard().dwell_left_us(), kLimits.dwell_us);
  machine.Set(0);  // and one that nobody believes
  machine.Set(kFloorUs + kYearUs + 60 * kDayUs);
  EXPECT_EQ(machine.guard().dwell_left_us(), kLimits.dwell_us);
}

TEST(ClockGuard, ABootBelievesWhatIsNotFarFromTheTimeBefore) {
  const auto look_after = [](int64_t off_us) {
    Machine machine;
    machine.Set(kFloorUs + kYearUs);
    machine.Boot();
    return machine.Set(kFloorUs + kYearUs + off_us);
  };
  EXPECT_EQ(look_after(kLimits.boot_ahead_us), ClockVerdict::kBelieved);
  EXPECT_EQ(look_after(kLimits.boot_ahead_us + 1), ClockVerdict::kDwells);
  EXPECT_EQ(look_after(-kLimits.boot_back_us), ClockVerdict::kBelieved);
  EXPECT_EQ(look_after(-kLimits.boot_back_us - 1), ClockVerdict::kDwells);
  Machine machine;
  machine.Set(kFloorUs + kYearUs);
  machine.Boot();
  machine.Set(kFloorUs + kYearUs + kDayUs);
  EXPECT_EQ(machine.Set(kFloorUs + kYearUs + 2 * kDayUs), ClockVerdict::kDwells)
      << "then it has a witness";
}

// Also where no boot lasts as long: what one has seen the next one goes on with.
TEST(ClockGuard, DwellingGoesOnOverRestartsAndBoots) {
  Machine machine;
  machine.Set(kFloorUs + kYearUs);
  machine.Boot();
  machine.Set(kFloorUs + kYearUs + 60 * kDayUs);
  int boots = 0;
  while (machine.Live(kHourUs) == ClockVerdict::kDwells) {
    ASSERT_LT(++boots, 7);
    machine.Restart();
    machine.Live(600 * kSecondUs);
    machine.Boot();
    machine.Set(machine.wall_us() + kHourUs);  // it was off
  }
  EXPECT_EQ(boots, 5);
  // A monotonic clock that fell is of another boot, whatever its id says.
  Machine fell;
  fell.Set(kFloorUs + kYearUs);
  ClockRecord known = fell.known();
  known.boot_id = "boot-2";
  known.monotonic_us = kDayUs;
  fell.Know(known);
  EXPECT_EQ(fell.Set(kFloorUs + kYearUs + 2 * kHourUs), ClockVerdict::kBelieved);
}

TEST(ClockGuard, AWordFromOutsideIsBelievedOnceInABoot) {
  Machine machine;
  machine.Set(kFloorUs + kYearUs);
  machine.Set(machine.wall_us() + 60 * kDayUs, ClockSync::kNo);
  EXPECT_EQ(machine.guard().verdict(), ClockVerdict::kDwells);
  EXPECT_EQ(machine.Look(ClockSync::kYes), ClockVerdict::kBelieved);
  EXPECT_EQ(machine.known().certain_us, machine.wall_us());
  // A server that says something else now contradicts itself.
  const int64_t true_us = machine.wall_us();
  EXPECT_EQ(machine.Set(true_us + kYearUs, ClockSync::kYes), ClockVerdict::kDwells);
  EXPECT_EQ(machine.Set(true_us, ClockSync::kYes), ClockVerdict::kBelieved);
  machine.Boot();
  EXPECT_EQ(machine.Set(true_us + kYearUs, ClockSync::kYes), ClockVerdict::kBelieved);
  EXPECT_EQ(machine.Set(true_us + 20 * kYearUs, ClockSync::kYes), ClockVerdict::kBeyondCeiling);
  machine.Confirm();
  EXPECT_EQ(machine.guard().verdict(), ClockVerdict::kBelieved) << "a person always";
  machine.Set(true_us);
  machine.Confirm();
  EXPECT_EQ(machine.known().trusted_us, true_us);
  EXPECT_EQ(machine.known().certain_us, true_us);
}

TEST(ClockGuard, CertainIsWhatTheMonotonicClockSaysOrSomebodyVouchesFor) {
  Machine machine;
  const int64_t begin_us = kFloorUs + kYearUs;
  machine.Set(begin_us);
  machine.Set(begin_us + 60 * kDayUs);
  ASSERT_EQ(machine.Live(kDayUs), ClockVerdict::kBelieved);
  EXPECT_EQ(machine.known().certain_us, begin_us + kDayUs) << "whatever is believed";
  machine.Boot();
  machine.Set(machine.wall_us() + 2 * kDayUs);
  EXPECT_EQ(machine.known().certain_us, begin_us + kDayUs) << "a boot too";
  // Rows that a clock behind stamped live as long as they should by it.
  machine.Set(begin_us);
  ASSERT_EQ(machine.Live(kDayUs), ClockVerdict::kBelieved);
  EXPECT_EQ(machine.known().trusted_us, begin_us + kDayUs);
  EXPECT_EQ(machine.known().certain_us, begin_us + kDayUs);
  machine.Set(begin_us + 60 * kDayUs);
  ASSERT_EQ(machine.Live(kDayUs), ClockVerdict::kBelieved);
  EXPECT_EQ(machine.known().certain_us, begin_us + 2 * kDayUs);
  machine.Look(ClockSync::kYes);
  EXPECT_EQ(machine.known().certain_us, machine.wall_us());
}

// Whatever a clock does that nobody vouches for: no more is certain than what has passed.
TEST(ClockGuard, NoHistoryMakesTimeCertainThatHasNotPassed) {
  testing::Rng rng(1);
  for (int history = 0; history < 60; ++history) {
    Machine machine;
    machine.Set(kFloorUs + kYearUs);
    int64_t passed_us = 0;
    for (int step = 0; step < 100; ++step) {
      switch (rng.Below(6)) {
        case 0: machine.Boot(); break;
        case 1: machine.Restart(); break;
        case 2: machine.Set(kFloorUs + rng.Between(-kYearUs, 12 * kYearUs)); break;
        case 3: machine.Set(machine.wall_us() + rng.Between(-2 * kHourUs, 9 * kDayUs)); break;
        default: {
          const int64_t us = rng.Between(0, rng.OneIn(4) ? 2 * kDayUs : kHourUs);
          passed_us += us;
          machine.Live(us);
        }
      }
      ASSERT_LE(machine.known().certain_us, kFloorUs + kYearUs + passed_us) << history;
    }
  }
}

// A new store has the floor alone to go by.
TEST(ClockGuard, ACeilingShorterThanTheTimeSinceTheFloorIsNamed) {
  Machine machine;
  machine.Set(kFloorUs + 80 * kYearUs);
  const std::string why = machine.guard().Why();
  EXPECT_NE(why.find("days after clock_floor_s"), std::string::npos) << why;
  EXPECT_NE(why.find("raise the ceiling"), std::string::npos) << why;
}

TEST(ClockGuard, ItSaysWhatItBelievesAndWhatWouldHelp) {
  Machine machine;
  machine.Set(kFloorUs + kYearUs);
  EXPECT_EQ(machine.guard().Why(), "the wall clock is believed: nothing contradicts it");
  machine.Set(machine.wall_us() + 60 * kDayUs);
  EXPECT_EQ(machine.guard().Why(),
            "the wall clock shows 2028-03-15T08:00:00Z, which is 60 days ahead of what has passed "
            "since it was believed, by the monotonic clock: it is believed when it has gone on "
            "like that for 6 hours more, or at once when it is confirmed (a synchronised system "
            "clock, cistern clock --confirm, Engine::ConfirmClock)");
  machine.Set(machine.wall_us() - 120 * kDayUs);
  EXPECT_NE(machine.guard().Why().find("60 days behind what has passed"), std::string::npos);
  machine.Set(0);
  EXPECT_NE(machine.guard().Why().find("(clock_floor_s): it was never set"), std::string::npos);
  machine.Set(kFloorUs + 80 * kYearUs);
  EXPECT_NE(machine.guard().Why().find("more than clock_ceiling_ahead_s"), std::string::npos);
  machine.Boot();
  machine.Set(kFloorUs + kYearUs - 60 * kDayUs);
  EXPECT_NE(machine.guard().Why().find("before this boot"), std::string::npos);
}

}  // namespace
}  // namespace cistern
