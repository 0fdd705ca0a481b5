#include "storage/head_arena.h"

#include <bit>
#include <cstring>

namespace cistern {

namespace {
constexpr size_t kSmallestBits = 5;  // classes begin at 32 bytes
}

size_t HeadArena::ClassIndex(size_t bytes) {
  if (bytes <= size_t{1} << kSmallestBits) return 0;
  const auto log = static_cast<size_t>(std::bit_width(bytes - 1));  // 2^(log-1) < bytes <= 2^log
  const size_t midpoint = (size_t{1} << (log - 1)) + (size_t{1} << (log - 2));
  return 2 * (log - kSmallestBits) - (bytes <= midpoint ? 1 : 0);
}

size_t HeadArena::ClassBytes(size_t bytes) {
  const size_t index = ClassIndex(bytes);
  const size_t log = kSmallestBits + (index + 1) / 2;
  if (index % 2 == 0) return size_t{1} << log;
  return (size_t{1} << (log - 1)) + (size_t{1} << (log - 2));
}

char* HeadArena::Allocate(size_t bytes) {
  std::vector<char*>& spare = free_[ClassIndex(bytes)];
  if (spare.empty()) return Take(ClassBytes(bytes), 8);
  char* memory = spare.back();
  spare.pop_back();
  return memory;
}

void HeadArena::Free(char* memory, size_t bytes) { free_[ClassIndex(bytes)].push_back(memory); }

char* HeadArena::NewBlock(size_t bytes) {
  // for_overwrite: pages that nobody wrote need no memory
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
  charged_bytes_ += bytes;
  charge_.Set(charged_bytes_);
  return blocks_.back().get();
}

char* HeadArena::Take(size_t bytes, size_t alignment) {
  size_t skip = (0 - reinterpret_cast<uintptr_t>(next_)) & (alignment - 1);
  if (bytes + skip > left_) {
    if (bytes > kBlockBytes / 4) return NewBlock(bytes);  // the current block goes on
    next_ = NewBlock(kBlockBytes);
    left_ = kBlockBytes;
    skip = 0;
  }
  char* memory = next_ + skip;
  next_ += skip + bytes;
  left_ -= skip + bytes;
  return memory;
}

const char* HeadArena::CopyText(std::string_view text) {
  char* memory = Take(sizeof(uint32_t) + text.size(), 1);
  const auto length = static_cast<uint32_t>(text.size());
  std::memcpy(memory, &length, sizeof(length));
  std::memcpy(memory + sizeof(length), text.data(), text.size());
  return memory;
}

}  // namespace cistern
