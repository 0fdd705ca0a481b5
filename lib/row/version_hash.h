// A hash of one row version, to be summed over many in any order.
#ifndef CISTERN_ROW_VERSION_HASH_H_
#define CISTERN_ROW_VERSION_HASH_H_

#include <cstdint>
#include <string>

#include "cistern/schema.h"
#include "lib/row/version_columns.h"

namespace cistern {

// XXH3-64 over: write timestamp i64, second of expiry u32, flags u8; then for each
// clustering and regular column in declared order its cell state u8 and, for a value, 8
// bytes on the fixed lane, or a u32 length and the bytes. Little-endian. `row` is resolved
// and has all columns. `scratch` is overwritten.
[[nodiscard]] uint64_t HashVersion(const TableSchema& schema, const VersionColumns& rows,
                                   size_t row, std::string* scratch);

// The sum of all rows' hashes modulo 2^64: the same in whatever order they stand.
[[nodiscard]] uint64_t HashVersions(const TableSchema& schema, const VersionColumns& rows);

}  // namespace cistern

#endif  // CISTERN_ROW_VERSION_HASH_H_
