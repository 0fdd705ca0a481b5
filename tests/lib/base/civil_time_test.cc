#include "lib/base/civil_time.h"

#include <date/date.h>
#include <date/iso_week.h>
#include <gtest/gtest.h>

#include <random>

namespace cistern {
namespace {

void ExpectAgrees(int64_t days) {
  const date::sys_days theirs{date::days{days}};
  const date::year_month_day ymd{theirs};
  const CivilDate ours = CivilFromDays(days);
  ASSERT_EQ(ours.year, static_cast<int>(ymd.year())) << days;
  ASSERT_EQ(ours.month, static_cast<unsigned>(ymd.month())) << days;
  ASSERT_EQ(ours.day, static_cast<unsigned>(ymd.day())) << days;
  ASSERT_EQ(DaysFromCivil(ours.year, ours.month, ours.day), days);
  ASSERT_EQ(DaysInMonth(ours.year, ours.month),
            static_cast<unsigned>((ymd.year() / ymd.month() / date::last).day()));
  ASSERT_EQ(IsoWeekday(days) + 1, date::weekday{theirs}.iso_encoding()) << days;
  const iso_week::year_weeknum_weekday iso{theirs};
  const IsoWeek week = IsoWeekFromDays(days);
  ASSERT_EQ(week.year, static_cast<int>(iso.year())) << days;
  ASSERT_EQ(week.week, static_cast<unsigned>(iso.weeknum())) << days;
  ASSERT_EQ(DaysFromIsoWeek(week.year, week.week), days - IsoWeekday(days));
}

TEST(CivilTime, AgreesWithTheReferenceForEveryDayFrom1600To2400) {
  for (int64_t d = DaysFromCivil(1600, 1, 1); d <= DaysFromCivil(2400, 12, 31); ++d)
    ExpectAgrees(d);
}

TEST(CivilTime, AgreesWithTheReferenceForRandomDaysOfTheYears1To9999) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int64_t> any(DaysFromCivil(1, 1, 1), DaysFromCivil(9999, 12, 31));
  for (int i = 0; i < 100'000; ++i) ExpectAgrees(any(random));
  ExpectAgrees(DaysFromCivil(1, 1, 1));
  ExpectAgrees(DaysFromCivil(9999, 12, 31));
}

TEST(CivilTime, RoundTripsOverAllDatesOfCql) {
  std::mt19937_64 random(4);
  std::uniform_int_distribution<int64_t> any(kDaysMin, kDaysMax);
  for (int i = 0; i < 100'000; ++i) {
    const int64_t days = any(random);
    const CivilDate date = CivilFromDays(days);
    ASSERT_TRUE(IsValidDate(date.year, date.month, date.day)) << days;
    ASSERT_EQ(DaysFromCivil(date.year, date.month, date.day), days);
  }
  EXPECT_EQ(CivilFromDays(kDaysMin), (CivilDate{-5'877'641, 6, 23}));
  EXPECT_EQ(CivilFromDays(kDaysMax), (CivilDate{5'881'580, 7, 11}));
}

TEST(CivilTime, KnownDays) {
  EXPECT_EQ(DaysFromCivil(1970, 1, 1), 0);
  EXPECT_EQ(DaysFromCivil(2000, 3, 1), 11'017);
  EXPECT_EQ(DaysFromCivil(1, 1, 1), -719'162);
  EXPECT_EQ(CivilFromDays(-1), (CivilDate{1969, 12, 31}));
  EXPECT_EQ(IsoWeekFromDays(DaysFromCivil(2021, 1, 3)), (IsoWeek{2020, 53}));
  EXPECT_EQ(IsoWeekFromDays(DaysFromCivil(2024, 12, 30)), (IsoWeek{2025, 1}));
  EXPECT_EQ(IsoWeeksInYear(2020), 53u);
  EXPECT_EQ(IsoWeeksInYear(2024), 52u);
  EXPECT_TRUE(IsLeapYear(2000));
  EXPECT_FALSE(IsLeapYear(1900));
  EXPECT_FALSE(IsValidDate(2023, 2, 29));
  EXPECT_FALSE(IsValidDate(2023, 13, 1));
  EXPECT_FALSE(IsValidDate(2023, 0, 1));
  EXPECT_FALSE(IsValidDate(2023, 4, 31));
}

TEST(CivilTime, DivisionRoundsDown) {
  EXPECT_EQ(FloorDiv(-1, 10), -1);
  EXPECT_EQ(FloorDiv(-10, 10), -1);
  EXPECT_EQ(FloorDiv(9, 10), 0);
  EXPECT_EQ(FloorMod(-1, 10), 9);
  EXPECT_EQ(FloorMod(-10, 10), 0);
  EXPECT_EQ(FloorDiv(std::numeric_limits<int64_t>::min(), 1000), -9'223'372'036'854'776);
}

}  // namespace
}  // namespace cistern
