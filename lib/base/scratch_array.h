// ScratchArray: a few numbers on the stack, or many on the heap, not initialised.
#ifndef CISTERN_BASE_SCRATCH_ARRAY_H_
#define CISTERN_BASE_SCRATCH_ARRAY_H_

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace cistern {

// For what is written before it is read, of a size that is nearly always below `kInline`: who
// decodes small runs pays no allocation for each.
template <typename T, size_t kInline>
class ScratchArray {
  static_assert(std::is_trivially_default_constructible_v<T>);

 public:
  explicit ScratchArray(size_t size) : size_(size) {
    if (size > kInline) heap_ = std::make_unique_for_overwrite<T[]>(size);
  }
  ScratchArray(const ScratchArray&) = delete;
  ScratchArray& operator=(const ScratchArray&) = delete;

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] std::span<T> all() { return {heap_ ? heap_.get() : inline_, size_}; }
  [[nodiscard]] T& operator[](size_t i) { return all()[i]; }

 private:
  const size_t size_;
  std::unique_ptr<T[]> heap_;
  T inline_[kInline];
};

}  // namespace cistern

#endif  // CISTERN_BASE_SCRATCH_ARRAY_H_
