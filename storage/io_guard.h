// GuardedIo: what RocksDB calls of ours throws nothing.
#ifndef CISTERN_STORAGE_IO_GUARD_H_
#define CISTERN_STORAGE_IO_GUARD_H_

#include <rocksdb/io_status.h>

#include <utility>

#include "lib/base/guard.h"

namespace cistern {

// Runs the body of a call that RocksDB makes, on a thread of its own perhaps, where an exception
// would end the process, and on any thread would leave locks of RocksDB taken. It is an error
// then, which is made without an allocation.
template <typename Body>
[[nodiscard]] rocksdb::IOStatus GuardedIo(Body&& body) noexcept {
  return GuardedOr(rocksdb::IOStatus::IOError(rocksdb::IOStatus::SubCode::kMemoryLimit),
                   std::forward<Body>(body));
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_IO_GUARD_H_
