#include "tools/unknown_entity.h"

#include <fmt/format.h>

#include "tools/command.h"

namespace cistern::tool {

void TellIfUnknown(Engine* engine, const TableSchema& schema, const EntityKey& entity) {
  ScanRequest request;
  request.table = schema.QualifiedName();
  request.entity = entity;
  request.from = INT64_MIN;
  request.to = INT64_MAX;
  request.limit = 1;
  const Result<std::unique_ptr<Cursor>> cursor = engine->Scan(request);
  ResultBatch batch;
  if (cursor.ok() && !(*cursor)->Next(&batch) && (*cursor)->status().ok()) {
    Complain(fmt::format("table {} has no rows of entity {}", schema.QualifiedName(),
                         EntityToText(schema, entity.bytes)));
  }
}

}  // namespace cistern::tool
