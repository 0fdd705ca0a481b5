// Texts of CREATE TABLE and CREATE TYPE statements.
#ifndef CISTERN_TOOLS_CQL_SCRIPT_H_
#define CISTERN_TOOLS_CQL_SCRIPT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern::tool {

// The tables that `text` declares, one statement after another, each but the last with its `;`.
// Errors are those of ParseCreateTable, with line and column in the whole text; at least one
// table is needed, and none may be declared twice. Each knows the types that stand before it; one
// may stand there again, as several tables have it.
[[nodiscard]] Result<std::vector<std::shared_ptr<const TableSchema>>> ParseCqlScript(
    std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_CQL_SCRIPT_H_
