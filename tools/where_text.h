// Conditions and aggregates as people write them on the command line.
#ifndef CISTERN_TOOLS_WHERE_TEXT_H_
#define CISTERN_TOOLS_WHERE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/aggregate.h"
#include "cistern/options.h"
#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern::tool {

// "temperature > 30 and state = 'OK'": COLUMN COMPARISON VALUE, joined by AND; the comparisons are
// = != < <= > >=. A column or value with other characters than letters, digits and _ . : + - stands
// in quotes, a column in "", a value in '', with the quote itself doubled. A bare null is no value.
// kInvalidArgument says where, and what was expected.
[[nodiscard]] Result<std::vector<Condition>> ParseWhere(std::string_view text);

// Those of all texts, with the columns as the table calls them. Errors as ParseWhere.
[[nodiscard]] Result<std::vector<Condition>> ConditionsOf(const TableSchema& schema,
                                                          const std::vector<std::string>& texts);

// The column as a condition has it: temp, or "Wind Dir" with its quotes.
[[nodiscard]] std::string WhereName(std::string_view column);

// "temperature:min,max,avg". kInvalidArgument names the functions that there are.
[[nodiscard]] Result<std::vector<AggregateColumn>> ParseAggregates(std::string_view text);
// "min"
[[nodiscard]] std::string_view FunctionName(AggregateFunction function);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_WHERE_TEXT_H_
