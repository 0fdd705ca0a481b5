#include "engine/maintenance_thread.h"

#include <utility>

#include "lib/base/concat.h"
#include "lib/base/guard.h"

namespace cistern {

namespace {
constexpr int64_t kPauseAfterExceptionUs = 1'000'000;
}  // namespace

Status MaintenanceThread::Start(std::function<int64_t()> tick) {
  const Status started =
      thread_.Start("the maintenance", [this, run = std::move(tick)] {
        bool goes_on = true;
        while (goes_on) {
          const uint64_t seen = work_->count();
          goes_on = work_->Wait(seen, GuardedOr(kPauseAfterExceptionUs, run));
        }
      });
  if (started.code() != StatusCode::kIoError) return started;
  return Status::IoError(Concat({started.message(), "; let the host drive it "
      "(EngineOptions::background_threads)"}));
}

void MaintenanceThread::Stop() {
  work_->Close();
  const std::lock_guard lock(stop_mutex_);
  thread_.Join().IgnoreError();  // no tick can end it
}

}  // namespace cistern
