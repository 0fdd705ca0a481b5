#include "engine/engine_impl.h"

#include <algorithm>
#include <utility>

#include "engine/bucketing/bucketer.h"
#include "engine/held_cursor.h"
#include "engine/query/aggregate_cursor.h"
#include "engine/query/follow_cursor.h"
#include "engine/query/inventory.h"
#include "engine/query/outer_event.h"
#include "engine/query/scan_cursor.h"
#include "engine/retain/window_inventory.h"
#include "lib/base/concat.h"
#include "lib/base/guard.h"
#include "lib/base/unwind_guard.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {

constexpr int64_t kRetryPauseUs = 1'000'000;  // after a step that could not be taken

}  // namespace

EngineImpl::EngineImpl(CoreConfig config)
    : keeper_(std::make_unique<CoreKeeper>(std::move(config))) {}

EngineImpl::~EngineImpl() {
  if (keeper_->home().is_here()) {
    Guarded([this] { return Close(); }).IgnoreError();  // the destructor has nobody to tell
    shared_producer_.reset();
    return;
  }
  // The parent's store, locks and threads: they go with the process.
  (void)shared_producer_.release();
  (void)thread_.release();
  (void)keeper_.release();
}

Status EngineImpl::Start() {
  CISTERN_ASSIGN_OR_RETURN(auto queue, keeper_->AddQueue());
  shared_producer_ =
      std::make_unique<ProducerImpl>(this, std::move(queue), ProducerImpl::Callers::kMany);
  CISTERN_RETURN_IF_ERROR(keeper_->Open());
  if (!options().background_threads || options().read_only) return Status::Ok();
  thread_ = std::make_unique<MaintenanceThread>(keeper_->config().work_came);
  return thread_->Start([this] { return TickInThread(); });
}

Result<std::shared_ptr<EngineCore>> EngineImpl::writable_core() const {
  if (options().read_only) return Status::ReadOnly("the store was opened for reading alone");
  return core();
}

Result<std::shared_ptr<EngineCore>> EngineImpl::core_for(const WriteOptions& options) const {
  Result<std::shared_ptr<EngineCore>> open = writable_core();
  const bool waits = options.back_pressure == BackPressure::kWait && thread_ != nullptr;
  return open.ok() || !waits ? open : keeper_->AwaitCore();
}

// --- tables

Status EngineImpl::CreateTable(std::string_view cql) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  return open->CreateTable(cql);
}

Status EngineImpl::AlterTable(std::string_view cql) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  return open->AlterTable(cql);
}

Result<std::shared_ptr<const TableSchema>> EngineImpl::FindTable(std::string_view name) const {
  CISTERN_ASSIGN_OR_RETURN(const auto open, core());
  CISTERN_ASSIGN_OR_RETURN(const TablePtr table, open->tables().Find(name));
  return table->schema;
}

std::vector<std::shared_ptr<const TableSchema>> EngineImpl::ListTables() const {
  std::vector<std::shared_ptr<const TableSchema>> out;
  const auto open = core();
  if (!open.ok()) return out;
  for (const TablePtr& table : (*open)->tables().List()) out.push_back(table->schema);
  return out;
}

// --- writes

Result<std::unique_ptr<Producer>> EngineImpl::NewProducer() {
  CISTERN_ASSIGN_OR_RETURN(auto queue, keeper_->AddQueue());
  const UnwindGuard unused([&] { keeper_->RemoveQueue(queue); });
  return std::unique_ptr<Producer>(
      std::make_unique<ProducerImpl>(this, queue, ProducerImpl::Callers::kOne));
}

Result<WriteResult> EngineImpl::Append(const RowBatch& batch, const WriteOptions& options) {
  CISTERN_RETURN_IF_ERROR(keeper_->home().Check());
  return shared_producer_->Append(batch, options);
}

DeleteScope EngineImpl::ScopeOf(EngineCore& open, const Table& table,
                                const EntityKey& entity) const {
  (void)open.committer().CommitQueued();  // what was submitted before is held
  return {&open.query(), &table, entity.bytes, LastTimeOfRows(this->options(), open.clock())};
}

Result<WriteResult> EngineImpl::DeleteRange(const std::string& table, const EntityKey& entity,
                                            TimeRange range, const WriteOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, core_for(options));
  CISTERN_ASSIGN_OR_RETURN(const TablePtr found, open->tables().Find(table));
  if (range.from >= range.to) {
    return Status::InvalidArgument("the range to delete is empty: from must be before to");
  }
  CISTERN_ASSIGN_OR_RETURN(auto deletes, ScopeOf(*open, *found, entity).OfRange(range));
  return Delete(open.get(), found, entity, std::move(deletes), options);
}

Result<WriteResult> EngineImpl::DeleteBucket(const std::string& table, const EntityKey& entity,
                                             int64_t time, const WriteOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, core_for(options));
  CISTERN_ASSIGN_OR_RETURN(const TablePtr found, open->tables().Find(table));
  CISTERN_ASSIGN_OR_RETURN(auto deletes, ScopeOf(*open, *found, entity).OfBucket(time));
  return Delete(open.get(), found, entity, std::move(deletes), options);
}

Result<WriteResult> EngineImpl::Delete(EngineCore* open, const TablePtr& table,
                                       const EntityKey& entity,
                                       std::vector<WriteUnit::BucketDelete> deletes,
                                       const WriteOptions& options) {
  if (entity.bytes.empty() || entity.bytes.size() > limits::kEntityKeyBytesMax) {
    return Status::InvalidArgument(
        "the entity key is empty or too long: make it with "
        "EntityFromText");
  }
  if (table->schema->timestamps == TimestampMode::kEventTime) {
    return NothingIsDeleted(*table->schema, "a range of rows");
  }
  // The journal must be able to read it back.
  CISTERN_RETURN_IF_ERROR(ParseEntityKey(*table->schema, entity.bytes).status());
  if (deletes.empty()) return WriteResult{};
  WriteUnit unit;
  unit.table = table;
  unit.delete_entity = entity.bytes;
  unit.deletes = std::move(deletes);
  unit.options = options;
  bool was_refused = false;
  return shared_producer_->PushAndCommit(open, &unit, &was_refused);
}

// --- reads

Result<std::unique_ptr<Cursor>> EngineImpl::Scan(const ScanRequest& request) {
  return ScanAs(request, std::nullopt);
}

Result<std::unique_ptr<Cursor>> EngineImpl::ScanAs(const ScanRequest& request,
                                                   std::optional<uint32_t> version) {
  CISTERN_ASSIGN_OR_RETURN(auto open, core());
  CISTERN_ASSIGN_OR_RETURN(TablePtr table, open->tables().Find(request.table));
  if (version && *version < table->schema_version) table = table->AsOf(*version);
  CISTERN_ASSIGN_OR_RETURN(auto cursor, OpenScan(&open->query(), std::move(table), request));
  auto held = std::make_unique<HeldCursor>(std::move(open), std::move(cursor));
  CISTERN_RETURN_IF_ERROR(held->Register());
  return std::unique_ptr<Cursor>(std::move(held));
}

Result<std::unique_ptr<AggregateCursor>> EngineImpl::Aggregate(const AggregateRequest& request) {
  CISTERN_ASSIGN_OR_RETURN(auto open, core());
  CISTERN_ASSIGN_OR_RETURN(TablePtr table, open->tables().Find(request.table));
  CISTERN_ASSIGN_OR_RETURN(auto cursor, OpenAggregate(&open->query(), std::move(table), request));
  auto held = std::make_unique<HeldAggregate>(std::move(open), std::move(cursor));
  CISTERN_RETURN_IF_ERROR(held->Register());
  return std::unique_ptr<AggregateCursor>(std::move(held));
}

Result<std::unique_ptr<Cursor>> EngineImpl::Follow(const ScanRequest& request, int64_t wait_us) {
  if (request.from >= request.to || request.limit != 0) {
    return Status::InvalidArgument(
        "to follow goes on in time and without end: from must be before to, and there is no limit");
  }
  if (wait_us < 0 || wait_us > limits::kFollowWaitUsMax) {
    return Status::InvalidArgument(Concat({"wait_us is ", wait_us, ": 0 to ",
        limits::kFollowWaitUsMax}));
  }
  ScanRequest scan = request;
  scan.limit = UINT64_MAX;  // of a scan without an end
  CISTERN_ASSIGN_OR_RETURN(const auto open, core());
  CISTERN_ASSIGN_OR_RETURN(const TablePtr table, open->tables().Find(request.table));
  const uint32_t version = table->schema_version;
  CISTERN_ASSIGN_OR_RETURN(const auto first, ScanAs(scan, version));
  return std::unique_ptr<Cursor>(std::make_unique<FollowCursor>(
      [this, version](const ScanRequest& r) { return ScanAs(r, version); },
      keeper_->config().rows_came,
      std::move(scan), first->schema(), first->columns(), table->schema->split_column.has_value(),
      wait_us));
}

Result<std::optional<int64_t>> EngineImpl::FirstEvent(const std::string& table,
                                                      const EntityKey& entity) {
  ScanRequest request;
  request.table = table;
  request.entity = entity;
  return OuterEvent(request);
}

Result<std::optional<int64_t>> EngineImpl::LastEvent(const std::string& table,
                                                     const EntityKey& entity) {
  ScanRequest request;
  request.table = table;
  request.entity = entity;
  std::swap(request.from, request.to);
  return OuterEvent(request);
}

// The event time of the scan's first row. What the scan says of damage before it counts: the outer
// row may be in there.
Result<std::optional<int64_t>> EngineImpl::OuterEvent(const ScanRequest& request) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, core());
  CISTERN_ASSIGN_OR_RETURN(const TablePtr table, open->tables().Find(request.table));
  const TableSchema& schema = *table->schema;
  CISTERN_RETURN_IF_ERROR(ParseEntityKey(schema, request.entity.bytes).status());
  CISTERN_ASSIGN_OR_RETURN(
      const std::optional<int64_t> told,
      ToldOuterEvent(open->query(), table, request.entity, request.from > request.to));
  if (told) return told;
  ScanRequest first = request;
  first.limit = 1;
  first.buckets_ahead = 1;
  first.columns = {schema.columns[schema.time_column()].name};
  CISTERN_ASSIGN_OR_RETURN(const auto cursor, Scan(first));
  std::optional<int64_t> outer;
  for (ResultBatch batch; cursor->Next(&batch);) {
    if (batch.row_count == 0) continue;
    const ColumnData& time = batch.columns[0];
    outer = time.lane == Lane::kFixed ? time.fixed[0] : TimeuuidTicks(time.bytes(0));
  }
  CISTERN_RETURN_IF_ERROR(cursor->status());
  return outer;
}

Status EngineImpl::ListBuckets(const std::function<bool(const BucketInfo&)>& visit) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, core());
  return VisitBuckets(open->query(), {}, [&](const BucketSummary& summary) {
    const TablePtr table = open->tables().FindById(summary.key.table_id);
    return table == nullptr || visit(ToBucketInfo(*table->schema, summary));
  });
}

Status EngineImpl::ListEntities(const std::string& table,
                                const std::function<bool(const EntityKey&)>& visit) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, core());
  CISTERN_ASSIGN_OR_RETURN(const TablePtr found, open->tables().Find(table));
  std::string last;
  const BucketScope scope{found->id, std::nullopt};
  return VisitBuckets(open->query(), scope, [&](const BucketSummary& summary) {
    if (summary.key.entity == last) return true;
    last = summary.key.entity;
    return visit(EntityKey{last});
  });
}

Result<std::vector<WindowInfo>> EngineImpl::ListWindows() {
  CISTERN_ASSIGN_OR_RETURN(const auto open, core());
  return ListWindowsOf(open->store().spills().view(), open->tables(),
                       open->maintenance().retention_time(), open->retention());
}

Result<VerifyReport> EngineImpl::Verify() {
  CISTERN_ASSIGN_OR_RETURN(const auto open, core());
  return VerifyStore(open->query(), open->tables());
}

Metrics EngineImpl::GetMetrics() const {
  const auto open = core();
  return open.ok() ? (*open)->GetMetrics() : Metrics{};
}

RecoveryReport EngineImpl::Recovery() const {
  const auto open = core();
  return open.ok() ? (*open)->recovery() : RecoveryReport{};
}

Status EngineImpl::Health() const {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  if (const Status gone = open->store().CheckPlace(); !gone.ok()) {
    open->committer().Fail(gone);
    return gone;
  }
  return open->committer().AcceptsRows();
}

// --- maintenance

Result<TickReport> EngineImpl::Tick(TickBudget budget) {
  if (options().read_only) return TickReport{};
  {
    const Result<std::shared_ptr<EngineCore>> open = core();
    if (open.ok()) {
      Result<TickReport> report = (*open)->maintenance().Tick(budget);
      if (!(*open)->committer().has_failed()) return report;
    }
  }
  CISTERN_RETURN_IF_ERROR(keeper_->Heal());
  return TickReport{1, true};
}

Status EngineImpl::Sync() {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  (void)open->committer().CommitQueued();
  return open->committer().SyncNow();
}

Status EngineImpl::Rotate() {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  (void)open->committer().CommitQueued();
  return open->maintenance().RotateAll();
}

Result<SealReport> EngineImpl::Seal(const SealRequest& request) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  SealScope scope;
  scope.due_only = request.due_only;
  if (request.table.empty() && (request.entity || request.time)) {
    return Status::InvalidArgument("an entity or a time to seal needs a table");
  }
  if (!request.table.empty()) {
    CISTERN_ASSIGN_OR_RETURN(const TablePtr table, open->tables().Find(request.table));
    scope.table_id = table->id;
    if (request.entity) scope.entity = request.entity->bytes;
    if (request.time) {
      CISTERN_RETURN_IF_ERROR(BucketOf(*table->schema, *request.time).status());
      scope.time = request.time;
    }
  }
  (void)open->committer().CommitQueued();
  return open->maintenance().Seal(scope);
}

Result<ExpireReport> EngineImpl::Expire() {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  return open->maintenance().Expire();
}

Result<ClockReport> EngineImpl::GetClock() {
  CISTERN_ASSIGN_OR_RETURN(const auto open, core());
  return open->committer().ReportClock();
}

Result<ClockReport> EngineImpl::ConfirmClock() {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  CISTERN_RETURN_IF_ERROR(open->maintenance().ConfirmClock());
  return open->committer().ReportClock();
}

int64_t EngineImpl::TickInThread() {
  const Result<TickReport> report = Tick({});
  if (report.ok() && report->more_due) return 0;
  const Result<std::shared_ptr<EngineCore>> open = core();
  if (!open.ok()) return keeper_->heal_pause_us();
  return report.ok() ? (*open)->maintenance().idle_us() : kRetryPauseUs;
}

// From any number of threads at once: each returns when all is closed.
Status EngineImpl::Close() {
  CISTERN_RETURN_IF_ERROR(keeper_->home().Check());
  keeper_->config().rows_came->Close();
  keeper_->StopWaiting();
  if (thread_) thread_->Stop();
  return keeper_->Close();
}

}  // namespace cistern
