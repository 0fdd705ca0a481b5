// Inventory: which buckets and entities the store holds, and whether their bytes are sound.
#ifndef CISTERN_ENGINE_QUERY_INVENTORY_H_
#define CISTERN_ENGINE_QUERY_INVENTORY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cistern/engine.h"
#include "engine/query/query_context.h"
#include "storage/table_set.h"

namespace cistern {

// One bucket over all its parts.
struct BucketSummary {
  BucketKey key;
  uint64_t versions = 0;
  uint64_t segments = 0;
  uint64_t bytes = 0;
  uint64_t seals = 0;
  uint64_t seal_sequence = 0;  // of the last seal
  bool is_open = false;        // something is in the head or spilled
  bool is_damaged = false;     // something of it is known to be unreadable
  bool has_rows = false;       // first_time and last_time hold
  int64_t first_time = 0;
  int64_t last_time = 0;
};

// Which buckets to visit: all, those of a table, or those of an entity in it.
struct BucketScope {
  std::optional<uint32_t> table_id;
  std::optional<std::string> entity;  // with table_id
  std::string from{};                 // bucket keys at or behind these bytes alone
};

// Visits the buckets in key order until the visitor returns false. Takes the time of those in
// the scope, and memory for the head's part of them.
[[nodiscard]] Status VisitBuckets(const QueryContext& context, const BucketScope& scope,
                                  const std::function<bool(const BucketSummary&)>& visit);

[[nodiscard]] BucketInfo ToBucketInfo(const TableSchema& schema, const BucketSummary& summary);

// Reads every segment and journal record and checks it against its checksums, its
// header, its family's record and the order of rows.
[[nodiscard]] Result<VerifyReport> VerifyStore(const QueryContext& context, const TableSet& tables);

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_INVENTORY_H_
