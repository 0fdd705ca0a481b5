// IngestQueue: one producer's bounded, lock-free way to the committer.
#ifndef CISTERN_ENGINE_INGEST_INGEST_QUEUE_H_
#define CISTERN_ENGINE_INGEST_INGEST_QUEUE_H_

#include <boost/lockfree/spsc_queue.hpp>

#include "cistern/limits.h"
#include "engine/ingest/write_unit.h"

namespace cistern {

// One thread pushes at a time; whoever holds the committer's lock pops, and completes what was
// popped. A unit that was pushed is not the producer's any more.
class IngestQueue {
 public:
  [[nodiscard]] bool Push(WriteUnit* unit) { return queue_.push(unit); }
  [[nodiscard]] WriteUnit* Pop() {
    WriteUnit* unit = nullptr;
    return queue_.pop(unit) ? unit : nullptr;
  }
  // By whoever pushes: a push would succeed.
  [[nodiscard]] bool HasRoom() const { return queue_.write_available() > 0; }
  // By whoever pops.
  [[nodiscard]] size_t size() const { return queue_.read_available(); }

 private:
  boost::lockfree::spsc_queue<WriteUnit*, boost::lockfree::capacity<limits::kProducerQueueSlots>>
      queue_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_INGEST_QUEUE_H_
