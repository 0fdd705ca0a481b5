#include "tools/time_unit_guess.h"

#include <gtest/gtest.h>

namespace cistern::tool {
namespace {

TEST(TimeUnitGuess, ByTheNumberOfDigits) {
  EXPECT_EQ(UnitByUse("1772524800"), TimeUnit::kSeconds);
  EXPECT_EQ(UnitByUse("1772524800.25"), TimeUnit::kSeconds);
  EXPECT_EQ(UnitByUse("1772524800."), TimeUnit::kSeconds);
  EXPECT_EQ(UnitByUse("1772524800123"), TimeUnit::kMillis);
  EXPECT_EQ(UnitByUse("1772524800123456"), TimeUnit::kMicros);
  EXPECT_EQ(UnitByUse("1772524800123456789"), TimeUnit::kNanos);
}

TEST(TimeUnitGuess, FromTheYear2000To2099) {
  EXPECT_EQ(UnitByUse("946684799"), std::nullopt);
  EXPECT_EQ(UnitByUse("946684800"), TimeUnit::kSeconds);
  EXPECT_EQ(UnitByUse("4102444799"), TimeUnit::kSeconds);
  EXPECT_EQ(UnitByUse("4102444800"), std::nullopt);
  EXPECT_EQ(UnitByUse("946684799999"), std::nullopt);
  EXPECT_EQ(UnitByUse("946684800000"), TimeUnit::kMillis);
  EXPECT_EQ(UnitByUse("4102444799999999999"), TimeUnit::kNanos);
  EXPECT_EQ(UnitByUse("4102444800000000000"), std::nullopt);
}

TEST(TimeUnitGuess, WhatIsNoNumberHasNoUnit) {
  for (const char* text : {"", "0", "5", "-1772524800", "+1772524800", "1.77e9", "2024-05-24",
                           "1772524800x", "1772524800.2x", ".5", "99999999999999999999"}) {
    EXPECT_EQ(UnitByUse(text), std::nullopt) << text;
  }
}

TEST(TimeUnitGuess, TheDoubtNamesBothReadings) {
  EXPECT_EQ(UnitDoubt("1772524800", TimeUnit::kSeconds), std::nullopt);
  EXPECT_EQ(UnitDoubt("5", TimeUnit::kNanos), std::nullopt);
  EXPECT_EQ(UnitDoubt("1772524800", TimeUnit::kNanos),
            "event time 1772524800 looks like seconds, 2026-03-03T08:00:00Z, and would be taken "
            "for nanoseconds, 1970-01-01T00:00:01.772524800Z; say --time-unit s, or --time-unit "
            "ns if that is meant");
  EXPECT_EQ(UnitDoubt("1772524800123", TimeUnit::kSeconds),
            "event time 1772524800123 looks like milliseconds, 2026-03-03T08:00:00.123Z, and "
            "would be taken for seconds, beyond the year 9999; say --time-unit ms, or --time-unit "
            "s if that is meant");
}

}  // namespace
}  // namespace cistern::tool
