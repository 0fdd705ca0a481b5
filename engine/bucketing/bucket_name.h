// Names of buckets for messages.
#ifndef CISTERN_ENGINE_BUCKETING_BUCKET_NAME_H_
#define CISTERN_ENGINE_BUCKETING_BUCKET_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/schema.h"

namespace cistern {

// "plant.pumps p1 2027-01-15", and where the table has splits " split 3": the parts as the
// tool's options take them. `entity` are the bytes of an EntityKey. Where no bucket of the table
// starts, as a damaged key may say, "plant.pumps p1 at 2027-01-15T07:00:00Z".
[[nodiscard]] std::string BucketName(const TableSchema& schema, std::string_view entity,
                                     int64_t start_s, uint32_t split);

}  // namespace cistern

#endif  // CISTERN_ENGINE_BUCKETING_BUCKET_NAME_H_
