// Rotation: writes a frozen head into segments and drops its journal, step by step.
#ifndef CISTERN_ENGINE_INGEST_ROTATION_H_
#define CISTERN_ENGINE_INGEST_ROTATION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/ingest/committer.h"
#include "engine/spilled_buckets.h"
#include "lib/row/shadowed_rows.h"
#include "storage/head_set.h"
#include "storage/spill_target.h"
#include "storage/spill_writer.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern {

// Versions that others of the same head shadow wholly are not written: of a file that is read in
// twice one version of each row is spilled, the later one.
//
// Pages first, outside the write-ahead log; then their flush; only then one small synced
// batch that makes them count; then the journal goes. A crash in between replays rows
// whose pages do not count.
//
// Belongs to the maintenance actor.
class Rotation {
 public:
  static constexpr uint64_t kHeadroomBytes = 2 << 20;  // besides the segments' own bytes

  Rotation(Store* store, HeadSet* heads, TableSet* tables, Committer* committer,
           SpillLimits spill_limits);

  // Does one bounded step. False when there is nothing to do. kNoSpace, with nothing
  // changed, when the device has no room to begin; any other error needs a reopen.
  [[nodiscard]] Result<bool> Step();
  // Writes `head`, which the caller owns alone, in one go: for replay. kNoSpace, with nothing
  // changed, when the device has no room for all of it, though the ballast be given up.
  [[nodiscard]] Status SpillWhole(const Head& head, const FrozenState& frozen);

  // What must be free on the device for the frozen generation, before it begins.
  [[nodiscard]] uint64_t headroom_bytes() const {
    return kHeadroomBytes + committer_->frozen_state().journal_bytes;
  }
  [[nodiscard]] bool idle() const { return phase_ == Phase::kIdle; }
  // What the rotations have spilled that committed since this was asked, as if it were the last
  // one's: an opening may have made several. Nothing: none has.
  [[nodiscard]] std::optional<SpilledBuckets> TakeSpilled() {
    return std::exchange(spilled_, std::nullopt);
  }
  [[nodiscard]] uint64_t rotations() const { return rotations_.load(); }
  [[nodiscard]] uint64_t spill_bytes() const { return spill_bytes_.load(); }
  // Versions that were not spilled, as a later one of the same head has each of their cells.
  [[nodiscard]] uint64_t versions_repeated() const { return versions_repeated_.load(); }

 private:
  enum class Phase : uint8_t { kIdle, kPages, kFlush, kCommit, kDropJournal, kFlushMeta };
  [[nodiscard]] Status Begin(const Head& head);
  [[nodiscard]] Status WritePages(const Head& head);
  [[nodiscard]] Status WriteBucket(const Head& head, const HeadBucket& bucket);
  [[nodiscard]] Result<std::shared_ptr<const SpillView>> Commit(const FrozenState& frozen);

  Store* const store_;
  HeadSet* const heads_;
  TableSet* const tables_;
  Committer* const committer_;
  const SpillLimits spill_limits_;

  Phase phase_ = Phase::kIdle;
  SpillTarget target_;
  uint64_t rotation_ = 0;
  std::optional<SpillWriter> writer_;
  std::vector<const HeadBucket*> buckets_;
  SpilledBuckets spilling_;                // of those that are written
  std::optional<SpilledBuckets> spilled_;  // TakeSpilled
  size_t next_bucket_ = 0;
  DroppedRows dropped_;  // of those that are written
  VersionColumns rows_;  // scratch: of a bucket, while pages are written
  std::atomic<uint64_t> rotations_{0};
  std::atomic<uint64_t> spill_bytes_{0};
  std::atomic<uint64_t> versions_repeated_{0};
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_ROTATION_H_
