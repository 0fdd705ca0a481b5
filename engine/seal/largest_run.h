// LargestRun: how much of one bucket can only be sealed together. Pure.
#ifndef CISTERN_ENGINE_SEAL_LARGEST_RUN_H_
#define CISTERN_ENGINE_SEAL_LARGEST_RUN_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cistern {

// The largest run of segments (storage/segment_runs.h) that is spilled and not sealed, as far as it
// is known: by the last look at everything, and by the rotations since that began. An opening has
// not looked yet. Sizes are encoded bytes. One thread.
class LargestRun {
 public:
  void NoteRotation(uint64_t bucket_bytes_max) {
    known_bytes_ = std::max(known_bytes_, bucket_bytes_max);
    rotated_bytes_ = std::max(rotated_bytes_, bucket_bytes_max);
  }
  // A look at everything begins; one that had begun counts for nothing.
  void BeginLook() {
    seen_bytes_ = 0;
    rotated_bytes_ = 0;
  }
  // The same look begins again: what rotations have spilled since it began is still not in it.
  void LookAgain() { seen_bytes_ = 0; }
  void NoteSeen(uint64_t run_bytes) { seen_bytes_ = std::max(seen_bytes_, run_bytes); }
  // By the look under way.
  [[nodiscard]] uint64_t seen_bytes() const { return seen_bytes_; }
  void EndLook() {
    has_looked_ = true;
    known_bytes_ = std::max(seen_bytes_, rotated_bytes_);
  }
  // Nothing: no look has come to its end.
  [[nodiscard]] std::optional<uint64_t> bytes() const {
    return has_looked_ ? std::optional(std::max(known_bytes_, seen_bytes_)) : std::nullopt;
  }

 private:
  bool has_looked_ = false;
  uint64_t known_bytes_ = 0;
  uint64_t seen_bytes_ = 0;
  uint64_t rotated_bytes_ = 0;  // since the look began
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SEAL_LARGEST_RUN_H_
