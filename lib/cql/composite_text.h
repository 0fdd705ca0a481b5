// Literals of composite types: [1, 2], {'a', 'b'}, {'a': 1}, (1, 'a', null), {street: 'a'}.
#ifndef CISTERN_CQL_COMPOSITE_TEXT_H_
#define CISTERN_CQL_COMPOSITE_TEXT_H_

#include <string>
#include <string_view>

#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// Replaces *out by the wire form of the value; elements keep the order in which they are written.
// Sets and tuples may stand in the brackets of a list as well, and names of fields in single
// quotes, as JSON has them. Fields that are not named are null.
// REQUIRES: a composite type.
[[nodiscard]] Status ParseCompositeText(const ColumnType& type, std::string_view text,
                                        std::string* out);

// Appends the literal. REQUIRES: CheckWireBytes(type, bytes) is OK.
void FormatCompositeText(const ColumnType& type, std::string_view bytes, std::string* out);

}  // namespace cistern

#endif  // CISTERN_CQL_COMPOSITE_TEXT_H_
