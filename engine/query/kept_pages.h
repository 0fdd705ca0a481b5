// KeptPages: pages that were asked for lately.
#ifndef CISTERN_ENGINE_QUERY_KEPT_PAGES_H_
#define CISTERN_ENGINE_QUERY_KEPT_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cistern {

// Each has a slot, so that who knows it needs no look into a map. Slots are passed in turn when
// there has to be room: a page that was asked for since the last turn stays, others go. One thread.
class KeptPages {
 public:
  using Page = std::shared_ptr<const std::string>;
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  // What a page takes.
  [[nodiscard]] static size_t BytesOf(size_t page_size) { return kEntryBytes + page_size; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

  // The page of the seal, if the slot has it still; null otherwise.
  [[nodiscard]] Page Find(uint32_t slot, uint64_t seal) {
    if (slot >= slots_.size() || slots_[slot].seal != seal) return nullptr;
    slots_[slot].was_asked = true;
    Prefetch(*slots_[slot].page);
    return slots_[slot].page;
  }
  // Where it is from now on.
  [[nodiscard]] uint32_t Put(uint64_t seal, std::string_view page);
  // The next that goes; null: there are none.
  [[nodiscard]] Page TakeOut();

 private:
  static constexpr size_t kEntryBytes = 128;  // beside the bytes of a page: about

  // What is asked for is read soon, and was not in the caches if there are many.
  static void Prefetch(const std::string& page) {
    constexpr size_t kLineBytes = 64;
    constexpr size_t kAheadBytes = 1024;
    for (size_t at = 0; at < page.size() && at < kAheadBytes; at += kLineBytes) {
      __builtin_prefetch(page.data() + at);
    }
  }

  struct Slot {
    uint64_t seal = 0;
    Page page;
    bool was_asked = false;
  };
  std::vector<Slot> slots_;
  std::vector<uint32_t> unused_;  // slots without a page; has room for all
  size_t next_ = 0;
  size_t bytes_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_KEPT_PAGES_H_
