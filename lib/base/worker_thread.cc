#include "lib/base/worker_thread.h"

#include <string>
#include <utility>

#include "lib/base/concat.h"
#include "lib/base/guard.h"

namespace cistern {

Status WorkerThread::Start(const char* purpose, std::function<void()> body) {
  return Guarded([&]() -> Status {
    const Status started = Guarded([&] {
      thread_ = std::thread([this, run = std::move(body)] {
        failure_ = Guarded([&run] {
          run();
          return Status::Ok();
        });
      });
      return Status::Ok();
    });
    if (started.code() != StatusCode::kIoError) return started;
    return Status::IoError(Concat({"no thread for ", purpose, ": ", started.message()}));
  });
}

Status WorkerThread::Join() {
  if (!thread_.joinable()) return Status::Ok();
  thread_.join();
  return failure_;
}

}  // namespace cistern
