// WriteUnit: one caller's write on its way through the committer.
#ifndef CISTERN_ENGINE_INGEST_WRITE_UNIT_H_
#define CISTERN_ENGINE_INGEST_WRITE_UNIT_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/engine.h"
#include "cistern/row_batch.h"
#include "lib/row/version_columns.h"
#include "storage/table_set.h"

namespace cistern {

// Rows of one batch, or deletes of one entity. Made by a producer, completed by the
// committer; the producer reads the outcome after done() is true.
struct WriteUnit {
  struct BucketDelete {
    int64_t start_s = 0;
    uint32_t split = 0;
    RangeDelete range;  // write timestamp filled in by the committer
  };

  TablePtr table;
  const RowBatch* batch = nullptr;  // rows, or null
  std::optional<RowBatch> owned;    // where `batch` points for submitted units
  std::string delete_entity;        // entity of `deletes`
  std::vector<BucketDelete> deletes;
  WriteOptions options;

  // --- outcome
  Status status;
  WriteResult result;

  [[nodiscard]] uint64_t version_count() const {
    return (batch == nullptr ? 0 : batch->row_count()) + deletes.size();
  }
  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
  void Complete(Status s, WriteResult r) {
    status = std::move(s);
    result = r;
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_{false};
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_WRITE_UNIT_H_
