#include "engine/query/read_ahead.h"

#include <utility>

namespace cistern {

Status ReadAhead::Start(uint32_t thread_count) {
  for (uint32_t i = 0; i < thread_count; ++i) {
    threads_.push_back(std::make_unique<WorkerThread>());
    CISTERN_RETURN_IF_ERROR(threads_.back()->Start("reading ahead", [this] { Work(); }));
  }
  return Status::Ok();
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  threads_.clear();
}

void ReadAhead::Run(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void ReadAhead::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace cistern
