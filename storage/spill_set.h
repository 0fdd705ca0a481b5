// SpillSet: the spill families, and which segments in them count.
#ifndef CISTERN_STORAGE_SPILL_SET_H_
#define CISTERN_STORAGE_SPILL_SET_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/keyspace.h"
#include "storage/meta_records.h"
#include "storage/store_db.h"

namespace cistern {

// One spill family as of some commit. Immutable: a commit makes a new one.
struct SpillFamily {
  uint64_t id = 0;
  FamilyPtr family;
  SpillRecord record;
};

// What a reader sees, whole, for as long as it holds it. Oldest family first.
struct SpillView {
  std::vector<std::shared_ptr<const SpillFamily>> families;
  uint64_t versions_superseded = 0;  // dropped by merges since the store was created
};

// Readers take views from any thread; one maintenance actor changes the set.
class SpillSet {
 public:
  [[nodiscard]] std::shared_ptr<const SpillView> view() const {
    const std::lock_guard lock(mutex_);
    return view_;
  }
  void Publish(std::shared_ptr<const SpillView> view) {
    const std::lock_guard lock(mutex_);
    view_ = std::move(view);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const SpillView> view_ = std::make_shared<SpillView>();
};

// --- when families roll; pure

struct SpillLimits {
  uint64_t base_bytes = 4 << 20;  // a family takes at least this before it rolls
  size_t family_count_max = 4;    // above it the oldest is rewritten into the newest
};
enum class SpillAction : uint8_t { kNone, kRoll, kRewriteOldest };

// What is due after a rotation, given the bytes of each family, oldest first. A family
// rolls at the larger of its base size and half of all spilled bytes, so that sizes
// grow geometrically and few families hold whatever stays open.
[[nodiscard]] SpillAction NextSpillAction(const std::vector<uint64_t>& family_bytes,
                                          const SpillLimits& limits);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SPILL_SET_H_
