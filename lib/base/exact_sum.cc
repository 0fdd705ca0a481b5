#include "lib/base/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace cistern {

namespace {

constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
constexpr uint64_t kImplicit = uint64_t{1} << 52;
constexpr unsigned kExponentSpecial = 0x7ff;
// Value bits of a double's unit: exponent field e stands for units of 2^(e - 1075).
constexpr int kUnitBias = 1075;
// Mantissas of 53 bits, shifted by so much, still fit 63.
constexpr unsigned kSpreadMax = 10;
constexpr size_t kBlockMax = 4096;  // values whose halves are summed in 64 bits
constexpr size_t kEqualMax = 1024;  // mantissas of 53 bits that are
constexpr uint32_t kAddedMax = 1u << 29;  // limbs grow by less than 2^33 for each

unsigned ExponentOf(uint64_t bits) { return static_cast<unsigned>(bits >> 52) & kExponentSpecial; }
bool IsZero(uint64_t bits) { return bits << 1 == 0; }

// Neither such a power of two nor it times a double of at most 2^63 is beyond the normal ones.
constexpr int kPowerMax = 950;
bool IsNearPower(int exponent) { return exponent >= -kPowerMax && exponent <= kPowerMax; }
double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

}  // namespace

// The absolute value in digits of 32 bits.
struct ExactSum::Magnitude {
  bool negative = false;
  std::array<uint32_t, kLimbs> digits;  // those of first..last alone are set
  int first = 0;  // least digit that is not zero
  int last = -1;  // greatest; below `first`: the sum is zero

  [[nodiscard]] bool is_zero() const { return last < first; }
  [[nodiscard]] uint32_t digit(int i) const {
    return i < first || i > last ? 0 : digits[static_cast<size_t>(i)];
  }
  // Bits [at, at + 64), counted from the lowest of digit 0.
  [[nodiscard]] uint64_t BitsAt(int at) const {
    const int i = at >= 0 ? at / 32 : -((31 - at) / 32);
    const int shift = at - 32 * i;
    const uint64_t low = digit(i) | static_cast<uint64_t>(digit(i + 1)) << 32;
    if (shift == 0) return low;
    return low >> shift | static_cast<uint64_t>(digit(i + 2)) << (64 - shift);
  }
  [[nodiscard]] int top_bit() const {
    return 32 * last + 31 - std::countl_zero(digits[static_cast<size_t>(last)]);
  }
  [[nodiscard]] int low_bit() const {
    return 32 * first + std::countr_zero(digits[static_cast<size_t>(first)]);
  }
};

void ExactSum::Clear() {
  if (last_ >= first_) std::fill(limbs_.begin() + first_, limbs_.begin() + last_ + 1, 0);
  first_ = kLimbs;
  last_ = -1;
  added_ = 0;
  special_ = 0;
}

// Splits the value in halves, so that each part of it takes at most 33 bits of a limb.
void ExactSum::AddScaled(int64_t value, int exponent) {
  if (value == 0) return;
  if (++added_ >= kAddedMax) Carry();
  const int at = exponent + kBias;
  const int limb = at / 32;
  const int shift = at % 32;
  const uint64_t low = static_cast<uint64_t>(static_cast<uint32_t>(value)) << shift;
  const int64_t high = (value >> 32) * (int64_t{1} << shift);
  int64_t* const limbs = limbs_.data() + limb;
  limbs[0] += static_cast<int64_t>(low & 0xffffffffu);
  limbs[1] += static_cast<int64_t>(low >> 32) + (high & 0xffffffff);
  limbs[2] += high >> 32;
  first_ = std::min(first_, limb);
  last_ = std::max(last_, limb + 2);
}

void ExactSum::Carry() {
  added_ = 0;
  int64_t carry = 0;
  for (int i = first_; i < kLimbs - 1 && (i <= last_ || carry != 0); ++i) {
    const int64_t sum = limbs_[static_cast<size_t>(i)] + carry;
    limbs_[static_cast<size_t>(i)] = sum & 0xffffffff;
    carry = sum >> 32;
    last_ = std::max(last_, i);
  }
  if (carry == 0) return;
  limbs_.back() += carry;
  last_ = kLimbs - 1;
}

void ExactSum::AddIntegers(std::span<const int64_t> values) {
  for (size_t begin = 0; begin < values.size(); begin += kBlockMax) {
    int64_t low = 0;
    int64_t high = 0;
    for (const int64_t v : values.subspan(begin, std::min(kBlockMax, values.size() - begin))) {
      low += static_cast<int64_t>(static_cast<uint32_t>(v));
      high += v >> 32;
    }
    AddScaled(low, 0);
    AddScaled(high, 32);
  }
}

void ExactSum::AddOne(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const unsigned exponent = ExponentOf(bits);
  if (exponent == kExponentSpecial) {
    special_ |= std::isnan(value) ? kSumNan : value > 0 ? kSumPlus : kSumMinus;
    return;
  }
  const auto mantissa = static_cast<int64_t>((bits & kMantissa) | (exponent > 0 ? kImplicit : 0));
  AddScaled(value < 0 ? -mantissa : mantissa,
            static_cast<int>(std::max(exponent, 1u)) - kUnitBias);
}

// Neighbours in time are of about one size: their mantissas are aligned to the least exponent of
// the block and summed as integers.
void ExactSum::AddMixed(std::span<const int64_t> block) {
  unsigned least = kExponentSpecial;
  unsigned greatest = 0;
  for (const int64_t v : block) {
    const auto bits = static_cast<uint64_t>(v);
    const unsigned exponent = ExponentOf(bits);
    greatest = std::max(greatest, exponent);
    least = std::min(least, IsZero(bits) ? kExponentSpecial : exponent);
  }
  if (greatest == 0 || greatest == kExponentSpecial || least == 0 ||
      greatest - least > kSpreadMax) {
    for (const int64_t v : block) AddOne(std::bit_cast<double>(v));
    return;
  }
  int64_t low = 0;
  int64_t high = 0;
  for (const int64_t v : block) {
    const auto bits = static_cast<uint64_t>(v);
    const bool is_zero = IsZero(bits);
    const unsigned shift = is_zero ? 0 : ExponentOf(bits) - least;
    const auto size = static_cast<int64_t>((is_zero ? 0 : (bits & kMantissa) | kImplicit)
                                           << shift);
    const int64_t sign = v >> 63;
    const int64_t value = (size ^ sign) - sign;
    low += static_cast<int64_t>(static_cast<uint32_t>(value));
    high += value >> 32;
  }
  const int unit = static_cast<int>(least) - kUnitBias;
  AddScaled(low, unit);
  AddScaled(high, unit + 32);
}

void ExactSum::AddDoubles(std::span<const int64_t> all) {
  for (size_t begin = 0; begin < all.size(); begin += kBlockMax) {
    AddMixed(all.subspan(begin, std::min(kBlockMax, all.size() - begin)));
  }
}

void ExactSum::AddDoublesOfOneSign(std::span<const int64_t> all, uint64_t least,
                                   uint64_t greatest) {
  const unsigned exponent = ExponentOf(least);
  const unsigned exponent_max = ExponentOf(greatest);
  if (exponent == 0 || exponent_max == kExponentSpecial ||
      exponent_max - exponent > kSpreadMax) {
    return AddDoubles(all);
  }
  const int unit = static_cast<int>(exponent) - kUnitBias;
  for (size_t begin = 0; begin < all.size(); begin += kEqualMax) {
    const auto block = all.subspan(begin, std::min(kEqualMax, all.size() - begin));
    const int64_t sign = block.front() >> 63;
    uint64_t low = 0;
    uint64_t high = 0;
    if (exponent == exponent_max) {
      for (const int64_t v : block) low += static_cast<uint64_t>(v) & kMantissa;
      low += block.size() * kImplicit;
    } else {
      for (const int64_t v : block) {
        const auto bits = static_cast<uint64_t>(v);
        const uint64_t size = ((bits & kMantissa) | kImplicit) << (ExponentOf(bits) - exponent);
        low += static_cast<uint32_t>(size);
        high += size >> 32;
      }
    }
    AddScaled((static_cast<int64_t>(low) ^ sign) - sign, unit);
    AddScaled((static_cast<int64_t>(high) ^ sign) - sign, unit + 32);
  }
}

void ExactSum::AddFloats(std::span<const int64_t> bits) {
  std::array<int64_t, 256> wide;
  for (size_t begin = 0; begin < bits.size(); begin += wide.size()) {
    const size_t count = std::min(wide.size(), bits.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits[begin + i]));
      wide[i] = std::bit_cast<int64_t>(static_cast<double>(value));
    }
    AddDoubles(std::span(wide).first(count));
  }
}

void ExactSum::Add(const CompactSum& sum) {
  special_ |= sum.special;
  AddScaled(static_cast<int64_t>(sum.low & 0xffffffffu), sum.exponent);
  AddScaled(static_cast<int64_t>(sum.low >> 32), sum.exponent + 32);
  AddScaled(sum.high, sum.exponent + 64);
}

ExactSum::Magnitude ExactSum::Normalise() const {
  Magnitude m;
  if (last_ < first_) return m;
  int64_t carry = 0;
  int end = first_;
  for (; end < kLimbs && (end <= last_ || (carry != 0 && carry != -1)); ++end) {
    const int64_t sum = limbs_[static_cast<size_t>(end)] + carry;
    m.digits[static_cast<size_t>(end)] = static_cast<uint32_t>(sum);
    carry = sum >> 32;
  }
  if (carry > 0 && end < kLimbs) {
    m.digits[static_cast<size_t>(end++)] = static_cast<uint32_t>(carry);
  }
  m.negative = carry < 0;
  uint64_t borrow = 1;
  for (int i = first_; m.negative && i < end; ++i) {
    const uint64_t digit = static_cast<uint64_t>(~m.digits[static_cast<size_t>(i)]) + borrow;
    m.digits[static_cast<size_t>(i)] = static_cast<uint32_t>(digit);
    borrow = digit >> 32;
  }
  // Minus 2^(32 end), no less: its absolute value has one digit more.
  if (m.negative && borrow != 0 && end < kLimbs) m.digits[static_cast<size_t>(end++)] = 1;
  m.first = first_;
  m.last = end - 1;
  while (!m.is_zero() && m.digits[static_cast<size_t>(m.last)] == 0) --m.last;
  while (!m.is_zero() && m.digits[static_cast<size_t>(m.first)] == 0) ++m.first;
  return m;
}

double ExactSum::Round() const {
  if (special_ != 0) {
    if (special_ == kSumPlus) return std::numeric_limits<double>::infinity();
    if (special_ == kSumMinus) return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  const Magnitude m = Normalise();
  if (m.is_zero()) return 0;
  const int top = m.top_bit();
  const uint64_t leading = m.BitsAt(top - 63);
  constexpr uint64_t kRest = (uint64_t{1} << 11) - 1;
  constexpr uint64_t kHalf = uint64_t{1} << 10;
  uint64_t mantissa = leading >> 11;
  const uint64_t rest = leading & kRest;
  const bool is_tie = rest == kHalf && m.low_bit() >= top - 63;
  if (rest > kHalf || (rest == kHalf && (!is_tie || (mantissa & 1) != 0))) ++mantissa;
  // Whatever is below the least normal double is a multiple of the least of all: nothing is
  // rounded here.
  const int exponent = top - 52 - kBias;
  const double size = IsNearPower(exponent)
                          ? static_cast<double>(mantissa) * PowerOfTwo(exponent)
                          : std::ldexp(static_cast<double>(mantissa), exponent);
  return m.negative ? -size : size;
}

// An integer of 64 bits is rounded as it becomes a double.
double Round(const CompactSum& sum) {
  const auto low = static_cast<int64_t>(sum.low);
  if (sum.special == 0 && sum.high == low >> 63 && IsNearPower(sum.exponent)) {
    return static_cast<double>(low) * PowerOfTwo(sum.exponent);
  }
  ExactSum whole;
  whole.Add(sum);
  return whole.Round();
}

std::optional<int64_t> ExactSum::ToInteger() const {
  if (special_ != 0) return std::nullopt;
  const Magnitude m = Normalise();
  if (m.is_zero()) return 0;
  if (m.low_bit() < kBias || m.top_bit() > kBias + 63) return std::nullopt;
  const uint64_t size = m.BitsAt(kBias);
  const uint64_t size_max = static_cast<uint64_t>(INT64_MAX) + (m.negative ? 1 : 0);
  if (size > size_max) return std::nullopt;
  return static_cast<int64_t>(m.negative ? ~size + 1 : size);
}

std::optional<CompactSum> ExactSum::Compact() const {
  CompactSum sum;
  sum.special = special_;
  if (special_ != 0) return sum;
  const Magnitude m = Normalise();
  if (m.is_zero()) return sum;
  const int low_bit = m.low_bit();
  sum.exponent = low_bit - kBias;
  if (m.top_bit() - low_bit >= 127 || sum.exponent > kSumExponentMax) return std::nullopt;
  sum.low = m.BitsAt(low_bit);
  auto high = m.BitsAt(low_bit + 64);
  if (m.negative) {
    sum.low = ~sum.low + 1;
    high = ~high + (sum.low == 0 ? 1 : 0);
  }
  sum.high = static_cast<int64_t>(high);
  return sum;
}

}  // namespace cistern
