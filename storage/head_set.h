// HeadSet: the head generations in memory, and the lock that makes a bucket's parts one view.
#ifndef CISTERN_STORAGE_HEAD_SET_H_
#define CISTERN_STORAGE_HEAD_SET_H_

#include <cstdint>
#include <memory>
#include <shared_mutex>

#include "storage/head.h"
#include "storage/row_signal.h"
#include "storage/work_signal.h"

namespace cistern {

// The committer changes `active` under the exclusive lock; readers hold the shared one.
// `frozen` is immutable while it is here: the rotation that writes it into segments
// reads it without the lock, and replaces it, with the published spill view, under the
// exclusive one. Every change of generation counts `epoch`: a reader that finds it
// changed begins anew behind the last row that it gave out.
struct HeadSet {
  mutable std::shared_mutex mutex;
  std::unique_ptr<Head> active;
  std::unique_ptr<Head> frozen;
  uint64_t epoch = 0;
  uint64_t versions_written = 0;  // of the store, with what is in `active`
  // Of the heads that were frozen since somebody who asks about a table had it forgotten.
  BucketStarts frozen_starts;
  std::shared_ptr<RowSignal> rows_came = std::make_shared<RowSignal>();  // the committer notifies
  std::shared_ptr<WorkSignal> work_came = std::make_shared<WorkSignal>();  // of maintenance

  // The frozen generation, or null. Only maintenance ends it, so it may use it freely.
  [[nodiscard]] const Head* frozen_head() const {
    const std::shared_lock lock(mutex);
    return frozen.get();
  }
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_SET_H_
