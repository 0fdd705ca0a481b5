// Pieces of CQL text.
#ifndef CISTERN_CQL_DDL_PRINT_H_
#define CISTERN_CQL_DDL_PRINT_H_

#include <string>
#include <string_view>

namespace cistern {

// The name as CQL reads it back: in double quotes unless it is a plain lower-case word.
[[nodiscard]] std::string QuoteName(std::string_view name);

// 'text' with its quotes doubled.
[[nodiscard]] std::string QuoteString(std::string_view text);

}  // namespace cistern

#endif  // CISTERN_CQL_DDL_PRINT_H_
