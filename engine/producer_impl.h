// ProducerImpl: checks batches and takes them to the committer.
#ifndef CISTERN_ENGINE_PRODUCER_IMPL_H_
#define CISTERN_ENGINE_PRODUCER_IMPL_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "cistern/engine.h"
#include "engine/engine_core.h"
#include "engine/ingest/ingest_queue.h"

namespace cistern {

class EngineImpl;

inline constexpr int kAppendTriesMax = 2;  // of a batch that found the store failed on its way

class ProducerImpl final : public Producer {
 public:
  // kMany: Append and PushAndCommit may be called by several threads at once.
  enum class Callers : uint8_t { kOne, kMany };
  ProducerImpl(EngineImpl* engine, std::shared_ptr<IngestQueue> queue, Callers callers);
  ~ProducerImpl() override;

  [[nodiscard]] Result<WriteResult> Append(const RowBatch& batch,
                                           const WriteOptions& options) override;
  [[nodiscard]] Result<Ticket> Submit(RowBatch&& batch, const WriteOptions& options) override;
  [[nodiscard]] Result<Ticket> Submit(const RowBatch& batch, const WriteOptions& options) override;
  [[nodiscard]] Result<WriteResult> Wait(Ticket ticket) override;

  // Appends to that core. `was_refused`: it had failed, nothing of the batch was written, and its
  // policy is to wait.
  [[nodiscard]] Result<WriteResult> TryAppend(EngineCore* core, const RowBatch& batch,
                                              const WriteOptions& options, bool* was_refused);
  // Queues and commits a unit that was checked against that core. Its outcome is what is returned;
  // `was_refused` as in TryAppend.
  [[nodiscard]] Result<WriteResult> PushAndCommit(EngineCore* core, WriteUnit* unit,
                                                  bool* was_refused);

 private:
  // A batch that was submitted, from its ticket on.
  struct Submitted {
    WriteOutcome outcome;
    bool asked = false;  // and told
  };
  [[nodiscard]] bool Push(WriteUnit* unit);
  void CommitUntilDone(const WriteOutcome& outcome) noexcept;
  // `movable`: `batch` itself, if its rows may be moved; else null, and they are copied.
  [[nodiscard]] Result<Ticket> Enqueue(const RowBatch& batch, RowBatch* movable,
                                       const WriteOptions& options);
  [[nodiscard]] Result<WriteResult> Outcome(Ticket ticket);
  [[nodiscard]] bool ChargeQueued(size_t bytes, SubmittedUnit* unit) const;
  void ForgetOldest();

  EngineImpl* const engine_;
  const std::shared_ptr<IngestQueue> queue_;
  const Callers callers_;
  std::mutex push_mutex_;  // where there are many
  uint64_t first_ticket_ = 1;  // of submitted_
  std::deque<Submitted> submitted_;
  MemoryCharge outcomes_charge_;
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
