#include "lib/base/memory_budget.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

namespace cistern {

bool MemoryBudget::TryCharge(size_t bytes) {
  size_t charged = charged_.load();
  do {
    if (bytes > limit_bytes_ || charged > limit_bytes_ - bytes) return false;
  } while (!charged_.compare_exchange_weak(charged, charged + bytes));
  NoteCharge();
  return true;
}

void MemoryBudget::Charge(size_t bytes) {
  charged_.fetch_add(bytes);
  NoteCharge();
}

void MemoryBudget::Release(size_t bytes) {
  const size_t before = charged_.fetch_sub(bytes);
  CISTERN_CHECK(before >= bytes);
}

void MemoryBudget::NoteCharge() {
  if (kept_.load() > 0 && used_bytes() > limit_bytes_) MakeKeptGiveWay();
  NotePeak();
}

// What is kept never is a reason to be beyond the limit.
void MemoryBudget::NotePeak() {
  const size_t used = std::max(charged_.load(), std::min(used_bytes(), limit_bytes_));
  size_t peak = peak_.load(std::memory_order_relaxed);
  while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
}

void MemoryBudget::MakeKeptGiveWay() {
  const std::lock_guard lock(keepers_mutex_);
  for (KeptMemory* const keeper : keepers_) {
    const size_t used = used_bytes();
    if (used <= limit_bytes_) return;
    keeper->give_way_(used - limit_bytes_);
  }
}

KeptMemory::KeptMemory(MemoryBudget* budget, std::function<void(size_t bytes)> give_way)
    : budget_(budget), give_way_(std::move(give_way)) {
  const std::lock_guard lock(budget_->keepers_mutex_);
  budget_->keepers_.push_back(this);
}

KeptMemory::~KeptMemory() {
  {
    const std::lock_guard lock(budget_->keepers_mutex_);
    std::erase(budget_->keepers_, this);
  }
  Shrink(bytes());
}

bool KeptMemory::TryGrow(size_t bytes, size_t spare_bytes) {
  if (budget_->free_bytes() < bytes + spare_bytes) return false;
  budget_->kept_.fetch_add(bytes);
  if (budget_->used_bytes() > budget_->limit_bytes_) {  // a charge came between
    budget_->kept_.fetch_sub(bytes);
    return false;
  }
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  budget_->NotePeak();
  return true;
}

void KeptMemory::Shrink(size_t bytes) {
  const size_t before = bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  CISTERN_CHECK(before >= bytes);
  budget_->kept_.fetch_sub(bytes);
}

}  // namespace cistern
