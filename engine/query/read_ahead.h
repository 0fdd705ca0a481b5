// ReadAhead: a few threads that open buckets before their turn.
#ifndef CISTERN_ENGINE_QUERY_READ_AHEAD_H_
#define CISTERN_ENGINE_QUERY_READ_AHEAD_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cistern {

// Thread-safe. Jobs must not throw. The destructor runs what was queued and joins.
class ReadAhead {
 public:
  explicit ReadAhead(uint32_t thread_count);
  ~ReadAhead();
  void Run(std::function<void()> job);

 private:
  void Work();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_READ_AHEAD_H_
