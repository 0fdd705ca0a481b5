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

TEST(TimeUnitGuess, HoweverTheNumberIsWritten) {
  EXPECT_EQ(UnitByUse("+1772524800"), TimeUnit::kSeconds);
  EXPECT_EQ(UnitByUse("1.772524800e+09"), TimeUnit::kSeconds);
  EXPECT_EQ(UnitByUse("001772524800123"), TimeUnit::kMillis);
}

TEST(TimeUnitGuess, WhatIsNoNumberHasNoUnit) {
  for (const char* text : {"", "0", "5", "0.0", "-1772524800", "1.77e9", "2024-05-24",
                           "1772524800x", "1772524800.2x", " 1772524800", ".5", "1e-5",
                           "99999999999999999999", "9223372036854775808"}) {
    EXPECT_EQ(UnitByUse(text), std::nullopt) << text;
  }
}

TEST(TimeUnitGuess, ADateInDigitsAloneIsNoCount) {
  EXPECT_EQ(UnitDoubt("20260303", TimeUnit::kMillis),
            "20260303 looks like a date, and would be taken for milliseconds, "
            "1970-01-01T05:37:40.303Z; say --time-format %Y%m%d, or --time-unit ms if that is "
            "meant");
  EXPECT_NE(UnitDoubt("202603031200", TimeUnit::kMillis)->find("--time-format %Y%m%d%H%M,"),
            std::string::npos);
  EXPECT_NE(UnitDoubt("20260303120059", TimeUnit::kNanos)->find("--time-format %Y%m%d%H%M%S,"),
            std::string::npos);
  // The year is of another century, or there is no such month, day or hour, or a fraction follows.
  for (const char* text : {"19991231", "21000101", "20261303", "20260230", "202603032400",
                           "202603031208.5", "2026030", "202603031"}) {
    EXPECT_EQ(UnitDoubt(text, TimeUnit::kMillis), std::nullopt) << text;
  }
}

TEST(TimeUnitGuess, TheDoubtNamesBothReadings) {
  EXPECT_EQ(UnitDoubt("1772524800", TimeUnit::kSeconds), std::nullopt);
  EXPECT_EQ(UnitDoubt("5", TimeUnit::kNanos), std::nullopt);
  EXPECT_EQ(UnitDoubt("1772524800", TimeUnit::kNanos),
            "1772524800 looks like seconds, 2026-03-03T08:00:00Z, and would be taken "
            "for nanoseconds, 1970-01-01T00:00:01.772524800Z; say --time-unit s, or --time-unit "
            "ns if that is meant");
  EXPECT_EQ(UnitDoubt("1772524800123", TimeUnit::kSeconds),
            "1772524800123 looks like milliseconds, 2026-03-03T08:00:00.123Z, and "
            "would be taken for seconds, beyond the year 9999; say --time-unit ms, or --time-unit "
            "s if that is meant");
}

}  // namespace
}  // namespace cistern::tool
