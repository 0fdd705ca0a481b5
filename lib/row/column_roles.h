// What columns are for, and which values they take.
#ifndef CISTERN_ROW_COLUMN_ROLES_H_
#define CISTERN_ROW_COLUMN_ROLES_H_

#include "cistern/schema.h"

namespace cistern {

[[nodiscard]] inline bool IsKey(ColumnRole role) {
  return role == ColumnRole::kEntity || role == ColumnRole::kClustering;
}

[[nodiscard]] inline bool IsDerived(ColumnRole role) {
  return role == ColumnRole::kBucket || role == ColumnRole::kSplit;
}

[[nodiscard]] inline bool TakesIntegers(CqlType kind) {
  return LaneOf(kind) == Lane::kFixed && kind != CqlType::kDouble && kind != CqlType::kFloat;
}

}  // namespace cistern

#endif  // CISTERN_ROW_COLUMN_ROLES_H_
