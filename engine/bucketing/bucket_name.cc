#include "engine/bucketing/bucket_name.h"

#include "cistern/entity.h"
#include "engine/bucketing/bucket_value.h"
#include "lib/cql/value_text.h"

namespace cistern {

std::string BucketName(const TableSchema& schema, std::string_view entity, int64_t start_s,
                       uint32_t split) {
  std::string name = schema.keyspace.empty() ? "" : schema.keyspace + ".";
  name += schema.name + " " + EntityToText(schema, entity) + " ";
  const CellValue value = BucketValue(schema, start_s);
  FormatValueText(schema.columns[schema.bucket_column].type, value.fixed, value.bytes, &name);
  if (schema.split_column) name += " split " + std::to_string(split);
  return name;
}

}  // namespace cistern
