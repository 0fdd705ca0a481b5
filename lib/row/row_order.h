// The order of rows inside a bucket, and the event time of a row.
//
// Rows are kept by ascending event time. Where the schema orders the event time
// DESC the declared order is the exact reverse, so every other clustering column
// keeps its declared direction relative to the first. An ascending scan reads this
// order forwards, a descending one backwards.
#ifndef CISTERN_ROW_ROW_ORDER_H_
#define CISTERN_ROW_ROW_ORDER_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/row_batch.h"
#include "cistern/schema.h"
#include "lib/row/version_columns.h"

namespace cistern {

// Compares one value as Cassandra's comparator of that type does, ascending.
// `fixed` is used on the fixed lane, `bytes` on the other. Bytes that are no value of
// the type have a place too, so damaged data cannot break a sort. Source of the rules:
// Cassandra's marshal types (TimeUUIDType, UUIDType, DoubleType, ...).
[[nodiscard]] std::strong_ordering CompareValues(const ColumnType& type, int64_t fixed_a,
                                                 std::string_view bytes_a, int64_t fixed_b,
                                                 std::string_view bytes_b);

// Whether conditions, bounds and groups compare values of the type: a decimal's bytes are not in
// the order of its values, and collections have no order that anybody asks for.
[[nodiscard]] constexpr bool HasOrder(CqlType type) {
  return type < CqlType::kList && type != CqlType::kDecimal;
}

// Compares the clustering keys of row i of `a` and row j of `b`.
[[nodiscard]] std::strong_ordering CompareRows(const TableSchema& schema, const VersionColumns& a,
                                               size_t i, const VersionColumns& b, size_t j);

// The same between a row of a batch and one of columns.
[[nodiscard]] std::strong_ordering CompareRows(const TableSchema& schema, const RowBatch& a,
                                               size_t i, const VersionColumns& b, size_t j);

// Event time of row i in the table's ticks: the value itself, or a timeuuid's
// 100 ns ticks since 1970.
[[nodiscard]] int64_t EventTime(const TableSchema& schema, const VersionColumns& rows, size_t i);
[[nodiscard]] int64_t EventTime(const TableSchema& schema, const RowBatch& rows, size_t i);
// 0 unless given 16 bytes.
[[nodiscard]] int64_t TimeuuidTicks(std::string_view uuid_bytes);

// A clustering key as bytes (each column: u16 BE length, wire bytes; fixed lane values
// as 8 bytes BE), for scan tokens; and its parse into row 0 of `out`, which is made to
// hold that one row. False when the bytes are no clustering key of the schema.
[[nodiscard]] std::string EncodeClusteringKey(const TableSchema& schema, const VersionColumns& rows,
                                              size_t i);
[[nodiscard]] bool DecodeClusteringKey(const TableSchema& schema, std::string_view bytes,
                                       VersionColumns* out);

}  // namespace cistern

#endif  // CISTERN_ROW_ROW_ORDER_H_
