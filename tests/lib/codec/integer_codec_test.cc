#include "lib/codec/integer_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tests/lib/codec/codec_test_util.h"

namespace cistern {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
using Values = std::vector<int64_t>;

// Encodes, checks the promised size, decodes, compares; gives the stream.
std::string RoundTripOf(const Values& values, const IntegerPlan& plan) {
  std::string stream;
  EncodeIntegers(values, plan, &stream);
  EXPECT_EQ(stream.size(), plan.byte_count);
  ByteReader in(stream, "test");
  Values got(values.size());
  DecodeIntegers(&in, got);
  EXPECT_TRUE(in.ok()) << in.status().ToString();
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(got, values);
  for (const size_t begin :
       {size_t{0}, size_t{1}, size_t{2}, values.size() / 2, values.size() - 1}) {
    for (const size_t count : {size_t{1}, size_t{2}, size_t{9}, values.size()}) {
      if (begin >= values.size()) continue;
      const size_t end = std::min(begin + count, values.size());
      ByteReader some(stream, "test");
      Values out(end);
      DecodeIntegers(&some, {values.size(), begin, end}, out);
      EXPECT_TRUE(some.ok()) << some.status().ToString();
      EXPECT_EQ(some.remaining(), 0u);
      EXPECT_EQ(Values(out.begin() + begin, out.end()),
                Values(values.begin() + begin, values.begin() + end))
          << begin << " to " << end << " of " << values.size();
    }
  }
  return stream;
}

// In the best form, and in every form that a column's memory may name.
std::string RoundTrip(const Values& values) {
  const IntegerPlan best = PlanIntegers(values);
  EXPECT_LE(best.byte_count, values.size() * 8 + 12) << "never much larger than raw";
  for (int form = 1; form <= static_cast<int>(IntegerForm::kRuns); ++form) {
    const IntegerPlan plan = PlanIntegers(values, static_cast<IntegerForm>(form));
    RoundTripOf(values, plan);
  }
  EXPECT_EQ(PlanIntegers(values, best.form()).byte_count, best.byte_count);
  return RoundTripOf(values, best);
}

TEST(IntegerCodec, EachFormIsFound) {
  EXPECT_EQ(RoundTrip(Values(1000, 42)), Bytes({0x00, 84}));  // constant
  Values regular(360);
  for (size_t i = 0; i < 360; ++i) regular[i] = 1'721'900'000'000 + 1000 * static_cast<int64_t>(i);
  EXPECT_EQ(RoundTrip(regular).size(), 9u);  // order 1, all steps equal
  Values quadratic(360);
  for (size_t i = 0; i < 360; ++i) quadratic[i] = static_cast<int64_t>(i * i);
  EXPECT_EQ(PlanIntegers(quadratic).order, 2);
  EXPECT_LE(RoundTrip(quadratic).size(), 4u);
  Values scaled(100);
  for (size_t i = 0; i < 100; ++i)
    scaled[i] = 7 + 625 * static_cast<int64_t>(i * i * 37 % 101 % 16);
  EXPECT_EQ(PlanIntegers(scaled).divisor, 625u);
  EXPECT_LE(RoundTrip(scaled).size(), 1u + 1 + 2 + 1 + 50);
  std::mt19937_64 random(2);
  Values steps;
  while (steps.size() < 500) {
    steps.insert(steps.end(), 1 + random() % 16, static_cast<int64_t>(random() % 1024));
  }
  EXPECT_TRUE(PlanIntegers(steps).runs);
  EXPECT_LE(RoundTrip(steps).size(), 130u);
}

TEST(IntegerCodec, OutliersArePatched) {
  std::mt19937_64 random(3);
  for (const bool below : {false, true}) {
    Values values(512);
    for (int64_t& v : values) v = 1000 + static_cast<int64_t>(random() % 16);
    values[100] = below ? -5'000'000'000 : 5'000'000'000;
    values[411] = below ? -5'000'000'777 : 4'000'000'000;
    const IntegerPlan plan = PlanIntegers(values);
    EXPECT_EQ(plan.side_a.size(), 2u);
    EXPECT_LE(RoundTrip(values).size(), 512u / 2 + 32);
  }
}

// States with few that are missing, a flag that is nearly always set, a clock with gaps: whatever
// differs is listed, and the others take no bit.
TEST(IntegerCodec, RareOnesAreListed) {
  for (const int64_t rare : {-1, 0, 2, 1'000'000}) {
    Values values(360, 1);
    for (const size_t at : {3u, 100u, 101u, 359u}) values[at] = rare;
    const IntegerPlan plan = PlanIntegers(values);
    EXPECT_EQ(plan.width, 0);
    EXPECT_EQ(plan.side_a, (Values{3, 100, 101, 359})) << rare;
    EXPECT_LE(RoundTrip(values).size(), 16u);
  }
  Values clock(360, 1'721'900'000'000);
  for (size_t i = 1; i < clock.size(); ++i) {
    clock[i] = clock[i - 1] + (i % 90 == 17 ? 2000 : 1000);
  }
  EXPECT_EQ(PlanIntegers(clock).width, 0);
  EXPECT_LE(RoundTrip(clock).size(), 24u);
  Values half(360, 1);
  for (size_t i = 0; i < half.size(); i += 2) half[i] = 0;
  EXPECT_LE(RoundTrip(half).size(), 2u + 360 / 8);
}

// As it goes from page to page: a page without any says nothing against the next one's.
TEST(IntegerCodec, RareOnesAreListedBehindAPageThatHasNone) {
  Values flag(360, 1);
  Values clock(360, 1'721'900'000'000);
  for (size_t i = 1; i < clock.size(); ++i) clock[i] = clock[i - 1] + 1000;
  for (Values values : {flag, clock}) {
    const IntegerForm form = PlanIntegers(values).form();
    for (size_t i = 100; i < values.size(); ++i) values[i] += values[0] == 1 ? 0 : 1000;
    if (values[0] == 1) values[100] = 0;
    const IntegerPlan plan = PlanIntegers(values, form);
    EXPECT_EQ(plan.byte_count, PlanIntegers(values).byte_count);
    EXPECT_LE(RoundTripOf(values, plan).size(), 20u);
  }
}

TEST(IntegerCodec, ExtremesDoNotOverflow) {
  RoundTrip({kMin});
  RoundTrip({kMax});
  RoundTrip({kMin, kMax});
  RoundTrip({kMax, kMin, kMax, kMin, 0, -1, 1});
  RoundTrip({0, kMin, 0, kMax, kMin, kMin, kMax});
  Values alternating(4096);
  for (size_t i = 0; i < alternating.size(); ++i) alternating[i] = i % 2 ? kMin : kMax;
  RoundTrip(alternating);
  Values with_outliers(4096, 5);
  with_outliers[17] = kMin;
  with_outliers[18] = kMax;
  with_outliers[4095] = kMin;
  RoundTrip(with_outliers);
}

TEST(IntegerCodec, RandomRunsOfEveryKindComeBack) {
  const uint32_t seed = 20240725;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(seed);
  for (int round = 0; round < 3000; ++round) {
    const size_t count = 1 + random() % (round % 50 == 0 ? 4096 : 200);
    const auto width = static_cast<unsigned>(random() % 64);
    const uint64_t kind = random() % 6;
    const uint64_t scale = random() % 3 == 0 ? 1 + random() % 1000 : 1;
    Values values(count);
    uint64_t walk = random() >> (random() % 64);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t noise = (random() >> width >> 1) * scale;
      if (kind == 0) walk = noise;                       // noise around zero
      if (kind == 1) walk += noise;                      // a walk, wrapping
      if (kind == 2) walk += 1000 + noise % 3;           // nearly regular
      if (kind == 3 && random() % 16 == 0) walk = noise; // steps
      if (kind == 4) walk = random() % 40 == 0 ? random() : noise % 9;  // outliers
      if (kind == 5) walk = i * i * scale + noise % 5;
      values[i] = static_cast<int64_t>(walk);
    }
    RoundTrip(values);
    if (HasFailure()) FAIL() << "round " << round << " kind " << kind;
  }
}

// --- one fixture for each check of the decoder

struct Fixture {
  const char* name;
  std::string bytes;
  size_t count;
  const char* field;
  const char* why;
};

TEST(IntegerCodec, EveryCheckHasItsFixture) {
  const std::string huge_varint = Bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2});
  const std::string constant3 = Bytes({0x00, 6});
  const Fixture fixtures[] = {
      {"nothing", "", 4, "descriptor", "runs past the end"},
      {"runs and more", Bytes({0x07}), 4, "descriptor", "mixes runs with other bits"},
      {"divisor without width", Bytes({0x04, 0, 5}), 4,
       "descriptor", "has a divisor without a width"},
      {"order 1 of one row", Bytes({0x01, 0, 0}), 1, "descriptor", "has an order beyond the rows"},
      {"order 2 of two rows", Bytes({0x02, 0, 0, 0}), 2,
       "descriptor", "has an order beyond the rows"},
      {"no first value", Bytes({0x01}), 4, "first value", "runs past the end"},
      {"no first step", Bytes({0x02, 0}), 4, "first step", "runs past the end"},
      {"no base", Bytes({0x00}), 4, "base", "runs past the end"},
      {"base of 70 bits", Bytes({0x00}) + huge_varint, 4,
       "base", "is not a varint of at most 64 bits"},
      {"divisor 1", Bytes({0x14, 0, 1, 0}), 4, "divisor", "is below 2"},
      {"no width", Bytes({0xF0, 0}), 4, "width", "runs past the end"},
      {"width 14 apart", Bytes({0xF0, 0, 14}), 4, "width", "is not 15..64"},
      {"width 65", Bytes({0xF0, 0, 65}), 4, "width", "is not 15..64"},
      {"packed cut short", Bytes({0x90, 0, 1, 2, 3, 4}), 4, "packed", "runs past the end"},
      {"padding", Bytes({0x10, 0, 0xF0}), 4, "packed", "does not end in zero bits"},
      {"no patches", Bytes({0x08, 0, 0}), 4, "patch count", "is zero"},
      {"patches beyond rows", Bytes({0x08, 0, 5}), 4, "patch count", "is beyond its limit"},
      {"patches in patches", Bytes({0x08, 0, 1, 0x08, 0}), 4, "descriptor", "nests too deep"},
      {"runs in patches", Bytes({0x08, 0, 1, 0x03, 1}), 4, "descriptor", "nests too deep"},
      {"patch position beyond", Bytes({0x08, 0, 1, 0, 8, 0, 0}), 4,
       "patch position", "is out of order or out of range"},
      {"patch position below", Bytes({0x08, 0, 1, 0, 1, 0, 0}), 4,
       "patch position", "is out of order or out of range"},
      {"patch positions equal", Bytes({0x08, 0, 2, 0, 2, 0, 0}), 4,
       "patch position", "is out of order or out of range"},
      {"no runs", Bytes({0x03, 0}), 4, "run count", "is zero"},
      {"runs beyond rows", Bytes({0x03, 5}), 4, "run count", "is beyond its limit"},
      {"runs in runs", Bytes({0x03, 1, 0x03, 1}), 4, "descriptor", "nests too deep"},
      {"run of nothing", Bytes({0x03, 1, 0, 0, 0, 0}), 4, "run length", "does not fit the rows"},
      {"run below nothing", Bytes({0x03, 1, 0, 1, 0, 0}), 4, "run length", "does not fit the rows"},
      {"run too long", Bytes({0x03, 1, 0, 10, 0, 0}), 4, "run length", "does not fit the rows"},
      {"run too short", Bytes({0x03, 1}) + constant3 + constant3, 4,
       "run length", "leaves rows without a value"},
  };
  for (const Fixture& f : fixtures) {
    SCOPED_TRACE(f.name);
    ByteReader in(f.bytes, "test");
    Values out(f.count);
    DecodeIntegers(&in, out);
    ExpectDamage(in.status(), f.field, f.why);
    // Who passes over a stream looks at the same fields, and not at the values.
    ByteReader skipping(f.bytes, "test");
    SkipIntegers(&skipping, f.count);
    const std::string_view field = f.field;
    const bool is_of_values = field == "run length" || field == "patch position" ||
                              std::string_view(f.why) == "does not end in zero bits";
    if (is_of_values) {
      EXPECT_TRUE(skipping.ok()) << skipping.status().ToString();
    } else {
      ExpectDamage(skipping.status(), f.field, f.why);
    }
  }
}

TEST(IntegerCodec, EveryTruncationIsDamage) {
  Values values(300, 7);
  for (size_t i = 0; i < values.size(); ++i) values[i] += static_cast<int64_t>(i * i % 91);
  values[50] = kMax;
  const std::string stream = RoundTrip(values);
  for (size_t size = 0; size < stream.size(); ++size) {
    const std::vector<char> exact(stream.begin(), stream.begin() + static_cast<ptrdiff_t>(size));
    ByteReader in({exact.data(), exact.size()}, "test");
    Values out(values.size());
    DecodeIntegers(&in, out);
    ASSERT_EQ(in.status().code(), StatusCode::kCorruption) << size;
  }
}

}  // namespace
}  // namespace cistern
