// MemoryBudget: the one number that every allocation of size is charged to.
#ifndef CISTERN_BASE_MEMORY_BUDGET_H_
#define CISTERN_BASE_MEMORY_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace cistern {

class KeptMemory;

// Thread-safe. Charges are bytes of heap, estimated by who holds them. What is kept because there
// is room for it (KeptMemory) is no hindrance to a charge: it gives way.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // Charges unless the limit would be passed; false then, and nothing is charged.
  [[nodiscard]] bool TryCharge(size_t bytes);
  // Charges in any case: for what already exists and must be told.
  void Charge(size_t bytes);
  void Release(size_t bytes);

  [[nodiscard]] size_t limit_bytes() const { return limit_bytes_; }
  // What is charged and what is kept.
  [[nodiscard]] size_t used_bytes() const { return charged_.load() + kept_.load(); }
  // What may be charged still.
  [[nodiscard]] size_t left_bytes() const { return Below(charged_.load()); }
  // What neither is charged nor kept.
  [[nodiscard]] size_t free_bytes() const { return Below(used_bytes()); }
  [[nodiscard]] size_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }

 private:
  friend class KeptMemory;
  [[nodiscard]] size_t Below(size_t bytes) const {
    return bytes < limit_bytes_ ? limit_bytes_ - bytes : 0;
  }
  void NoteCharge();
  void NotePeak();
  void MakeKeptGiveWay();

  const size_t limit_bytes_;
  // In one order for all threads: of a charge and of something that is kept, each at the cost of
  // the limit, one sees the other.
  std::atomic<size_t> charged_{0};
  std::atomic<size_t> kept_{0};
  std::atomic<size_t> peak_{0};
  std::mutex keepers_mutex_;
  std::vector<KeptMemory*> keepers_;
};

// A charge that is released when it goes out of scope. One thread at a time.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  explicit MemoryCharge(MemoryBudget* budget) : budget_(budget) {}
  MemoryCharge(MemoryCharge&& other) noexcept { *this = std::move(other); }
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryCharge() { Set(0); }
  // Changes the charge to `bytes`, in any case.
  void Set(size_t bytes) {
    if (budget_ == nullptr || bytes == bytes_) return;
    if (bytes > bytes_) budget_->Charge(bytes - bytes_);
    else budget_->Release(bytes_ - bytes);
    bytes_ = bytes;
  }
  // Grows or shrinks to `bytes`; false, unchanged, if growing would pass the limit.
  [[nodiscard]] bool TrySet(size_t bytes) {
    if (budget_ != nullptr && bytes > bytes_ && !budget_->TryCharge(bytes - bytes_)) return false;
    if (budget_ != nullptr && bytes < bytes_) budget_->Release(bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;
  size_t bytes_ = 0;
};

// Memory that is held as long as nobody needs it for something else. One thread at a time, but for
// what it calls.
class KeptMemory {
 public:
  // `give_way` is asked to free so many bytes, or all there are, and tells that by Shrink(), before
  // it returns. It is called by any thread, behind whatever locks that one has: it must not throw,
  // charge, or wait for anything but a lock of its own behind which nothing is charged.
  KeptMemory(MemoryBudget* budget, std::function<void(size_t bytes)> give_way);
  // Nobody calls `give_way` any more.
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  // Holds `bytes` more; false, unchanged, if less than `spare_bytes` would be free then.
  [[nodiscard]] bool TryGrow(size_t bytes, size_t spare_bytes);
  void Shrink(size_t bytes);
  [[nodiscard]] size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  friend class MemoryBudget;
  MemoryBudget* const budget_;
  const std::function<void(size_t bytes)> give_way_;
  std::atomic<size_t> bytes_{0};
};

}  // namespace cistern

#endif  // CISTERN_BASE_MEMORY_BUDGET_H_
