// Texts of CREATE TABLE statements.
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
// statement is needed, and no table may be declared twice.
[[nodiscard]] Result<std::vector<std::shared_ptr<const TableSchema>>> ParseCqlScript(
    std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_CQL_SCRIPT_H_
