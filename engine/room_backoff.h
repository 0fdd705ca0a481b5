// RoomBackoff: how much room a work asks for that was given up for want of it.
#ifndef CISTERN_ENGINE_ROOM_BACKOFF_H_
#define CISTERN_ENGINE_ROOM_BACKOFF_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cistern {

// Others take room while a work writes, and what it has written by then was in vain. So for a day
// the next ones ask for twice what they need, and for twice that when it happens again: what is
// written in vain is bounded by the disk. A small work is not kept from its own by a large one
// that was given up, nor by many small ones where the surplus has a bound. One thread.
class RoomBackoff {
 public:
  // A work asks for at most so much more than it needs, or for twice that where this is more.
  explicit RoomBackoff(uint64_t surplus_bytes_max = UINT64_MAX)
      : surplus_bytes_max_(surplus_bytes_max) {}

  // The room without which the work is not to begin, for one that needs `bytes`.
  [[nodiscard]] uint64_t Ask(uint64_t bytes, int64_t now_s) {
    // A clock that was set back does not make the day longer.
    const bool is_over = given_up_at_s_ && (now_s < *given_up_at_s_ ||
                                            now_s - *given_up_at_s_ >= kPauseS);
    if (is_over) NoteDone();
    const uint64_t surplus = (bytes << doublings_) - bytes;
    return bytes + std::min(surplus, std::max(bytes, surplus_bytes_max_));
  }
  // The work that asked last was given up.
  void NoteGivenUp(int64_t now_s) {
    given_up_at_s_ = now_s;
    doublings_ = std::min(doublings_ + 1, kDoublingsMax);
  }
  // It came to its end.
  void NoteDone() {
    given_up_at_s_.reset();
    doublings_ = 0;
  }

 private:
  static constexpr int64_t kPauseS = 86'400;
  static constexpr int kDoublingsMax = 10;
  const uint64_t surplus_bytes_max_;
  std::optional<int64_t> given_up_at_s_;
  int doublings_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_ROOM_BACKOFF_H_
