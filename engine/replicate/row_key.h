// RowKey: the clustering key of one row, apart from pages and answers. Pure.
#ifndef CISTERN_ENGINE_REPLICATE_ROW_KEY_H_
#define CISTERN_ENGINE_REPLICATE_ROW_KEY_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cistern/schema.h"
#include "lib/cql/wire_value.h"
#include "lib/row/version_columns.h"

namespace cistern::replicate {

// A value for each clustering column, in key order.
using RowKey = std::vector<CellValue>;

// The key of version `i`, into *key, whose memory is used again.
void TakeKey(const TableSchema& schema, const VersionColumns& rows, size_t i, RowKey* key);
[[nodiscard]] bool HasKey(const TableSchema& schema, const VersionColumns& rows, size_t i,
                          const RowKey& key);

// In the declared order: that in which a server gives rows, each column in its own direction.
[[nodiscard]] std::strong_ordering CompareKeys(const TableSchema& schema, const RowKey& a,
                                               const RowKey& b);

// In the table's ticks, as lib/row/row_order.h has it.
[[nodiscard]] int64_t EventTimeOf(const TableSchema& schema, const RowKey& key);

// "ts = 2026-11-20 00:00:00.000Z, n = x", for messages.
[[nodiscard]] std::string KeyText(const TableSchema& schema, const RowKey& key);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_ROW_KEY_H_
