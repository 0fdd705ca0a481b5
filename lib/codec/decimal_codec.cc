#include "lib/codec/decimal_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace cistern {
namespace {

constexpr std::array<double, kExponentMax + 1> kPowers = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

constexpr uint8_t kHasExceptions = 0x80;  // in the byte of the exponent

constexpr double kDecimalMax = 9007199254740992.0;  // 2^53: every integer below is a double

// Bits of a float or double as an integer of the same order, and back.
int64_t Ordered64(int64_t bits) {
  return bits ^ ((bits >> 63) & std::numeric_limits<int64_t>::max());
}
int32_t Ordered32(int32_t bits) {
  return bits ^ ((bits >> 31) & std::numeric_limits<int32_t>::max());
}

int64_t FloatBits(NumberKind kind, float f) {
  return kind == NumberKind::kFloat ? static_cast<int64_t>(std::bit_cast<uint32_t>(f))
                                    : std::bit_cast<int64_t>(static_cast<double>(f));
}

// The value as a double; false for NaN and infinities.
bool Finite(NumberKind kind, int64_t bits, double* value) {
  *value = kind == NumberKind::kFloat
               ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
               : std::bit_cast<double>(bits);
  return std::abs(*value) <= std::numeric_limits<double>::max();
}

// A float's value as text of 12 significant digits tells it, as many programs have logged floats:
// 3.16f, which is 3.1600000858..., as 3.16000008583. A product and a division, each rounded
// once; where they do not give what a printer does the value is an exception.
double Printed(double value) {
  constexpr int kDigits = 12;
  const double magnitude = std::abs(value);
  int whole_digits = 0;
  while (whole_digits < kDigits && magnitude >= kPowers[static_cast<size_t>(whole_digits)]) {
    ++whole_digits;
  }
  // Digits behind the point; below 0.1 leading zeros are not significant and give more of them.
  int places = kDigits - whole_digits;
  if (whole_digits == 0) {
    while (places < static_cast<int>(kExponentMax) &&
           magnitude * kPowers[static_cast<size_t>(places)] < kPowers[kDigits - 1]) {
      ++places;
    }
  }
  const double power = kPowers[static_cast<size_t>(places)];
  const double scaled = value * power;
  if (!(std::abs(scaled) < kDecimalMax)) return value;
  return static_cast<double>(static_cast<int64_t>(scaled + std::copysign(0.5, scaled))) / power;
}

// From the integer to the bits: what a reader does.
int64_t ToBits(EncodingId id, NumberKind kind, double power, int64_t d) {
  switch (id) {
    case EncodingId::kDecimal64: return std::bit_cast<int64_t>(static_cast<double>(d) / power);
    case EncodingId::kDecimal32:
      return FloatBits(kind, static_cast<float>(static_cast<double>(d) / power));
    case EncodingId::kPrinted32:
      return std::bit_cast<int64_t>(
          Printed(static_cast<double>(static_cast<float>(static_cast<double>(d) / power))));
    case EncodingId::kBits32:
      return FloatBits(kind, std::bit_cast<float>(Ordered32(static_cast<int32_t>(d))));
    default: return Ordered64(d);
  }
}

// From the bits to the integer; false if reading it would not give the same bits.
bool ToInteger(EncodingId id, NumberKind kind, double power, int64_t bits, int64_t* d) {
  if (id == EncodingId::kBits64) {
    *d = Ordered64(bits);
    return true;
  }
  if (id == EncodingId::kBits32 && kind == NumberKind::kFloat) {
    *d = Ordered32(static_cast<int32_t>(static_cast<uint32_t>(bits)));
    return true;
  }
  double value;
  if (!Finite(kind, bits, &value)) return false;
  if (id == EncodingId::kBits32) {
    if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) return false;
    *d = Ordered32(std::bit_cast<int32_t>(static_cast<float>(value)));
  } else {
    const double scaled = value * power;
    if (!(std::abs(scaled) < kDecimalMax)) return false;
    *d = static_cast<int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  }
  return ToBits(id, kind, power, *d) == bits;
}

bool HasExponent(EncodingId id) {
  return id == EncodingId::kDecimal64 || id == EncodingId::kDecimal32 ||
         id == EncodingId::kPrinted32;
}

// A number beside which a double has no room for fractions: added, it rounds one of up to
// kSmallMax to an integer, which is then in the low bits; less the number it is a double again.
constexpr double kGreat = 6755399441055744.0;  // 2^52 + 2^51
constexpr int64_t kSmallMax = int64_t{1} << 51;

// Doubles to the decimals of an exponent, where all are small and give the same bits when they are
// read; else false. Nothing but sums, a product and a division a value: processors without
// conversions of several at once do several at once.
bool MapSmallDecimals(std::span<const int64_t> values, double power,
                      std::vector<int64_t>* integers) {
  integers->resize(values.size());
  int64_t* d = integers->data();
  uint64_t differences = 0;
  for (const int64_t bits : values) {
    const double above = std::bit_cast<double>(bits) * power + kGreat;
    const uint64_t integer = std::bit_cast<uint64_t>(above) - std::bit_cast<uint64_t>(kGreat);
    const double back = (above - kGreat) / power;
    // Out of the great number's binade, as NaNs are, the low bits are no integer.
    differences |= (integer + static_cast<uint64_t>(kSmallMax)) >> 52;
    differences |= std::bit_cast<uint64_t>(back) ^ static_cast<uint64_t>(bits);
    *d++ = static_cast<int64_t>(integer);
  }
  return differences == 0;
}

// Doubles to the decimals of an exponent, as ToInteger does, without a branch in the loop: d, and
// whether reading it gives other bits. Returns whether any does.
bool MapDecimals(std::span<const int64_t> values, double power, std::vector<int64_t>* integers,
                 std::vector<uint8_t>* differs) {
  integers->resize(values.size());
  differs->resize(values.size());
  int64_t* d = integers->data();
  uint8_t* differ = differs->data();
  uint8_t any = 0;
  for (const int64_t bits : values) {
    const double scaled = std::bit_cast<double>(bits) * power;
    const bool fits = std::abs(scaled) < kDecimalMax;  // false for NaN
    *d = static_cast<int64_t>(fits ? scaled + std::copysign(0.5, scaled) : 0.0);
    const double back = static_cast<double>(*d++) / power;
    *differ = std::bit_cast<int64_t>(back) != bits || !fits ? 1 : 0;
    any |= *differ++;
  }
  return any != 0;
}

constexpr size_t kSampleMax = 48;
constexpr size_t kExceptionBits = 80;

}  // namespace

int64_t OrderedBits(NumberKind kind, int64_t bits) {
  switch (kind) {
    case NumberKind::kInteger: return bits;
    case NumberKind::kFloat: return Ordered32(static_cast<int32_t>(static_cast<uint32_t>(bits)));
    case NumberKind::kDouble: break;
  }
  return Ordered64(bits);
}

void DecimalCodec::MapAll(const FixedRun& run) {
  const size_t count = run.values.size();
  positions_.clear();
  raws_.clear();
  if (id_ == EncodingId::kDecimal64) {
    if (MapSmallDecimals(run.values, kPowers[exponent_], &integers_)) return;
    if (!MapDecimals(run.values, kPowers[exponent_], &integers_, &differs_)) return;
  } else {
    integers_.resize(count);
    differs_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      differs_[i] = ToInteger(id_, run.shape.kind, kPowers[exponent_], run.values[i],
                              &integers_[i])
                        ? 0
                        : 1;
    }
  }
  // Exceptions before the first integer repeat it, later ones the one before.
  const auto first = std::find(differs_.begin(), differs_.end(), 0);
  int64_t filler = first == differs_.end() ? 0 : integers_[first - differs_.begin()];
  for (size_t i = 0; i < count; ++i) {
    if (differs_[i] == 0) {
      filler = integers_[i];
      continue;
    }
    positions_.push_back(static_cast<int64_t>(i));
    raws_.push_back(run.values[i]);
    integers_[i] = filler;
  }
}

// Whether at least half of a sample are floats, or floats as printed: else no exponent is worth
// looking for. Always so for the encodings that do not go through a float.
bool DecimalCodec::LooksRight(const FixedRun& run) const {
  if (run.shape.kind == NumberKind::kFloat || id_ == EncodingId::kDecimal64 ||
      id_ == EncodingId::kBits64) {
    return true;
  }
  const size_t count = std::min(kSampleMax, run.values.size());
  size_t right = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t bits = run.values[i * run.values.size() / count];
    double value;
    if (!Finite(run.shape.kind, bits, &value)) continue;
    if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) continue;
    value = static_cast<double>(static_cast<float>(value));
    if (id_ == EncodingId::kPrinted32) value = Printed(value);
    if (std::bit_cast<int64_t>(value) == bits) ++right;
  }
  return right * 2 >= count;
}

// The exponent with the smallest cost on a sample; false if most values do not fit any.
bool DecimalCodec::SearchExponent(const FixedRun& run) {
  const size_t count = std::min(kSampleMax, run.values.size());
  size_t best_cost = ~size_t{0};
  for (unsigned k = 0; k <= kExponentMax; ++k) {
    int64_t min = std::numeric_limits<int64_t>::max();
    int64_t max = std::numeric_limits<int64_t>::min();
    size_t exceptions = 0;
    for (size_t i = 0; i < count && exceptions * 2 <= count; ++i) {
      const int64_t bits = run.values[i * run.values.size() / count];
      int64_t d;
      if (ToInteger(id_, run.shape.kind, kPowers[k], bits, &d)) {
        min = std::min(min, d);
        max = std::max(max, d);
      } else {
        ++exceptions;
      }
    }
    if (exceptions * 2 > count) continue;
    const uint64_t range = static_cast<uint64_t>(max) - static_cast<uint64_t>(min);
    const size_t cost =
        count * static_cast<size_t>(std::bit_width(range)) + exceptions * kExceptionBits;
    if (cost < best_cost) {
      best_cost = cost;
      exponent_ = static_cast<uint8_t>(k);
    }
    if (exceptions == 0) break;  // more digits cannot be better
  }
  return best_cost != ~size_t{0};
}

// What the sample has missed: values with more digits than the exponent that was found holds.
void DecimalCodec::TryMoreDigits(const FixedRun& run) {
  if (positions_.size() * kExceptionBits < byte_count_) return;  // an eighth of the bits
  const uint8_t exponent = exponent_;
  const size_t byte_count = byte_count_;
  const std::vector<int64_t> exceptions = raws_;
  if (SearchExponent({exceptions, run.shape}) && exponent_ > exponent) {
    Prepare(run, IntegerForm::kAny);
    if (byte_count_ < byte_count) return;
  }
  exponent_ = exponent;
  Prepare(run, IntegerForm::kAny);
}

void DecimalCodec::Prepare(const FixedRun& run, IntegerForm form) {
  MapAll(run);
  integers_plan_ = PlanIntegers(integers_, form);
  byte_count_ = 1 + integers_plan_.byte_count;
  if (!positions_.empty()) {
    byte_count_ += VarintBytes(positions_.size()) + PlanIntegers(positions_).byte_count +
                   PlanIntegers(raws_).byte_count;
  }
}

bool DecimalCodec::Analyze(const FixedRun& run, const ColumnMemory& memory) {
  const bool is_remembered = memory.encoding == id_;
  if (!is_remembered && !LooksRight(run)) return false;
  if (!HasExponent(id_)) {
    exponent_ = 0;
    Prepare(run, is_remembered ? memory.integers : IntegerForm::kAny);
    return positions_.size() < run.values.size();
  }
  if (is_remembered) {
    exponent_ = memory.exponent;
    Prepare(run, memory.integers);
    if (positions_.size() * 50 <= run.values.size()) return true;
  }
  if (!SearchExponent(run)) return false;
  Prepare(run, IntegerForm::kAny);
  TryMoreDigits(run);
  return positions_.size() < run.values.size();
}

void DecimalCodec::Encode(std::string* out) const {
  out->push_back(static_cast<char>(exponent_ | (positions_.empty() ? 0 : kHasExceptions)));
  if (!positions_.empty()) {
    PutVarint(out, positions_.size());
    EncodeIntegers(positions_, out);
    EncodeIntegers(raws_, out);
  }
  EncodeIntegers(integers_, integers_plan_, out);
}

namespace {

// Integers to the doubles that they are divided by the power. Where all are small the double that
// is as many above the great number is made of bits, and that number taken away again, which is
// exact.
void DivideAll(double power, std::span<int64_t> values) {
  uint64_t beyond = 0;
  for (const int64_t v : values) {
    beyond |= (static_cast<uint64_t>(v) + static_cast<uint64_t>(kSmallMax)) >> 52;
  }
  if (beyond != 0) {
    for (int64_t& v : values) v = std::bit_cast<int64_t>(static_cast<double>(v) / power);
    return;
  }
  for (int64_t& v : values) {
    const auto above = std::bit_cast<double>(v + std::bit_cast<int64_t>(kGreat));
    v = std::bit_cast<int64_t>((above - kGreat) / power);
  }
}

}  // namespace

void DecodeDecimals(EncodingId encoding, const NumberShape& shape, ByteReader* in,
                    const WantedValues& wanted, std::span<int64_t> out) {
  const uint8_t descriptor = in->ReadU8("exponent");
  const uint8_t exponent = descriptor & static_cast<uint8_t>(~kHasExceptions);
  if (exponent > kExponentMax) return in->Fail("exponent", "is above 22");
  if (exponent > 0 && !HasExponent(encoding)) return in->Fail("exponent", "is given for bits");
  const double power = kPowers[exponent];
  size_t exception_count = 0;
  if (descriptor & kHasExceptions) {
    exception_count = in->ReadCount("exception count", wanted.count);
    if (in->ok() && exception_count == 0) in->Fail("exception count", "is zero");
  }
  if (!in->ok()) return;
  std::vector<int64_t> positions(exception_count);
  std::vector<int64_t> raws(exception_count);
  if (exception_count > 0) {
    DecodeIntegers(in, positions);
    if (in->ok()) DecodeIntegers(in, raws);
  }
  if (in->ok()) DecodeIntegers(in, wanted, out);
  if (!in->ok()) return;
  const std::span<int64_t> mapped = out.subspan(wanted.begin);
  if (encoding == EncodingId::kDecimal64) {
    DivideAll(power, mapped);
  } else {
    for (int64_t& v : mapped) {
      if (encoding == EncodingId::kBits32 && v != static_cast<int32_t>(v)) {
        return in->Fail("float bits", "are more than 32");
      }
      v = ToBits(encoding, shape.kind, power, v);
    }
  }
  int64_t previous = -1;
  for (size_t i = 0; i < exception_count; ++i) {
    if (positions[i] <= previous || static_cast<uint64_t>(positions[i]) >= wanted.count) {
      return in->Fail("exception position", "is out of order or out of range");
    }
    previous = positions[i];
    if (static_cast<size_t>(previous) < out.size()) out[static_cast<size_t>(previous)] = raws[i];
  }
}

}  // namespace cistern
