#include "tests/support/tear.h"

#include <algorithm>
#include <array>

namespace cistern {

Tear::Tear(std::mt19937_64* random) : random_(random) {
  constexpr std::array<size_t, 4> kUnits = {1, 512, 512, 4096};
  unit_bytes_ = kUnits[RandomBelow(kUnits.size())];
  zeros_ = RandomBelow(4) != 0;
  kept_of_eight_ = 1 + RandomBelow(7);
}

size_t Tear::RandomBelow(size_t bound) {
  return static_cast<size_t>((*random_)() % std::max<size_t>(bound, 1));
}

std::string Tear::OfAppend(uint64_t durable_bytes, std::string_view pending) {
  if (unit_bytes_ == 1) return std::string(pending.substr(0, RandomBelow(pending.size() + 1)));
  std::string left(pending);
  size_t kept_end = 0;
  for (size_t at = 0; at < left.size();) {
    const size_t length =
        std::min<size_t>(unit_bytes_ - (durable_bytes + at) % unit_bytes_, left.size() - at);
    if (RandomBelow(8) < kept_of_eight_) {
      kept_end = at + length;
    } else {
      for (size_t i = at; i < at + length; ++i) {
        left[i] = zeros_ ? '\0' : static_cast<char>(RandomBelow(256));
      }
    }
    at += length;
  }
  // The size that is on the device may be any that the file had after its last kept unit.
  const size_t published = RandomBelow(2) == 0 ? kept_end : left.size();
  left.resize(published);
  return left;
}

std::vector<Tear::Part> Tear::OfPlaced(uint64_t offset, std::string_view bytes) {
  if (unit_bytes_ == 1) return {{offset, bytes.substr(0, RandomBelow(bytes.size() + 1))}};
  std::vector<Part> parts;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length =
        std::min<size_t>(unit_bytes_ - (offset + at) % unit_bytes_, bytes.size() - at);
    if (RandomBelow(8) < kept_of_eight_) parts.push_back({offset + at, bytes.substr(at, length)});
    at += length;
  }
  return parts;
}

}  // namespace cistern
