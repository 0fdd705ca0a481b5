#include "engine/bucketing/split_policy.h"

#include "lib/base/check.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/wire_value.h"

namespace cistern {

void AppendSplitKey(const ColumnType& type, int64_t fixed, std::string_view bytes,
                    std::string* key) {
  const bool fixed_lane = type.lane() == Lane::kFixed;
  PutBig<uint16_t>(key, static_cast<uint16_t>(fixed_lane ? WireWidth(type.kind) : bytes.size()));
  AppendWireValue(type, fixed, bytes, key);
}

uint32_t HashSplit(std::string_view key, uint32_t count) {
  return static_cast<uint32_t>(Checksum(key) % count);
}

uint32_t SplitOfRow(const TableSchema& schema, const RowBatch& batch, size_t row,
                    RoundRobin* round_robin) {
  if (schema.split.kind == SplitKind::kNone) return 0;
  if (schema.split.kind == SplitKind::kRoundRobin) {
    CISTERN_CHECK(round_robin != nullptr);
    return round_robin->Next(schema.split.count);
  }
  std::string key;  // an event time alone stays in the string's own buffer
  for (const size_t column : schema.clustering_columns) {
    const ColumnType& type = schema.columns[column].type;
    if (type.lane() == Lane::kFixed) {
      AppendSplitKey(type, batch.fixed(row, column), {}, &key);
    } else {
      AppendSplitKey(type, 0, batch.bytes(row, column), &key);
    }
  }
  return HashSplit(key, schema.split.count);
}

}  // namespace cistern
