// CoreKeeper: which opening of the store is in use, and how the next one takes its place.
#ifndef CISTERN_ENGINE_CORE_KEEPER_H_
#define CISTERN_ENGINE_CORE_KEEPER_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/engine_core.h"
#include "engine/ingest/ingest_queue.h"
#include "lib/base/home_process.h"
#include "storage/info_log.h"

namespace cistern {

// After a write of unknown outcome a core has failed: it is given to nobody any more, and once
// those who have it are through, the store is opened anew, which tells what was stored. Who comes
// meanwhile gets the reason and holds nothing, so that however many callers try again, and how
// often, none of them keeps the store from being opened. Cursors may read on for a while
// (kCursorGraceUs), then they are ended.
//
// Thread-safe. In a child of fork every call gives kClosed and touches nothing.
class CoreKeeper {
 public:
  // How long cursors of a failed core go on, by the engine's monotonic clock.
  static constexpr int64_t kCursorGraceUs = 5'000'000;

  explicit CoreKeeper(CoreConfig config);
  // Opens the store for the first time.
  [[nodiscard]] Status Open();

  // The open core, or why there is none.
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> core() const;
  // As core(); while the store is to be opened anew, waits for that in real time: until it is
  // open, until StopWaiting(), or for limits::kReopenWaitUs.
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> AwaitCore();
  void StopWaiting();

  // Opens the store anew if its core has failed, as far as that can be done now; OK when the core
  // is sound. Otherwise why not: the failure, or that of the opening. One thread does it, others
  // are answered at once.
  [[nodiscard]] Status Heal();
  // Until Heal() is worth a call, where it was not OK; in microseconds.
  [[nodiscard]] int64_t heal_pause_us() const;

  // Closes the store for good, once nobody has it: cursors and calls under way keep it open.
  [[nodiscard]] Status Close();

  // --- the queues of producers, and one that is shared beside them, which stay over openings
  [[nodiscard]] Result<std::shared_ptr<IngestQueue>> AddQueue();
  void RemoveQueue(const std::shared_ptr<IngestQueue>& queue);
  // Completes what is queued with the reason why there is no core. Nothing is taken while a
  // committer may still empty the queue: one in use, or one that is about to retire.
  void TakeBack(IngestQueue* queue);

  [[nodiscard]] const CoreConfig& config() const { return config_; }
  [[nodiscard]] const HomeProcess& home() const { return home_; }

 private:
  [[nodiscard]] bool Detach(Status* why);
  [[nodiscard]] Status LetGo(const Status& why);
  [[nodiscard]] Status OpenAnew(const Status& why);
  void Publish(std::shared_ptr<EngineCore> opened);

  const HomeProcess home_;
  CoreConfig config_;     // changed by the holder of life_mutex_ alone
  InfoLog log_;           // the sink alone: for what happens while no store is open
  std::mutex life_mutex_;  // of those who open and close; taken before mutex_

  // --- life_mutex_
  std::shared_ptr<EngineCore> failed_;  // until nobody has it any more
  int64_t failed_at_us_ = 0;            // monotonic

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<EngineCore> core_;  // null while healing and after Close
  std::weak_ptr<EngineCore> former_;  // the one before: calls under way may still have it
  Status unavailable_;                // why core_ is null
  bool is_closing_ = false;
  bool is_closed_ = false;
  int64_t heal_at_us_ = 0;  // monotonic; earliest next opening
  int64_t heal_pause_us_ = 0;
  std::vector<std::shared_ptr<IngestQueue>> queues_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_CORE_KEEPER_H_
