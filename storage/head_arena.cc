#include "storage/head_arena.h"

#include <bit>
#include <cstring>

namespace cistern {

namespace {
constexpr size_t kSmallestBytes = 32;
}

size_t HeadArena::ClassIndex(size_t bytes) {
  if (bytes <= kSmallestBytes) return 0;
  const auto log = static_cast<size_t>(std::bit_width(bytes - 1));  // 2^(log-1) < bytes <= 2^log
  const size_t midpoint = (size_t{3} << log) / 4;
  return 2 * (log - 5) - (bytes <= midpoint ? 1 : 0);
}

size_t HeadArena::ClassBytes(size_t bytes) {
  const size_t index = ClassIndex(bytes);
  const size_t log = 5 + (index + 1) / 2;
  return index % 2 == 1 ? (size_t{3} << log) / 4 : size_t{1} << log;
}

char* HeadArena::Allocate(size_t bytes) {
  std::vector<char*>& spare = free_[ClassIndex(bytes)];
  if (!spare.empty()) {
    char* memory = spare.back();
    spare.pop_back();
    return memory;
  }
  return TakeFromBlock(ClassBytes(bytes));
}

void HeadArena::Free(char* memory, size_t bytes) {
  free_[ClassIndex(bytes)].push_back(memory);
}

char* HeadArena::TakeFromBlock(size_t bytes) {
  bytes = (bytes + 7) & ~size_t{7};
  if (bytes > left_) {
    const size_t block_bytes = bytes > kBlockBytes / 4 ? bytes : kBlockBytes;
    // for_overwrite: pages that nobody wrote need no memory
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_bytes));
    charged_bytes_ += block_bytes;
    charge_.Set(charged_bytes_);
    if (block_bytes != kBlockBytes) return blocks_.back().get();
    next_ = blocks_.back().get();
    left_ = block_bytes;
  }
  char* memory = next_;
  next_ += bytes;
  left_ -= bytes;
  return memory;
}

const char* HeadArena::CopyText(std::string_view text) {
  char* memory = TakeFromBlock(sizeof(uint32_t) + text.size());
  const auto length = static_cast<uint32_t>(text.size());
  std::memcpy(memory, &length, sizeof(length));
  std::memcpy(memory + sizeof(length), text.data(), text.size());
  return memory;
}

}  // namespace cistern
