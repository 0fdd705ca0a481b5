// Durations as text and on the wire, and the numbers of varying length that they are made of.
#include "lib/cql/duration_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "lib/cql/vint.h"
#include "tests/support/rng.h"

namespace cistern {
namespace {

using namespace std::string_literals;

std::string Wire(int64_t months, int64_t days, int64_t nanos) {
  std::string bytes;
  for (const int64_t part : {months, days, nanos}) PutVint(&bytes, part);
  return bytes;
}

std::string Shown(const std::string& wire) {
  std::string text;
  FormatDurationText(wire, &text);
  return text;
}

// Of native_protocol_v5.spec, section 3, and what Cassandra's VIntCoding writes.
TEST(Vint, HasAsManyBytesAsItTakes) {
  const struct {
    uint64_t value;
    std::string wire;
  } kCases[] = {
      {0, "\0"s},
      {127, "\x7f"},
      {128, "\x80\x80"},
      {16'383, "\xbf\xff"},
      {16'384, "\xc0\x40\0"s},
      {256'000, "\xc3\xe8\0"s},
      {(uint64_t{1} << 49) - 1, "\xfd\xff\xff\xff\xff\xff\xff"},
      {uint64_t{1} << 49, "\xfe\x02\0\0\0\0\0\0"s},
      {(uint64_t{1} << 56) - 1, "\xfe\xff\xff\xff\xff\xff\xff\xff"},
      {uint64_t{1} << 56, "\xff\x01\0\0\0\0\0\0\0"s},
      {UINT64_MAX, std::string(9, '\xff')},
  };
  for (const auto& c : kCases) {
    std::string wire;
    PutUnsignedVint(&wire, c.value);
    EXPECT_EQ(wire, c.wire) << c.value;
    std::string_view rest = wire;
    uint64_t back = 0;
    ASSERT_TRUE(TakeUnsignedVint(&rest, &back)) << c.value;
    EXPECT_EQ(back, c.value);
    EXPECT_TRUE(rest.empty());
    for (size_t cut = 0; cut < wire.size(); ++cut) {
      rest = std::string_view(wire).substr(0, cut);
      EXPECT_FALSE(TakeUnsignedVint(&rest, &back)) << c.value << " at " << cut;
    }
  }
  testing::Rng rng(7);
  for (int i = 0; i < 10'000; ++i) {
    const auto value = static_cast<int64_t>(rng.Next() >> rng.Below(64)) * (rng.OneIn(2) ? 1 : -1);
    std::string wire;
    PutVint(&wire, value);
    std::string_view rest = wire;
    int64_t back = 0;
    ASSERT_TRUE(TakeVint(&rest, &back));
    ASSERT_EQ(back, value);
    ASSERT_TRUE(rest.empty());
  }
}

TEST(DurationText, ReadsUnitsAndIso8601) {
  constexpr int64_t kHour = 3'600'000'000'000;
  const struct {
    std::string text;
    std::string wire;
    std::string shown;  // empty: as it was written
  } kCases[] = {
      {"1y2mo3d4h5m6s7ms8us9ns", Wire(14, 3, 4 * kHour + 306'007'008'009), ""},
      {"89h4m48s", Wire(0, 0, 89 * kHour + 288'000'000'000), ""},
      {"2w1d", Wire(0, 15, 0), "15d"},
      {"-1mo", Wire(-1, 0, 0), ""},
      {"-1d2h", Wire(0, -1, -2 * kHour), ""},
      {"0s", Wire(0, 0, 0), ""},
      {"90m", Wire(0, 0, 5'400'000'000'000), "1h30m"},
      {"14mo", Wire(14, 0, 0), "1y2mo"},
      {"1H30M", Wire(0, 0, 5'400'000'000'000), "1h30m"},
      {"5\xc2\xb5s", Wire(0, 0, 5'000), "5us"},
      {"P1Y2M3DT4H5M6S", Wire(14, 3, 4 * kHour + 306'000'000'000), "1y2mo3d4h5m6s"},
      {"-p2w", Wire(0, -14, 0), "-14d"},
      {"PT36H", Wire(0, 0, 36 * kHour), "36h"},
      {"2147483647mo2147483647d9223372036854775807ns",
       Wire(INT32_MAX, INT32_MAX, std::numeric_limits<int64_t>::max()),
       "178956970y7mo2147483647d2562047h47m16s854ms775us807ns"},
      {"-178956970y8mo2147483648d2562047h47m16s854ms775us808ns",
       Wire(INT32_MIN, INT32_MIN, std::numeric_limits<int64_t>::min()), ""},
  };
  for (const auto& c : kCases) {
    std::string wire;
    const Status s = ParseDurationText(c.text, &wire);
    ASSERT_TRUE(s.ok()) << c.text << ": " << s.ToString();
    EXPECT_EQ(wire, c.wire) << c.text;
    EXPECT_TRUE(CheckDuration(wire).ok()) << c.text;
    EXPECT_EQ(Shown(wire), c.shown.empty() ? c.text : c.shown);
  }
}

TEST(DurationText, RefusesWhatIsNone) {
  std::string wire;
  for (const char* bad : {"", "-", "1", "h", "1x", "1h2d", "1h1h", "1mo1y", "1.5h", "1h ", " 1h",
                          "--1h", "+1h", "P", "PT", "P1H", "PT1D", "P1YT", "1h-2m", "1d2"}) {
    EXPECT_EQ(ParseDurationText(bad, &wire).code(), StatusCode::kInvalidArgument) << bad;
  }
  for (const char* large : {"2147483648mo", "178956971y", "306783379w", "9223372036854775808ns",
                            "2562048h", "99999999999999999999d", "2147483647mo1y", "-2147483649d",
                            "-9223372036854775809ns"}) {
    EXPECT_NE(ParseDurationText(large, &wire).code(), StatusCode::kOk) << large;
  }
  EXPECT_EQ(ParseDurationText("2147483648mo", &wire).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(ParseDurationText("1y2147483647mo", &wire).code(), StatusCode::kOutOfRange);
  EXPECT_FALSE(CheckDuration(Wire(1, -1, 0)).ok());
  EXPECT_FALSE(CheckDuration(Wire(0, 1, -1)).ok());
  EXPECT_FALSE(CheckDuration(Wire(int64_t{1} << 31, 0, 0)).ok());
  EXPECT_FALSE(CheckDuration(Wire(0, -(int64_t{1} << 31) - 1, 0)).ok());
  EXPECT_FALSE(CheckDuration(Wire(1, 2, 3) + "x").ok());
  const std::string good = Wire(1, 2, 300);
  for (size_t cut = 0; cut < good.size(); ++cut) {
    EXPECT_FALSE(CheckDuration(good.substr(0, cut)).ok()) << cut;
  }
}

}  // namespace
}  // namespace cistern
