#include "engine/bucketing/bucket_name.h"

#include "cistern/entity.h"
#include "engine/bucketing/bucket_value.h"
#include "engine/bucketing/bucketer.h"
#include "lib/base/concat.h"
#include "lib/cql/time_text.h"
#include "lib/cql/value_text.h"

namespace cistern {

std::string BucketName(const TableSchema& schema, std::string_view entity, int64_t start_s,
                       uint32_t split) {
  std::string name = Concat({schema.QualifiedName(), " ", EntityToText(schema, entity), " "});
  if (Bucketer(schema).IsStart(start_s)) {
    const CellValue value = BucketValue(schema, start_s);
    FormatValueText(schema.columns[schema.bucket_column].type, value.fixed, value.bytes, &name);
  } else {
    name += "at ";
    FormatTimeText(start_s, TimeUnit::kSeconds, &name);
  }
  if (schema.split_column) name += Concat({" split ", split});
  return name;
}

}  // namespace cistern
