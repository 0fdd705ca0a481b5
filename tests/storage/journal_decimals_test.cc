// Doubles and floats of the journal come back bit for bit, whichever stood before them: each value
// is told as the distance from the last one, and the greatest integers have none that is exact.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/storage/journal_test_util.h"
#include "tests/support/rng.h"

namespace cistern {
namespace {

using journal_test::RecordingSink;

// With their neighbours and both signs.
template <typename Real>
void AddAround(Real value, std::vector<Real>* out) {
  const Real infinity = std::numeric_limits<Real>::infinity();
  for (const Real sign : {Real{1}, Real{-1}}) {
    out->push_back(sign * value);
    out->push_back(sign * std::nextafter(value, infinity));
    out->push_back(sign * std::nextafter(value, Real{0}));
  }
}

template <typename Real>
std::vector<Real> Specials() {
  using Limits = std::numeric_limits<Real>;
  std::vector<Real> out;
  for (const Real value : {Real{0}, Limits::infinity(), Limits::max(), Limits::min(),
                           Limits::denorm_min(), 77 * Limits::denorm_min(), Limits::quiet_NaN(),
                           Limits::signaling_NaN()}) {
    out.push_back(value);
    out.push_back(-value);
  }
  return out;
}

std::vector<double> Doubles() {
  std::vector<double> out = Specials<double>();
  for (const int bits : {50, 51, 52, 53, 54, 62, 63, 64}) AddAround(std::ldexp(1.0, bits), &out);
  for (const double value : {1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}) {
    AddAround(value, &out);
  }
  // Odd ones, and halves: what is rounded to even is not what it was.
  for (const double value : {4503599627370497.0, 6755399441055745.0, 9007199254740991.0,
                             2251799813685249.0, 2251799813685248.5, 2251799813685247.5,
                             1125899906842623.75, 0.5, 1.5, 1.0, 3.0, 21.6, 0.125, 1e-15}) {
    out.push_back(value);
    out.push_back(-value);
  }
  for (const uint64_t payload : {0x7ff0000000000001, 0x7ff8000000000123, 0x7fffffffffffffff}) {
    out.push_back(std::bit_cast<double>(payload));
    out.push_back(std::bit_cast<double>(payload | uint64_t{1} << 63));
  }
  return out;
}

std::vector<float> Floats() {
  std::vector<float> out = Specials<float>();
  for (const int bits : {23, 24, 51, 52, 53, 62, 63, 64}) AddAround(std::ldexp(1.0f, bits), &out);
  for (const float value : {1e15f, 1e16f, 1e18f, 1e19f, 1e22f, 1e38f}) AddAround(value, &out);
  for (const float value : {0.5f, 1.0f, 3.0f, 21.6f, 0.125f, 16777215.0f}) {
    out.push_back(value);
    out.push_back(-value);
  }
  for (const uint32_t payload : {0x7f800001, 0x7fc00123, 0x7fffffff}) {
    out.push_back(std::bit_cast<float>(payload));
    out.push_back(std::bit_cast<float>(payload | uint32_t{1} << 31));
  }
  return out;
}

class JournalDecimals : public ::testing::Test {
 protected:
  // A new family: no value before, and the exponent 0.
  void Begin() {
    encoder_.emplace(nullptr);
    decoder_.emplace(journal_test::LookupIn({schema_}), nullptr);
    sequence_ = 0;
  }
  // Whether the row comes back as it is.
  bool ComesBack(double d, float f) {
    const auto ts = static_cast<int64_t>(++sequence_);
    batch_.Clear();
    batch_.BeginRow();
    EXPECT_TRUE(batch_.SetBytes(0, "p").ok());
    EXPECT_TRUE(batch_.SetInt(ts_, ts).ok());
    EXPECT_TRUE(batch_.SetDouble(d_, d).ok());
    EXPECT_TRUE(batch_.SetFloat(f_, f).ok());
    EXPECT_TRUE(batch_.EndRow().ok());
    encoder_->Begin(sequence_);
    encoder_->AddRow(*slot_, batch_, 0, 0, RowStamp{ts, 0, 0, kVersionLiveness});
    const std::string record(encoder_->Finish());
    RecordingSink sink;
    const Status s = decoder_->Decode(record, sequence_, &sink);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return s.ok() && sink.seen.size() == 1 &&
           sink.seen[0].fixed[d_] == std::bit_cast<int64_t>(d) &&
           sink.seen[0].fixed[f_] == int64_t{std::bit_cast<uint32_t>(f)};
  }

  const std::shared_ptr<const TableSchema> schema_ = row_test::Parse(
      "CREATE TABLE t (id text, day date, ts timestamp, d double, f float, "
      "PRIMARY KEY ((id, day), ts))");
  const size_t ts_ = *schema_->FindColumn("ts");
  const size_t d_ = *schema_->FindColumn("d");
  const size_t f_ = *schema_->FindColumn("f");
  RowBatch batch_{schema_};
  Head head_{nullptr};
  EntitySlot* slot_ = head_.FindOrAddEntity(0, schema_, std::string_view("\0\1p", 3));
  std::optional<JournalEncoder> encoder_;
  std::optional<JournalDecoder> decoder_;
  uint64_t sequence_ = 0;
};

// Values of 0, 1, 3, 7 and 15 decimals: what the exponent is when the two come.
constexpr double kFirst[] = {1.0, 21.5, 0.125, 1.0000001, 1e-15};

TEST_F(JournalDecimals, EveryDoubleAfterEveryOther) {
  const std::vector<double> all = Doubles();
  for (const double first : kFirst) {
    for (const double one : all) {
      for (const double two : all) {
        Begin();
        ASSERT_TRUE(ComesBack(first, 0) && ComesBack(one, 0) && ComesBack(two, 0) &&
                    ComesBack(one, 0) && ComesBack(first, 0))
            << std::hexfloat << first << ", " << one << ", " << two << ": row " << sequence_;
      }
    }
  }
}

TEST_F(JournalDecimals, EveryFloatAfterEveryOther) {
  const std::vector<float> all = Floats();
  for (const double first : kFirst) {
    const auto narrow = static_cast<float>(first);
    for (const float one : all) {
      for (const float two : all) {
        Begin();
        ASSERT_TRUE(ComesBack(0, narrow) && ComesBack(0, one) && ComesBack(0, two) &&
                    ComesBack(0, one) && ComesBack(0, narrow))
            << std::hexfloat << narrow << ", " << one << ", " << two << ": row " << sequence_;
      }
    }
  }
}

// One family: the exponent goes up and down, and searches for it are paused.
TEST_F(JournalDecimals, GreatAndSmallOnesInOneFamily) {
  const std::vector<double> doubles = Doubles();
  const std::vector<float> floats = Floats();
  for (const uint64_t seed : {1, 2, 3}) {
    testing::Rng rng(seed);
    Begin();
    for (int i = 0; i < 20'000; ++i) {
      double d = doubles[rng.Below(doubles.size())];
      float f = floats[rng.Below(floats.size())];
      if (!rng.OneIn(3)) {
        const auto whole = static_cast<double>(rng.Between(-(int64_t{1} << 53), 1ll << 53));
        d = whole / journal::kPowersOfTen[rng.Below(journal::kExponentMax + 1)];
        f = static_cast<float>(d);
      }
      ASSERT_TRUE(ComesBack(d, f)) << std::hexfloat << "seed " << seed << " row " << i << ": " << d
                                   << ", " << f;
    }
  }
}

}  // namespace
}  // namespace cistern
