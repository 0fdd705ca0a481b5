// SalvageTarget: the store that a salvage makes.
#ifndef CISTERN_ENGINE_SALVAGE_TARGET_H_
#define CISTERN_ENGINE_SALVAGE_TARGET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "cistern/salvage.h"
#include "engine/ingest/write_clock.h"
#include "storage/bucket_merge.h"
#include "storage/spill_target.h"
#include "storage/spill_writer.h"
#include "storage/store.h"

namespace cistern {

// What upstream has comes first, as confirmed seals in windows like those of the source. All else
// follows, in rotations: of a bucket those are sealed that are older than its last seal. One
// thread.
class SalvageTarget {
 public:
  [[nodiscard]] Status Create(const std::string& directory, const SalvageOptions& options,
                              std::shared_ptr<rocksdb::FileSystem> fs);
  [[nodiscard]] Status AddTable(const Table& table);

  // Begins a window with the span of the source's. It is made with its first seal.
  void BeginWindow(const WindowRecord& source);
  // The segments, of one bucket, as one seal of the window that upstream has. Tells how many
  // versions it got.
  [[nodiscard]] Result<uint64_t> AddConfirmed(TablePtr table, const BucketKey& key,
                                              std::vector<SegmentRef> segments,
                                              std::shared_ptr<const BootBases> bases,
                                              ProofLevel proof, OnDamagedPage on_damage);
  [[nodiscard]] Status EndWindow() { return EndRound(); }

  // All rows of the merge as one segment that is open; tells how many versions it got. None: no
  // segment. REQUIRES: no window is begun after it.
  [[nodiscard]] Result<uint64_t> AddBucket(BucketMerge* merge);
  // Makes everything durable. `source` issued the newest write timestamp.
  [[nodiscard]] Status Finish(const WriteClock& source);

 private:
  [[nodiscard]] Status BeginRound();
  [[nodiscard]] Status EndRound();
  [[nodiscard]] Status Confirm();
  [[nodiscard]] Status BeginRotation();
  [[nodiscard]] Status EndRotation();

  std::unique_ptr<Store> store_;
  StateRecord state_;
  uint64_t rotation_ = 0;              // or the round
  std::optional<SpillWriter> writer_;  // of it
  SpillTarget target_;                 // of the rotation
  SealCommit round_;
  std::vector<ProvenSeal> proven_;     // of the round
  int64_t confirmed_us_ = 0;           // of the window
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SALVAGE_TARGET_H_
