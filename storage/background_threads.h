// RocksDB's own threads, started before they are needed.
#ifndef CISTERN_STORAGE_BACKGROUND_THREADS_H_
#define CISTERN_STORAGE_BACKGROUND_THREADS_H_

#include "cistern/status.h"

namespace cistern {

// RocksDB starts its threads when there is work for them, in the middle of whatever found the work,
// and throws there if the machine gives none. So the two that a store needs, which serve the whole
// process, are started before a store is opened; and a third one, which keeps RocksDB's time, is
// started for a moment, as RocksDB does it by itself while it opens.
//   kIoError  the machine gives no thread; may be called again
[[nodiscard]] Status StartBackgroundThreads();

}  // namespace cistern

#endif  // CISTERN_STORAGE_BACKGROUND_THREADS_H_
