// ReadAhead: a few threads that open buckets before their turn.
#ifndef CISTERN_ENGINE_QUERY_READ_AHEAD_H_
#define CISTERN_ENGINE_QUERY_READ_AHEAD_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/base/worker_thread.h"

namespace cistern {

// Thread-safe. Jobs must not throw. The destructor runs what was queued and joins.
class ReadAhead {
 public:
  ReadAhead() = default;
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  // Once, before jobs are run. kIoError: the machine gives no thread.
  [[nodiscard]] Status Start(uint32_t thread_count);
  void Run(std::function<void()> job);

 private:
  void Work();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<WorkerThread>> threads_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_READ_AHEAD_H_
