// WindowCopy: everything that some windows hold, once more, in a new one.
#ifndef CISTERN_STORAGE_WINDOW_COPY_H_
#define CISTERN_STORAGE_WINDOW_COPY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cistern/result.h"
#include "storage/store.h"
#include "storage/unlogged_writer.h"
#include "storage/window_walk.h"

namespace cistern {

// Segments, manifests and outbox entries are copied byte for byte: a seal keeps its number, as
// a round writes into one window only. All of it passes the log by, and manifests of a window
// without a record count for nothing. A crash leaves them to the next opening.
//
// Belongs to the maintenance actor. No seal round meanwhile, nothing is confirmed, no window ends.
class WindowCopy {
 public:
  // `merge.sources` are windows of the view.
  WindowCopy(std::shared_ptr<const SpillView> view, WindowMerge merge);

  // --- in this order; Copy and ReadBack until they are false, one bounded step at a time.
  // kCorruption: something cannot be read, and stays where it is.
  [[nodiscard]] Result<bool> Copy();
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
  using Visitor = std::function<Status(const WindowWalk::Value&)>;
  [[nodiscard]] Result<bool> VisitSome(const Visitor& visit);
  [[nodiscard]] Status Put(const WindowWalk::Value& value);
  [[nodiscard]] Status Check(const WindowWalk::Value& value) const;
  [[nodiscard]] Status CheckSums() const;

  const FamilyPtr meta_;
  WindowMerge merge_;
  WindowWalk walk_;
  UnloggedWriter pages_;
  UnloggedWriter records_;
  uint64_t byte_count_ = 0;
  uint64_t record_bytes_ = 0;  // since records were flushed
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_WINDOW_COPY_H_
