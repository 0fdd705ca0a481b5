#include "tools/calendar_step.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr TimeUnit kUnit = TimeUnit::kSeconds;

LocalClock Zone(const std::string& name) {
  const Result<LocalClock> clock = LocalClock::OfZone(name);
  EXPECT_TRUE(clock.ok()) << clock.status().message();
  return clock.ok() ? *clock : LocalClock();
}

CalendarSteps Steps(const std::string& width, const std::string& zone, TimeUnit unit = kUnit) {
  return CalendarSteps(*ParseStep(width, unit), Zone(zone), unit);
}

int64_t At(const std::string& text) { return *ParseBound("--at", text, kUnit, 0); }

// "2024-03-31T00:00:00+01:00 to 2024-04-01T00:00:00+02:00", by the clocks of the zone.
std::string Span(const std::string& width, const std::string& zone, const std::string& time) {
  const AggregateStep step = Steps(width, zone).StepOf(At(time));
  return FormatTicks(step.first, kUnit, Zone(zone)) + " to " +
         FormatTicks(step.last + 1, kUnit, Zone(zone));
}

TEST(CalendarSteps, WidthsAreParsed) {
  const auto text = [](const char* width) {
    const Result<StepWidth> parsed = ParseStep(width, TimeUnit::kMillis);
    if (!parsed.ok()) return parsed.status().message();
    const char* kinds[] = {"ticks", "days", "months"};
    return std::to_string(parsed->count) + " " + kinds[static_cast<size_t>(parsed->kind)];
  };
  EXPECT_EQ(text("15m"), "900000 ticks");
  EXPECT_EQ(text("2000us"), "2 ticks");
  EXPECT_EQ(text("3d"), "3 days");
  EXPECT_EQ(text("2w"), "14 days");
  EXPECT_EQ(text("1mo"), "1 months");
  EXPECT_EQ(text("2q"), "6 months");
  EXPECT_EQ(text("10y"), "120 months");
  for (const char* bad : {"", "1", "mo", "month", "0y", "-1d", "1.5h", "1 h", "1M", "1500us",
                          "10000y", "99999999999999999999y", "3659635d", "9223372036854775807h"}) {
    EXPECT_FALSE(ParseStep(bad, TimeUnit::kMillis).ok()) << bad;
  }
  EXPECT_NE(text("1month").find("is no step: it is a whole number of ns, us, "), std::string::npos);
  EXPECT_NE(text("-1d").find("is not above 0"), std::string::npos);
  EXPECT_NE(text("3659635d").find("is too long"), std::string::npos);
  EXPECT_EQ(text("3659634d"), "3659634 days");
}

TEST(CalendarSteps, WeeksBeginOnMonday) {
  EXPECT_EQ(Span("1w", "UTC", "2024-02-29T12:00"),
            "2024-02-26T00:00:00+00:00 to 2024-03-04T00:00:00+00:00");
  EXPECT_EQ(Span("1w", "UTC", "2024-03-04"),
            "2024-03-04T00:00:00+00:00 to 2024-03-11T00:00:00+00:00");
  EXPECT_EQ(Span("2w", "UTC", "1969-12-31"),
            "1969-12-29T00:00:00+00:00 to 1970-01-12T00:00:00+00:00");
  EXPECT_EQ(Span("7d", "UTC", "1970-01-02"),
            "1970-01-01T00:00:00+00:00 to 1970-01-08T00:00:00+00:00");
}

TEST(CalendarSteps, MonthsQuartersAndYearsAreThoseOfTheCalendar) {
  EXPECT_EQ(Span("1mo", "UTC", "2024-02-29T23:59:59"),
            "2024-02-01T00:00:00+00:00 to 2024-03-01T00:00:00+00:00");
  EXPECT_EQ(Span("1q", "UTC", "2024-05-05"),
            "2024-04-01T00:00:00+00:00 to 2024-07-01T00:00:00+00:00");
  EXPECT_EQ(Span("1y", "UTC", "1900-12-31"),
            "1900-01-01T00:00:00+00:00 to 1901-01-01T00:00:00+00:00");
  EXPECT_EQ(Span("5mo", "UTC", "1969-12-31"),
            "1969-08-01T00:00:00+00:00 to 1970-01-01T00:00:00+00:00");
  EXPECT_EQ(Span("1mo", "Europe/Berlin", "2024-03-31T22:00"),
            "2024-04-01T00:00:00+02:00 to 2024-05-01T00:00:00+02:00");
  EXPECT_EQ(Span("1y", "America/New_York", "2024-01-01"),
            "2023-01-01T00:00:00-05:00 to 2024-01-01T00:00:00-05:00");
}

TEST(CalendarSteps, DaysAreAsLongAsTheClocksMakeThem) {
  EXPECT_EQ(Span("1d", "Europe/Berlin", "2024-03-31T12:00"),
            "2024-03-31T00:00:00+01:00 to 2024-04-01T00:00:00+02:00");
  EXPECT_EQ(Span("1d", "Europe/Berlin", "2024-10-27T12:00"),
            "2024-10-27T00:00:00+02:00 to 2024-10-28T00:00:00+01:00");
  // Clocks are put from 24:00 to 01:00, and from 24:00 to 23:00.
  EXPECT_EQ(Span("1d", "America/Sao_Paulo", "2018-11-04T12:00"),
            "2018-11-04T01:00:00-02:00 to 2018-11-05T00:00:00-02:00");
  EXPECT_EQ(Span("1d", "America/Sao_Paulo", "2018-02-18T02:30"),
            "2018-02-17T00:00:00-02:00 to 2018-02-18T00:00:00-03:00");
  // From 01:00 to 00:00: midnight is there twice, the day begins once.
  EXPECT_EQ(Span("1d", "America/Havana", "2024-11-03T05:30"),
            "2024-11-03T00:00:00-04:00 to 2024-11-04T00:00:00-05:00");
  // From 00:01 to 23:01 of the day before, which has ended by then.
  EXPECT_EQ(Span("1d", "America/St_Johns", "2005-10-30T02:45"),
            "2005-10-30T00:00:00-02:30 to 2005-10-31T00:00:00-03:30");
  // The 30th was left out.
  EXPECT_EQ(Span("1d", "Pacific/Apia", "2011-12-30T12:00"),
            "2011-12-31T00:00:00+14:00 to 2012-01-01T00:00:00+14:00");
}

TEST(CalendarSteps, HoursBeginWhereTheClockShowsThem) {
  EXPECT_EQ(Span("1h", "Asia/Kolkata", "2024-05-05T12:00"),
            "2024-05-05T17:00:00+05:30 to 2024-05-05T18:00:00+05:30");
  EXPECT_EQ(Span("6h", "Europe/Berlin", "2024-03-31T02:00"),
            "2024-03-31T00:00:00+01:00 to 2024-03-31T06:00:00+02:00");
  EXPECT_EQ(Span("6h", "Europe/Berlin", "2024-10-27T02:00"),
            "2024-10-27T00:00:00+02:00 to 2024-10-27T06:00:00+01:00");
  EXPECT_EQ(Span("1h", "Europe/Berlin", "2024-10-27T00:30"),
            "2024-10-27T02:00:00+02:00 to 2024-10-27T02:00:00+01:00");
  EXPECT_EQ(Span("15m", "Europe/Berlin", "2024-10-27T01:14"),
            "2024-10-27T02:00:00+01:00 to 2024-10-27T02:15:00+01:00");
  // Half an hour back: 01:30 to 02:00 is there twice, in one hour.
  EXPECT_EQ(Span("1h", "Australia/Lord_Howe", "2024-04-06T14:45"),
            "2024-04-07T01:00:00+11:00 to 2024-04-07T02:00:00+10:30");
}

TEST(CalendarSteps, OnlyEvenStepsHaveAWidth) {
  const auto width = [](const char* text) {
    return CalendarSteps::EvenWidth(*ParseStep(text, kUnit), kUnit);
  };
  EXPECT_EQ(width("1h"), 3600);
  EXPECT_EQ(width("2d"), 172'800);
  EXPECT_FALSE(width("1w"));
  EXPECT_FALSE(width("1mo"));
  EXPECT_FALSE(CalendarSteps::EvenWidth(*ParseStep("3000000d", TimeUnit::kNanos),
                                        TimeUnit::kNanos));
}

TEST(CalendarSteps, TimesThatNoCalendarHasAreTicks) {
  const CalendarSteps steps = Steps("1mo", "Europe/Berlin");
  for (const int64_t time : {INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(steps.StepOf(time), (AggregateStep{time, time}));
  }
  const AggregateStep last = Steps("9999y", "UTC").StepOf(At("9999-12-31T23:59:59"));
  EXPECT_EQ(last.first, At("1970-01-01"));
  // Nanoseconds tell a part of the first and of the last year.
  const AggregateStep whole = Steps("1y", "UTC", TimeUnit::kNanos).StepOf(INT64_MAX);
  EXPECT_EQ(whole.last, INT64_MAX);
  for (const char* width : {"1y", "1w", "1d", "7h"}) {
    const AggregateStep least = Steps(width, "UTC", TimeUnit::kNanos).StepOf(INT64_MIN);
    EXPECT_EQ(least.first, INT64_MIN) << width;
    EXPECT_GT(least.last, INT64_MIN) << width;
  }
}

// Steps lie side by side, and each is found by all of its times.
TEST(CalendarSteps, EveryTimeHasOneStep) {
  std::mt19937_64 random(1);
  const char* const zones[] = {"UTC", "Europe/Berlin", "America/Sao_Paulo", "America/Havana",
                               "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe",
                               "Asia/Kathmandu", "Africa/Casablanca", "America/New_York"};
  const char* const widths[] = {"7s", "15m", "45m", "1h", "2h", "6h", "25h", "1d", "3d", "1w",
                                "1mo", "1q", "1y", "7y"};
  const int64_t first = At("1880-01-01");
  const int64_t last = At("2500-01-01");
  for (const char* zone : zones) {
    const LocalClock clock = Zone(zone);
    for (const char* width : widths) {
      const CalendarSteps steps(*ParseStep(width, kUnit), clock, kUnit);
      for (int i = 0; i < 200; ++i) {
        int64_t time = first + static_cast<int64_t>(random() % static_cast<uint64_t>(last - first));
        const TzPeriod period = clock.PeriodAt(time);
        if (i % 2 == 0 && period.to_s < last) {  // near a change
          time = period.to_s + static_cast<int64_t>(random() % 20'000) - 10'000;
        }
        const AggregateStep step = steps.StepOf(time);
        SCOPED_TRACE(std::string(zone) + " " + width + " " + FormatTicks(time, kUnit));
        ASSERT_TRUE(step.first <= time && time <= step.last);
        ASSERT_EQ(steps.StepOf(step.first), step);
        ASSERT_EQ(steps.StepOf(step.last), step);
        ASSERT_EQ(steps.StepOf(step.last + 1).first, step.last + 1);
        ASSERT_EQ(steps.StepOf(step.first - 1).last, step.first - 1);
      }
    }
  }
}

}  // namespace
}  // namespace cistern::tool
