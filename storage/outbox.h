// The outbox: seals that are to be replicated, beside the manifests in meta.
#ifndef CISTERN_STORAGE_OUTBOX_H_
#define CISTERN_STORAGE_OUTBOX_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cistern/result.h"
#include "storage/spill_set.h"

namespace cistern {

// One seal of one bucket. Its number stays when its window is merged into another.
struct SealName {
  BucketKey bucket;
  uint64_t seal = 0;
};

struct OutboxEntry : SealName {
  bool has_manifest = false;  // without, there is nothing to replicate
};

// Walks over the entries of one window that the view has, in the order of their seals. One
// thread.
class OutboxWalker {
 public:
  OutboxWalker(std::shared_ptr<const SpillView> view, uint64_t window_id);
  ~OutboxWalker();
  // The next entry; nothing at the end. kCorruption: one does not parse.
  [[nodiscard]] Result<std::optional<OutboxEntry>> Next();

 private:
  [[nodiscard]] Result<bool> HasManifest(const OutboxEntry& entry) const;

  const std::shared_ptr<const SpillView> view_;
  const uint64_t window_id_;
  const std::string prefix_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// Whether the window's outbox has the seal, of this bucket.
[[nodiscard]] Result<bool> IsInOutbox(const FamilyPtr& meta, uint64_t window_id,
                                      const SealName& name);

}  // namespace cistern

#endif  // CISTERN_STORAGE_OUTBOX_H_
