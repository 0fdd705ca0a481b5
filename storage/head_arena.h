// HeadArena: the memory of one head generation, given back whole.
#ifndef CISTERN_STORAGE_HEAD_ARENA_H_
#define CISTERN_STORAGE_HEAD_ARENA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/base/memory_budget.h"

namespace cistern {

// Blocks of 64 KiB, charged to the budget. What a growing array leaves behind is used
// again by the next one of its size. Not thread-safe.
class HeadArena {
 public:
  explicit HeadArena(MemoryBudget* budget) : charge_(budget) {}
  HeadArena(const HeadArena&) = delete;
  HeadArena& operator=(const HeadArena&) = delete;

  // Memory aligned to 8 bytes, with arbitrary content. Capacities are rounded up to a
  // size class; Allocate and Free are given the same `bytes`.
  [[nodiscard]] char* Allocate(size_t bytes);
  void Free(char* memory, size_t bytes);
  // A copy of `text` behind its u32 length; never freed alone.
  [[nodiscard]] const char* CopyText(std::string_view text);

  [[nodiscard]] size_t memory_bytes() const { return charge_.bytes(); }

  // The size that a request is rounded up to: powers of two and the midpoints between.
  [[nodiscard]] static size_t ClassBytes(size_t bytes);

 private:
  static constexpr size_t kBlockBytes = 64 * 1024;
  static constexpr size_t kClassCount = 64;
  [[nodiscard]] static size_t ClassIndex(size_t bytes);
  [[nodiscard]] char* TakeFromBlock(size_t bytes);

  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t charged_bytes_ = 0;
  char* next_ = nullptr;
  size_t left_ = 0;
  std::array<std::vector<char*>, kClassCount> free_;
  MemoryCharge charge_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_ARENA_H_
