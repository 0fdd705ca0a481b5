// When RocksDB merges the files of meta, and the room that this takes.
#ifndef CISTERN_STORAGE_META_MERGE_H_
#define CISTERN_STORAGE_META_MERGE_H_

#include <cstdint>

#include "cistern/status.h"
#include "storage/store.h"

namespace cistern {

// RocksDB merges files of meta by likeness of size, in the background, behind a flush. RocksDB asks
// nobody for room, and a merge that meets a full disk ends the opening. So merges are off in each
// opening, and on once there is room for one. Meanwhile files wait side by side: they cost a little
// memory, and no write is stopped for their number. All of this is thread-safe.

// Whether RocksDB may begin a merge of files of meta.
[[nodiscard]] bool MetaMergesAllowed(Store& store);

// Files of meta that wait, each behind a flush.
[[nodiscard]] uint64_t FilesBehindFlushes(const Family& meta);

// Whether merges are off and so many files wait that RocksDB would begin one.
[[nodiscard]] bool MetaMergesWait(Store& store);

// Until the next call, or until the store is closed. One that has begun goes on. After an error the
// database refuses writes, and whether merges are allowed is not known.
[[nodiscard]] Status AllowMetaMerges(Store& store, bool are_allowed);

// Bytes of the table files of meta. A merge may take all of them at once: as much must be free
// until the old files are gone. Rows leave so much, or merges would wait for ever.
[[nodiscard]] uint64_t MetaMergeBytes(Store& store);

// What a flush of meta needs beside its own file: MetaMergeBytes, and 0 while no merge may begin.
[[nodiscard]] uint64_t MergeBytesBehindFlush(Store& store);

// What `bytes` need beside a merge that may begin: both. 0 where they find no room even without a
// merge, with all of the ballast that may go: a merge is in nobody's way there.
[[nodiscard]] uint64_t RoomBesideMerge(Store& store, uint64_t bytes);

// Compares every block of the files of meta with its checksum: kCorruption where a merge would meet
// the same, a sector that cannot be read included. It reads them whole, a few MB.
[[nodiscard]] Status CheckMetaFiles(Store& store);

// Whether RocksDB merges files now: the new ones take room, and the old ones do still.
[[nodiscard]] bool IsMerging(Store& store);

}  // namespace cistern

#endif  // CISTERN_STORAGE_META_MERGE_H_
