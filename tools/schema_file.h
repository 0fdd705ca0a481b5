// Files of CREATE TABLE statements.
#ifndef CISTERN_TOOLS_SCHEMA_FILE_H_
#define CISTERN_TOOLS_SCHEMA_FILE_H_

#include <string>

#include "tools/command.h"

namespace cistern::tool {

// The tables that the file declares. Errors name it; those of a statement have line and column.
[[nodiscard]] Result<Tables> ReadSchemaFile(const std::string& path);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SCHEMA_FILE_H_
