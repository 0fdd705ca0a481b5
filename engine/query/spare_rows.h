// SpareRows: memory of rows that scans have given out, for the next scans.
#ifndef CISTERN_ENGINE_QUERY_SPARE_ROWS_H_
#define CISTERN_ENGINE_QUERY_SPARE_ROWS_H_

#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

#include "lib/base/memory_budget.h"
#include "lib/row/version_columns.h"

namespace cistern {

// A small question costs more allocations than reads: what one was answered with serves the next.
// Kept memory, which gives way. Any number of threads; who would have to wait gets nothing.
class SpareRows {
 public:
  explicit SpareRows(MemoryBudget* budget)
      : kept_(budget, [this](size_t) { GiveWay(); }) {}

  // Some rows, of which nothing is said but that there is memory in them.
  [[nodiscard]] VersionColumns Take() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || count_ == 0) return {};
    kept_.Shrink(rows_[--count_].MemoryBytes());
    return std::exchange(rows_[count_], {});
  }
  // Unless they are large.
  void Give(VersionColumns rows) {
    const size_t bytes = rows.MemoryBytes();
    if (bytes == 0 || bytes > kBytesMax) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || count_ == rows_.size() || !kept_.TryGrow(bytes, 0)) return;
    rows_[count_++] = std::move(rows);
  }

 private:
  static constexpr size_t kBytesMax = 64 << 10;

  void GiveWay() {
    std::array<VersionColumns, kRowsMax> gone;
    const std::lock_guard lock(mutex_);
    while (count_ > 0) {
      kept_.Shrink(rows_[--count_].MemoryBytes());
      std::swap(gone[count_], rows_[count_]);
    }
  }

  static constexpr size_t kRowsMax = 4;
  std::mutex mutex_;
  std::array<VersionColumns, kRowsMax> rows_;
  size_t count_ = 0;
  KeptMemory kept_;  // goes first
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_SPARE_ROWS_H_
