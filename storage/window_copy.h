// WindowCopy: everything that some windows hold, once more, in a new one.
#ifndef CISTERN_STORAGE_WINDOW_COPY_H_
#define CISTERN_STORAGE_WINDOW_COPY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "storage/spill_set.h"
#include "storage/store.h"
#include "storage/unlogged_writer.h"

namespace cistern {

// Segments, manifests and outbox entries are copied byte for byte: a seal keeps its number, as
// a round writes into one window only. All of it passes the log by, and manifests of a window
// without a record count for nothing. A crash leaves them to the next opening.
//
// Belongs to the maintenance actor. No seal round meanwhile, no window ends.
class WindowCopy {
 public:
  // `merge.sources` are windows of the view.
  WindowCopy(std::shared_ptr<const SpillView> view, WindowMerge merge);

  // --- in this order; each until it is false, one bounded step at a time.
  // kCorruption: something cannot be read, and stays where it is.
  [[nodiscard]] Result<bool> CopySegments();
  [[nodiscard]] Result<bool> CopyOutbox();
  [[nodiscard]] Status Flush();
  // Compares what the device gives back with what was meant.
  [[nodiscard]] Result<bool> ReadBack();

  // The sums of the copied manifests are in merge().sums.
  [[nodiscard]] const WindowMerge& merge() const { return merge_; }
  [[nodiscard]] uint64_t byte_count() const { return byte_count_; }
  // Of those, what is not on the device yet.
  [[nodiscard]] uint64_t unflushed_bytes() const {
    return pages_.unflushed_bytes() + records_.unflushed_bytes();
  }

 private:
  struct Seal {
    const WindowFamily* source = nullptr;
    std::string_view key;       // of its manifest
    std::string_view manifest;  // its bytes
  };
  using SealVisitor = std::function<Status(const Seal&)>;
  [[nodiscard]] Result<bool> VisitSeals(const SealVisitor& visit);
  [[nodiscard]] Status CopySeal(const Seal& seal);
  [[nodiscard]] Status CheckSeal(const Seal& seal);
  [[nodiscard]] Status CheckSums() const;
  [[nodiscard]] Status FlushRecordsIfMany(uint64_t bytes);

  const std::shared_ptr<const SpillView> view_;
  WindowMerge merge_;
  UnloggedWriter pages_;
  UnloggedWriter records_;
  size_t source_ = 0;     // where it stands: the window, and the last key that was done
  std::string last_key_;  // empty: none of it
  uint64_t byte_count_ = 0;
  uint64_t record_bytes_ = 0;  // since records were flushed
  uint64_t step_bytes_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_WINDOW_COPY_H_
