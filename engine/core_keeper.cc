#include "engine/core_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/base/concat.h"

namespace cistern {

namespace {

constexpr int64_t kHealPauseMinUs = 100'000;
constexpr int64_t kHealPauseMaxUs = 60'000'000;
constexpr int64_t kLetGoPauseUs = 20'000;  // between looks whether a failed core is free

}  // namespace

CoreKeeper::CoreKeeper(CoreConfig config)
    : config_(std::move(config)),
      log_(nullptr, config_.store.directory, config_.options.log_sink, config_.options.clock) {}

Status CoreKeeper::Open() {
  const std::lock_guard life(life_mutex_);
  CISTERN_ASSIGN_OR_RETURN(auto opened, EngineCore::Open(config_));
  // From here on it is this store or none: an empty directory in its place is no new beginning.
  config_.store.create_if_missing = false;
  config_.store.expected_store_id = opened->store().db().opened().store_id;
  Publish(std::move(opened));
  return Status::Ok();
}

// REQUIRES: life_mutex_.
void CoreKeeper::Publish(std::shared_ptr<EngineCore> opened) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& queue : queues_) opened->committer().AddQueue(queue);
    core_ = std::move(opened);
  }
  changed_.notify_all();
}

Result<std::shared_ptr<EngineCore>> CoreKeeper::core() const {
  CISTERN_RETURN_IF_ERROR(home_.Check());
  const std::lock_guard lock(mutex_);
  if (!core_) return unavailable_;
  if (core_->committer().has_failed()) return core_->committer().failure();
  return core_;
}

Result<std::shared_ptr<EngineCore>> CoreKeeper::AwaitCore() {
  CISTERN_RETURN_IF_ERROR(home_.Check());
  const auto is_sound = [this] { return core_ && !core_->committer().has_failed(); };
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::microseconds(limits::kReopenWaitUs),
                      [&] { return is_closing_ || is_sound(); });
  }
  return core();
}

void CoreKeeper::StopWaiting() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
}

// --- healing

Status CoreKeeper::Heal() {
  CISTERN_RETURN_IF_ERROR(home_.Check());
  const std::unique_lock life(life_mutex_, std::try_to_lock);
  if (!life) return core().status();
  Status why;
  if (Detach(&why)) return Status::Ok();
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return why;
    if (config_.options.clock->MonotonicMicros() < heal_at_us_) return why;
  }
  CISTERN_RETURN_IF_ERROR(LetGo(why));
  return OpenAnew(why);
}

// Takes a core that has failed out of use: nobody gets it from here on. True: the core is sound.
// REQUIRES: life_mutex_.
bool CoreKeeper::Detach(Status* why) {
  const int64_t now_us = config_.options.clock->MonotonicMicros();
  bool has_just_failed = false;
  {
    const std::lock_guard lock(mutex_);
    if (core_ && !core_->committer().has_failed()) return true;
    if (core_) {
      has_just_failed = true;
      unavailable_ = core_->committer().failure();
      failed_ = std::move(core_);
      former_ = failed_;
      failed_at_us_ = now_us;
    }
    *why = unavailable_;
  }
  if (has_just_failed) {
    failed_->committer().Retire();
    failed_->store().db().opened().info_log->Write(
        LogLevel::kError, "the store is closed and opened anew: " + why->message());
  }
  return false;
}

// Destroys the failed core, if nobody has it any more; otherwise `why`. REQUIRES: life_mutex_.
Status CoreKeeper::LetGo(const Status& why) {
  if (!failed_) return Status::Ok();
  const int64_t age_us = config_.options.clock->MonotonicMicros() - failed_at_us_;
  if (failed_.use_count() > 1 && age_us >= kCursorGraceUs) {
    failed_->cursors().EndAll({why.code(), Concat({"the store was opened anew after a failure (",
        why.message(), "): scan on from where Token() says"})});
  }
  if (failed_.use_count() > 1) return why;
  // What a compaction met it would meet again.
  const bool met_corruption =
      why.code() == StatusCode::kCorruption || failed_->store().met_corruption();
  if (met_corruption) config_.store.segments_rest = true;
  config_.acknowledged_sequence = failed_->committer().synced_sequence();
  failed_.reset();
  // A replicator, which keeps it for a turn only, may have taken it at this very moment.
  failed_ = former_.lock();
  return failed_ ? why : Status::Ok();
}

// REQUIRES: life_mutex_; no core.
Status CoreKeeper::OpenAnew(const Status& why) {
  {
    const int64_t now_us = config_.options.clock->MonotonicMicros();
    const std::lock_guard lock(mutex_);
    // A store that fails again soon after it was opened is not opened ever faster.
    if (now_us - heal_at_us_ > kHealPauseMaxUs) heal_pause_us_ = 0;
    heal_pause_us_ = std::clamp(heal_pause_us_ * 2, kHealPauseMinUs, kHealPauseMaxUs);
    heal_at_us_ = now_us + heal_pause_us_;
  }
  Result<std::shared_ptr<EngineCore>> opened = EngineCore::Open(config_);
  if (!opened.ok()) {
    if (opened.status().message() != why.message()) {
      log_.Write(LogLevel::kError, "the store is not open: " + opened.status().message());
    }
    const std::lock_guard lock(mutex_);
    unavailable_ = opened.status();
    return unavailable_;
  }
  (*opened)->store().db().opened().info_log->Write(LogLevel::kWarning,
                                                   "the store was opened anew");
  Publish(*std::move(opened));
  return Status::Ok();
}

int64_t CoreKeeper::heal_pause_us() const {
  const int64_t now_us = config_.options.clock->MonotonicMicros();
  const std::lock_guard lock(mutex_);
  return std::clamp(heal_at_us_ - now_us, kLetGoPauseUs, kHealPauseMaxUs);
}

// --- closing

Status CoreKeeper::Close() {
  CISTERN_RETURN_IF_ERROR(home_.Check());
  StopWaiting();
  const std::lock_guard life(life_mutex_);  // who heals is through, who closes has closed
  std::shared_ptr<EngineCore> last;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return Status::Ok();
    is_closed_ = true;
    if (core_) former_ = core_;
    last = std::move(core_);
    unavailable_ = Status::Closed("the engine was closed");
  }
  failed_.reset();
  if (!last) return Status::Ok();
  last->committer().Retire();  // from here on producers take back what they queue
  return last->Finish();
}

// --- queues

Result<std::shared_ptr<IngestQueue>> CoreKeeper::AddQueue() {
  CISTERN_RETURN_IF_ERROR(home_.Check());
  const std::lock_guard lock(mutex_);
  if (is_closed_) return Status::Closed("the engine was closed");
  if (queues_.size() > limits::kProducerCountMax) {  // the shared one's is beside them
    return Status::TooLarge(Concat({"an engine has at most ", limits::kProducerCountMax,
        " producers"}));
  }
  auto queue = std::make_shared<IngestQueue>();
  queues_.reserve(queues_.size() + 1);  // nothing can fail behind the committer
  if (core_) core_->committer().AddQueue(queue);
  queues_.push_back(queue);
  return queue;
}

void CoreKeeper::RemoveQueue(const std::shared_ptr<IngestQueue>& queue) {
  std::shared_ptr<EngineCore> now;
  std::shared_ptr<EngineCore> former;
  {
    const std::lock_guard lock(mutex_);
    std::erase(queues_, queue);
    now = core_;
    former = former_.lock();
  }
  // Without the lock: a committer answers when its group is on the device.
  if (now) now->committer().RemoveQueue(queue);
  if (former) former->committer().RemoveQueue(queue);
}

void CoreKeeper::TakeBack(IngestQueue* queue) {
  std::shared_ptr<EngineCore> failed;
  {
    const std::lock_guard lock(mutex_);
    if (core_ && !core_->committer().has_failed()) return;
    failed = core_ ? core_ : former_.lock();
    if (!failed || failed->committer().is_retired()) {
      while (WriteUnit* queued = queue->Pop()) RefuseUnit(queued, unavailable_);
      return;
    }
  }
  // Refuses what is queued, or writes it: it is not closed yet.
  (void)failed->committer().CommitQueued();
}

}  // namespace cistern
