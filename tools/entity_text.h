// Entities as people write them on the command line and as the tool prints them.
#ifndef CISTERN_TOOLS_ENTITY_TEXT_H_
#define CISTERN_TOOLS_ENTITY_TEXT_H_

#include <string>
#include <vector>

#include "cistern/entity.h"
#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern::tool {

// For a table with one entity column "pump-7", or "pump=pump-7" if the column is called `pump`:
// only its exact name is taken off, so that "a=b" is a value in any other table, and a value
// that itself begins with "pump=" is written with it twice. For a composite one "a=1,b=x", or
// several texts of one NAME=VALUE each, whose values may then hold commas. Values in key order.
[[nodiscard]] Result<std::vector<std::string>> SplitEntity(const TableSchema& schema,
                                                           const std::vector<std::string>& texts);
[[nodiscard]] Result<EntityKey> ParseEntity(const TableSchema& schema,
                                            const std::vector<std::string>& texts);

// The CQL literals of the entity columns, in key order. kCorruption, kInvalidArgument: the
// bytes are no entity of the table.
[[nodiscard]] Result<std::vector<std::string>> EntityValues(const TableSchema& schema,
                                                            const EntityKey& entity);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_ENTITY_TEXT_H_
