// Values as people write them: CQL literals without the outer quotes. docs/schema.md lists
// the form for each type.
#ifndef CISTERN_CQL_VALUE_TEXT_H_
#define CISTERN_CQL_VALUE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/schema.h"
#include "cistern/status.h"
#include "lib/cql/wire_value.h"

namespace cistern {

// Replaces *out by the value that `text` writes. Nothing is rounded silently except decimal
// fractions to the nearest double or float; a timestamp finer than milliseconds is refused.
//   kInvalidArgument  not a literal of the type; says what was expected
//   kOutOfRange       a number or time beyond the type
//   kTooLarge         beyond limits::kCellBytesMax or limits::kVarintBytesMax
[[nodiscard]] Status ParseValueText(const ColumnType& type, std::string_view text, CellValue* out);

// Appends the literal, which ParseValueText reads back to the same value (NaNs to the
// canonical one). Bytes that are no value of the type are shown as 0x and hex digits.
void FormatValueText(const ColumnType& type, int64_t fixed, std::string_view bytes,
                     std::string* out);

// "0x" and two digits for each byte.
void AppendHex(std::string_view bytes, std::string* out);

}  // namespace cistern

#endif  // CISTERN_CQL_VALUE_TEXT_H_
