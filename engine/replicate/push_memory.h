// PushMemory: what the replicator takes of the engine's memory budget.
//
// All that it holds is charged to the engine's budget. Beside that it has a share, so that a
// backlog leaves the rest to heads, seals and scans: what would pass the share waits, or fewer
// seals go side by side.
#ifndef CISTERN_ENGINE_REPLICATE_PUSH_MEMORY_H_
#define CISTERN_ENGINE_REPLICATE_PUSH_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "lib/base/memory_budget.h"

namespace cistern::replicate {

// One thread at a time. Held by every charge: one may outlive the replicator in a request.
class PushMemory {
 public:
  // Of the engine's budget.
  [[nodiscard]] static size_t ShareOf(size_t budget_bytes) {
    constexpr size_t kShareBytesMin = 1 << 20;
    return std::max(budget_bytes / 8, kShareBytesMin);
  }

  // `budget` outlives it.
  explicit PushMemory(MemoryBudget* budget)
      : budget_(budget),
        base_(budget),
        held_(budget),
        share_bytes_(ShareOf(budget->limit_bytes())) {}

  // What is there whatever is sent (connections, what is known of the outbox): beside the share.
  void SetBase(size_t bytes) { base_.Set(bytes); }
  // What is kept of seals until they are confirmed.
  void SetHeld(size_t bytes) { held_.Set(bytes); }

  [[nodiscard]] size_t base_bytes() const { return base_.bytes(); }
  // --- of the share
  [[nodiscard]] size_t share_bytes() const { return share_bytes_; }
  [[nodiscard]] size_t used_bytes() const { return held_.bytes() + page_bytes_ + flight_bytes_; }
  [[nodiscard]] bool is_full() const { return used_bytes() >= share_bytes_; }
  [[nodiscard]] bool HasRoomFor(size_t bytes) const {
    return !is_full() && bytes <= share_bytes_ - used_bytes();
  }

 private:
  friend class PushCharge;
  MemoryBudget* const budget_;
  MemoryCharge base_;
  MemoryCharge held_;
  const size_t share_bytes_;
  size_t page_bytes_ = 0;
  size_t flight_bytes_ = 0;
};

// A part of it, given back when it goes.
class PushCharge {
 public:
  enum class Kind : uint8_t {
    kPages,    // of a seal: those of one alone may pass the share, or huge ones would never go
    kFlights,  // batches on their way
  };
  PushCharge(std::shared_ptr<PushMemory> memory, Kind kind)
      : memory_(std::move(memory)), kind_(kind), whole_(memory_->budget_) {}
  PushCharge(const PushCharge&) = delete;
  PushCharge& operator=(const PushCharge&) = delete;
  ~PushCharge() { Set(0); }

  // Grows or shrinks to `bytes`; false, unchanged: neither share nor budget may be passed.
  [[nodiscard]] bool TrySet(size_t bytes) {
    const size_t others = memory_->used_bytes() - whole_.bytes();
    const bool is_alone = kind_ == Kind::kPages && memory_->page_bytes_ == whole_.bytes();
    const bool grows = bytes > whole_.bytes();
    if (grows && others + bytes > memory_->share_bytes_ && !is_alone) return false;
    const size_t before = whole_.bytes();
    if (!whole_.TrySet(bytes)) return false;
    Count(before);
    return true;
  }
  // The same in any case: for what exists already.
  void Set(size_t bytes) {
    const size_t before = whole_.bytes();
    whole_.Set(bytes);
    Count(before);
  }
  [[nodiscard]] size_t bytes() const { return whole_.bytes(); }

 private:
  void Count(size_t before) {
    size_t& sum = kind_ == Kind::kPages ? memory_->page_bytes_ : memory_->flight_bytes_;
    sum = sum - before + whole_.bytes();
  }

  const std::shared_ptr<PushMemory> memory_;
  const Kind kind_;
  MemoryCharge whole_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PUSH_MEMORY_H_
