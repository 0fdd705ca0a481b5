// SealPush: one seal on its way: which of its batches are unanswered, and up to where all is
// acknowledged. No network, no clock.
#ifndef CISTERN_ENGINE_REPLICATE_SEAL_PUSH_H_
#define CISTERN_ENGINE_REPLICATE_SEAL_PUSH_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "cistern/status.h"
#include "engine/replicate/batch_stream.h"
#include "engine/replicate/drain_order.h"
#include "engine/replicate/push_batch.h"
#include "engine/replicate/push_position.h"
#include "engine/replicate/row_binder.h"

namespace cistern::replicate {

// What a seal is sent from.
struct SealSource {
  std::shared_ptr<const RowBinder> binder;
  PushOptions options;
  SealContent content;
  uint64_t version_count = 0;  // of the seal's manifest
};

// A position that may be made durable once it is old enough.
struct PushCheckpoint {
  PushPosition position;
  int64_t acked_us = 0;  // when everything before it was acknowledged
};

// Batches may be answered in any order; the position moves over those at the front. After a loss
// nothing is sent until all others are answered; then it goes on from the first that was not
// acknowledged: on v5 a batch that is sent again is equal byte for byte. One thread at a time.
class SealPush {
 public:
  // `from`: what a record of the store says, or nothing. Between two positions that are made
  // durable lie `checkpoint_bytes` at least: what a restart sends again, against a write to flash.
  SealPush(DrainItem item, SealSource source, PushPosition from, uint64_t checkpoint_bytes);

  // What an earlier push of the seal had acknowledged, in this process, and no host was lost since:
  // it is not sent again. It is not durable by that. Before anything is sent.
  void GoOnFrom(const PushPosition& acknowledged);

  // --- sending
  // A batch may be asked for: fewer than `flight_count_max` are unanswered, none was lost.
  [[nodiscard]] bool MaySend(size_t flight_count_max) const;
  // Replaces *batch by the next one; its ticket names it in what follows. A batch with nothing to
  // send counts as acknowledged, has no ticket, and *batch is empty. Errors are those of
  // BatchStream::Next; then the same batch may be asked for again.
  [[nodiscard]] Result<std::optional<uint64_t>> Next(std::optional<int64_t> now_s, int64_t now_us,
                                                     PushBatch* batch);
  // Each ticket ends by one of these.
  void Acknowledge(uint64_t ticket, int64_t now_us);
  // Where what follows its batch begins; nothing for one from before a rewind.
  [[nodiscard]] std::optional<PushPosition> EndOf(uint64_t ticket) const;
  // True: the first of those on their way together, a round of its own. False as well for one from
  // before a rewind, which tells nothing of what is on its way now.
  bool Lose(uint64_t ticket);

  // --- going back
  // A batch was lost, and all others are answered: Rewind() may follow.
  [[nodiscard]] bool is_interrupted() const { return is_lost_ && flights_.empty(); }
  // A batch was lost, and Rewind() has not followed yet.
  [[nodiscard]] bool is_lost() const { return is_lost_; }
  // Goes on from the first position that was not acknowledged.
  void Rewind();
  // The cluster may have forgotten what it acknowledged: everything behind the last position that
  // was made durable is sent again. Batches that are under way end as if they were lost.
  void RewindToDurable();

  // --- progress
  // All is acknowledged.
  [[nodiscard]] bool is_done() const { return !is_lost_ && flights_.empty() && stream_->at_end(); }
  // Nothing is under way: the push may be given up.
  [[nodiscard]] bool is_quiet() const { return flights_.empty() && orphans_ == 0; }
  // A position to be made durable: enough has been acknowledged since the last one, `hold_us` ago
  // or more. Noting it is the caller's, who says so by NoteDurable.
  [[nodiscard]] std::optional<PushPosition> Durable(int64_t now_us, int64_t hold_us) const;
  void NoteDurable();
  [[nodiscard]] const DrainItem& item() const { return item_; }
  [[nodiscard]] uint64_t version_count() const { return source_.version_count; }
  [[nodiscard]] const PushPosition& acknowledged() const { return acked_; }

 private:
  struct Flight {
    uint64_t ticket = 0;
    PushPosition next;
    uint64_t byte_count = 0;
    bool is_acked = false;
    bool is_lost = false;
  };
  [[nodiscard]] Flight* Find(uint64_t ticket);
  void MoveOn(int64_t now_us);
  void EndIfAnswered();
  void Restart(const PushPosition& from);

  const DrainItem item_;
  const SealSource source_;
  const uint64_t checkpoint_bytes_;
  std::unique_ptr<BatchStream> stream_;
  std::deque<Flight> flights_;  // in the order of their positions
  uint64_t orphans_ = 0;        // unanswered ones of before RewindToDurable
  uint64_t next_ticket_ = 1;
  uint64_t first_ticket_ = 1;  // those below are orphans
  bool is_lost_ = false;
  PushPosition acked_;
  uint64_t acked_bytes_ = 0;  // since the push began, repeats included
  PushPosition durable_;
  uint64_t durable_bytes_ = 0;  // acked_bytes_ at checkpoint_
  std::optional<PushCheckpoint> checkpoint_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SEAL_PUSH_H_
