// PageShadow: what other seals of a bucket have deleted of one that is sent. Pure.
//
// A seal that is sent again, or has rows that came back with a file, must leave out what other
// seals have deleted: the cluster may have forgotten their tombstones by then (gc_grace_seconds),
// and old rows would rise from the dead. Nulls and cells that are over are such tombstones too.
//
// Deletions themselves are never left out: each seal sends its own.
#ifndef CISTERN_ENGINE_REPLICATE_PAGE_SHADOW_H_
#define CISTERN_ENGINE_REPLICATE_PAGE_SHADOW_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cistern/schema.h"
#include "engine/replicate/timestamp_mode.h"
#include "lib/row/version_columns.h"

namespace cistern::replicate {

// Of one page. One thread.
class PageShadow {
 public:
  // `rows`: the page's versions in row order, which are changed: cells that are deleted become
  // absent, a liveness that is over goes. They outlive this, as does the schema, which is theirs.
  // `now_s`: the trusted clock's, none: not known, and nothing is over.
  PageShadow(const TableSchema& schema, TimestampMode mode, std::optional<int64_t> now_s,
             VersionColumns* rows);

  // What another seal has, in any order and any number of times. Their boots are resolved.
  void AddRanges(std::span<const RangeDelete> deletes);
  // Versions in row order. Of regular columns the states suffice.
  void AddRows(const VersionColumns& others);

  // Which versions are not to be sent; empty: all are. Call it last, once.
  [[nodiscard]] std::vector<bool> Take();

 private:
  void Compare(const VersionColumns& others, size_t other, size_t row);
  [[nodiscard]] bool SaysSomething(size_t row) const;

  const TableSchema& schema_;
  const TimestampMode mode_;
  const std::optional<int64_t> now_s_;
  VersionColumns* const rows_;
  std::vector<bool> is_deleted_;  // as a whole; empty: none
  std::vector<size_t> stripped_;  // rows that lost cells or liveness
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PAGE_SHADOW_H_
