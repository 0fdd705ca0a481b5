// ColumnSummary: what is told of a run of values on the fixed lane without them: how many, the
// least, the greatest, the first, the last, the sum. Page statistics and aggregates are made of it.
#ifndef CISTERN_ROW_COLUMN_SUMMARY_H_
#define CISTERN_ROW_COLUMN_SUMMARY_H_

#include <cstdint>
#include <span>

#include "cistern/schema.h"
#include "lib/base/exact_sum.h"

namespace cistern {

// A value of the fixed lane as an integer whose order is the type's (CompareValues): of floats
// and doubles, -0.0 is below 0.0, and NaN, every NaN alike, above infinity.
[[nodiscard]] int64_t OrderKey(CqlType type, int64_t fixed);
// The value that has the key; of NaNs the quiet one without a sign.
[[nodiscard]] int64_t FromOrderKey(CqlType type, int64_t key);

// Whether values of the type are added up: integers, floats and doubles.
[[nodiscard]] bool HasSum(CqlType type);

// What of a summary is wanted; the rest is cheaper to leave out.
struct SummaryParts {
  bool bounds = true;  // min and max
  bool sum = true;     // where the type has one
};

struct ColumnSummary {
  uint64_t count = 0;  // values; without any the rest means nothing
  int64_t min = 0;     // order keys
  int64_t max = 0;
  int64_t first = 0;   // as on the lane
  int64_t last = 0;
  ExactSum sum;

  // Adds values that follow those before, none missing.
  void Add(CqlType type, SummaryParts parts, std::span<const int64_t> values);
  void Clear() {
    count = 0;
    sum.Clear();
  }
};

}  // namespace cistern

#endif  // CISTERN_ROW_COLUMN_SUMMARY_H_
