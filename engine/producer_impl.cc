#include "engine/producer_impl.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/bucketing/bucketer.h"
#include "engine/engine_impl.h"
#include "engine/ingest/row_placement.h"
#include "lib/base/check.h"
#include "lib/base/concat.h"
#include "lib/base/entered.h"

namespace cistern {

namespace {

constexpr int kBusyTriesMax = 1000;  // a full queue drains at once unless the store fails
constexpr size_t kRoomBytesKept = 4096;  // of a batch beside twice its rows
// What a submitted batch takes beside its rows: the unit, and what the allocator keeps of each of
// its six pieces.
constexpr size_t kUnitBytes = sizeof(SubmittedUnit) + 6 * 16;

Status FutureTime(const TableSchema& schema, int64_t ticks, int64_t seconds_ahead) {
  return Status::OutOfRange(Concat({"column '", schema.columns[schema.time_column()].name,
      "': event time ", ticks, " (", TimeUnitWord(schema.time_unit), " since 1970) is ",
      seconds_ahead, " s ahead of the clock; check its unit, or raise event_future_s_max"}));
}

// What a copy of the batch has at most.
size_t CopyBytesMax(const RowBatch& batch) {
  constexpr size_t kHeapRoomMin = 256;
  return batch.byte_count() + batch.row_count() * (sizeof(RowKind) + sizeof(uint32_t)) +
         kHeapRoomMin;
}

// No row of the batch is taken: which one is it?
Status InRow(const RowBatch& batch, size_t row, const Status& status) {
  if (batch.row_count() == 1) return status;
  return {status.code(), Concat({"row ", row, " of the batch: ", status.message()})};
}

// By event time a delete would hide whatever is written to the row afterwards.
Status CheckDeletesNothing(const TableSchema& schema, const RowBatch& batch) {
  for (size_t row = 0; row < batch.row_count(); ++row) {
    if (batch.kind(row) == RowKind::kDeleteRow) {
      return InRow(batch, row, NothingIsDeleted(schema, "a row"));
    }
    for (const size_t column : schema.regular_columns) {
      if (batch.state(row, column) != CellState::kNull) continue;
      return InRow(batch, row,
                   NothingIsDeleted(schema, Concat({"a cell of '", schema.columns[column].name,
                       "'"})));
    }
  }
  return Status::Ok();
}

}  // namespace

Status NothingIsDeleted(const TableSchema& schema, const std::string& what) {
  return Status::InvalidArgument(Concat({schema.QualifiedName(), " has the timestamps of its "
      "events, so ", what, " cannot be deleted: rows written later would not show"}));
}

int64_t LastTimeOfRows(const EngineOptions& options, const WriteClock& clock) {
  if (!clock.trusted()) return INT64_MAX;
  const int64_t now_s = clock.now_s();
  return options.event_future_s_max > INT64_MAX - now_s ? INT64_MAX
                                                        : now_s + options.event_future_s_max;
}

Status CheckBatch(EngineCore& core, const EngineOptions& options, const Table& table,
                  const RowBatch& batch) {
  const TableSchema& schema = *table.schema;
  const size_t bytes_max = limits::BatchBytesMax(options.memory_budget_bytes);
  if (batch.byte_count() > bytes_max || batch.row_count() > limits::kBatchRowsMax) {
    return Status::TooLarge(Concat({"a batch of ", batch.row_count(), " rows and ",
        batch.byte_count(), " bytes: at most ", limits::kBatchRowsMax, " rows and ", bytes_max,
        " bytes; split it"}));
  }
  if (schema.timestamps == TimestampMode::kEventTime) {
    CISTERN_RETURN_IF_ERROR(CheckDeletesNothing(schema, batch));
  }
  const Bucketer bucketer(schema);
  int64_t newest = INT64_MIN;
  size_t newest_row = 0;
  for (size_t row = 0; row < batch.row_count(); ++row) {
    const int64_t ticks = EventTimeOf(schema, batch, row);
    if (!bucketer.InRange(ticks)) return InRow(batch, row, EventTimeOutOfRange(schema, ticks));
    // What is deleted may have come when more was allowed.
    if (ticks > newest && batch.kind(row) != RowKind::kDeleteRow) {
      newest = ticks;
      newest_row = row;
    }
  }
  const int64_t last_s = LastTimeOfRows(options, core.clock());
  const int64_t newest_s = newest / TicksPerSecond(schema.time_unit);
  if (newest == INT64_MIN || newest_s <= last_s) return Status::Ok();
  const int64_t ahead_s = newest_s - last_s + options.event_future_s_max;
  return InRow(batch, newest_row, FutureTime(schema, newest, ahead_s));
}

ProducerImpl::ProducerImpl(EngineImpl* engine, std::shared_ptr<IngestQueue> queue, Callers callers)
    : engine_(engine),
      queue_(std::move(queue)),
      callers_(callers),
      outcomes_charge_(engine->budget()) {}

ProducerImpl::~ProducerImpl() {
  if (!engine_->keeper().home().is_here()) return;  // what is queued is the parent's
  // Outcomes outlive what they are of: commit what is still queued.
  for (const Submitted& submitted : submitted_) CommitUntilDone(submitted.outcome);
  engine_->keeper().RemoveQueue(queue_);
}

Result<WriteResult> ProducerImpl::Append(const RowBatch& batch, const WriteOptions& options) {
  return Entered([&]() -> Result<WriteResult> {
    bool was_refused = false;
    for (int tries = 1;; ++tries) {
      CISTERN_ASSIGN_OR_RETURN(const auto core, engine_->core_for(options));
      Result<WriteResult> result = TryAppend(core.get(), batch, options, &was_refused);
      if (!was_refused || tries == kAppendTriesMax) return result;
    }
  });
}

Result<WriteResult> ProducerImpl::TryAppend(EngineCore* core, const RowBatch& batch,
                                            const WriteOptions& options, bool* was_refused) {
  *was_refused = false;
  if (batch.empty()) return WriteResult{Durability::kSynced, core->committer().last_sequence()};
  WriteUnit unit;
  CISTERN_ASSIGN_OR_RETURN(unit.table, core->tables().FindBatch(batch));
  CISTERN_RETURN_IF_ERROR(CheckBatch(*core, engine_->options(), *unit.table, batch));
  unit.batch = &batch;
  unit.options = options;
  return PushAndCommit(core, &unit, was_refused);
}

// The queue takes one push at a time. What many share is their queue alone, so that they gather in
// it while one of them commits.
bool ProducerImpl::Push(WriteUnit* unit) {
  if (callers_ == Callers::kOne) return queue_->Push(unit);
  const std::lock_guard lock(push_mutex_);
  return queue_->Push(unit);
}

Result<WriteResult> ProducerImpl::PushAndCommit(EngineCore* core, WriteUnit* unit,
                                                bool* was_refused) {
  *was_refused = false;
  Committer& committer = core->committer();
  const bool may_wait = unit->options.back_pressure == BackPressure::kWait;
  if (!may_wait && !committer.HasRoom()) {
    CISTERN_RETURN_IF_ERROR(committer.AcceptsRows());  // a full disk is no matter of a pause
    return committer.RejectBusy();
  }
  WriteOutcome outcome;
  unit->outcome = &outcome;
  for (int tries = 0; !Push(unit); ++tries) {
    if (!may_wait || tries == kBusyTriesMax) return committer.RejectBusy();
    CISTERN_RETURN_IF_ERROR(core->maintenance().MakeRoom());
    (void)committer.CommitQueued();
  }
  CommitUntilDone(outcome);
  *was_refused = may_wait && outcome.was_refused();
  return outcome.Take();
}

// Never throws: what was queued refers to its outcome.
void ProducerImpl::CommitUntilDone(const WriteOutcome& outcome) noexcept {
  while (!outcome.done()) {
    const Result<std::shared_ptr<EngineCore>> core = engine_->core();
    if (core.ok()) {
      EngineCore& c = **core;
      c.committer().CommitUntilDone(outcome, [&c] { return c.maintenance().MakeRoom(); });
    } else {
      // The store was closed or could not be reopened: what was queued was never written.
      engine_->keeper().TakeBack(queue_.get());
    }
  }
}

Result<Ticket> ProducerImpl::Submit(RowBatch&& batch, const WriteOptions& options) {
  return Entered([&] { return Enqueue(batch, &batch, options); });
}

Result<Ticket> ProducerImpl::Submit(const RowBatch& batch, const WriteOptions& options) {
  return Entered([&] { return Enqueue(batch, nullptr, options); });
}

// Everything that can fail comes before the rows are moved.
Result<Ticket> ProducerImpl::Enqueue(const RowBatch& batch, RowBatch* movable,
                                     const WriteOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto core, engine_->writable_core());
  CISTERN_ASSIGN_OR_RETURN(TablePtr table, core->tables().FindBatch(batch));
  CISTERN_RETURN_IF_ERROR(CheckBatch(*core, engine_->options(), *table, batch));
  ForgetOldest();
  // Room for rows that are not there would be queued with those that are.
  const bool is_roomy = batch.MemoryBytes() > 2 * batch.byte_count() + kRoomBytesKept;
  const bool copies = movable == nullptr || is_roomy;
  const size_t bytes = kUnitBytes + (copies ? CopyBytesMax(batch) : batch.MemoryBytes());
  auto unit = std::make_unique<SubmittedUnit>();
  if (!ChargeQueued(bytes, unit.get()) || !queue_->HasRoom()) {
    return core->committer().RejectBusy();
  }
  if (copies) unit->rows.emplace(batch);
  unit->table = std::move(table);
  unit->options = options;
  unit->outcome = &submitted_.emplace_back().outcome;
  if (movable != nullptr) {
    RowBatch rows = std::move(*movable);
    if (!copies) unit->rows.emplace(std::move(rows));
  }
  unit->batch = &*unit->rows;
  const bool pushed = queue_->Push(unit.release());
  CISTERN_CHECK(pushed);  // there was room, and nobody else pushes
  outcomes_charge_.Set(submitted_.size() * sizeof(Submitted));
  engine_->WakeMaintenance();
  return Ticket{first_ticket_ + submitted_.size() - 1};
}

// Whether the queues and the budget have room for the unit.
bool ProducerImpl::ChargeQueued(size_t bytes, SubmittedUnit* unit) const {
  unit->queued = MemoryCharge(engine_->queued_budget());
  unit->charge = MemoryCharge(engine_->budget());
  if (!unit->queued.TrySet(bytes)) {
    if (engine_->queued_budget()->used_bytes() != 0) return false;
    unit->queued.Set(bytes);  // alone
  }
  return unit->charge.TrySet(bytes);
}

// Outcomes that nobody asked for do not pile up.
void ProducerImpl::ForgetOldest() {
  while (!submitted_.empty() && submitted_.front().outcome.done() &&
         (submitted_.front().asked || submitted_.size() >= limits::kOutcomesMax)) {
    submitted_.pop_front();
    ++first_ticket_;
  }
}

Result<WriteResult> ProducerImpl::Wait(Ticket ticket) {
  return Guarded([&] { return Outcome(ticket); });
}

Result<WriteResult> ProducerImpl::Outcome(Ticket ticket) {
  CISTERN_RETURN_IF_ERROR(engine_->keeper().home().Check());
  const uint64_t at = ticket.id - first_ticket_;  // of an earlier one: beyond all
  if (at >= submitted_.size() || submitted_[at].asked) {
    return Status::NotFound(Concat({"ticket ", ticket.id, " is not of this producer, was asked "
        "for before, or was forgotten"}));
  }
  Submitted& submitted = submitted_[at];
  CommitUntilDone(submitted.outcome);
  submitted.asked = true;
  Result<WriteResult> result = submitted.outcome.Take();
  ForgetOldest();
  return result;
}

}  // namespace cistern
