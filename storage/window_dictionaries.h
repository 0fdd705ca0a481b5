// Reading the trained dictionaries of a window.
#ifndef CISTERN_STORAGE_WINDOW_DICTIONARIES_H_
#define CISTERN_STORAGE_WINDOW_DICTIONARIES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cistern/result.h"
#include "lib/codec/zstd_dictionary.h"
#include "storage/spill_set.h"

namespace cistern {

// One copy as it is on the device. kCorruption names it.
[[nodiscard]] Result<std::shared_ptr<const ZstdDictionary>> ReadDictionaryCopy(
    const SegmentFamily& window, uint64_t number, uint8_t copy);
// The first copy that can be read. kCorruption tells why none can.
[[nodiscard]] Result<std::shared_ptr<const ZstdDictionary>> ReadDictionary(
    const SegmentFamily& window, uint64_t number);

// Those that pages of the window name, by way of the store's cache. Any number of threads.
class WindowDictionaries final : public DictionarySource {
 public:
  explicit WindowDictionaries(const SegmentFamily& window) : window_(window) {}
  // No other than these, whatever the cache has: for who checks.
  WindowDictionaries(const SegmentFamily& window, const std::vector<WindowDictionary>* known)
      : window_(window), known_(known) {}
  [[nodiscard]] Result<std::shared_ptr<const ZstdDictionary>> Find(
      uint64_t number) const override;

 private:
  const SegmentFamily& window_;  // outlives this, as the next does
  const std::vector<WindowDictionary>* const known_ = nullptr;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_WINDOW_DICTIONARIES_H_
