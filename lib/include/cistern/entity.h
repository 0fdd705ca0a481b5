// EntityKey: what the data is about, encoded: the partition key without bucket and split.
#ifndef CISTERN_ENTITY_H_
#define CISTERN_ENTITY_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cistern/export.h"
#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern {

// The entity columns in key order, each as u16 big-endian length and its CQL
// wire bytes. Equal entities have equal bytes. At most limits::kEntityKeyBytesMax.
struct EntityKey {
  std::string bytes;
  friend bool operator==(const EntityKey&, const EntityKey&) = default;
};

// From CQL literals without quotes ("pump-7", "42", a uuid), one for each entity
// column in key order. kInvalidArgument names the column and the reason.
[[nodiscard]] CISTERN_EXPORT Result<EntityKey> EntityFromText(
    const TableSchema& schema, std::span<const std::string_view> parts);

// The reverse, for people: "pump-7", or "site=3,sensor=pump-7" when composite.
// Bytes that do not decode are shown in hex.
[[nodiscard]] CISTERN_EXPORT std::string EntityToText(const TableSchema& schema,
                                                      std::string_view entity_bytes);

}  // namespace cistern

#endif  // CISTERN_ENTITY_H_
