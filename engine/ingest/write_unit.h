// WriteUnit: one caller's write on its way through the committer, and how it ended.
#ifndef CISTERN_ENGINE_INGEST_WRITE_UNIT_H_
#define CISTERN_ENGINE_INGEST_WRITE_UNIT_H_

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cistern/engine.h"
#include "cistern/row_batch.h"
#include "lib/base/memory_budget.h"
#include "lib/row/version_columns.h"
#include "storage/table_set.h"

namespace cistern {

// How a write ended. The producer owns it and reads it after done() is true; the committer touches
// it no more then.
class WriteOutcome {
 public:
  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
  void Complete(Status status, WriteResult result) {
    status_ = std::move(status);
    result_ = result;
    done_.store(true, std::memory_order_release);
  }
  // For a failure that was there before: nothing of it was written.
  void Refuse(Status status) {
    was_refused_ = true;
    Complete(std::move(status), {});
  }
  // REQUIRES: done().
  [[nodiscard]] bool was_refused() const { return was_refused_; }
  // REQUIRES: done(). Once: the status is moved from.
  [[nodiscard]] Result<WriteResult> Take() {
    if (!status_.ok()) return std::move(status_);
    return result_;
  }

 private:
  Status status_;
  WriteResult result_;
  bool was_refused_ = false;
  std::atomic<bool> done_{false};
};

// Rows of one batch, or deletes of one entity. Made by a producer, completed by the committer.
struct WriteUnit {
  struct BucketDelete {
    int64_t start_s = 0;
    uint32_t split = 0;
    RangeDelete range;  // write timestamp filled in by the committer
  };

  TablePtr table;
  const RowBatch* batch = nullptr;  // rows, or null
  std::string delete_entity;        // entity of `deletes`
  std::vector<BucketDelete> deletes;
  WriteOptions options;
  WriteOutcome* outcome = nullptr;  // outlives the unit
  bool is_submitted = false;        // it is a SubmittedUnit

  [[nodiscard]] uint64_t version_count() const {
    return (batch == nullptr ? 0 : batch->row_count()) + deletes.size();
  }
};

// A batch that nobody waits for: the unit owns its rows, and itself. Whoever completes it gives
// back all that it held, so that only the outcome is left.
struct SubmittedUnit : WriteUnit {
  SubmittedUnit() { is_submitted = true; }
  std::optional<RowBatch> rows;  // what `batch` is
  MemoryCharge queued;           // of what may be queued
  MemoryCharge charge;           // of the whole budget
};

// Tells the producer how the write ended. The unit is gone then: a submitted one was deleted, and
// one of a waiting producer is on its stack.
inline WriteOutcome* GiveBack(WriteUnit* unit) {
  WriteOutcome* const outcome = unit->outcome;
  if (unit->is_submitted) delete static_cast<SubmittedUnit*>(unit);
  return outcome;
}
inline void CompleteUnit(WriteUnit* unit, Status status, WriteResult result) {
  GiveBack(unit)->Complete(std::move(status), result);
}
inline void RefuseUnit(WriteUnit* unit, Status status) {
  GiveBack(unit)->Refuse(std::move(status));
}

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_WRITE_UNIT_H_
