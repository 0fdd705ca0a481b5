// Respill: rewrites one spill family into another, its small segments merged.
#ifndef CISTERN_ENGINE_INGEST_RESPILL_H_
#define CISTERN_ENGINE_INGEST_RESPILL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/boot_table.h"
#include "storage/bucket_merge.h"
#include "storage/head_set.h"
#include "storage/segment_walker.h"
#include "storage/spill_writer.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern {

// What stragglers still have in the oldest family moves, so that families stay few
// whatever stays open, and many small rotations become one, so that files stay few however
// often heads rotate (storage/spill_set.h says when). Versions that are wholly shadowed go.
// The old family is dropped whole: superseded, not deleted. May pause between steps while a
// rotation runs.
//
// Belongs to the maintenance actor.
class Respill {
 public:
  Respill(Store* store, HeadSet* heads, TableSet* tables, BootTable* boots, SpillLimits limits)
      : store_(store), heads_(heads), tables_(tables), boots_(boots), limits_(limits) {}

  enum class Scope : uint8_t {
    kAll,
    kGather,  // many small rotations alone: a few MiB at most in all
    kDropSealed,  // families with sealed buckets alone, which are dropped as they stand
  };
  // Does one bounded step: a part of the family, flushed as an SST of its own. False when
  // nothing of the scope is due. Not while a rotation writes: two sequences in one SST
  // would overlap others. `may_begin`: provisional rows must not be rewritten before their
  // boot is resolved, so never while a boot record is damaged either. A damaged page ends
  // the rewriting, and leaves everything as it is.
  [[nodiscard]] Result<bool> Step(bool may_begin, Scope scope = Scope::kAll);

  // Nothing is being rewritten: buckets may be sealed.
  [[nodiscard]] bool idle() const { return phase_ == Phase::kIdle; }
  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_.load(); }
  // Repeats that were left out.
  [[nodiscard]] uint64_t versions_repeated() const { return versions_repeated_.load(); }

 private:
  enum class Phase : uint8_t { kIdle, kWrite, kCommit, kDrop };
  [[nodiscard]] Result<bool> Begin(Scope scope);
  [[nodiscard]] Result<bool> SupersedeSealed(const SpillView& view);
  [[nodiscard]] Status WritePart();
  [[nodiscard]] Result<bool> NextBucket();
  void NextRuns();
  void BeginSegment();
  [[nodiscard]] Status EndSegment();
  [[nodiscard]] Status MergeRows();
  [[nodiscard]] Status CheckAllRead() const;
  void GiveUp(const Status& why);
  [[nodiscard]] Status Commit();

  Store* const store_;
  HeadSet* const heads_;
  TableSet* const tables_;
  BootTable* const boots_;
  const SpillLimits limits_;

  Phase phase_ = Phase::kIdle;
  std::shared_ptr<const SpillView> source_;  // one family
  bool gathers_ = false;
  uint64_t target_id_ = 0;
  uint8_t target_tier_ = 0;
  FamilyPtr target_;
  std::optional<SegmentWalker> walker_;
  std::optional<SegmentWalker::Item> ahead_;  // first segment of the next bucket
  uint64_t versions_read_ = 0;
  std::set<uint64_t> damaged_;  // families: not again in this opening

  // What the parts hold that are flushed and not yet committed.
  std::vector<uint64_t> rotations_;
  uint64_t version_count_ = 0;
  uint64_t byte_count_ = 0;
  uint64_t repeats_ = 0;  // left out of them
  std::optional<SpillWriter> writer_;  // of the part being written

  // The bucket being merged; it may go on in the next part as another segment. What is left of it,
  // the oldest runs last, begins a part each time: a seal takes all of a part's or nothing.
  BucketKey bucket_;
  std::vector<std::vector<SegmentRef>> runs_left_;
  std::optional<BucketMerge> merge_;
  std::vector<RangeDelete> deletes_;  // not yet written

  std::atomic<uint64_t> bytes_written_{0};
  std::atomic<uint64_t> versions_repeated_{0};
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_RESPILL_H_
