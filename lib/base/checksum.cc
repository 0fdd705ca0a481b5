#include "lib/base/checksum.h"

#define XXH_STATIC_LINKING_ONLY  // the state as a type, so that it is a member
#include <xxhash.h>

#include "lib/base/running_checksum.h"

namespace cistern {

uint64_t Checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

struct RunningChecksum::State {
  XXH3_state_t hash;
};

RunningChecksum::RunningChecksum() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->hash);
}

RunningChecksum::~RunningChecksum() = default;

void RunningChecksum::Add(std::string_view piece) {
  XXH3_64bits_update(&state_->hash, piece.data(), piece.size());
}

uint64_t RunningChecksum::value() const { return XXH3_64bits_digest(&state_->hash); }

}  // namespace cistern
