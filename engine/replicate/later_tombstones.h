// LaterTombstones: what later seals of a bucket have deleted.
//
// A seal that is sent again, long after the later ones have arrived, must leave out what they
// deleted: the cluster may have forgotten their tombstones by then (gc_grace_seconds), and old
// rows would rise from the dead.
#ifndef CISTERN_ENGINE_REPLICATE_LATER_TOMBSTONES_H_
#define CISTERN_ENGINE_REPLICATE_LATER_TOMBSTONES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cistern/schema.h"
#include "lib/row/version_columns.h"

namespace cistern::replicate {

// The deletes of all seals of one bucket behind the one that is sent. Fill it, then ask. Holds
// a clustering key for each deleted row: at most limits::kClusteringKeyBytesMax bytes. One thread.
class LaterTombstones {
 public:
  // `schema`: of the rows that are added and asked about.
  explicit LaterTombstones(std::shared_ptr<const TableSchema> schema);

  // Range and partition deletes of a later seal, their boots resolved.
  void AddRanges(std::span<const RangeDelete> deletes);
  // A page of a later seal: takes its row deletes, passes over all else.
  void AddRows(const VersionColumns& rows);

  // Whether a version was written at or before a delete that covers it: it is not to be sent.
  [[nodiscard]] bool Shadows(const VersionColumns& rows, size_t i) const;
  [[nodiscard]] bool empty() const { return ranges_.empty() && rows_.empty(); }

 private:
  void KeyOf(const VersionColumns& rows, size_t i, std::string* key) const;

  const std::shared_ptr<const TableSchema> schema_;
  std::vector<RangeDelete> ranges_;
  std::unordered_map<std::string, int64_t> rows_;  // clustering key: newest delete, write_us
  mutable std::string scratch_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_LATER_TOMBSTONES_H_
