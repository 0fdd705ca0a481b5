// Whether two serialised values are the same one. Pure.
#ifndef CISTERN_ENGINE_REPLICATE_SAME_VALUE_H_
#define CISTERN_ENGINE_REPLICATE_SAME_VALUE_H_

#include <string_view>

#include "cistern/schema.h"

namespace cistern::replicate {

// Equal bytes; or sets and maps, at any depth, of the same elements in another order, or with some
// of them twice: Cassandra may write them anew in its own order. Of a map's key that stands twice
// the last value counts. Of a tuple fields that are null at the end may be missing. Bytes that are
// no value of the type are only the same if they are equal.
[[nodiscard]] bool SameValue(const ColumnType& type, std::string_view a, std::string_view b);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SAME_VALUE_H_
