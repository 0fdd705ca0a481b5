// SpillSet: the families that hold segments, and which segments in them count.
#ifndef CISTERN_STORAGE_SPILL_SET_H_
#define CISTERN_STORAGE_SPILL_SET_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/family_kind.h"
#include "storage/keyspace.h"
#include "storage/meta_records.h"
#include "storage/seal_records.h"
#include "storage/store_db.h"

namespace cistern {

// A family of segments.
struct SegmentFamily {
  FamilyKind kind = FamilyKind::kSpill;  // or kWindow
  uint64_t id = 0;
  FamilyPtr family;
  [[nodiscard]] std::string Name() const;  // "spill family 17", for messages
};

// One spill family as of some commit. Immutable: a commit makes a new one.
struct SpillFamily : SegmentFamily {
  SpillFamily(uint64_t number, FamilyPtr handle, SpillRecord as_of)
      : SegmentFamily{FamilyKind::kSpill, number, std::move(handle)}, record(std::move(as_of)) {}
  SpillRecord record;
};

// One window as of some seal round. Immutable. Which segments in it count is told by the
// manifests in meta.
struct WindowFamily : SegmentFamily {
  WindowFamily(uint64_t number, FamilyPtr handle, const WindowRecord& as_of)
      : SegmentFamily{FamilyKind::kWindow, number, std::move(handle)}, record(as_of) {}
  WindowRecord record;
};

// A window whose buckets are gone, while a spill family may still hold rows that were
// sealed in it: its manifests tell that they are not open.
struct EndedWindow {
  uint64_t id = 0;
  WindowSpan span;
};

// What a reader sees, whole, for as long as it holds it. Oldest family first.
struct SpillView {
  std::vector<std::shared_ptr<const SpillFamily>> families;
  std::vector<std::shared_ptr<const WindowFamily>> windows;  // by number
  std::vector<EndedWindow> ended;    // by number
  std::vector<uint64_t> set_aside;   // spill families whose records are damaged; never changes
  FamilyPtr meta;                    // where the manifests are
  // Of the last seal round that the view has: manifests of later ones do not count. A seal
  // that commits while a reader walks would else take segments away from it. (A snapshot of
  // RocksDB would do as well, but releasing one makes 7.8 rewrite files of every family.)
  uint64_t round_last = 0;
  // Since the store was created:
  uint64_t versions_superseded = 0;  // dropped by merges
  uint64_t versions_expired = 0;     // went with the end of their window
  uint64_t versions_shed = 0;        // given up before their time
  // In seals that upstream has refused, by window.
  std::map<uint64_t, uint64_t> versions_parked;
};

// Whether files may come back that the window awaits (WindowRecord::awaited).
[[nodiscard]] bool AwaitsFiles(const SpillView& view, const WindowRecord& window);

// Readers take views from any thread; one maintenance actor changes the set.
class SpillSet {
 public:
  [[nodiscard]] std::shared_ptr<const SpillView> view() const {
    const std::lock_guard lock(mutex_);
    return view_;
  }
  void Publish(std::shared_ptr<const SpillView> view) {
    const std::lock_guard lock(mutex_);
    std::erase_if(former_, [](const auto& former) { return former.second.expired(); });
    former_.emplace_back(number_++, view_);
    view_ = std::move(view);
  }

  // Views are numbered as they are published. Of the one in force:
  [[nodiscard]] uint64_t number() const {
    const std::lock_guard lock(mutex_);
    return number_;
  }
  // Whether somebody still holds one that was published before that of the number.
  [[nodiscard]] bool HoldsBefore(uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(former_.begin(), former_.end(), [number](const auto& former) {
      return former.first < number && !former.second.expired();
    });
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const SpillView> view_ = std::make_shared<SpillView>();
  uint64_t number_ = 0;
  std::vector<std::pair<uint64_t, std::weak_ptr<const SpillView>>> former_;  // that were held
};

// --- when families roll and are rewritten; pure

// Rotations write into the newest family of tier 0. When its rotations are many and small
// it rolls, and is rewritten as one rotation of a family of tier 1; that one, when it has
// gathered many small ones in its turn, as one of tier 2. So files stay few however often
// heads rotate, and a row is rewritten once for each tier: as often as the logarithm of
// the number of rotations.
struct SpillLimits {
  uint64_t base_bytes = 4 << 20;    // a family takes at least this before it rolls by size
  size_t family_count_max = 4;      // rolled families; then the oldest is rewritten
  size_t rotation_count_max = 32;   // in a family, as long as they are small
  uint64_t small_rotation_bytes = 64 << 10;  // an average below this is small
};

// What the policy knows of a family.
struct SpillStats {
  uint8_t tier = 0;
  uint64_t byte_count = 0;
  uint64_t rotation_count = 0;
  bool damaged = false;  // it cannot be rewritten: for the policy it is not there
};

[[nodiscard]] std::vector<SpillStats> StatsOf(const SpillView& view);

// The family, of those given oldest first, that a rotation writes into; nothing: a new one
// of tier 0. A family rolls by size at the larger of its base size and half of all
// spilled bytes, so that sizes grow geometrically and few families hold whatever stays
// open; and by count as said above.
[[nodiscard]] std::optional<size_t> RotationTarget(std::span<const SpillStats> families,
                                                   const SpillLimits& limits);

// One family rewritten into another, and dropped.
struct SpillRewrite {
  size_t source = 0;
  std::optional<size_t> target;  // nothing: a new one of `tier`
  uint8_t tier = 0;              // of the target
  bool gathers = false;  // many small rotations: at most 2 MiB by the limits' defaults
};
// What is due. The source is never the family that rotations write into.
[[nodiscard]] std::optional<SpillRewrite> NextRewrite(std::span<const SpillStats> families,
                                                      const SpillLimits& limits);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SPILL_SET_H_
