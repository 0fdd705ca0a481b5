// QueryContext: what a scan needs of an open store. Borrowed; the engine outlives its cursors.
#ifndef CISTERN_ENGINE_QUERY_QUERY_CONTEXT_H_
#define CISTERN_ENGINE_QUERY_QUERY_CONTEXT_H_

#include <cstdint>
#include <functional>

#include "engine/query/read_ahead.h"
#include "lib/base/memory_budget.h"
#include "storage/boot_table.h"
#include "storage/head_set.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern {

class BucketIndex;
class SpareRows;

struct QueryContext {
  Store* store = nullptr;
  const HeadSet* heads = nullptr;
  const TableSet* tables = nullptr;
  const BootTable* boots = nullptr;
  MemoryBudget* budget = nullptr;
  BucketIndex* buckets = nullptr;   // what is known of them
  SpareRows* spare_rows = nullptr;  // between scans
  ReadAhead* read_ahead = nullptr;  // null: everything in the caller's thread
  std::function<int64_t()> now_s;   // decides about expiry
  std::function<int64_t()> monotonic_us;  // how long something takes
  // Writes the heads into segments, so that their memory is free; false if that cannot be.
  std::function<bool()> make_room;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_QUERY_CONTEXT_H_
