// The only translation of rocksdb::Status into Status.
#ifndef CISTERN_STORAGE_ROCKSDB_STATUS_H_
#define CISTERN_STORAGE_ROCKSDB_STATUS_H_

#include <rocksdb/status.h>

#include <string_view>

#include "cistern/status.h"

namespace cistern {

// `context` says what was being done, where ("journal write", "opening /data/store");
// the message becomes "<context>: <what RocksDB says>[; <what to do>]".
//
//   disk or quota full            kNoSpace
//   held by another process       kLocked
//   read-only fs, no permission   kReadOnly
//   damaged bytes                 kCorruption
//   no file descriptor left       kTooManyOpenFiles
//   other device errors           kIoError: of a write, the outcome is unknown
//   not there                     kNotFound
//   timed out, stalled, retry     kBusy
//   database shutting down        kClosed
//   memory limit                  kOutOfMemory
//   the rest (our misuse)         kInternal
[[nodiscard]] Status ToStatus(const rocksdb::Status& status, std::string_view context);

// The same for reads of segments: a sector that the device cannot read is kCorruption too.
[[nodiscard]] Status ToReadStatus(const rocksdb::Status& status, std::string_view context);

}  // namespace cistern

#endif  // CISTERN_STORAGE_ROCKSDB_STATUS_H_
