// MemoryReserve: memory held back, so that what was begun can be finished when there is no more.
#ifndef CISTERN_BASE_MEMORY_RESERVE_H_
#define CISTERN_BASE_MEMORY_RESERVE_H_

#include <cstddef>

#include "cistern/status.h"

namespace cistern {

// What the ballast is to a full disk. RocksDB is not made for allocations that fail: an exception
// leaves its locks and queues as they are, and ends the process where it leaves one of its threads.
// So the process holds back kBytes of address space, of which no page is used. The first allocation
// by operator new that fails, in any thread, gives them back and is tried again: calls under way
// finish by them. No other call begins until the reserve could be taken again.
//
// One for the process, from the first Hold() on. Installs a new handler; one that was there before
// is called once the reserve is spent. Thread-safe.
class MemoryReserve {
 public:
  static constexpr size_t kBytes = 4 << 20;

  // Takes the reserve unless it is held. kOutOfMemory: the machine does not give it.
  [[nodiscard]] static Status Hold();
  // Whether the machine would give so much beside the reserve, now. kOutOfMemory: it does not.
  [[nodiscard]] static Status CheckRoom(size_t bytes);
};

}  // namespace cistern

#endif  // CISTERN_BASE_MEMORY_RESERVE_H_
