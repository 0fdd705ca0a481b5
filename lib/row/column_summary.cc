#include "lib/row/column_summary.h"

#include <algorithm>
#include <cmath>
#include <bit>
#include <limits>
#include <optional>

namespace cistern {

namespace {

constexpr int64_t kNan64 = 0x7ff8000000000000;
constexpr int32_t kNan32 = 0x7fc00000;

// The bits as an integer: all but the sign inverted if it is negative. It is its own inverse.
int64_t Ordered64(int64_t bits) { return bits ^ ((bits >> 63) & INT64_MAX); }
int32_t Ordered32(int32_t bits) { return bits ^ ((bits >> 31) & INT32_MAX); }

constexpr int64_t kInfinityKey64 = 0x7ff0000000000000;
constexpr int64_t kMinusInfinityKey64 = ~kInfinityKey64;

int64_t KeyOfDouble(int64_t bits) {
  return (bits & INT64_MAX) > kInfinityKey64 ? kNan64 : Ordered64(bits);
}
int64_t KeyOfFloat(int64_t fixed) {
  const auto bits = static_cast<int32_t>(static_cast<uint32_t>(fixed));
  return (bits & INT32_MAX) > 0x7f800000 ? kNan32 : Ordered32(bits);
}

struct Bounds {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();
};

template <typename ToKey>
Bounds BoundsOf(std::span<const int64_t> values, const ToKey& to_key) {
  Bounds bounds;
  for (const int64_t v : values) {
    const int64_t key = to_key(v);
    bounds.min = std::min(bounds.min, key);
    bounds.max = std::max(bounds.max, key);
  }
  return bounds;
}

// Numbers compare as their keys do but for zeros, of which one has a sign. In four lanes, as one
// comparison waits for the one before. Nothing: a NaN or a zero decides, or there are few values.
std::optional<Bounds> BoundsOfNumbers(std::span<const int64_t> values) {
  constexpr size_t kLanes = 4;
  const size_t even = values.size() / kLanes * kLanes;
  if (even == 0) return std::nullopt;
  double least[kLanes];
  double greatest[kLanes];
  std::fill_n(least, kLanes, std::bit_cast<double>(values[0]));
  std::fill_n(greatest, kLanes, std::bit_cast<double>(values[0]));
  bool has_nan = false;
  const auto take = [&](size_t i, size_t lane) {
    const auto value = std::bit_cast<double>(values[i]);
    least[lane] = value < least[lane] ? value : least[lane];
    greatest[lane] = value > greatest[lane] ? value : greatest[lane];
    has_nan |= value != value;
  };
  for (size_t i = 0; i < even; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) take(i + lane, lane);
  }
  for (size_t i = even; i < values.size(); ++i) take(i, 0);
  const double min = *std::min_element(least, least + kLanes);
  const double max = *std::max_element(greatest, greatest + kLanes);
  if (has_nan || min == 0 || max == 0) return std::nullopt;
  return Bounds{Ordered64(std::bit_cast<int64_t>(min)), Ordered64(std::bit_cast<int64_t>(max))};
}

// NaNs, which have one key together, are looked for in the bounds first.
Bounds BoundsOfDoubles(std::span<const int64_t> values) {
  if (const std::optional<Bounds> of_numbers = BoundsOfNumbers(values)) return *of_numbers;
  const Bounds bounds = BoundsOf(values, Ordered64);
  const bool has_nan = bounds.max > kInfinityKey64 || bounds.min < kMinusInfinityKey64;
  return has_nan ? BoundsOf(values, KeyOfDouble) : bounds;
}

Bounds BoundsOf(CqlType type, std::span<const int64_t> values) {
  if (type == CqlType::kDouble) return BoundsOfDoubles(values);
  if (type == CqlType::kFloat) return BoundsOf(values, KeyOfFloat);
  return BoundsOf(values, [](int64_t v) { return v; });
}

// `bounds`: those of the values.
void AddDoubles(std::span<const int64_t> values, const Bounds& bounds, ExactSum* sum) {
  if (bounds.min >= 0) {
    sum->AddDoublesOfOneSign(values, static_cast<uint64_t>(bounds.min),
                             static_cast<uint64_t>(bounds.max));
  } else if (bounds.max < 0) {
    // The key of a negative number is its magnitude, inverted.
    sum->AddDoublesOfOneSign(values, static_cast<uint64_t>(~bounds.max),
                             static_cast<uint64_t>(~bounds.min));
  } else {
    sum->AddDoubles(values);
  }
}

}  // namespace

int64_t OrderKey(CqlType type, int64_t fixed) {
  if (type == CqlType::kDouble) return KeyOfDouble(fixed);
  return type == CqlType::kFloat ? KeyOfFloat(fixed) : fixed;
}

int64_t FromOrderKey(CqlType type, int64_t key) {
  if (type == CqlType::kDouble) return Ordered64(key);
  if (type != CqlType::kFloat) return key;
  return static_cast<int64_t>(static_cast<uint32_t>(Ordered32(static_cast<int32_t>(key))));
}

bool HasSum(CqlType type) { return type >= CqlType::kTinyint && type <= CqlType::kDouble; }

void ColumnSummary::Add(CqlType type, SummaryParts parts, std::span<const int64_t> values) {
  if (values.empty()) return;
  const bool is_first = count == 0;
  const bool has_sum = parts.sum && HasSum(type);
  Bounds bounds;
  if (parts.bounds) {
    bounds = BoundsOf(type, values);
    min = is_first ? bounds.min : std::min(min, bounds.min);
    max = is_first ? bounds.max : std::max(max, bounds.max);
  }
  if (is_first) first = values.front();
  last = values.back();
  count += values.size();
  if (!has_sum) return;
  if (type == CqlType::kFloat) return sum.AddFloats(values);
  if (type != CqlType::kDouble) return sum.AddIntegers(values);
  parts.bounds ? AddDoubles(values, bounds, &sum) : sum.AddDoubles(values);
}

}  // namespace cistern
