#include "tools/tz_file.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace cistern::tool {
namespace {

void AppendNumber(std::string* bytes, int64_t value, int width) {
  for (int shift = (width - 1) * 8; shift >= 0; shift -= 8) {
    bytes->push_back(static_cast<char>(value >> shift & 0xFF));
  }
}

struct Body {
  std::vector<int64_t> times{};
  std::string kinds_of_times{};
  std::vector<int32_t> offsets_s{3600};
  std::string letters{"CET", 4};
  int leaps = 0;
};

std::string Block(char version, const Body& body, int time_bytes) {
  std::string bytes = "TZif";
  bytes.push_back(version);
  bytes.append(15, '\0');
  for (const size_t count : {size_t{0}, size_t{0}, static_cast<size_t>(body.leaps),
                             body.times.size(), body.offsets_s.size(), body.letters.size()}) {
    AppendNumber(&bytes, static_cast<int64_t>(count), 4);
  }
  for (const int64_t time : body.times) AppendNumber(&bytes, time, time_bytes);
  bytes += body.kinds_of_times;
  for (const int32_t offset_s : body.offsets_s) {
    AppendNumber(&bytes, offset_s, 4);
    bytes.append(2, '\0');
  }
  bytes += body.letters;
  bytes.append(static_cast<size_t>(body.leaps * (time_bytes + 4)), '\0');
  return bytes;
}

std::string File(const Body& body, const std::string& rule) {
  return Block('2', Body{}, 4) + Block('2', body, 8) + "\n" + rule + "\n";
}

// Seconds since 1970 UTC, or -1 unless there is exactly one moment.
int64_t OnlyMoment(const TzTable& table, int64_t local_s) {
  const TzTable::Moments moments = table.MomentsOf(local_s);
  return moments.count == 1 ? moments.at[0].utc_s : -1;
}

TEST(TzFile, ARuleHoldsForEver) {
  const Result<TzTable> table = ParseTzFile(File({}, "CET-1CEST,M3.5.0,M10.5.0/3"));
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(OnlyMoment(*table, 1'720'000'000), 1'720'000'000 - 7200);      // 2024-07-03
  EXPECT_EQ(OnlyMoment(*table, 1'705'000'000), 1'705'000'000 - 3600);      // 2024-01-11
  EXPECT_EQ(OnlyMoment(*table, 253'386'316'800), 253'386'316'800 - 7200);  // 9999-06-30
  EXPECT_EQ(table->MomentsOf(253'378'202'401).count, 0u);                  // 9999-03-28T02:00:01
  EXPECT_EQ(OnlyMoment(*table, -62'135'596'800 + 86'400 * 180),
            -62'135'596'800 + 86'400 * 180 - 7200);                        // 0001-06-30
}

// The calendar of 2024 comes again 400 years later, and so on.
TEST(TzFile, PeriodsOfARuleGoOnForEver) {
  const Result<TzTable> table = ParseTzFile(File({}, "CET-1CEST,M3.5.0,M10.5.0/3"));
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  constexpr int64_t kFrom = 1'711'846'800;  // 2024-03-31T01:00:00Z
  constexpr int64_t kTo = 1'729'990'800;    // 2024-10-27T01:00:00Z
  for (int64_t centuries = 0; centuries <= 76; centuries += 4) {
    const int64_t shift = centuries / 4 * 146'097 * 86'400;
    for (const int64_t at : {kFrom, kTo - 1}) {
      const TzPeriod period = table->PeriodAt(at + shift);
      EXPECT_EQ(period.offset_s, 7200) << centuries;
      EXPECT_EQ(period.from_s, kFrom + shift) << centuries;
      EXPECT_EQ(period.to_s, kTo + shift) << centuries;
    }
    EXPECT_EQ(table->PeriodAt(kTo + shift).from_s, kTo + shift);
    EXPECT_EQ(table->PeriodAt(kFrom + shift - 1).to_s, kFrom + shift);
  }
}

TEST(TzFile, OneOffsetForEverNeedsNoRule) {
  for (const char* rule : {"", "CET-1", "<+01>-1"}) {
    const Result<TzTable> table = ParseTzFile(File({}, rule));
    ASSERT_TRUE(table.ok()) << rule;
    EXPECT_EQ(OnlyMoment(*table, 10'000), 6'400);
    EXPECT_TRUE(table->changes.empty());
  }
}

TEST(TzFile, FilesOf32BitTimesAreRead) {
  const Body body{{1000, 50'000}, std::string("\1\0", 2), {3600, 7200}, std::string("A\0B", 4)};
  const Result<TzTable> table = ParseTzFile(Block('\0', body, 4));
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(OnlyMoment(*table, 20'000), 12'800);
  EXPECT_EQ(table->MomentsOf(1000 + 3600).count, 0u);
  EXPECT_EQ(table->MomentsOf(50'000 + 3600).count, 2u);
  EXPECT_EQ(table->MomentsOf(50'000 + 7199).count, 2u);
  EXPECT_EQ(OnlyMoment(*table, 50'000 + 7200), 50'000 + 3600);
}

TEST(TzFile, DaysOfARuleInEachForm) {
  // 2023 and 2024 (a leap year): J60 is March 1 in both, 59 is March 1 and February 29.
  const Result<TzTable> julian = ParseTzFile(File({}, "AAA0BBB,J60/0,J300/0"));
  const Result<TzTable> zero = ParseTzFile(File({}, "AAA0BBB,59/0,299/0"));
  ASSERT_TRUE(julian.ok() && zero.ok());
  constexpr int64_t kMarchFirst2023S = 1'677'628'800;
  constexpr int64_t kMarchFirst2024S = 1'709'251'200;
  const auto begins = [](const TzTable& table, int64_t at_s) {
    return table.MomentsOf(at_s - 1).at[0].kind->offset_s == 0 &&
           table.MomentsOf(at_s).count == 0;
  };
  EXPECT_TRUE(begins(*julian, kMarchFirst2023S));
  EXPECT_TRUE(begins(*julian, kMarchFirst2024S));
  EXPECT_TRUE(begins(*zero, kMarchFirst2023S));
  EXPECT_TRUE(begins(*zero, kMarchFirst2024S - 86'400));
}

TEST(TzFile, BytesThatAreNoFileAreTold) {
  const Body body{{1000, 50'000}, std::string("\1\0", 2), {3600, 7200}, std::string("A\0B", 4)};
  const std::string good = File(body, "CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_TRUE(ParseTzFile(good).ok());
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(ParseTzFile(good.substr(0, length)).status().code(), StatusCode::kCorruption);
  }
  Body wrong = body;
  wrong.times = {50'000, 1000};
  EXPECT_FALSE(ParseTzFile(File(wrong, "")).ok());
  wrong = body;
  wrong.kinds_of_times = "\1\2";
  EXPECT_FALSE(ParseTzFile(File(wrong, "")).ok());
  wrong = body;
  wrong.offsets_s = {3600, 200'000};
  EXPECT_FALSE(ParseTzFile(File(wrong, "")).ok());
  wrong = body;
  wrong.leaps = 1;
  EXPECT_NE(ParseTzFile(File(wrong, "")).status().message().find("leap seconds"),
            std::string::npos);
  for (const char* rule : {"C-1", "CET", "CET-25", "CET-1CEST", "CET-1CEST,M13.1.0,M10.5.0",
                           "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
                           "CET-1CEST,J0,J5", "CET-1CEST,J366,J5",
                           "CET-1CEST,366,5", "CET-1CEST,M3.5.0",
                           "CET-1CEST,M3.5.0,M10.5.0/168", "CET-1CEST,M3.5.0,M10.5.0/3x",
                           "<CET-1", "CET-1CEST,M3.5.0,M10.5.0,"}) {
    EXPECT_FALSE(ParseTzFile(File(body, rule)).ok()) << rule;
  }
}

TEST(TzFile, DamagedFilesNeverHarm) {
  const Body body{{1000, 50'000}, std::string("\1\0", 2), {3600, 7200}, std::string("A\0B", 4)};
  const std::string good = File(body, "CET-1CEST,M3.5.0,M10.5.0/3");
  std::mt19937 random(20240331);
  for (int round = 0; round < 1'000; ++round) {
    std::string bytes = good;
    for (unsigned flips = random() % 4 + 1; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const Result<TzTable> table = ParseTzFile(bytes);
    if (!table.ok()) continue;
    for (const int64_t local_s : {int64_t{0}, int64_t{-62'135'596'800}, int64_t{253'402'300'799}}) {
      EXPECT_LE(table->MomentsOf(local_s).count, TzTable::Moments::kMax);
    }
  }
}

}  // namespace
}  // namespace cistern::tool
