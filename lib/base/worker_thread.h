// WorkerThread: how a thread of ours starts and ends.
#ifndef CISTERN_BASE_WORKER_THREAD_H_
#define CISTERN_BASE_WORKER_THREAD_H_

#include <functional>
#include <thread>

#include "cistern/status.h"

namespace cistern {

// One thread, whose start may fail and whose body may throw, neither of which ends the process.
// Thread-compatible.
class WorkerThread {
 public:
  WorkerThread() = default;
  ~WorkerThread() { Join().IgnoreError(); }  // who wants to know joins before
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // Once. `purpose` is for the message: "the maintenance".
  //   kIoError      the machine gives no thread
  //   kOutOfMemory  it gives no memory for one
  [[nodiscard]] Status Start(const char* purpose, std::function<void()> body);
  // Waits for the end of the body; OK if it returned, and otherwise what its exception means. OK
  // too if there is no thread, or it was joined before.
  [[nodiscard]] Status Join();

 private:
  std::thread thread_;
  Status failure_;  // the thread's until it was joined
};

}  // namespace cistern

#endif  // CISTERN_BASE_WORKER_THREAD_H_
