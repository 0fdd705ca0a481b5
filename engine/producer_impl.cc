#include "engine/producer_impl.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/bucketing/bucketer.h"
#include "engine/engine_impl.h"
#include "engine/ingest/row_placement.h"

namespace cistern {

namespace {

constexpr int kBusyTriesMax = 1000;  // a full queue drains at once unless the store fails

Status FutureTime(const TableSchema& schema, int64_t ticks, int64_t seconds_ahead) {
  return Status::OutOfRange("column '" + schema.columns[schema.time_column()].name +
                            "': event time " + std::to_string(ticks) + " (" +
                            std::string(TimeUnitWord(schema.time_unit)) + " since 1970) is " +
                            std::to_string(seconds_ahead) +
                            " s ahead of the clock; check its unit, or raise event_future_s_max");
}

// No row of the batch is taken: which one is it?
Status InRow(const RowBatch& batch, size_t row, const Status& status) {
  if (batch.row_count() == 1) return status;
  return {status.code(), "row " + std::to_string(row) + " of the batch: " + status.message()};
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
                   NothingIsDeleted(schema, "a cell of '" + schema.columns[column].name + "'"));
    }
  }
  return Status::Ok();
}

}  // namespace

Status NothingIsDeleted(const TableSchema& schema, const std::string& what) {
  return Status::InvalidArgument(schema.QualifiedName() + " has the timestamps of its events, so " +
                                 what + " cannot be deleted: rows written later would not show");
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
  const size_t bytes_max =
      std::min<size_t>(limits::kBatchBytesMax, options.memory_budget_bytes / 8);
  if (batch.byte_count() > bytes_max || batch.row_count() > limits::kBatchRowsMax) {
    return Status::TooLarge("a batch of " + std::to_string(batch.row_count()) + " rows and " +
                            std::to_string(batch.byte_count()) + " bytes: at most " +
                            std::to_string(limits::kBatchRowsMax) + " rows and " +
                            std::to_string(bytes_max) + " bytes; split it");
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

ProducerImpl::~ProducerImpl() {
  // Units must not outlive their batch: commit what is still queued.
  for (auto& [ticket, submitted] : submitted_) {
    const Result<WriteResult> ignored = Commit(submitted.unit.get());
    (void)ignored;
  }
  engine_->RemoveProducer(queue_);
}

Result<WriteResult> ProducerImpl::Append(const RowBatch& batch, const WriteOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto core, engine_->writable_core());
  if (batch.empty()) return WriteResult{Durability::kSynced, core->committer().last_sequence()};
  WriteUnit unit;
  CISTERN_ASSIGN_OR_RETURN(unit.table, core->tables().FindBatch(batch));
  CISTERN_RETURN_IF_ERROR(CheckBatch(*core, engine_->options(), *unit.table, batch));
  unit.batch = &batch;
  unit.options = options;
  return PushAndCommit(&unit);
}

Result<WriteResult> ProducerImpl::PushAndCommit(WriteUnit* unit) {
  CISTERN_ASSIGN_OR_RETURN(const auto core, engine_->writable_core());
  Committer& committer = core->committer();
  const bool may_wait = unit->options.back_pressure == BackPressure::kWait;
  if (!may_wait && !committer.HasRoom()) {
    CISTERN_RETURN_IF_ERROR(committer.AcceptsRows());  // a full disk is no matter of a pause
    return committer.RejectBusy();
  }
  for (int tries = 0; !queue_->Push(unit); ++tries) {
    if (!may_wait || tries == kBusyTriesMax) return committer.RejectBusy();
    CISTERN_RETURN_IF_ERROR(core->maintenance().MakeRoom());
    (void)committer.CommitQueued();
  }
  return Commit(unit);
}

Result<WriteResult> ProducerImpl::Commit(WriteUnit* unit) {
  while (!unit->done()) {
    const Result<std::shared_ptr<EngineCore>> core = engine_->core();
    if (core.ok()) {
      EngineCore& c = **core;
      c.committer().CommitUntilDone(*unit, [&c] { return c.maintenance().MakeRoom(); });
    } else if (engine_->TakeBack(queue_.get())) {
      // The store was closed or could not be reopened: what was queued was never written.
      if (!unit->done()) unit->Complete(core.status(), {});
    }
  }
  if (!unit->status.ok()) return unit->status;
  return unit->result;
}

Result<Ticket> ProducerImpl::Submit(RowBatch batch, const WriteOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto core, engine_->writable_core());
  auto unit = std::make_unique<WriteUnit>();
  CISTERN_ASSIGN_OR_RETURN(unit->table, core->tables().FindBatch(batch));
  CISTERN_RETURN_IF_ERROR(CheckBatch(*core, engine_->options(), *unit->table, batch));
  ForgetOldest();
  Submitted submitted{nullptr, MemoryCharge(core->query().budget)};
  const size_t bytes = batch.byte_count() + sizeof(WriteUnit);
  if (!submitted.charge.TrySet(bytes)) return core->committer().RejectBusy();
  unit->owned.emplace(std::move(batch));
  unit->batch = &*unit->owned;
  unit->options = options;
  if (!queue_->Push(unit.get())) return core->committer().RejectBusy();
  submitted.unit = std::move(unit);
  const Ticket ticket{next_ticket_++};
  submitted_.emplace(ticket.id, std::move(submitted));
  engine_->WakeMaintenance();
  return ticket;
}

// Outcomes that nobody asked for do not pile up.
void ProducerImpl::ForgetOldest() {
  while (submitted_.size() >= limits::kProducerQueueSlots &&
         submitted_.begin()->second.unit->done()) {
    submitted_.erase(submitted_.begin());
  }
}

Result<WriteResult> ProducerImpl::Wait(Ticket ticket) {
  const auto it = submitted_.find(ticket.id);
  if (it == submitted_.end()) {
    return Status::NotFound("ticket " + std::to_string(ticket.id) +
                            " is not of this producer, was asked for before, or was forgotten");
  }
  Result<WriteResult> result = Commit(it->second.unit.get());
  submitted_.erase(it);
  return result;
}

}  // namespace cistern
