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

// From the integer to the bits: what a reader does.
int64_t ToBits(EncodingId id, NumberKind kind, double power, int64_t d) {
  switch (id) {
    case EncodingId::kDecimal64: return std::bit_cast<int64_t>(static_cast<double>(d) / power);
    case EncodingId::kDecimal32:
      return FloatBits(kind, static_cast<float>(static_cast<double>(d) / power));
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
  return id == EncodingId::kDecimal64 || id == EncodingId::kDecimal32;
}

size_t VarintBytes(uint64_t v) { return (static_cast<size_t>(std::bit_width(v | 1)) + 6) / 7; }

// Doubles that all fit the exponent, the common case: as ToInteger does, without a branch
// in the loop. False if one does not fit.
bool MapDecimals(std::span<const int64_t> values, double power, std::vector<int64_t>* out) {
  out->resize(values.size());
  int64_t* d = out->data();
  uint64_t difference = 0;
  for (const int64_t bits : values) {
    const double scaled = std::bit_cast<double>(bits) * power;
    const bool fits = std::abs(scaled) < kDecimalMax;  // false for NaN
    *d = static_cast<int64_t>(fits ? scaled + std::copysign(0.5, scaled) : 0.0);
    const double back = static_cast<double>(*d++) / power;
    difference |= std::bit_cast<uint64_t>(back) ^ static_cast<uint64_t>(bits);
  }
  return difference == 0;
}

constexpr size_t kSampleMax = 48;
constexpr size_t kExceptionBits = 80;

}  // namespace

void DecimalCodec::MapAll(const FixedRun& run) {
  if (id_ == EncodingId::kDecimal64 && MapDecimals(run.values, kPowers[exponent_], &integers_)) {
    positions_.clear();
    raws_.clear();
    return;
  }
  const NumberKind kind = run.shape.kind;
  const double power = kPowers[exponent_];
  integers_.resize(run.values.size());
  positions_.clear();
  raws_.clear();
  int64_t filler = 0;
  bool has_filler = false;
  for (size_t i = 0; i < run.values.size(); ++i) {
    int64_t d;
    if (ToInteger(id_, kind, power, run.values[i], &d)) {
      if (!has_filler) {
        // Exceptions before the first integer repeat it, later ones the one before.
        std::fill_n(integers_.begin(), i, d);
        has_filler = true;
      }
      filler = d;
    } else {
      positions_.push_back(static_cast<int64_t>(i));
      raws_.push_back(run.values[i]);
    }
    integers_[i] = filler;
  }
}

// The exponent with the smallest cost on a sample; false if most values do not fit any.
bool DecimalCodec::SearchExponent(const FixedRun& run) {
  const size_t count = std::min(kSampleMax, run.values.size());
  size_t best_cost = ~size_t{0};
  size_t best_exceptions = count;
  for (unsigned k = 0; k <= kExponentMax; ++k) {
    int64_t min = std::numeric_limits<int64_t>::max();
    int64_t max = std::numeric_limits<int64_t>::min();
    size_t exceptions = 0;
    for (size_t i = 0; i < count; ++i) {
      const int64_t bits = run.values[i * run.values.size() / count];
      int64_t d;
      if (ToInteger(id_, run.shape.kind, kPowers[k], bits, &d)) {
        min = std::min(min, d);
        max = std::max(max, d);
      } else if (++exceptions * kExceptionBits >= best_cost) {
        break;
      }
    }
    const uint64_t range = min > max ? 0 : static_cast<uint64_t>(max) - static_cast<uint64_t>(min);
    const size_t cost =
        count * static_cast<size_t>(std::bit_width(range)) + exceptions * kExceptionBits;
    if (cost < best_cost) {
      best_cost = cost;
      best_exceptions = exceptions;
      exponent_ = static_cast<uint8_t>(k);
    }
    if (exceptions == 0) break;  // more digits cannot be better
  }
  return best_exceptions * 2 <= count;
}

bool DecimalCodec::Analyze(const FixedRun& run, const ColumnMemory& memory) {
  exponent_ = 0;
  if (HasExponent(id_)) {
    bool found = false;
    if (memory.encoding == id_) {
      exponent_ = memory.exponent;
      MapAll(run);
      found = positions_.size() * 50 <= run.values.size();
    }
    if (!found) {
      if (!SearchExponent(run)) return false;
      MapAll(run);
    }
  } else {
    MapAll(run);
  }
  if (positions_.size() == run.values.size()) return false;
  const bool is_remembered = memory.encoding == id_;
  integers_plan_ =
      PlanIntegers(integers_, is_remembered ? memory.integers : IntegerForm::kAny);
  byte_count_ =
      (HasExponent(id_) ? 1 : 0) + VarintBytes(positions_.size()) + integers_plan_.byte_count;
  if (!positions_.empty()) {
    byte_count_ += PlanIntegers(positions_).byte_count + PlanIntegers(raws_).byte_count;
  }
  return true;
}

void DecimalCodec::Encode(std::string* out) const {
  if (HasExponent(id_)) out->push_back(static_cast<char>(exponent_));
  PutVarint(out, positions_.size());
  if (!positions_.empty()) {
    EncodeIntegers(positions_, out);
    EncodeIntegers(raws_, out);
  }
  EncodeIntegers(integers_, integers_plan_, out);
}

void DecodeDecimals(EncodingId encoding, const NumberShape& shape, ByteReader* in,
                    std::span<int64_t> out) {
  double power = 1;
  if (HasExponent(encoding)) {
    const uint8_t exponent = in->ReadU8("exponent");
    if (exponent > kExponentMax) return in->Fail("exponent", "is above 22");
    power = kPowers[exponent];
  }
  const size_t exception_count = in->ReadCount("exception count", out.size());
  if (!in->ok()) return;
  std::vector<int64_t> positions(exception_count);
  std::vector<int64_t> raws(exception_count);
  if (exception_count > 0) {
    DecodeIntegers(in, positions);
    if (in->ok()) DecodeIntegers(in, raws);
  }
  if (in->ok()) DecodeIntegers(in, out);
  if (!in->ok()) return;
  for (int64_t& v : out) {
    if (encoding == EncodingId::kBits32 && v != static_cast<int32_t>(v)) {
      return in->Fail("float bits", "are more than 32");
    }
    v = ToBits(encoding, shape.kind, power, v);
  }
  int64_t previous = -1;
  for (size_t i = 0; i < exception_count; ++i) {
    if (positions[i] <= previous || static_cast<uint64_t>(positions[i]) >= out.size()) {
      return in->Fail("exception position", "is out of order or out of range");
    }
    previous = positions[i];
    out[static_cast<size_t>(previous)] = raws[i];
  }
}

}  // namespace cistern
