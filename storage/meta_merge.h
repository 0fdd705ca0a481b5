// MetaMergeBytes: the room that a merge of meta's files takes. IsMerging: whether one goes on.
#ifndef CISTERN_STORAGE_META_MERGE_H_
#define CISTERN_STORAGE_META_MERGE_H_

#include <rocksdb/db.h>

#include <cstdint>

#include "storage/store.h"

namespace cistern {

// Bytes of the table files of meta. Behind a flush RocksDB merges them
// by likeness of size, in the background, and may take all of them at once: as much must be free
// until the old files are gone. Thread-safe.
[[nodiscard]] inline uint64_t MetaMergeBytes(Store& store) {
  const FamilyPtr meta = store.spills().view()->meta;
  uint64_t bytes = 0;
  const bool is_known = meta->db()->GetIntProperty(
      meta->handle(), rocksdb::DB::Properties::kLiveSstFilesSize, &bytes);
  return is_known ? bytes : 0;
}

// Whether RocksDB merges files now: the new ones take room, and the old ones do still.
[[nodiscard]] inline bool IsMerging(Store& store) {
  const FamilyPtr meta = store.spills().view()->meta;
  uint64_t running = 0;
  return meta->db()->GetIntProperty(rocksdb::DB::Properties::kNumRunningCompactions, &running) &&
         running > 0;
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_META_MERGE_H_
