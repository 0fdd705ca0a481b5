#include "tools/time_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace cistern::tool {
namespace {

// Seconds and nanoseconds as a decimal, or the message.
std::string Read(const std::string& pattern, std::string_view text,
                 const LocalClock& clock = LocalClock()) {
  const Result<TimePattern> compiled = TimePattern::Compile(pattern);
  if (!compiled.ok()) return compiled.status().message();
  const Result<Instant> t = compiled->Parse(text, clock);
  if (!t.ok()) return t.status().message();
  return std::to_string(t->seconds) +
         (t->nanos == 0 ? "" : "." + std::to_string(1'000'000'000 + t->nanos).substr(1));
}

std::string Refusal(const std::string& pattern) {
  const Result<TimePattern> compiled = TimePattern::Compile(pattern);
  if (compiled.ok()) return "no refusal";
  EXPECT_EQ(compiled.status().code(), StatusCode::kInvalidArgument);
  const std::string begin = "'" + pattern + "': ";
  EXPECT_EQ(compiled.status().message().substr(0, begin.size()), begin);
  return compiled.status().message().substr(begin.size());
}

TEST(TimePattern, TwelveHourClocks) {
  const std::string pattern = "%m/%d/%Y %I:%M:%S %p";
  EXPECT_EQ(Read(pattern, "03/03/2026 12:00:01 AM"), "1772496001");
  EXPECT_EQ(Read(pattern, "03/03/2026 09:15:00 AM"), "1772529300");
  EXPECT_EQ(Read(pattern, "03/03/2026 12:00:01 PM"), "1772539201");
  EXPECT_EQ(Read(pattern, "03/03/2026 09:15:00 PM"), "1772572500");
  EXPECT_EQ(Read(pattern, "3/3/2026 9:15:00 pm"), "1772572500");
  // As browsers write it, with a narrow blank.
  EXPECT_EQ(Read(pattern, "3/3/2026 9:15:00\u202fPM"), "1772572500");
  EXPECT_NE(Read(pattern, "03/03/2026 13:15:00 PM").find("where"), std::string::npos);
}

TEST(TimePattern, AHalfOfTheDayDoesNotContradictTheHour) {
  EXPECT_EQ(Read("%Y-%m-%d %H:%M %p", "2026-03-03 21:15 PM"), "1772572500");
  EXPECT_EQ(Read("%Y-%m-%d %H:%M %p", "2026-03-03 09:15 AM"), "1772529300");
  EXPECT_EQ(Read("%Y-%m-%d %H:%M %p", "2026-03-03 09:15 PM"),
            "'2026-03-03 09:15 PM' contradicts itself: 9 o'clock is not PM by the 24-hour clock "
            "that %H reads; %I reads hours with %p");
}

TEST(TimePattern, WhatEachConversionReads) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"%d/%m/%Y %H:%M:%S", "24/05/2024 07:03:50", "1716534230"},
      {"%d/%m/%Y %H:%M:%S", "24/5/2024 7:3:50.125", "1716534230.125000000"},
      {"%d/%m/%Y %H:%M:%S", "24/05/2024 07:03:50,000000001", "1716534230.000000001"},
      {"%d/%m/%Y %H:%M:%S.%f", "24/05/2024 07:03:50.25", "1716534230.250000000"},
      {"%d/%m/%Y %H:%M:%S.%f", "24/05/2024 07:03:50.1234567", "1716534230.123456700"},
      {"%A, %B %d, %Y %l:%M %P", "Friday, May 24, 2024  7:03 am", "1716534180"},
      {"%a %d %b %y", "fri 24 may 24", "1716508800"},
      {"%e.%m.%Y %k:%M", " 4.05.2024  7:03", "1714806180"},
      {"%Y-%j", "2024-145", "1716508800"},
      {"%G-W%V-%u", "2024-W21-5", "1716508800"},
      {"%Y %U %w", "2024 20 5", "1716508800"},
      {"%Y %W %A", "2024 21 Friday", "1716508800"},
      {"%C%y-%m-%d", "2024-05-24", "1716508800"},
      {"%FT%T%z", "2024-05-24T07:03:50+0200", "1716527030"},
      {"%FT%T%z", "2024-05-24T07:03:50+02:00", "1716527030"},
      {"%FT%T%z", "2024-05-24T07:03:50Z", "1716534230"},
      {"%FT%T %Z", "2024-05-24T07:03:50 utc", "1716534230"},
      {"%FT%T %Z", "2024-05-24T07:03:50 Europe/Berlin", "1716527030"},
      {"%FT%T%z[%Z]", "2024-05-24T07:03:50+02:00[Europe/Berlin]", "1716527030"},
      {"%D %R", "05/24/24 07:03", "1716534180"},
      {"%D %r", "05/24/24 07:03:50 PM", "1716577430"},
      {"%c", "Fri May 24 07:03:50 2024", "1716534230"},
      {"%x %X", "05/24/24 07:03:50", "1716534230"},
      {"%s", "1716534230", "1716534230"},
      {"%-d.%-m.%Y", "4.5.2024", "1714780800"},
      {"%_d.%_m.%Y", " 4. 5.2024", "1714780800"},
      {"%Od/%Om/%EY", "24/05/2024", "1716508800"},
      {"%d%m%Y", "1122024", "1707609600"},
      {"%Y%m%d%%%H", "20240524%07", "1716534000"},
      {"%dT%nX%m %Y", "24tx05 2024", "1716508800"}};
  for (const auto& [pattern, text, expected] : cases) {
    EXPECT_EQ(Read(pattern, text), expected) << pattern;
  }
}

TEST(TimePattern, TextsThatAreNoTimeAreRefused) {
  const std::string pattern = "%d/%m/%Y %H:%M:%S";
  for (const char* text : {"24/05/2024 1:2:60", "31/12/2024 23:59:60", "24/05/2024 24:00:00",
                           "24/05/2024 07:60:00", "24/05/2024 07:03:50 ", "24/05/2024 07:03:50\t",
                           " 24/05/2024 07:03:50", "30/02/2024 07:03:50", "24/05/2024 07:03",
                           "24/05/24 07:03:50", "24/05/0000 07:03:50", "24/05/2024 07:03:50.",
                           "24/05/2024 07:03:50 PM", "24/05/2024 07:03:50.1234567891", ""}) {
    EXPECT_FALSE(TimePattern::Compile(pattern)->Parse(text, LocalClock()).ok()) << text;
  }
}

TEST(TimePattern, AMessageTellsWhereTheTextDiffers) {
  EXPECT_EQ(Read("%d.%m.%Y %H:%M", "24.13.2024 07:03"),
            "'24.13.2024 07:03' does not match the time format '%d.%m.%Y %H:%M': '3.2024 07:03' "
            "stands where '.' is expected");
  EXPECT_EQ(Read("%d.%m.%Y %H:%M", "24.05.2024"),
            "'24.05.2024' does not match the time format '%d.%m.%Y %H:%M': it ends where a blank "
            "is expected");
  EXPECT_EQ(Read("%d.%m.%Y", "24.May.2024"),
            "'24.May.2024' does not match the time format '%d.%m.%Y': 'May.2024' stands where %m "
            "(1 to 12) is expected");
  EXPECT_EQ(Read("%d.%m.%Y", "24.05.2024 07:03"),
            "'24.05.2024 07:03' goes on after the time format '%d.%m.%Y' ends, with ' 07:03'");
  EXPECT_EQ(Read("%F %T%z", "2024-05-24 07:03:50 CEST"),
            "'2024-05-24 07:03:50 CEST' does not match the time format '%F %T%z': ' CEST' stands "
            "where %z (+0200, +02:00 or Z) is expected");
}

TEST(TimePattern, PartsThatContradictAreRefused) {
  EXPECT_EQ(Read("%a %F", "Mon 2026-03-03"),
            "'Mon 2026-03-03' contradicts itself: 2026-03-03 is a Tuesday, not a Monday");
  for (const auto& [pattern, text] :
       {std::pair("%F %j", "2026-03-03 63"), std::pair("%Y-%j", "2023-366"),
        std::pair("%G-W%V-%u", "2023-W53-1"), std::pair("%Y %U %w", "2026 0 0"),
        std::pair("%F %y", "2026-03-03 25"), std::pair("%F %b", "2026-03-03 Apr"),
        std::pair("%F %I %p %H", "2026-03-03 9 PM 20"), std::pair("%F %V", "2026-03-03 9")}) {
    EXPECT_NE(Read(pattern, text).find("contradicts itself"), std::string::npos) << pattern;
  }
  EXPECT_EQ(Read("%F %I %p %H", "2026-03-03 9 PM 21"), "1772571600");
}

TEST(TimePattern, ZonesAreUnderstoodOrRefused) {
  const LocalClock berlin = *LocalClock::OfZone("Europe/Berlin");
  EXPECT_EQ(Read("%F %T", "2024-05-24 07:03:50", berlin), "1716527030");
  EXPECT_EQ(Read("%F %T %Z", "2024-05-24 07:03:50 CEST", berlin), "1716527030");
  EXPECT_EQ(Read("%F %T %Z", "2024-10-27 02:30:00 CEST", berlin), "1729989000");
  EXPECT_EQ(Read("%F %T %Z", "2024-10-27 02:30:00 CET", berlin), "1729992600");
  EXPECT_EQ(Read("%F %T %z (%Z)", "2024-10-27 02:30:00 +0100 (CET)", berlin), "1729992600");
  EXPECT_EQ(Read("%F %T%z[%Z]", "2024-10-27 02:30:00+01:00[Europe/Berlin]"), "1729992600");
  EXPECT_EQ(Read("%F %T%z[%Z]", "2024-10-27 02:30:00+02:00[Europe/Berlin]"), "1729989000");
  for (const char* word : {"CEST", "BANANA", "PST"}) {
    EXPECT_NE(Read("%F %T %Z", std::string("2024-05-24 07:03:50 ") + word)
                  .find(std::string("'") + word + "' is no zone of the tz database"),
              std::string::npos);
  }
  EXPECT_EQ(Read("%F %T %Z%z", "2024-05-24 07:03:50 GMT+0200"),
            "'2024-05-24 07:03:50 GMT+0200' contradicts itself: its offset is +02:00, and clocks "
            "of 'GMT' are at +00:00 then; if the word is no zone, write it into the pattern in "
            "place of %Z");
  EXPECT_EQ(Read("%F %T GMT%z", "2024-05-24 07:03:50 GMT+0200"), "1716527030");
}

TEST(TimePattern, PatternsThatWouldMisreadAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"%Q", "'%Q' at character 1 is none of its parts; expected a pattern such as"},
      {"%Y-%m-%d %N", "'%N' at character 10 is none of its parts (%f reads a fraction)"},
      {"%Y-%m-%d %", "'%' at character 10 is none of its parts"},
      {"%Y-%m-%d %E", "'%E' at character 10 is none of its parts"},
      {"%Ed.%m.%Y", "'%Ed' at character 1 is none of its parts"},
      {"%H:%M:%S", "it does not tell a day"},
      {"%Y-%m", "it does not tell a day"},
      {"%Y-%M-%d", "it does not tell a day"},
      {"day", "it does not tell a day"},
      {"", "it does not tell a day"},
      {"%Y W%V %u", "the weeks of %V are of ISO's years, which %G reads"},
      {"%F %I:%M", "%I is an hour of a 12-hour clock, and only %p says which half"},
      {"%F %p", "there is no %I"},
      {"%F %M", "minutes (%M) without hours (%H)"},
      {"%F %H %S", "seconds (%S) without minutes (%M)"},
      {"%F %H:%M %f", "%f without seconds"},
      {"%F %m", "'%m' reads what a part before it has read already"},
      {"%d %e %b %Y", "'%e' reads what a part before it has read already"},
      {"%T.%f%Y%m%d", "no sign parts '%f' from the digits of '%Y' behind it"},
      {"%F %s", "no other part may stand beside it"},
      {" %F", "it begins or ends with a blank"},
      {"%F ", "it begins or ends with a blank"}};
  for (const auto& [pattern, why] : cases) {
    EXPECT_NE(Refusal(pattern).find(why), std::string::npos) << Refusal(pattern);
  }
  EXPECT_NE(Refusal("%F" + std::string(300, 'x')).find("longer than 256 bytes"),
            std::string::npos);
}

// Digits that can be shared out in very many ways do not keep the reader.
TEST(TimePattern, ManyWaysToReadAreGivenUp) {
  const Result<TimePattern> pattern =
      TimePattern::Compile("%y%m%d%H%M%S%j%U%W%V%C%w%u%I%p");
  ASSERT_TRUE(pattern.ok()) << pattern.status().ToString();
  EXPECT_FALSE(pattern->Parse(std::string(60'000, '1'), LocalClock()).ok());
}

}  // namespace
}  // namespace cistern::tool
