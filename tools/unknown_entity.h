// What a command says of an entity that it was asked for and that has no rows.
#ifndef CISTERN_TOOLS_UNKNOWN_ENTITY_H_
#define CISTERN_TOOLS_UNKNOWN_ENTITY_H_

#include "cistern/engine.h"
#include "cistern/entity.h"
#include "cistern/schema.h"

namespace cistern::tool {

// Complains if the table has no row of the entity, whatever its time: it looks for one.
void TellIfUnknown(Engine* engine, const TableSchema& schema, const EntityKey& entity);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_UNKNOWN_ENTITY_H_
