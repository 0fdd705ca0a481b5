// Literals of frozen collections: [1, 2], {'a', 'b'}, {'a': 1}.
#ifndef CISTERN_CQL_COLLECTION_TEXT_H_
#define CISTERN_CQL_COLLECTION_TEXT_H_

#include <string>
#include <string_view>

#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// Replaces *out by the collection's wire form; elements keep the order in which they are written.
// REQUIRES: a collection type.
[[nodiscard]] Status ParseCollectionText(const ColumnType& type, std::string_view text,
                                         std::string* out);

// Appends the literal. REQUIRES: CheckWireBytes(type, bytes) is OK.
void FormatCollectionText(const ColumnType& type, std::string_view bytes, std::string* out);

}  // namespace cistern

#endif  // CISTERN_CQL_COLLECTION_TEXT_H_
