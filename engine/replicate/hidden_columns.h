// HiddenColumns: what of its own rows a store would not see again in the cluster. Pure.
//
// Cassandra keeps of a dropped column when it was dropped. Values with a write timestamp at or
// before that are shown to nobody, whenever they arrive, also where the column was added again. The
// server acknowledges them all the same.
//
// Source: Apache Cassandra 5.0, db.rows.BTreeRow.filter, schema.SchemaKeyspace (dropped_columns).
#ifndef CISTERN_ENGINE_REPLICATE_HIDDEN_COLUMNS_H_
#define CISTERN_ENGINE_REPLICATE_HIDDEN_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace cistern::replicate {

struct HiddenColumn {
  // Values with this write timestamp, or an older one, are hidden. The lowest int64: none are.
  int64_t up_to_us = std::numeric_limits<int64_t>::min();
  bool is_accepted = false;  // a person has agreed that nobody sees them there
  std::string drop = {};     // AcceptedDropText: what to agree to
  friend bool operator==(const HiddenColumn&, const HiddenColumn&) = default;
};

// By the schema's regular columns; empty: none hides a value.
using HiddenColumns = std::vector<HiddenColumn>;

// True: the cluster hides a value of regular column `k` that was written then.
[[nodiscard]] inline bool Hides(const HiddenColumns& columns, size_t k, int64_t write_us) {
  return k < columns.size() && write_us <= columns[k].up_to_us &&
         columns[k].up_to_us != std::numeric_limits<int64_t>::min();
}

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_HIDDEN_COLUMNS_H_
