// RoomBackoff: how much room a work asks for that was given up for want of it.
#ifndef CISTERN_ENGINE_ROOM_BACKOFF_H_
#define CISTERN_ENGINE_ROOM_BACKOFF_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cistern {

// Others take room while a work writes, and what it has written by then was in vain. So the next
// one asks for twice the room, or waits for a day: what is written in vain is bounded by the
// disk, or by one work a day. One thread.
class RoomBackoff {
 public:
  // The room without which the work is not to begin, for one that needs `bytes`.
  [[nodiscard]] uint64_t Ask(uint64_t bytes, int64_t now_s) {
    if (given_up_ && now_s - given_up_->at_s < kPauseS) {
      bytes = std::max(bytes, 2 * given_up_->asked_bytes);
    }
    asked_bytes_ = bytes;
    return bytes;
  }
  // The work that asked last was given up.
  void NoteGivenUp(int64_t now_s) { given_up_ = GivenUp{now_s, asked_bytes_}; }
  // It came to its end.
  void NoteDone() { given_up_.reset(); }

 private:
  static constexpr int64_t kPauseS = 86'400;
  struct GivenUp {
    int64_t at_s = 0;
    uint64_t asked_bytes = 0;
  };
  uint64_t asked_bytes_ = 0;
  std::optional<GivenUp> given_up_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_ROOM_BACKOFF_H_
