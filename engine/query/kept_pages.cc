#include "engine/query/kept_pages.h"

#include <utility>

namespace cistern {

// What can run out of memory comes first.
uint32_t KeptPages::Put(uint64_t seal, std::string_view page) {
  auto kept = std::make_shared<const std::string>(page);
  if (unused_.empty()) {
    slots_.emplace_back();
    unused_.reserve(slots_.capacity());
    unused_.push_back(static_cast<uint32_t>(slots_.size() - 1));
  }
  const uint32_t slot = unused_.back();
  unused_.pop_back();
  slots_[slot] = {seal, std::move(kept), false};
  bytes_ += BytesOf(page.size());
  return slot;
}

KeptPages::Page KeptPages::TakeOut() {
  if (bytes_ == 0) return nullptr;
  while (true) {
    if (next_ >= slots_.size()) next_ = 0;
    Slot& slot = slots_[next_++];
    if (slot.page == nullptr) continue;
    if (std::exchange(slot.was_asked, false)) continue;
    bytes_ -= BytesOf(slot.page->size());
    unused_.push_back(static_cast<uint32_t>(&slot - slots_.data()));
    slot.seal = 0;
    return std::exchange(slot.page, nullptr);
  }
}

}  // namespace cistern
