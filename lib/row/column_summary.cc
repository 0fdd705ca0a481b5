#include "lib/row/column_summary.h"

#include <algorithm>
#include <cmath>
#include <bit>
#include <limits>

namespace cistern {

namespace {

constexpr int64_t kNan64 = 0x7ff8000000000000;
constexpr int32_t kNan32 = 0x7fc00000;

// The bits as an integer: all but the sign inverted if it is negative. It is its own inverse.
int64_t Ordered64(int64_t bits) { return bits ^ ((bits >> 63) & INT64_MAX); }
int32_t Ordered32(int32_t bits) { return bits ^ ((bits >> 31) & INT32_MAX); }

int64_t KeyOfDouble(int64_t bits) {
  return (bits & INT64_MAX) > 0x7ff0000000000000 ? kNan64 : Ordered64(bits);
}
int64_t KeyOfFloat(int64_t fixed) {
  const auto bits = static_cast<int32_t>(static_cast<uint32_t>(fixed));
  return (bits & INT32_MAX) > 0x7f800000 ? kNan32 : Ordered32(bits);
}

template <typename ToKey>
void Widen(std::span<const int64_t> values, bool is_first, const ToKey& to_key, int64_t* min,
           int64_t* max) {
  int64_t least = is_first ? std::numeric_limits<int64_t>::max() : *min;
  int64_t greatest = is_first ? std::numeric_limits<int64_t>::min() : *max;
  for (const int64_t v : values) {
    const int64_t key = to_key(v);
    least = std::min(least, key);
    greatest = std::max(greatest, key);
  }
  *min = least;
  *max = greatest;
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
  if (parts.bounds && type == CqlType::kDouble) {
    Widen(values, is_first, KeyOfDouble, &min, &max);
  } else if (parts.bounds && type == CqlType::kFloat) {
    Widen(values, is_first, KeyOfFloat, &min, &max);
  } else if (parts.bounds) {
    Widen(values, is_first, [](int64_t v) { return v; }, &min, &max);
  }
  if (is_first) first = values.front();
  last = values.back();
  count += values.size();
  if (!parts.sum || !HasSum(type)) return;
  if (type == CqlType::kDouble) return sum.AddDoubles(values);
  if (type == CqlType::kFloat) return sum.AddFloats(values);
  sum.AddIntegers(values);
}

}  // namespace cistern
