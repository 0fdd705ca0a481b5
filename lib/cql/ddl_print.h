// Pieces of CQL text and of messages about it.
#ifndef CISTERN_CQL_DDL_PRINT_H_
#define CISTERN_CQL_DDL_PRINT_H_

#include <string>
#include <string_view>

namespace cistern {

// The name as CQL reads it back: in double quotes unless it is a plain lower-case word.
[[nodiscard]] std::string QuoteName(std::string_view name);

// 'text' with its quotes doubled.
[[nodiscard]] std::string QuoteString(std::string_view text);

// 'text' for an error message, cut after 64 bytes at the end of a character.
[[nodiscard]] std::string ShowText(std::string_view text);

}  // namespace cistern

#endif  // CISTERN_CQL_DDL_PRINT_H_
