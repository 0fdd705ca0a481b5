// Which changes of a table's declaration can be. Pure.
#ifndef CISTERN_CQL_ALTERATION_H_
#define CISTERN_CQL_ALTERATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// Judges the step from the last of `before`, which are all declarations that the table had,
// oldest first, to `next`. kInvalidArgument says what cannot change, and why. Whether buckets
// can change is for who knows which there are: BucketsChangeFrom.
[[nodiscard]] Status CheckAlteration(
    const std::vector<std::shared_ptr<const TableSchema>>& before, const TableSchema& next);

// kInvalidArgument: "table pumps cannot be altered so: ...".
[[nodiscard]] Status Impossible(const TableSchema& table, const std::string& what);

// The second of event time from which on `next` has buckets other than `was`: there must be
// none of the table yet. A bucket of `was` begins there, so those before it are the same by
// both. INT64_MIN: all are others. Nothing: no bucket changes.
[[nodiscard]] std::optional<int64_t> BucketsChangeFrom(const TableSchema& was,
                                                       const TableSchema& next);

// Rules of `was`, and from a date on those of `next`.
struct LaterRules {
  std::string date;    // "2027-03-01"
  std::string clause;  // of the comment: "bucket day = 1 day until 2027-03-01, 1 month"
};
// With the first date, not before second `from_s`, where another rule can begin: a bucket of
// both begins there. Nothing: there is none, up to the year 9999.
[[nodiscard]] std::optional<LaterRules> FirstChangeFrom(const TableSchema& was,
                                                        const TableSchema& next, int64_t from_s);

}  // namespace cistern

#endif  // CISTERN_CQL_ALTERATION_H_
