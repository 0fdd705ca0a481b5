// The value of the bucket column, to and from the bucket's start. Pure.
#ifndef CISTERN_BUCKETING_BUCKET_VALUE_H_
#define CISTERN_BUCKETING_BUCKET_VALUE_H_

#include <cstdint>
#include <string_view>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/cql/wire_value.h"

namespace cistern {

// What the bucket column holds for the bucket that starts at `start_s` seconds since 1970,
// in the form of docs/schema.md. REQUIRES: a start that a Bucketer of the schema gave.
[[nodiscard]] CellValue BucketValue(const TableSchema& schema, int64_t start_s);

// The start of the bucket that the value names.
//   kInvalidArgument  the value is not a bucket of the table: not of the form, not a date of
//                     the calendar, not the start of a bucket
//   kOutOfRange       a bucket outside the event times that the table takes
[[nodiscard]] Result<int64_t> BucketStartFromValue(const TableSchema& schema,
                                                   const CellValue& value);

// The same from a CQL literal without quotes: "2024-01-15", "202403", "2024-W03".
[[nodiscard]] Result<int64_t> BucketStartFromText(const TableSchema& schema, std::string_view text);

}  // namespace cistern

#endif  // CISTERN_BUCKETING_BUCKET_VALUE_H_
