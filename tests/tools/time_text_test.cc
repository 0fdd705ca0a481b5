#include "tools/time_text.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

namespace cistern::tool {
namespace {

int64_t Ticks(std::string_view text, TimeUnit unit, const TimeFormat& format = {}) {
  const Result<Instant> instant = ParseTime(text, format, unit);
  EXPECT_TRUE(instant.ok()) << text << ": " << instant.status().ToString();
  if (!instant.ok()) return INT64_MIN;
  const Result<int64_t> ticks = ToTicks(*instant, unit, text);
  EXPECT_TRUE(ticks.ok()) << text << ": " << ticks.status().ToString();
  return ticks.ok() ? *ticks : INT64_MIN;
}

StatusCode Failure(std::string_view text, TimeUnit unit, const TimeFormat& format = {}) {
  const Result<Instant> instant = ParseTime(text, format, unit);
  if (!instant.ok()) return instant.status().code();
  return ToTicks(*instant, unit, text).status().code();
}

TEST(TimeText, Iso8601) {
  const TimeUnit ms = TimeUnit::kMillis;
  EXPECT_EQ(Ticks("1970-01-01", ms), 0);
  EXPECT_EQ(Ticks("2013-03-01T00:00:00Z", ms), 1362096000000);
  EXPECT_EQ(Ticks("2013-3-1T0", ms), 1362096000000);
  EXPECT_EQ(Ticks("2013-03-01 00:00", ms), 1362096000000);
  EXPECT_EQ(Ticks("2015-03-08T01:40:54-06:00", ms), 1425800454000);
  EXPECT_EQ(Ticks("2015-03-08T01:40:54-0600", ms), 1425800454000);
  EXPECT_EQ(Ticks("2015-03-08T01:40:54-06", ms), 1425800454000);
  EXPECT_EQ(Ticks("2024-05-24T07:03:50.25", ms), 1716534230250);
  EXPECT_EQ(Ticks("1969-12-31T23:59:59.999Z", ms), -1);
  EXPECT_EQ(Ticks("0001-01-01", ms), -62135596800000);
  EXPECT_EQ(Ticks("9999-12-31T23:59:59", ms), 253402300799000);
  EXPECT_EQ(Ticks("2024-02-29", ms), 1709164800000);
}

TEST(TimeText, OffsetAppliesOnlyToTimesWithoutOne) {
  TimeFormat beijing;
  beijing.clock = LocalClock(8 * 3600);
  EXPECT_EQ(Ticks("2013-03-01T08", TimeUnit::kSeconds, beijing), 1362096000);
  EXPECT_EQ(Ticks("2013-03-01T00:00:00Z", TimeUnit::kSeconds, beijing), 1362096000);
}

TEST(TimeText, NotATime) {
  for (const char* text :
       {"", "x", "2024", "2024-13-01", "2023-02-29", "2024-01-01T", "2024-01-01T24",
        "2024-01-01T10:60", "2024-01-01T10:00:00.", "2024-01-01x", "2024-01-01T1Q",
        "2024-01-01T10:00+19", "24-01-01", "2024-01-01T10:00:00+1:2"}) {
    EXPECT_FALSE(ParseIsoTime(text, LocalClock()).ok()) << text;
  }
}

TEST(TimeText, DecimalSecondsAreExactNanoseconds) {
  TimeFormat seconds;
  seconds.number_unit = TimeUnit::kSeconds;
  const TimeUnit ns = TimeUnit::kNanos;
  EXPECT_EQ(Ticks("0", ns, seconds), 0);
  EXPECT_EQ(Ticks("0.010078907", ns, seconds), 10078907);
  EXPECT_EQ(Ticks("135.3165627", ns, seconds), 135316562700);
  EXPECT_EQ(Ticks("1700000000.123456789", ns, seconds), 1700000000123456789);
  EXPECT_EQ(Ticks("1.7000000001e9", ns, seconds), 1700000000100000000);
  EXPECT_EQ(Ticks("-0.000000001", ns, seconds), -1);
  EXPECT_EQ(Ticks("-1.5", ns, seconds), -1500000000);
  EXPECT_EQ(Ticks("5.40E-05", ns, seconds), 54000);
  EXPECT_EQ(Failure("0.0000000001", ns, seconds), StatusCode::kOutOfRange);
}

TEST(TimeText, FinerThanTheColumnIsRefused) {
  EXPECT_EQ(Failure("2024-01-01T00:00:00.0005", TimeUnit::kMillis), StatusCode::kOutOfRange);
  EXPECT_EQ(Failure("1.5", TimeUnit::kMillis), StatusCode::kOutOfRange);
  EXPECT_EQ(Ticks("1.0", TimeUnit::kMillis), 1);
  EXPECT_EQ(ToTicks({0, 500'000}, TimeUnit::kMillis, "0.0005").status().message(),
            "time '0.0005' is finer than a millisecond, the unit of its column; nothing is "
            "rounded");
}

TEST(TimeText, AbsurdTimes) {
  EXPECT_EQ(Failure("1e30", TimeUnit::kSeconds), StatusCode::kOutOfRange);
  EXPECT_EQ(Failure("1700000000000", TimeUnit::kSeconds), StatusCode::kOutOfRange);
  EXPECT_EQ(Failure("99999999999999999999999999999999", TimeUnit::kMillis),
            StatusCode::kOutOfRange);
  EXPECT_EQ(Failure("9999-12-31", TimeUnit::kNanos), StatusCode::kOutOfRange);
  EXPECT_EQ(Failure("1e-1000000", TimeUnit::kSeconds), StatusCode::kInvalidArgument);
}

TEST(TimeText, AbsurdTimesNameTheUnitThatTheyLookLike) {
  const auto told = [](std::string_view text, TimeUnit unit) {
    return ParseNumericTime(text, unit).status().message();
  };
  EXPECT_EQ(told("1704067200000000", TimeUnit::kMillis),
            "time '1704067200000000' lies outside the years 0001 to 9999: it looks like "
            "microseconds: --time-unit us");
  EXPECT_NE(told("1704067200000.5", TimeUnit::kSeconds).find("milliseconds: --time-unit ms"),
            std::string::npos);
  EXPECT_NE(told("1704067200000000000", TimeUnit::kMicros).find("nanoseconds: --time-unit ns"),
            std::string::npos);
  EXPECT_NE(told("1704067200000000000", TimeUnit::kSeconds).find("nanoseconds: --time-unit ns"),
            std::string::npos);
  for (const char* unlike : {"99999999999999999", "-1704067200000000", "1e60"}) {
    EXPECT_NE(told(unlike, TimeUnit::kMillis).find("9999: wrong time unit?"), std::string::npos);
  }
}

TEST(TimeText, LimitsOf64BitNanoseconds) {
  const TimeUnit ns = TimeUnit::kNanos;
  EXPECT_EQ(Ticks("9223372036854775807", ns), INT64_MAX);
  EXPECT_EQ(Ticks("-9223372036854775808", ns), INT64_MIN);
  EXPECT_EQ(Failure("9223372036854775808", ns), StatusCode::kOutOfRange);
}

TEST(TimeText, BaseIsAdded) {
  TimeFormat format;
  format.base = Instant{1262304000, 999'999'999};
  format.number_unit = TimeUnit::kNanos;
  EXPECT_EQ(Ticks("1", TimeUnit::kNanos, format), 1262304001000000000);
}

TEST(TimeText, APatternIsForWhatIsNoNumber) {
  TimeFormat format;
  format.pattern = *TimePattern::Compile("%d/%m/%Y %H:%M:%S");
  EXPECT_EQ(Ticks("24/05/2024 07:03:50", TimeUnit::kSeconds, format), 1716534230);
  EXPECT_EQ(Failure("2024-05-24 07:03:50", TimeUnit::kSeconds, format),
            StatusCode::kInvalidArgument);
  format.clock = LocalClock(3600);
  EXPECT_EQ(Ticks("24/05/2024 07:03:50", TimeUnit::kSeconds, format), 1716530630);
  EXPECT_EQ(Failure("01/01/0001 00:30:00", TimeUnit::kSeconds, format), StatusCode::kOutOfRange);
  format.pattern = *TimePattern::Compile("%Y%m%d %H%M%S %z");
  EXPECT_EQ(Ticks("20240524 070350 +0200", TimeUnit::kSeconds, format), 1716527030);
}

TEST(TimeText, TimesOfAZoneKnowSummerTime) {
  TimeFormat berlin;
  berlin.clock = *LocalClock::OfZone("Europe/Berlin");
  EXPECT_EQ(Ticks("2024-01-15T12:00", TimeUnit::kSeconds, berlin), 1705316400);
  EXPECT_EQ(Ticks("2024-07-15T12:00", TimeUnit::kSeconds, berlin), 1721037600);
  EXPECT_EQ(Ticks("2024-07-15T12:00Z", TimeUnit::kSeconds, berlin), 1721044800);
  EXPECT_EQ(Failure("2024-03-31T02:30", TimeUnit::kSeconds, berlin), StatusCode::kOutOfRange);
}

TEST(TimeText, Bounds) {
  const auto bound = [](std::string_view text, TimeUnit unit) {
    return ParseBound("--from", text, unit, 0);
  };
  EXPECT_EQ(*bound("-5", TimeUnit::kMillis), -5);
  EXPECT_EQ(*bound("9223372036854775807", TimeUnit::kMillis), INT64_MAX);
  EXPECT_EQ(*bound("-9223372036854775808", TimeUnit::kMillis), INT64_MIN);
  EXPECT_EQ(*bound("2013-03-01", TimeUnit::kSeconds), 1362096000);
  EXPECT_EQ(*bound("2013-03-01T02:00+02:00", TimeUnit::kSeconds), 1362096000);
  EXPECT_EQ(bound("99999999999999999999", TimeUnit::kMillis).status().message(),
            "--from: '99999999999999999999' does not fit in 64 bits");
  for (const char* text : {"5.5", "", "-", "yesterday"}) {
    EXPECT_EQ(bound(text, TimeUnit::kMillis).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(TimeText, BoundsThatCountFromNow) {
  constexpr int64_t kNowUs = 1'716'534'230'123'456;
  const std::tuple<const char*, TimeUnit, int64_t> cases[] = {
      {"now", TimeUnit::kMicros, kNowUs},
      {"now", TimeUnit::kMillis, kNowUs / 1000},
      {"now", TimeUnit::kSeconds, kNowUs / 1'000'000},
      {"now", TimeUnit::kNanos, kNowUs * 1000},
      {"-1h", TimeUnit::kSeconds, 1'716'530'630},
      {"now-1h", TimeUnit::kSeconds, 1'716'530'630},
      {"+90s", TimeUnit::kMillis, kNowUs / 1000 + 90'000},
      {"now+2d", TimeUnit::kMicros, kNowUs + 172'800'000'000}};
  for (const auto& [text, unit, ticks] : cases) {
    const Result<int64_t> read = ParseBound("--to", text, unit, kNowUs);
    ASSERT_TRUE(read.ok()) << text << ": " << read.status().ToString();
    EXPECT_EQ(*read, ticks) << text;
  }
  EXPECT_EQ(*ParseBound("--to", "now", TimeUnit::kSeconds, -1), -1);
  for (const char* text : {"1h", "now1h", "now-5", "-1x", "now-", "--1h", "Now", "now -1h"}) {
    EXPECT_EQ(ParseBound("--to", text, TimeUnit::kMillis, kNowUs).status().code(),
              StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_EQ(ParseBound("--to", "-900000d", TimeUnit::kMillis, kNowUs).status().message(),
            "--to: time '-900000d' lies outside the years 0001 to 9999: it counts from now");
}

TEST(TimeText, Format) {
  EXPECT_EQ(FormatTicks(1362096000000, TimeUnit::kMillis), "2013-03-01T00:00:00.000Z");
  EXPECT_EQ(FormatTicks(-1, TimeUnit::kNanos), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(FormatTicks(1362096000, TimeUnit::kSeconds), "2013-03-01T00:00:00Z");
  EXPECT_EQ(FormatTicks(INT64_MAX, TimeUnit::kMillis), "9223372036854775807");
  const LocalClock berlin = *LocalClock::OfZone("Europe/Berlin");
  EXPECT_EQ(FormatTicks(1362096000000, TimeUnit::kMillis, berlin), "2013-03-01T01:00:00.000+01:00");
  EXPECT_EQ(FormatTicks(-1, TimeUnit::kMicros, LocalClock(-1800)),
            "1969-12-31T23:29:59.999999-00:30");
  EXPECT_EQ(FormatTicks(INT64_MIN, TimeUnit::kSeconds, berlin), "-9223372036854775808");
  EXPECT_EQ(*ParseBound("--to", "2024-07-01", TimeUnit::kSeconds, 0, berlin.ForBounds()),
            *ParseBound("--to", "2024-06-30T22:00Z", TimeUnit::kSeconds, 0));
  EXPECT_EQ(*ParseBound("--to", "2024-07-01T00:00Z", TimeUnit::kSeconds, 0, berlin),
            *ParseBound("--to", "2024-07-01", TimeUnit::kSeconds, 0));
}

TEST(TimeText, SpansAreReadAndWritten) {
  const std::pair<uint64_t, std::string> spans[] = {
      {34'560'000, "400d"}, {172'800, "2d"}, {129'600, "36h"}, {300, "5m"}, {90, "90s"},
      {0, "0s"}};
  for (const auto& [seconds, text] : spans) {
    EXPECT_EQ(FormatSpan(seconds), text);
    EXPECT_EQ(*ParseSpan("--x", text, 0, 1'000'000'000), static_cast<int64_t>(seconds));
  }
  for (const std::string text : {"0", "5"}) {
    EXPECT_EQ(ParseSpan("--x", text, 0, 100).status().message(),
              "--x '" + text + "' has no unit: " + text + "s, " + text + "m, " + text + "h or " +
                  text + "d");
  }
}

TEST(TimeText, Units) {
  EXPECT_EQ(*ParseTimeUnit("us"), TimeUnit::kMicros);
  EXPECT_FALSE(ParseTimeUnit("m").ok());
}

}  // namespace
}  // namespace cistern::tool
