// The outbox: seals that are to be replicated, beside the manifests in meta.
#ifndef CISTERN_STORAGE_OUTBOX_H_
#define CISTERN_STORAGE_OUTBOX_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/replication_options.h"
#include "cistern/result.h"
#include "storage/spill_set.h"

namespace cistern {

// One seal of one bucket. Its number stays when its window is merged into another.
struct SealName {
  BucketKey bucket;
  uint64_t seal = 0;
};

// One that upstream has, and how that was shown.
struct ProvenSeal {
  SealName name;
  ProofLevel proof = ProofLevel::kAck;
};

struct OutboxEntry : SealName {
  bool has_manifest = false;  // without, there is nothing to replicate
};

// Which entries of a window are walked over: those of seals from <= seal < below.
struct OutboxRange {
  uint64_t from = 0;
  uint64_t below = UINT64_MAX;
  bool descending = false;
};

// Walks over the entries of one window that the view has, in the order of their seals. One
// thread.
class OutboxWalker {
 public:
  OutboxWalker(std::shared_ptr<const SpillView> view, uint64_t window_id,
               const OutboxRange& range = {});
  ~OutboxWalker();
  // The next entry; nothing at the end. kCorruption: one does not parse; the next call goes on
  // behind it, unless is_over().
  [[nodiscard]] Result<std::optional<OutboxEntry>> Next();
  // Nothing follows: this is the end, or what follows cannot be read.
  [[nodiscard]] bool is_over() const;

 private:
  [[nodiscard]] Result<OutboxEntry> Parse(std::string_view key, std::string_view value) const;

  const std::shared_ptr<const SpillView> view_;
  const uint64_t window_id_;
  const bool descending_;
  const std::string first_key_;
  const std::string end_key_;  // behind the last
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// Answers which seals of buckets wait in the outbox. Holds one iterator over the manifests, made
// for the first question. One thread.
class WaitingSeals {
 public:
  explicit WaitingSeals(std::shared_ptr<const SpillView> view);
  ~WaitingSeals();
  struct Place {
    uint64_t window_id = 0;
    uint64_t seal = 0;
  };
  // The earliest seal of the bucket that waits; nothing: none does.
  [[nodiscard]] Result<std::optional<Place>> EarliestOf(const BucketKey& bucket);

 private:
  const std::shared_ptr<const SpillView> view_;
  std::unique_ptr<rocksdb::Iterator> manifests_;
};

// Whether the window's outbox has the seal, of this bucket.
[[nodiscard]] Result<bool> IsInOutbox(const FamilyPtr& meta, uint64_t window_id,
                                      const SealName& name);

// How many seals of the window wait, by its record.
[[nodiscard]] inline uint64_t WaitingCount(const WindowRecord& window) {
  return window.seal_count - std::min(window.confirmed_count, window.seal_count);
}

// What waits, by the records of the windows alone.
struct OutboxSummary {
  uint64_t seal_count = 0;
  uint64_t window_count = 0;  // with some of them
  // Where the oldest of those windows begins: no bucket that waits begins before, but for those in
  // the window of all times, which tells nothing. Seconds since 1970.
  std::optional<int64_t> oldest_start_s;
};
[[nodiscard]] OutboxSummary SummarizeOutbox(const SpillView& view);

}  // namespace cistern

#endif  // CISTERN_STORAGE_OUTBOX_H_
