// WindowKeeper: ends windows whose time is over.
#ifndef CISTERN_ENGINE_RETAIN_WINDOW_KEEPER_H_
#define CISTERN_ENGINE_RETAIN_WINDOW_KEEPER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "cistern/engine.h"
#include "cistern/result.h"
#include "engine/retain/retention_policy.h"
#include "engine/retain/shed_pace.h"
#include "storage/head_set.h"
#include "storage/store.h"

namespace cistern {

// First one synced batch says that all buckets of a window are gone and counts them; then
// the column family is dropped, without a tombstone, and its files with the last reader;
// last, when no spill family needs them, its manifests leave meta by one range. A crash in
// between goes on where it stopped, and counts nothing twice.
//
// Belongs to the maintenance actor. Not during a seal round or while segments are being
// rewritten.
class WindowKeeper {
 public:
  WindowKeeper(Store* store, HeadSet* heads, RetentionLimits limits)
      : store_(store), heads_(heads), limits_(limits) {}

  // Of every window that there is; from any thread.
  [[nodiscard]] std::vector<WindowOutlook> Outlooks(const RetentionTime& time) const;
  // Does one bounded step; false: nothing is due. Windows are shed until rows would find
  // `room_bytes` (Committer::RoomSought).
  [[nodiscard]] Result<bool> Step(const RetentionTime& time, uint64_t room_bytes,
                                  int64_t monotonic_us);

  [[nodiscard]] const RetentionLimits& limits() const { return limits_; }
  [[nodiscard]] uint64_t windows_dropped() const { return windows_dropped_.load(); }
  // How many windows ended since the opening, and those after the first `count` of them; of very
  // many the last ones.
  [[nodiscard]] uint64_t ended_count() const { return ended_count_; }
  [[nodiscard]] std::vector<WindowEnd> EndedSince(uint64_t count) const;

 private:
  [[nodiscard]] Result<bool> EndOne(const RetentionTime& time);
  [[nodiscard]] Result<bool> ShedForRoom(const RetentionTime& time, uint64_t room_bytes,
                                         int64_t monotonic_us);
  [[nodiscard]] Result<bool> ShedNext(DiskShed shed, std::string_view why);
  [[nodiscard]] bool HasRoomToEnd();
  [[nodiscard]] Status End(const WindowFamily& window, WindowFate fate, std::string_view why);
  void Publish(std::shared_ptr<const SpillView> view);

  Store* const store_;
  HeadSet* const heads_;
  const RetentionLimits limits_;
  ShedPace pace_;
  std::atomic<uint64_t> windows_dropped_{0};
  uint64_t ended_count_ = 0;
  std::deque<WindowEnd> ended_;  // the last ones, the newest last
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_RETAIN_WINDOW_KEEPER_H_
