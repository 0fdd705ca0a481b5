// ProducerImpl: checks batches and takes them to the committer.
#ifndef CISTERN_ENGINE_PRODUCER_IMPL_H_
#define CISTERN_ENGINE_PRODUCER_IMPL_H_

#include <cstdint>
#include <map>
#include <memory>

#include "cistern/engine.h"
#include "engine/engine_core.h"
#include "engine/ingest/ingest_queue.h"

namespace cistern {

class EngineImpl;

class ProducerImpl final : public Producer {
 public:
  ProducerImpl(EngineImpl* engine, std::shared_ptr<IngestQueue> queue)
      : engine_(engine), queue_(std::move(queue)) {}
  ~ProducerImpl() override;

  [[nodiscard]] Result<WriteResult> Append(const RowBatch& batch,
                                           const WriteOptions& options) override;
  [[nodiscard]] Result<Ticket> Submit(RowBatch batch, const WriteOptions& options) override;
  [[nodiscard]] Result<WriteResult> Wait(Ticket ticket) override;

  // Queues and commits a unit that was checked.
  [[nodiscard]] Result<WriteResult> PushAndCommit(WriteUnit* unit);

 private:
  [[nodiscard]] Result<WriteResult> Commit(WriteUnit* unit);
  struct Submitted {
    std::unique_ptr<WriteUnit> unit;
    MemoryCharge charge;
  };
  void ForgetOldest();

  EngineImpl* const engine_;
  const std::shared_ptr<IngestQueue> queue_;
  uint64_t next_ticket_ = 1;
  std::map<uint64_t, Submitted> submitted_;
};

// The last event time, in seconds since 1970, that a row may have now; INT64_MAX: any.
[[nodiscard]] int64_t LastTimeOfRows(const EngineOptions& options, const WriteClock& clock);
// Whether the engine can take the batch: its table, sizes and event times.
[[nodiscard]] Status CheckBatch(EngineCore& core, const EngineOptions& options, const Table& table,
                                const RowBatch& batch);

// kInvalidArgument: in a table with TimestampMode::kEventTime `what` was to be deleted.
[[nodiscard]] Status NothingIsDeleted(const TableSchema& schema, const std::string& what);

}  // namespace cistern

#endif  // CISTERN_ENGINE_PRODUCER_IMPL_H_
