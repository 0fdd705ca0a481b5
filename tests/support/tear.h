// Tear: what a power cut leaves of bytes that were on their way to the device.
#ifndef CISTERN_TESTS_SUPPORT_TEAR_H_
#define CISTERN_TESTS_SUPPORT_TEAR_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace cistern {

// A device and its kernel write units: sectors of 512 bytes, or pages of 4 KiB. A cut loses any
// subset of the units that were not synced, in no order. One Tear is one cut; all its files are
// torn in the same way.
class Tear {
 public:
  explicit Tear(std::mt19937_64* random);

  // What follows the first `durable_bytes` of a file after the cut, if `pending` was appended and
  // not synced. A lost unit holds zeros, or bytes that were on the device before; the file may
  // end anywhere behind the last unit that was kept, as its size is published by itself.
  [[nodiscard]] std::string OfAppend(uint64_t durable_bytes, std::string_view pending);

  // The parts of a write in place that reached the device.
  struct Part {
    uint64_t offset = 0;
    std::string_view bytes;
  };
  [[nodiscard]] std::vector<Part> OfPlaced(uint64_t offset, std::string_view bytes);

 private:
  size_t RandomBelow(size_t bound);

  std::mt19937_64* const random_;
  size_t unit_bytes_;     // 1: the bytes arrive in order, up to any of them
  bool zeros_;            // what a lost unit holds
  size_t kept_of_eight_;  // how many units are kept, about
};

}  // namespace cistern

#endif  // CISTERN_TESTS_SUPPORT_TEAR_H_
