#include "lib/base/memory_budget.h"

#include "lib/base/check.h"

namespace cistern {

bool MemoryBudget::TryCharge(size_t bytes) {
  size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_bytes_ || used > limit_bytes_ - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  NotePeak(used + bytes);
  return true;
}

void MemoryBudget::Charge(size_t bytes) {
  NotePeak(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void MemoryBudget::Release(size_t bytes) {
  const size_t before = used_.fetch_sub(bytes, std::memory_order_relaxed);
  CISTERN_CHECK(before >= bytes);
}

void MemoryBudget::NotePeak(size_t used) {
  size_t peak = peak_.load(std::memory_order_relaxed);
  while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
}

}  // namespace cistern
