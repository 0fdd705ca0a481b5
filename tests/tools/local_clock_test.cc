#include "tools/local_clock.h"

#include <gtest/gtest.h>

#include <string>

namespace cistern::tool {
namespace {

// Berlin's clocks are put back at this moment, from 03:00:00 to 02:00:00.
constexpr int64_t kBackUtcS = 1'729'990'800;  // 2024-10-27T01:00:00Z
constexpr int64_t kForwardUtcS = 1'711'846'800;  // 2024-03-31T01:00:00Z
constexpr int64_t kHourS = 3600;

LocalClock Berlin() { return *LocalClock::OfZone("Europe/Berlin"); }

bool Tells(const Status& status, const std::string& what) {
  return status.message().find(what) != std::string::npos;
}

TEST(LocalClock, OneOffsetAtAllTimes) {
  EXPECT_EQ(*LocalClock().UtcOf(5, "x"), 5);
  EXPECT_EQ(*LocalClock(-1800).UtcOf(5, "x"), 1805);
}

TEST(LocalClock, TheHourThatDoesNotExistIsRefused) {
  const LocalClock berlin = Berlin();
  EXPECT_EQ(*berlin.UtcOf(kForwardUtcS + kHourS - 1, "x"), kForwardUtcS - 1);
  EXPECT_EQ(*berlin.UtcOf(kForwardUtcS + 2 * kHourS, "x"), kForwardUtcS);
  for (const int64_t second : {int64_t{0}, kHourS - 1}) {
    const Status refused = berlin.UtcOf(kForwardUtcS + kHourS + second, "02:30").status();
    EXPECT_EQ(refused.code(), StatusCode::kOutOfRange);
    EXPECT_TRUE(Tells(refused, "'02:30' does not exist in Europe/Berlin: clocks were put forward "
                               "over it, from +01:00 to +02:00"))
        << refused.message();
  }
}

TEST(LocalClock, TheHourThatIsThereTwiceIsDecided) {
  LocalClock berlin = Berlin();
  EXPECT_EQ(*berlin.UtcOf(kBackUtcS + kHourS - 1, "x"), kBackUtcS - kHourS - 1);
  EXPECT_EQ(*berlin.UtcOf(kBackUtcS + 2 * kHourS, "x"), kBackUtcS + kHourS);
  const int64_t twice_s = kBackUtcS + kHourS + 1800;  // 02:30
  const Status refused = berlin.UtcOf(twice_s, "02:30").status();
  EXPECT_EQ(refused.code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(Tells(refused, "'02:30' is there twice in Europe/Berlin, at +02:00 and at +01:00; "
                             "--ambiguous-times earlier or later"))
      << refused.message();
  berlin.set_ambiguous(AmbiguousTimes::kEarlier);
  EXPECT_EQ(*berlin.UtcOf(twice_s, "x"), kBackUtcS - 1800);
  berlin.set_ambiguous(AmbiguousTimes::kLater);
  EXPECT_EQ(*berlin.UtcOf(twice_s, "x"), kBackUtcS + 1800);
}

TEST(LocalClock, ABoundIsTheFirstMomentThatShowsIt) {
  const LocalClock berlin = Berlin();
  EXPECT_EQ(berlin.FirstFrom(kForwardUtcS), kForwardUtcS - kHourS);
  for (const int64_t second : {int64_t{0}, int64_t{1800}, kHourS}) {  // 02:00 to 03:00
    EXPECT_EQ(berlin.FirstFrom(kForwardUtcS + kHourS + second), kForwardUtcS);
  }
  const int64_t twice_s = kBackUtcS + kHourS + 1800;
  EXPECT_EQ(berlin.FirstFrom(twice_s), kBackUtcS - 1800);
  EXPECT_EQ(*berlin.ForBounds().UtcOf(twice_s, "x"), kBackUtcS - 1800);
  EXPECT_EQ(*berlin.ForBounds().UtcOf(kForwardUtcS + kHourS + 1, "x"), kForwardUtcS);
  EXPECT_EQ(LocalClock(-1800).FirstFrom(5), 1805);
}

TEST(LocalClock, PeriodsLieSideBySide) {
  const LocalClock berlin = Berlin();
  const TzPeriod summer = berlin.PeriodAt(kForwardUtcS);
  EXPECT_EQ(summer.offset_s, 2 * kHourS);
  EXPECT_EQ(summer.from_s, kForwardUtcS);
  EXPECT_EQ(summer.to_s, kBackUtcS);
  EXPECT_EQ(berlin.PeriodAt(kForwardUtcS - 1).offset_s, kHourS);
  EXPECT_EQ(berlin.PeriodAt(kBackUtcS).from_s, kBackUtcS);
  const TzPeriod all = LocalClock(60).PeriodAt(0);
  EXPECT_EQ(all.offset_s, 60);
  EXPECT_EQ(all.from_s, INT64_MIN);
  EXPECT_EQ(all.to_s, INT64_MAX);
}

TEST(LocalClock, AnAbbreviationOfTheClockTellsTheHourThatIsThereTwice) {
  const LocalClock berlin = Berlin();
  const int64_t twice_s = kBackUtcS + kHourS + 1800;
  EXPECT_EQ(*berlin.UtcOfNamed(twice_s, "CEST", "x"), kBackUtcS - 1800);
  EXPECT_EQ(*berlin.UtcOfNamed(twice_s, "CET", "x"), kBackUtcS + 1800);
  EXPECT_EQ(*berlin.UtcOfNamed(twice_s, "cet", "x"), kBackUtcS + 1800);
  EXPECT_EQ(*berlin.UtcOfNamed(twice_s, "UTC", "x"), twice_s);
}

TEST(LocalClock, AWordNamesAZoneOrIsRefused) {
  const LocalClock utc;
  constexpr int64_t kJulyS = 1'720'000'000;  // 2024-07-03
  EXPECT_EQ(*utc.UtcOfNamed(kJulyS, "Europe/Berlin", "x"), kJulyS - 2 * kHourS);
  EXPECT_EQ(*utc.UtcOfNamed(kJulyS, "Etc/GMT+5", "x"), kJulyS + 5 * kHourS);
  EXPECT_EQ(*utc.UtcOfNamed(kJulyS, "Japan", "x"), kJulyS - 9 * kHourS);
  EXPECT_EQ(*Berlin().UtcOfNamed(kJulyS, "Japan", "x"), kJulyS - 9 * kHourS);
  for (const char* word : {"UTC", "utc", "GMT", "UT", "Z"}) {
    EXPECT_EQ(*Berlin().UtcOfNamed(kJulyS, word, "x"), kJulyS) << word;
  }
  for (const char* word : {"CEST", "BANANA", "PST", "../etc/passwd", "/etc/passwd", "Europe",
                           "Europe//Berlin", "Europe/Berlin/", "tzdata.zi", "zone.tab", ""}) {
    const Result<int64_t> read = utc.UtcOfNamed(kJulyS, word, "a text");
    EXPECT_FALSE(read.ok()) << word;
    EXPECT_TRUE(Tells(read.status(), std::string("'a text': '") + word +
                                         "' is no zone of the tz database"))
        << read.status().message();
  }
}

// CET is a zone that has summer time, and an abbreviation that no clock shows in summer.
TEST(LocalClock, AnAbbreviationThatClocksDoNotShowThenIsRefused) {
  constexpr int64_t kJulyS = 1'720'000'000;
  constexpr int64_t kJanuaryS = 1'705'000'000;
  for (const LocalClock& clock : {LocalClock(), Berlin()}) {
    EXPECT_EQ(*clock.UtcOfNamed(kJanuaryS, "CET", "x"), kJanuaryS - kHourS);
    const Status refused = clock.UtcOfNamed(kJulyS, "CET", "x").status();
    EXPECT_TRUE(Tells(refused, "clocks that show 'CET' show 'CEST' at that time"))
        << refused.message();
  }
  EXPECT_FALSE(Berlin().UtcOfNamed(kJanuaryS, "CEST", "x").ok());
}

TEST(LocalClock, ZonesThatThereAreNotAreTold) {
  for (const char* name : {"Europe/Berln", "CEST", "", "right", "posixrules2", "..", "UTC "}) {
    const Status refused = LocalClock::OfZone(name).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_TRUE(Tells(refused, "is no zone of the tz database in ")) << refused.message();
  }
  EXPECT_TRUE(LocalClock::OfZone("UTC").ok());
}

TEST(LocalClock, WhatAmbiguousTimesTakes) {
  EXPECT_EQ(*ParseAmbiguousTimes("later"), AmbiguousTimes::kLater);
  EXPECT_EQ(*ParseAmbiguousTimes("earlier"), AmbiguousTimes::kEarlier);
  EXPECT_EQ(*ParseAmbiguousTimes("refuse"), AmbiguousTimes::kRefuse);
  EXPECT_FALSE(ParseAmbiguousTimes("both").ok());
}

}  // namespace
}  // namespace cistern::tool
