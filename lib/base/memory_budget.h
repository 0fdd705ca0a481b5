// MemoryBudget: the one number that every allocation of size is charged to.
#ifndef CISTERN_BASE_MEMORY_BUDGET_H_
#define CISTERN_BASE_MEMORY_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <utility>

namespace cistern {

// Thread-safe. Charges are bytes of heap, estimated by who holds them.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // Charges unless the limit would be passed; false then, and nothing is charged.
  [[nodiscard]] bool TryCharge(size_t bytes);
  // Charges in any case: for what already exists and must be told.
  void Charge(size_t bytes);
  void Release(size_t bytes);

  [[nodiscard]] size_t limit_bytes() const { return limit_bytes_; }
  [[nodiscard]] size_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  [[nodiscard]] size_t left_bytes() const {
    const size_t used = used_bytes();
    return used < limit_bytes_ ? limit_bytes_ - used : 0;
  }
  [[nodiscard]] size_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }

 private:
  void NotePeak(size_t used);
  const size_t limit_bytes_;
  std::atomic<size_t> used_{0};
  std::atomic<size_t> peak_{0};
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

}  // namespace cistern

#endif  // CISTERN_BASE_MEMORY_BUDGET_H_
