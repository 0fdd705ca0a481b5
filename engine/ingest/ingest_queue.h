// IngestQueue: one producer's bounded, lock-free way to the committer.
#ifndef CISTERN_ENGINE_INGEST_INGEST_QUEUE_H_
#define CISTERN_ENGINE_INGEST_INGEST_QUEUE_H_

#include <boost/lockfree/spsc_queue.hpp>

#include "cistern/limits.h"
#include "engine/ingest/write_unit.h"

namespace cistern {

// One thread pushes; whoever holds the committer's lock pops. Units are borrowed: their
// owner keeps them alive until they are done.
class IngestQueue {
 public:
  [[nodiscard]] bool Push(WriteUnit* unit) { return queue_.push(unit); }
  [[nodiscard]] WriteUnit* Pop() {
    WriteUnit* unit = nullptr;
    return queue_.pop(unit) ? unit : nullptr;
  }
  [[nodiscard]] bool empty() const { return queue_.read_available() == 0; }

 private:
  boost::lockfree::spsc_queue<WriteUnit*, boost::lockfree::capacity<limits::kProducerQueueSlots>>
      queue_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_INGEST_QUEUE_H_
