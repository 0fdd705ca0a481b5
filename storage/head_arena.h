// HeadArena: the memory of one head generation, given back whole.
#ifndef CISTERN_STORAGE_HEAD_ARENA_H_
#define CISTERN_STORAGE_HEAD_ARENA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/memory_budget.h"

namespace cistern {

// Blocks of 64 KiB, charged to the budget (may be null: charged to nobody). Nothing is
// destroyed before the arena is; what a growing array leaves behind is used again by the
// next one of its size. Not thread-safe.
class HeadArena {
 public:
  explicit HeadArena(MemoryBudget* budget) : charge_(budget) {}
  HeadArena(const HeadArena&) = delete;
  HeadArena& operator=(const HeadArena&) = delete;

  // Memory aligned to 8 bytes, with arbitrary content, for arrays that grow. Rounded up
  // to a size class; Allocate and Free are given the same `bytes`.
  [[nodiscard]] char* Allocate(size_t bytes);
  void Free(char* memory, size_t bytes);
  // The size that Allocate rounds up to: powers of two and the midpoints between.
  [[nodiscard]] static size_t ClassBytes(size_t bytes);

  // Exactly `bytes`, aligned to 8, never freed alone.
  [[nodiscard]] char* AllocateOnce(size_t bytes) { return Take(bytes, 8); }
  // A copy of `text` behind its u32 length, unaligned, never freed alone.
  [[nodiscard]] const char* CopyText(std::string_view text);

  // An object that needs no destructor.
  template <typename T, typename... Arguments>
  [[nodiscard]] T* New(Arguments&&... arguments) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
    return new (AllocateOnce(sizeof(T))) T(std::forward<Arguments>(arguments)...);
  }

  [[nodiscard]] size_t memory_bytes() const { return charged_bytes_; }

 private:
  static constexpr size_t kBlockBytes = 64 * 1024;
  static constexpr size_t kClassCount = 128;
  [[nodiscard]] static size_t ClassIndex(size_t bytes);
  [[nodiscard]] char* Take(size_t bytes, size_t alignment);
  [[nodiscard]] char* NewBlock(size_t bytes);

  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t charged_bytes_ = 0;
  char* next_ = nullptr;
  size_t left_ = 0;
  std::array<std::vector<char*>, kClassCount> free_;
  MemoryCharge charge_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_ARENA_H_
