// What aggregates are of, one value at a time: independent of the engine's own sums and bounds.
#ifndef CISTERN_TESTS_MODEL_AGGREGATE_BRUTE_FORCE_H_
#define CISTERN_TESTS_MODEL_AGGREGATE_BRUTE_FORCE_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cistern/aggregate.h"
#include "lib/row/row_order.h"

namespace cistern::testing {

// A visible row, by schema column; nothing: null.
struct Cell {
  int64_t fixed = 0;
  std::string bytes;
};
using Cells = std::vector<std::optional<Cell>>;

// --- the brute force: order, and sums that do not depend on it

// By Shewchuk's expansions, as Python's fsum.
inline double SumOf(std::vector<double> values) {
  bool plus = false;
  bool minus = false;
  for (const double v : values) {
    if (std::isnan(v)) return v;
    plus = plus || v == std::numeric_limits<double>::infinity();
    minus = minus || v == -std::numeric_limits<double>::infinity();
  }
  if (plus && minus) return std::numeric_limits<double>::quiet_NaN();
  if (plus || minus) return plus ? HUGE_VAL : -HUGE_VAL;
  std::vector<double> partials;
  for (double x : values) {
    size_t kept = 0;
    for (double y : partials) {
      if (std::abs(x) < std::abs(y)) std::swap(x, y);
      const double high = x + y;
      const double low = y - (high - x);
      if (low != 0) partials[kept++] = low;
      x = high;
    }
    partials.resize(kept);
    partials.push_back(x);
  }
  double high = 0;
  double low = 0;
  size_t n = partials.size();
  if (n > 0) high = partials[--n];
  while (n > 0 && low == 0) {
    const double x = high;
    const double y = partials[--n];
    high = x + y;
    low = y - (high - x);
  }
  const bool is_near_tie = n > 0 && ((low < 0 && partials[n - 1] < 0) ||
                                     (low > 0 && partials[n - 1] > 0));
  if (is_near_tie && (high + low * 2) - high == low * 2) high += low * 2;
  return high == 0 ? 0.0 : high;  // without a sign
}

inline double AsDouble(CqlType type, int64_t fixed) {
  if (type == CqlType::kDouble) return std::bit_cast<double>(fixed);
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(fixed)));
}
inline bool IsFloating(CqlType type) { return type == CqlType::kDouble || type == CqlType::kFloat; }

inline std::strong_ordering Order(const ColumnType& type, const Cell& a, const Cell& b) {
  return CompareValues(type, a.fixed, a.bytes, b.fixed, b.bytes);
}

// Of one step, in order; nothing: null.
inline std::optional<Cell> BruteForce(const ColumnType& type, AggregateFunction function,
                                      const std::vector<Cell>& cells) {
  if (function == AggregateFunction::kCount) return Cell{static_cast<int64_t>(cells.size()), {}};
  if (cells.empty()) return std::nullopt;
  const auto less = [&type](const Cell& a, const Cell& b) { return Order(type, a, b) < 0; };
  switch (function) {
    case AggregateFunction::kMin: return *std::min_element(cells.begin(), cells.end(), less);
    case AggregateFunction::kMax: return *std::max_element(cells.begin(), cells.end(), less);
    case AggregateFunction::kFirst: return cells.front();
    case AggregateFunction::kLast: return cells.back();
    default: break;
  }
  const auto count = static_cast<double>(cells.size());
  if (IsFloating(type.kind)) {
    std::vector<double> values;
    for (const Cell& c : cells) values.push_back(AsDouble(type.kind, c.fixed));
    const double sum = SumOf(values);
    const bool is_average = function == AggregateFunction::kAvg;
    return Cell{std::bit_cast<int64_t>(is_average ? sum / count : sum), {}};
  }
  int64_t sum = 0;
  for (const Cell& c : cells) sum += c.fixed;
  if (function == AggregateFunction::kSum) return Cell{sum, {}};
  return Cell{std::bit_cast<int64_t>(static_cast<double>(sum) / count), {}};
}

// NaNs of any kind are alike in a result that is a bound or a sum.
inline bool SameCell(const ColumnType& type, AggregateFunction function,
                     const std::optional<Cell>& want, const ColumnData& got, size_t i) {
  const bool has_value = got.state(i) == CellState::kValue;
  if (!want || !has_value) return want.has_value() == has_value;
  if (got.lane == Lane::kBytes) return want->bytes == got.bytes(i);
  const bool is_end = function == AggregateFunction::kFirst || function == AggregateFunction::kLast;
  if (!is_end && IsFloating(type.kind) && std::isnan(AsDouble(type.kind, want->fixed))) {
    return std::isnan(AsDouble(type.kind, got.fixed[i]));
  }
  return want->fixed == got.fixed[i];
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_MODEL_AGGREGATE_BRUTE_FORCE_H_
