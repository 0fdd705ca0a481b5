// Schemas and rows for tests of the page format.
#ifndef CISTERN_TESTS_LIB_SEGMENT_PAGE_TEST_UTIL_H_
#define CISTERN_TESTS_LIB_SEGMENT_PAGE_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cistern/schema.h"
#include "lib/row/version_columns.h"

namespace cistern {

// (entity text, day date) as the partition, then the given clustering types c0, c1, ...
// and regular ones r0, r1, ...
TableSchema MakeSchema(const std::vector<CqlType>& clustering, const std::vector<CqlType>& regular);

// That `got` is rows begin..end-1 of `want`, bit for bit.
void ExpectSameColumn(const ColumnData& got, const ColumnData& want, size_t begin, size_t end,
                      const std::string& name);
void ExpectSameRows(const TableSchema& schema, const VersionColumns& got,
                    const VersionColumns& want, size_t begin, size_t end);

}  // namespace cistern

#endif  // CISTERN_TESTS_LIB_SEGMENT_PAGE_TEST_UTIL_H_
