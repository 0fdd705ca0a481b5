// Which widths a bucket column of a type can hold, and in which form.
#ifndef CISTERN_CQL_BUCKET_RULE_H_
#define CISTERN_CQL_BUCKET_RULE_H_

#include <optional>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern {

// Types that a bucket column may have: date, timestamp, text, ascii, int, bigint.
[[nodiscard]] bool IsBucketType(CqlType type);

// Seconds of one second, minute, hour, day, week; 0 for month and year.
[[nodiscard]] int64_t FixedUnitSeconds(BucketUnit unit);

// Whether a bucket by the rule starts at second `s`.
[[nodiscard]] bool IsBucketStart(const BucketRule& rule, int64_t s);

// "15 minutes", "1 day"
[[nodiscard]] std::string WidthText(const BucketRule& rule);

// The table's whole rule as the comment has it after `bucket`:
// "day = 1 day until 2027-02-01, 1 month".
[[nodiscard]] std::string BucketRuleText(const TableSchema& schema);

// The rule for a column of `type`, if the pair is one of the table in docs/schema.md.
// `form` is what the comment says after `as`; without it the form must follow from the
// type and the width. The status has the reason without a position.
[[nodiscard]] Result<BucketRule> MakeBucketRule(CqlType type, BucketUnit unit, uint32_t count,
                                                std::optional<BucketEncoding> form);

// The rule that a column's type and name leave no doubt about: a `date` called day, a
// `timestamp` called hour, an `int` called year (or *_day, ...). docs/schema.md lists them.
[[nodiscard]] std::optional<BucketRule> InferBucketRule(CqlType type, std::string_view column_name);

// A clause for the comment that would suit such a column: "bucket day = 1 day".
[[nodiscard]] std::string ExampleClause(CqlType type, std::string_view column_name);

}  // namespace cistern

#endif  // CISTERN_CQL_BUCKET_RULE_H_
