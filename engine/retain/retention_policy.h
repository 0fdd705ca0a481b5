// When the buckets of a window go. Pure.
#ifndef CISTERN_ENGINE_RETAIN_RETENTION_POLICY_H_
#define CISTERN_ENGINE_RETAIN_RETENTION_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cistern/options.h"
#include "storage/seal_records.h"

namespace cistern {

// From when on nothing in the window is visible any more, nor ever will be again. Nothing: never,
// as it has rows without expiry, or deletes, which never expire.
[[nodiscard]] inline std::optional<int64_t> ExpiryOf(const WindowRecord& window) {
  if (window.endless_row_seals > 0 || window.delete_seals > 0) return std::nullopt;
  return int64_t{window.expiry_s_last};
}

// Whether that has come at `now_s`, a trusted time.
//
// Then the window may go as a whole, though an expired version still shadows older ones of
// its key. Those older ones can only be in the window itself: a bucket's seals are all in the
// one window of its time, each took everything of the bucket that was spilled before it (one
// that could not read all of it keeps the window: AwaitsFiles), and write timestamps rise from
// one version of a row to the next. Rows of the bucket that are still open, in the head, in a
// spill or in a frozen journal, came later and are newer than what there is of them in the window,
// however old their event times are; provisional ones are resolved to what lies above everything
// before them. They lose nothing, as what is expired hides as much as what is gone, and they begin
// a window of their own when they are sealed.
[[nodiscard]] inline bool HasExpired(const WindowRecord& window, int64_t now_s) {
  const std::optional<int64_t> end_s = ExpiryOf(window);
  return end_s && *end_s <= now_s;
}

struct RetentionLimits {
  int64_t keep_confirmed_s = 30 * 86400;
  int64_t keep_unconfirmed_s = 0;  // 0: for ever
  DiskShed disk_shed = DiskShed::kConfirmed;
};

// Every row of it is at the other end.
[[nodiscard]] inline bool IsConfirmed(const WindowRecord& window) {
  return window.seal_count > 0 && window.confirmed_count == window.seal_count;
}

// Until when its local retention keeps it. Nothing: for ever, as the window of all times, which has
// no end to count from.
[[nodiscard]] std::optional<int64_t> RetainedUntil(const WindowRecord& window,
                                                   const RetentionLimits& limits);

enum class WindowFate : uint8_t {
  kStays,
  kExpired,  // nothing in it is visible any more
  kOver,     // it is confirmed, and was kept as long as it should be
  kShed,     // it was kept long enough without being confirmed: its rows are given up
};

// Seconds since 1970. What upstream has confirmed ends by the time that is believed, other rows
// by the time that has certainly passed, as a clock that goes on being wrong is believed one
// day (engine/ingest/clock_guard.h).
struct RetentionTime {
  int64_t now_s = 0;
  int64_t certain_s = 0;  // never ahead of now_s
  bool settled = false;   // the clock is trusted and no rows wait for their time; else nothing ends

  // By which of them the window ends.
  [[nodiscard]] int64_t Of(const WindowRecord& window) const {
    return IsConfirmed(window) ? now_s : certain_s;
  }
};

// What becomes of the window by now. What has expired is no loss, so that comes first.
[[nodiscard]] WindowFate FateOf(const WindowRecord& window, const RetentionTime& time,
                                const RetentionLimits& limits);

// Which of the windows goes first when the disk budget leaves no room: the one that ends
// first among those that may, confirmed ones before others. So the window of all times, which
// may hold the newest rows, is the last of its kind. Nothing: none may.
[[nodiscard]] std::optional<size_t> NextToShed(std::span<const WindowRecord> windows,
                                               DiskShed disk_shed);

}  // namespace cistern

#endif  // CISTERN_ENGINE_RETAIN_RETENTION_POLICY_H_
