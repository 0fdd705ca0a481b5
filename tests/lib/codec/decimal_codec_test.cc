#include "lib/codec/decimal_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include "lib/codec/codec_select.h"
#include "tests/lib/codec/codec_test_util.h"

namespace cistern {
namespace {

using Values = std::vector<int64_t>;

int64_t D(double v) { return std::bit_cast<int64_t>(v); }
int64_t F(float v) { return static_cast<int64_t>(std::bit_cast<uint32_t>(v)); }

const NumberShape kDoubleShape = ShapeOf(CqlType::kDouble);
const NumberShape kFloatShape = ShapeOf(CqlType::kFloat);

// Through one codec; false if it does not want the run.
bool Try(EncodingId id, const Values& values, const NumberShape& shape) {
  DecimalCodec codec(id);
  const FixedRun run{values, shape};
  if (!codec.Analyze(run, ColumnMemory())) return false;
  std::string bytes;
  codec.Encode(&bytes);
  EXPECT_EQ(bytes.size(), codec.Score());
  ByteReader in(bytes, "test");
  Values got(values.size());
  DecodeDecimals(id, shape, &in, WantedValues::All(got.size()), got);
  EXPECT_TRUE(in.ok()) << in.status().ToString();
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(got, values) << "encoding " << static_cast<int>(id);
  return true;
}

// Through the one that the encoder picks, twice with one memory; gives its bytes.
std::string Pick(const Values& values, const NumberShape& shape, EncodingId* id = nullptr) {
  FixedEncoder encoder;
  ColumnMemory memory;
  std::string bytes;
  for (int page = 0; page < 2; ++page) {
    bytes.clear();
    const EncodingId encoding = encoder.Encode({values, shape}, &memory, &bytes);
    if (id != nullptr) *id = encoding;
    EXPECT_LE(bytes.size(), values.size() * shape.byte_width + 12);
    ByteReader in(bytes, "test");
    Values got(values.size());
    DecodeFixed(encoding, shape, &in, got);
    EXPECT_TRUE(in.ok()) << in.status().ToString();
    EXPECT_EQ(in.remaining(), 0u);
    EXPECT_EQ(got, values);
  }
  return bytes;
}

const Values& OddDoubles() {
  static const Values values = {
      D(0.0), D(-0.0), D(1.5), D(std::numeric_limits<double>::infinity()),
      D(-std::numeric_limits<double>::infinity()), D(std::numeric_limits<double>::quiet_NaN()),
      0x7ff8000000000001, 0x7ff0000000000001, static_cast<int64_t>(0xfff8dead0000beef),
      D(std::numeric_limits<double>::denorm_min()), -D(std::numeric_limits<double>::denorm_min()),
      D(std::numeric_limits<double>::min()), D(std::numeric_limits<double>::max()),
      D(std::numeric_limits<double>::lowest()), D(9007199254740993.0), D(9007199254740992.0),
      D(-9007199254740991.0), D(0.1), D(1e22), D(1e23), D(1e-22), D(1e300), D(0.1f), D(16777217.0),
      D(1.0000001), D(4.35), D(std::numeric_limits<float>::max()), D(3.4028235677973366e38),
      std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), -1, 1};
  return values;
}

TEST(DecimalCodec, OddDoublesKeepTheirBits) {
  Values mixed;
  for (int i = 0; i < 60; ++i) mixed.push_back(D(20.0 + i / 10.0));
  for (const EncodingId id :
       {EncodingId::kDecimal64, EncodingId::kDecimal32, EncodingId::kPrinted32,
        EncodingId::kBits32, EncodingId::kBits64}) {
    Values values = mixed;
    values.insert(values.begin() + 7, OddDoubles().begin(), OddDoubles().end());
    Try(id, values, kDoubleShape);
    // Exceptions at both ends.
    values = {OddDoubles()[5], D(1.5), D(2.5), OddDoubles()[1]};
    Try(id, values, kDoubleShape);
  }
  EXPECT_TRUE(Try(EncodingId::kBits64, OddDoubles(), kDoubleShape));
  Pick(OddDoubles(), kDoubleShape);
  for (const int64_t v : OddDoubles()) Pick({v}, kDoubleShape);
}

TEST(DecimalCodec, OddFloatsKeepTheirBits) {
  Values odd = {F(0.0f), F(-0.0f), F(1.5f), 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
                0xffc0dead, 1, 0x80000001, 0x00800000, 0x7f7fffff, 0xffffffff, F(16777216.0f),
                F(0.1f), F(1e-10f), F(3.14159274f)};
  Pick(odd, kFloatShape);
  for (const int64_t v : odd) Pick({v}, kFloatShape);
  for (int i = 0; i < 80; ++i) odd.push_back(F(static_cast<float>(i) / 10.0f));
  for (const EncodingId id : {EncodingId::kDecimal32, EncodingId::kBits32}) {
    EXPECT_TRUE(Try(id, odd, kFloatShape)) << static_cast<int>(id);
  }
  Pick(odd, kFloatShape);
}

TEST(DecimalCodec, DecimalsHaveNoExceptions) {
  std::mt19937_64 random(5);
  double power = 1;
  for (int k = 0; k <= 9; ++k, power *= 10) {
    Values values(300);
    for (int64_t& v : values) {
      v = D(static_cast<double>(static_cast<int64_t>(random() % 200'000) - 100'000) / power);
    }
    // -0.0 does not come from an integer.
    std::replace(values.begin(), values.end(), D(-0.0), D(0.0));
    EncodingId id;
    const std::string bytes = Pick(values, kDoubleShape, &id);
    EXPECT_EQ(id, EncodingId::kDecimal64);
    EXPECT_LE(bytes.size(), 300u * 18 / 8 + 8) << k;
    EXPECT_EQ(bytes[0] & 0x80, 0) << "no exceptions";
  }
}

TEST(DecimalCodec, TypicalColumnsGetTheirEncoding) {
  std::mt19937_64 random(6);
  Values widened(360), noise(360), adc(360), floats(360);
  double level = 3.7;
  for (size_t i = 0; i < 360; ++i) {
    level += (static_cast<double>(random() % 1000) - 500) / 7777.0;
    widened[i] = D(static_cast<double>(static_cast<float>(level)));
    noise[i] = D(level);
    adc[i] = D(0.0625 * static_cast<double>(random() % 8 + 400));
    floats[i] = F(static_cast<float>(level));
  }
  EncodingId id;
  EXPECT_LE(Pick(widened, kDoubleShape, &id).size() * 8, 360u * 27);
  EXPECT_LE(Pick(noise, kDoubleShape, &id).size() * 8, 360u * 57);
  EXPECT_LE(Pick(adc, kDoubleShape, &id).size() * 8, 360u * 4);
  EXPECT_EQ(id, EncodingId::kDecimal64);
  EXPECT_LE(Pick(floats, kFloatShape, &id).size() * 8, 360u * 27);
}

// Floats of decimals as text of 12 digits tells them: 3.16000008583, 0.0599999986589.
TEST(DecimalCodec, PrintedFloatsAreDecimals) {
  std::mt19937_64 random(12);
  Values values(360);
  for (int64_t& v : values) {
    const auto f = static_cast<float>(static_cast<double>(random() % 6000) / 100 - 20);
    char text[32];
    std::snprintf(text, sizeof text, "%.12g", static_cast<double>(f));
    v = D(std::strtod(text, nullptr));
  }
  EncodingId id;
  EXPECT_LE(Pick(values, kDoubleShape, &id).size() * 8, 360u * 14);
  EXPECT_EQ(id, EncodingId::kPrinted32);
  // From denormals to the largest: what the codec does not reproduce is an exception.
  for (int64_t& v : values) {
    const auto f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    char text[32];
    std::snprintf(text, sizeof text, "%.12g", static_cast<double>(f));
    v = D(std::strtod(text, nullptr));
  }
  Try(EncodingId::kPrinted32, values, kDoubleShape);
  Pick(values, kDoubleShape);
}

// Among decimals that fit a few values that no decimal is: with NaN alone, or -0.0 alone.
TEST(DecimalCodec, FewOddValuesAmongDecimalsComeBack) {
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(), -0.0,
                           std::numeric_limits<double>::denorm_min(), 1e300}) {
    Values values(200);
    for (size_t i = 0; i < 200; ++i) values[i] = D(static_cast<double>(i % 50) / 4);
    for (const size_t i : {0u, 77u, 199u}) values[i] = D(odd);
    EXPECT_LE(Pick(values, kDoubleShape).size() * 8, 200u * 16);  // Pick reads them back
  }
}

TEST(DecimalCodec, ManyNansCostLittle) {
  Values values(400, D(std::numeric_limits<double>::quiet_NaN()));
  for (size_t i = 0; i < 400; i += 3) values[i] = D(static_cast<double>(i % 50) / 4);
  EXPECT_LE(Pick(values, kDoubleShape).size() * 8, 400u * 16);
}

TEST(DecimalCodec, MemoryFollowsAColumnThatChanges) {
  FixedEncoder encoder;
  ColumnMemory memory;
  std::mt19937_64 random(7);
  for (int page = 0; page < 60; ++page) {
    const double power = page < 20 ? 10 : page < 40 ? 1000 : 1;
    Values values(100);
    for (int64_t& v : values) v = D(static_cast<double>(random() % 500 + 1) / power);
    std::string bytes;
    const EncodingId id = encoder.Encode({values, kDoubleShape}, &memory, &bytes);
    EXPECT_LE(bytes.size(), 100u * 2 + 12) << page;
    ByteReader in(bytes, "test");
    Values got(values.size());
    DecodeFixed(id, kDoubleShape, &in, got);
    ASSERT_EQ(got, values) << page;
  }
}

TEST(DecimalCodec, RandomBitsComeBack) {
  const uint32_t seed = 99;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    Values values(1 + random() % 150);
    Values floats(values.size());
    const auto shift = static_cast<unsigned>(random() % 64);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<int64_t>(random() << shift);
      floats[i] = static_cast<int64_t>(random() << shift & 0xffffffff);
    }
    Pick(values, kDoubleShape);
    Pick(floats, kFloatShape);
    for (const EncodingId id : {EncodingId::kDecimal64, EncodingId::kDecimal32,
                                EncodingId::kPrinted32, EncodingId::kBits32, EncodingId::kBits64}) {
      Try(id, values, kDoubleShape);
    }
    if (HasFailure()) FAIL() << "seed " << seed << " round " << round;
  }
}

TEST(DecimalCodec, EveryCheckHasItsFixture) {
  struct Fixture {
    const char* name;
    EncodingId id;
    std::string bytes;
    const char* field;
    const char* why;
  };
  const Fixture fixtures[] = {
      {"exponent 23", EncodingId::kDecimal64, Bytes({23, 0, 0}), "exponent", "is above 22"},
      {"no exponent", EncodingId::kDecimal32, "", "exponent", "runs past the end"},
      {"exponent of bits", EncodingId::kBits32, Bytes({1, 0, 0}), "exponent", "is given for bits"},
      {"no exceptions", EncodingId::kBits64, Bytes({0x80, 0, 0}), "exception count", "is zero"},
      {"too many exceptions", EncodingId::kBits64, Bytes({0x80, 5}),
       "exception count", "is beyond its limit"},
      {"positions cut", EncodingId::kBits64, Bytes({0x80, 1}), "descriptor", "runs past the end"},
      {"raws cut", EncodingId::kBits64, Bytes({0x80, 1, 0, 2}), "descriptor", "runs past the end"},
      {"integers cut", EncodingId::kBits64, Bytes({0x80, 1, 0, 2, 0, 0}), "descriptor",
       "runs past the end"},
      {"position beyond", EncodingId::kBits64, Bytes({0x80, 1, 0, 8, 0, 0, 0, 0}),
       "exception position", "is out of order or out of range"},
      {"position below", EncodingId::kBits64, Bytes({0x80, 1, 0, 1, 0, 0, 0, 0}),
       "exception position", "is out of order or out of range"},
      {"positions equal", EncodingId::kBits64, Bytes({0x80, 2, 0, 2, 0, 0, 0, 0}),
       "exception position", "is out of order or out of range"},
      {"bits of a float", EncodingId::kBits32, Bytes({0, 0, 0x80, 0x80, 0x80, 0x80, 0x10}),
       "float bits", "are more than 32"},
  };
  for (const Fixture& f : fixtures) {
    SCOPED_TRACE(f.name);
    ByteReader in(f.bytes, "test");
    Values out(4);
    DecodeDecimals(f.id, kDoubleShape, &in, WantedValues::All(out.size()), out);
    ExpectDamage(in.status(), f.field, f.why);
  }
}

TEST(CodecSelect, EveryCheckHasItsFixture) {
  struct Fixture {
    const char* name;
    CqlType type;
    int encoding;
    std::string bytes;
    const char* field;
    const char* why;
  };
  const Fixture fixtures[] = {
      {"decimal int", CqlType::kInt, 2, Bytes({0, 0, 0, 0}),
       "encoding", "is not one of the column's type"},
      {"double bits of a float", CqlType::kFloat, 5, Bytes({0, 0, 0}),
       "encoding", "is not one of the column's type"},
      {"printed float of a float", CqlType::kFloat, 11, Bytes({0, 0, 0}),
       "encoding", "is not one of the column's type"},
      {"text of an int", CqlType::kInt, 7, Bytes({0, 0, 0}),
       "encoding", "is not one of the column's type"},
      {"unknown encoding", CqlType::kDouble, 31, Bytes({0, 0, 0}),
       "encoding", "is not one of the column's type"},
      {"no encoding", CqlType::kDouble, 0, Bytes({0, 0, 0}),
       "encoding", "is not one of the column's type"},
      {"boolean 2", CqlType::kBoolean, 1, Bytes({0, 4}),
       "value", "is outside of the column's type"},
      {"boolean -1", CqlType::kBoolean, 1, Bytes({0, 1}),
       "value", "is outside of the column's type"},
      {"tinyint 128", CqlType::kTinyint, 1, Bytes({0, 0x80, 2}),
       "value", "is outside of the column's type"},
      {"smallint -32769", CqlType::kSmallint, 1, Bytes({0, 0x81, 0x80, 4}),
       "value", "is outside of the column's type"},
      {"int of 33 bits", CqlType::kInt, 1, Bytes({0, 0x80, 0x80, 0x80, 0x80, 0x10}), "value",
       "is outside of the column's type"},
      {"float -1", CqlType::kFloat, 1, Bytes({0, 1}), "value", "is outside of the column's type"},
      {"no entries", CqlType::kInt, 10, Bytes({0, 1}), "entry count", "is zero"},
      {"more entries than values", CqlType::kInt, 10, Bytes({5, 1}),
       "entry count", "is beyond its limit"},
      {"no entry encoding", CqlType::kInt, 10, Bytes({1}), "entry encoding", "runs past the end"},
      {"entries of entries", CqlType::kInt, 10, Bytes({1, 10, 0, 0}),
       "entry encoding", "is not one of the column's type"},
      {"entries in zstd", CqlType::kInt, 10, Bytes({1, 6, 0, 0}),
       "entry encoding", "is not one of the column's type"},
      {"decimal entries of an int", CqlType::kInt, 10, Bytes({1, 2, 0, 0}), "entry encoding",
       "is not one of the column's type"},
      {"no codes", CqlType::kInt, 10, Bytes({1, 1, 0, 0}), "descriptor", "runs past the end"},
      {"code beyond", CqlType::kInt, 10, Bytes({1, 1, 0, 0, 0, 2}),
       "code", "names none of the distinct values"},
      {"code below", CqlType::kInt, 10, Bytes({1, 1, 0, 0, 0, 1}),
       "code", "names none of the distinct values"},
      {"entry out of range", CqlType::kBoolean, 10, Bytes({1, 1, 0, 4, 0, 0}),
       "value", "is outside of the column's type"},
      {"not a frame", CqlType::kInt, 6, Bytes({1, 2, 3, 4}),
       "frame", "is not a zstd frame of the expected content size"},
  };
  for (const Fixture& f : fixtures) {
    SCOPED_TRACE(f.name);
    ByteReader in(f.bytes, "test");
    Values out(4);
    DecodeFixed(static_cast<EncodingId>(f.encoding), ShapeOf(f.type), &in, out);
    ExpectDamage(in.status(), f.field, f.why);
  }
}

TEST(CodecSelect, StatesComeBackAndAreChecked) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 100; ++round) {
    std::vector<CellState> states(1 + random() % 300);
    for (CellState& s : states) s = static_cast<CellState>(random() % (1 + round % 3));
    std::string bytes;
    EncodeStates(states, &bytes);
    EXPECT_LE(bytes.size(), states.size() / 4 + 4);
    ByteReader in(bytes, "test");
    std::vector<CellState> got(states.size());
    DecodeStates(&in, got);
    ASSERT_TRUE(in.ok());
    ASSERT_EQ(got, states);
  }
  for (const int state : {6, 1}) {  // 3 and -1
    const std::string bytes = Bytes({0, state});
    ByteReader in(bytes, "test");
    std::vector<CellState> got(4);
    DecodeStates(&in, got);
    ExpectDamage(in.status(), "cell state", "is not value, absent or null");
  }
}

}  // namespace
}  // namespace cistern
