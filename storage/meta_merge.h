// When RocksDB merges the files of meta, and the room that this takes.
#ifndef CISTERN_STORAGE_META_MERGE_H_
#define CISTERN_STORAGE_META_MERGE_H_

#include <cstdint>

#include "cistern/status.h"
#include "storage/store.h"

namespace cistern {

// RocksDB merges files of meta by likeness of size, in the background, behind a flush: it asks
// nobody for room, and a merge that meets a full disk ends the opening. So no opening begins with
// one. Merges are let once there is room, and until then files wait side by side. Thread-safe, all
// of them.

// Whether RocksDB may merge files of meta, as AllowMetaMerges has been called.
[[nodiscard]] bool MetaMergesAllowed(Store& store);

// Whether there are enough files for a merge, and none may begin.
[[nodiscard]] bool MetaMergesWait(Store& store);

// From here on until the store is closed. An error leaves the database as it was.
[[nodiscard]] Status AllowMetaMerges(Store& store);

// Bytes of the table files of meta. A merge may take all of them at once: as much must be free
// until the old files are gone. Rows leave so much, or merges would wait for ever.
[[nodiscard]] uint64_t MetaMergeBytes(Store& store);

// What a flush of meta needs beside its own file: MetaMergeBytes, and 0 while no merge may begin.
[[nodiscard]] uint64_t MergeBytesBehindFlush(Store& store);

// Whether RocksDB merges files now: the new ones take room, and the old ones do still.
[[nodiscard]] bool IsMerging(Store& store);

}  // namespace cistern

#endif  // CISTERN_STORAGE_META_MERGE_H_
