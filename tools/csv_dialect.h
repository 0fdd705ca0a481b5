// CsvDialect: how a csv input is written, beyond RFC 4180.
#ifndef CISTERN_TOOLS_CSV_DIALECT_H_
#define CISTERN_TOOLS_CSV_DIALECT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"

namespace cistern::tool {

// Lines before the header that can be passed over.
inline constexpr uint64_t kSkipLinesMax = 100'000;

struct CsvDialect {
  char delimiter = ',';
  bool delimiter_given = false;  // by a person: a `sep=` line of the input must agree
  // '\0': none. Before the quote, the delimiter, itself or a line end the escape takes away their
  // meaning. Before any other character the escape is a character itself, as DSBulk has it.
  char escape = '\0';
  // As cqlsh writes under Python 3.9 and before: \n, \r, \t and \xHH are control characters, and
  // the escape before any other character is left out.
  bool escapes_controls = false;
  // As cqlsh writes under Python 3.10 and later, whose writer escapes the escapes once more: four
  // of them are one, and \\n, \\r, \\t and \\xHH are control characters.
  bool escapes_twice = false;
  uint64_t skip_lines = 0;  // lines before the header, or before the first row without one
  std::string comment;      // lines that begin so are left out; empty: none
};

// "," ";" "\t" "tab": any single byte but the quote and line ends. Empty: a comma, or, where
// numbers have a comma as their `decimal` mark, a semicolon, as Excel has it.
[[nodiscard]] Result<char> ParseDelimiter(std::string_view text, char decimal);

// Sets the escape of `dialect` from a character, "cqlsh" or "cqlsh-python3.10". Empty: none.
[[nodiscard]] Status ParseEscape(std::string_view text, CsvDialect* dialect);

// The delimiter that a line `sep=;` (of Excel, without its line end) names; nullopt if the line
// is another.
[[nodiscard]] std::optional<char> SeparatorOf(std::string_view line);

// The line, without its end, that names the cells of an input of this delimiter. Names that would
// be taken for something else are quoted.
[[nodiscard]] std::string HeaderLine(const std::vector<std::string>& names, char delimiter,
                                     const CsvDialect& dialect);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_CSV_DIALECT_H_
