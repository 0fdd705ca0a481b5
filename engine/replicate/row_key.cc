#include "engine/replicate/row_key.h"

#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/value_text.h"
#include "lib/row/row_order.h"

namespace cistern::replicate {

void TakeKey(const TableSchema& schema, const VersionColumns& rows, size_t i, RowKey* key) {
  key->resize(schema.clustering_columns.size());
  for (size_t k = 0; k < key->size(); ++k) {
    const ColumnData& column = rows.columns[schema.clustering_columns[k]];
    if (column.lane == Lane::kFixed) {
      (*key)[k].fixed = column.fixed[i];
    } else {
      (*key)[k].bytes.assign(column.bytes(i));
    }
  }
}

bool HasKey(const TableSchema& schema, const VersionColumns& rows, size_t i, const RowKey& key) {
  for (size_t k = 0; k < key.size(); ++k) {
    const size_t c = schema.clustering_columns[k];
    const ColumnData& column = rows.columns[c];
    const bool is_fixed = column.lane == Lane::kFixed;
    const auto order =
        CompareValues(schema.columns[c].type, is_fixed ? column.fixed[i] : 0,
                      is_fixed ? std::string_view() : column.bytes(i), key[k].fixed, key[k].bytes);
    if (order != 0) return false;
  }
  return true;
}

std::strong_ordering CompareKeys(const TableSchema& schema, const RowKey& a, const RowKey& b) {
  for (size_t k = 0; k < a.size(); ++k) {
    const ColumnSpec& column = schema.columns[schema.clustering_columns[k]];
    const auto order = CompareValues(column.type, a[k].fixed, a[k].bytes, b[k].fixed, b[k].bytes);
    if (order != 0) return column.descending ? 0 <=> order : order;
  }
  return std::strong_ordering::equal;
}

int64_t EventTimeOf(const TableSchema& schema, const RowKey& key) {
  const bool is_uuid = schema.columns[schema.time_column()].type.kind == CqlType::kTimeuuid;
  return is_uuid ? TimeuuidTicks(key[0].bytes) : key[0].fixed;
}

std::string KeyText(const TableSchema& schema, const RowKey& key) {
  std::string text;
  for (size_t k = 0; k < key.size(); ++k) {
    const ColumnSpec& column = schema.columns[schema.clustering_columns[k]];
    text += Concat({(k > 0 ? ", " : ""), QuoteName(column.name), " = "});
    FormatValueText(column.type, key[k].fixed, key[k].bytes, &text);
  }
  return text;
}

}  // namespace cistern::replicate
