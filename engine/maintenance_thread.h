// MaintenanceThread: the thread that ticks an engine, and sleeps while nothing is due.
#ifndef CISTERN_ENGINE_MAINTENANCE_THREAD_H_
#define CISTERN_ENGINE_MAINTENANCE_THREAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "cistern/status.h"
#include "lib/base/worker_thread.h"
#include "storage/work_signal.h"

namespace cistern {

class MaintenanceThread {
 public:
  explicit MaintenanceThread(std::shared_ptr<WorkSignal> work) : work_(std::move(work)) {}
  ~MaintenanceThread() { Stop(); }
  MaintenanceThread(const MaintenanceThread&) = delete;
  MaintenanceThread& operator=(const MaintenanceThread&) = delete;

  // `tick` does some steps and answers for how long nothing is due, in microseconds: 0, there are
  // more; INT64_MAX, until the signal is given. A tick that throws is tried again after a pause.
  // kIoError: the machine gives no thread.
  [[nodiscard]] Status Start(std::function<int64_t()> tick);
  // Ends the thread. Any thread but that one, any number of times, several at once: each returns
  // when the thread has ended.
  void Stop();

 private:
  const std::shared_ptr<WorkSignal> work_;
  std::mutex stop_mutex_;
  WorkerThread thread_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_MAINTENANCE_THREAD_H_
