// Aggregates: what the values of a column are together, for each step of time.
#ifndef CISTERN_AGGREGATE_H_
#define CISTERN_AGGREGATE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cistern/column_data.h"
#include "cistern/cursor.h"
#include "cistern/entity.h"
#include "cistern/export.h"
#include "cistern/limits.h"
#include "cistern/options.h"
#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// Over the cells of a column that are values, of the visible rows of a step:
//   kCount       how many there are; of the event time column, the rows. A bigint
//   kMin, kMax   the least and greatest by the order of the type, in which -0.0 is below 0.0, and
//                NaN is above infinity; of NaNs the quiet one. Of decimals and collections: none
//   kFirst, kLast  the value of the first and last row that has one, in the order of an ascending
//                scan. Of every type
//   kSum         of tinyint to bigint: a bigint, exact; beyond it the cursor ends with kOutOfRange.
//                Of float and double: a double, the exact sum of the numbers, rounded once to the
//                nearest, ties to even (as Python's math.fsum); so it does not depend on the order
//                of the rows, or on what statistics answered. Beyond the largest double infinite;
//                NaN if a value is NaN, or both infinities are there. Zero is 0.0
//   kAvg         of the same types: a double. The sum, rounded once to a double, divided by the
//                count
// Without any value the count is 0, all others are null.
enum class AggregateFunction : uint8_t { kCount, kMin, kMax, kSum, kAvg, kFirst, kLast };

struct AggregateColumn {
  std::string column;  // a clustering or regular one
  AggregateFunction function = AggregateFunction::kCount;
};

// Event times of a step in ticks of the table, both inclusive.
struct AggregateStep {
  int64_t first = 0;
  int64_t last = 0;
  friend bool operator==(const AggregateStep&, const AggregateStep&) = default;
};

struct AggregateRequest {
  std::string table{};                 // name, or keyspace.name
  std::vector<EntityKey> entities{};   // in this order; none: all, in the order of their keys
  // Event times in ticks of the table, from <= time < to. INT64_MIN and INT64_MAX: no bound.
  int64_t from = INT64_MIN;
  int64_t to = INT64_MAX;
  // Width of a step in ticks, at least 1. Steps begin at its multiples, counted from 1970; the
  // first and the last one have the rows alone that lie in the range.
  int64_t step = 0;
  // Instead of `step`, which is 0 then: steps of unequal widths, such as months. Gives the step
  // that holds a time, the same one for each time of it. Called in AggregateCursor::Next(), for
  // any time in the range, seldom more than twice a step; it must not throw. A step that does not
  // hold the time is taken for one of that tick alone.
  std::function<AggregateStep(int64_t time)> step_of{};
  std::vector<AggregateColumn> of{};   // at least 1, at most limits::kAggregatesMax
  std::vector<Condition> where{};      // rows count that meet all of them: as ScanRequest::where
  // Clustering columns but the event time, and regular ones: a step has a line for each set of
  // their values. Rows without a value are a group too. A step has at most
  // limits::kAggregateGroupsMax groups, of at most limits::kGroupColumnsMax columns.
  std::vector<std::string> group_by{};
  // Clamped to 1..kPageRowsMax. The groups of a step stay together.
  size_t batch_steps_max = limits::kAggregateBatchRowsDefault;
};

// Steps of one entity, ascending. With group_by a step has several lines, in the order of the
// groups' values by their types; a group without a value is before all others.
struct AggregateBatch {
  EntityKey entity;
  std::vector<int64_t> starts;      // of each line's step, in ticks; none without a visible row
  std::vector<ColumnData> groups;   // one for each of AggregateRequest::group_by
  std::vector<ColumnData> columns;  // one for each of AggregateRequest::of
};

// How much of the work statistics saved, in row versions.
struct AggregateWork {
  uint64_t rows_by_manifest = 0;  // of whole buckets
  uint64_t rows_by_page = 0;      // of pages that were not read
  uint64_t rows_decoded = 0;      // of pages that were, and that needed no merging
  uint64_t rows_merged = 0;       // visible rows that came out of merging
};

// What a cursor is (Cursor), of steps. Each bucket is read as of some moment: every row that was
// answered before is there. Statistics answer for a bucket or page whose rows show as they are:
// nothing else has rows of its event times, none of them can have expired, no deletion meets it,
// no key is there twice, no row waits for its boot's time. All else is decoded and merged, and the
// answer is the same. A page that statistics answer for is not read, so damage of it is not met.
// With conditions or groups every row is decoded but those of pages that cannot meet the
// conditions by their statistics.
class CISTERN_EXPORT AggregateCursor {
 public:
  virtual ~AggregateCursor() = default;

  // Replaces *batch by the next steps. Returns false at the end, and on error: look at status()
  // afterwards. Where stored rows are damaged it passes over them, as a scan does: at its end
  // status() is then kCorruption and gaps() tells what is missing.
  // One thread at a time.
  [[nodiscard]] virtual bool Next(AggregateBatch* batch) = 0;
  [[nodiscard]] virtual const Status& status() const = 0;
  // What was passed over so far, the first limits::kScanGapsMax.
  [[nodiscard]] virtual const std::vector<ScanGap>& gaps() const = 0;
  // The types of the columns.
  [[nodiscard]] virtual const std::vector<ColumnType>& types() const = 0;
  [[nodiscard]] virtual AggregateWork work() const = 0;
};

}  // namespace cistern

#endif  // CISTERN_AGGREGATE_H_
