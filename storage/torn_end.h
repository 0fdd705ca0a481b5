// Torn ends: what a power cut leaves of the last writes to a MANIFEST or a write-ahead log.
#ifndef CISTERN_STORAGE_TORN_END_H_
#define CISTERN_STORAGE_TORN_END_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "storage/synced_ends.h"

namespace cistern {

// A device loses any of the sectors and pages that were not synced: of one append the first part
// may be missing and the rest be there. RocksDB takes such a hole for damage, or skips it.
struct TornEnd {
  std::string name;          // of the file
  uint64_t whole_bytes = 0;  // what is to stay
  uint64_t size_bytes = 0;
  bool only_zeros = false;   // nothing but zeros is to go
};

// The files with a hole behind what is known to be synced, where only writes can follow that
// nobody was told of; and the logs behind such a one, as RocksDB syncs them after it. Damage
// before that, and of files of which nothing is known, is not among them: it is no end.
[[nodiscard]] Result<std::vector<TornEnd>> FindTornEnds(rocksdb::FileSystem* fs,
                                                        const std::string& directory,
                                                        const SyncedEnds& ends);

// Cuts them off, durably; a later cut of the power finds them cut, or as they are. What goes, if
// it is more than zeros, is kept in quarantine/torn/ until the next time that the file is gone.
// Returns what was done, a sentence a file.
[[nodiscard]] Result<std::vector<std::string>> CutTornEnds(rocksdb::FileSystem* fs,
                                                           const std::string& directory,
                                                           const std::vector<TornEnd>& torn);

// The write-ahead logs that are damaged, by a torn end or otherwise, with a log behind them that is
// not empty: each up to the last record before its damage. Reads all of them.
[[nodiscard]] Result<std::vector<TornEnd>> FindBrokenLogs(rocksdb::FileSystem* fs,
                                                          const std::string& directory);

// Whether a write-ahead log is damaged somewhere, by a torn end or otherwise. Reads all of them.
[[nodiscard]] Result<bool> HasLogWithHole(rocksdb::FileSystem* fs, const std::string& directory);

// The name of the MANIFEST that CURRENT names; empty: CURRENT does not tell.
[[nodiscard]] std::string CurrentManifest(rocksdb::FileSystem* fs, const std::string& directory);

}  // namespace cistern

#endif  // CISTERN_STORAGE_TORN_END_H_
