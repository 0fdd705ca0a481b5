#include "engine/maintenance_thread.h"

#include <string>
#include <system_error>
#include <utility>

namespace cistern {

Status MaintenanceThread::Start(std::function<int64_t()> tick) {
  try {
    thread_ = std::thread([this, run = std::move(tick)] {
      bool goes_on = true;
      while (goes_on) {
        const uint64_t seen = work_->count();
        const int64_t idle_us = run();
        goes_on = work_->Wait(seen, idle_us);
      }
    });
  } catch (const std::system_error& failure) {
    return Status::IoError(std::string("no thread for the maintenance: ") + failure.what() +
                           "; let the host drive it (EngineOptions::background_threads)");
  }
  return Status::Ok();
}

void MaintenanceThread::Stop() {
  work_->Close();
  const std::lock_guard lock(stop_mutex_);
  if (thread_.joinable()) thread_.join();
}

}  // namespace cistern
