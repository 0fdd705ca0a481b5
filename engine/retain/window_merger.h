// WindowMerger: keeps the number of windows within its bound.
#ifndef CISTERN_ENGINE_RETAIN_WINDOW_MERGER_H_
#define CISTERN_ENGINE_RETAIN_WINDOW_MERGER_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>

#include "cistern/result.h"
#include "engine/room_backoff.h"
#include "storage/head_set.h"
#include "storage/store.h"
#include "storage/window_copy.h"

namespace cistern {

// When no family is left for another window, some neighbours become one (merge_policy.h):
// everything in them is copied into a new family and read back, one synced batch puts it in
// their place, and theirs are dropped as those of ended windows are. What cannot be read stays
// where it is, and its window is not looked at again in this opening, nor are its neighbours.
//
// A merge begins when the disk has room for all of the copy, and is given up when others take
// that room meanwhile.
//
// Belongs to the maintenance actor. Not during a seal round or while segments are being
// rewritten; while it is not idle no window ends.
class WindowMerger {
 public:
  WindowMerger(Store* store, HeadSet* heads, size_t window_count_max)
      : store_(store), heads_(heads), window_count_max_(window_count_max) {}

  [[nodiscard]] bool idle() const { return !copy_.has_value(); }
  // Does one bounded step; false: nothing is due, or there is no room for it. Errors leave the
  // store's state unknown.
  [[nodiscard]] Result<bool> Step(int64_t now_s);

  [[nodiscard]] uint64_t merges() const { return merges_.load(); }
  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_.load(); }

 private:
  enum class Phase : uint8_t { kCopy, kFlush, kReadBack, kCommit };
  [[nodiscard]] Result<bool> Begin(int64_t now_s);
  [[nodiscard]] Status HasRoomToGoOn() const;
  [[nodiscard]] Status GoOn();
  [[nodiscard]] Status Commit();
  [[nodiscard]] Status GiveUp(const Status& why);

  Store* const store_;
  HeadSet* const heads_;
  const size_t window_count_max_;
  std::optional<WindowCopy> copy_;
  Phase phase_ = Phase::kCopy;
  std::set<uint64_t> unreadable_;  // windows
  RoomBackoff room_;
  std::atomic<uint64_t> merges_{0};
  std::atomic<uint64_t> bytes_written_{0};
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_RETAIN_WINDOW_MERGER_H_
