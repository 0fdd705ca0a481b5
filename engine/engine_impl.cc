#include "engine/engine_impl.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/bucketing/bucketer.h"
#include "engine/option_check.h"
#include "engine/held_cursor.h"
#include "engine/query/aggregate_cursor.h"
#include "engine/query/follow_cursor.h"
#include "engine/query/inventory.h"
#include "engine/query/outer_event.h"
#include "engine/query/scan_cursor.h"
#include "engine/retain/window_inventory.h"
#include "lib/base/check.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {

constexpr int64_t kHealPauseMinUs = 100'000;
constexpr int64_t kHealPauseMaxUs = 60'000'000;
constexpr auto kIdlePause = std::chrono::milliseconds(200);

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Open(const std::string& directory,
                                             const EngineOptions& options) {
  return OpenEngineOver(directory, options, nullptr);
}

Result<std::unique_ptr<Engine>> OpenEngineOver(const std::string& directory,
                                               const EngineOptions& options,
                                               std::shared_ptr<rocksdb::FileSystem> base_fs) {
  CISTERN_RETURN_IF_ERROR(CheckOptions(options));
  CoreConfig config;
  config.budget = std::make_shared<MemoryBudget>(options.memory_budget_bytes);
  if (options.background_threads && options.scan_threads > 0) {
    config.read_ahead = std::make_shared<ReadAhead>(
        std::min<uint32_t>(options.scan_threads, limits::kScanThreadsMax));
  }
  config.options = options;
  if (!config.options.clock) config.options.clock = SystemClock();
  config.store.directory = directory;
  config.store.create_if_missing = options.create_if_missing;
  config.store.read_only = options.read_only;
  config.store.memory_budget_bytes = options.memory_budget_bytes;
  config.store.disk_budget_bytes = options.disk_budget_bytes;
  config.store.log_sink = options.log_sink;
  config.store.clock = config.options.clock;
  config.store.base_fs = std::move(base_fs);
  auto engine = std::make_unique<EngineImpl>(std::move(config));
  CISTERN_RETURN_IF_ERROR(engine->Start());
  return std::unique_ptr<Engine>(std::move(engine));
}

EngineImpl::EngineImpl(CoreConfig config) : config_(std::move(config)) {}

EngineImpl::~EngineImpl() {
  Close().IgnoreError(); /* the destructor has nobody to tell */
}

Status EngineImpl::Start() {
  CISTERN_ASSIGN_OR_RETURN(core_, EngineCore::Open(config_));
  if (config_.options.background_threads && !config_.options.read_only) {
    thread_ = std::thread([this] { RunMaintenance(); });
  }
  return Status::Ok();
}

Result<std::shared_ptr<EngineCore>> EngineImpl::core() const {
  const std::lock_guard lock(core_mutex_);
  if (core_) return core_;
  return unavailable_;
}

Result<std::shared_ptr<EngineCore>> EngineImpl::writable_core() const {
  if (config_.options.read_only) {
    return Status::ReadOnly("the store was opened for reading alone");
  }
  CISTERN_ASSIGN_OR_RETURN(auto open, core());
  CISTERN_RETURN_IF_ERROR(open->committer().failure());
  return open;
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
  const std::lock_guard lock(core_mutex_);
  if (closed_) return Status::Closed("the engine was closed");
  if (queues_.size() >= limits::kProducerCountMax) {
    return Status::TooLarge("an engine has at most " + std::to_string(limits::kProducerCountMax) +
                            " producers");
  }
  auto queue = std::make_shared<IngestQueue>();
  queues_.push_back(queue);
  if (core_) core_->committer().AddQueue(queue);
  return std::unique_ptr<Producer>(std::make_unique<ProducerImpl>(this, std::move(queue)));
}

bool EngineImpl::TakeBack(IngestQueue* queue) {
  const std::lock_guard lock(core_mutex_);
  if (core_) return false;
  while (WriteUnit* queued = queue->Pop()) queued->Complete(unavailable_, {});
  return true;
}

void EngineImpl::RemoveProducer(const std::shared_ptr<IngestQueue>& queue) {
  const std::lock_guard lock(core_mutex_);
  std::erase(queues_, queue);
  if (core_) core_->committer().RemoveQueue(queue);
}

Result<WriteResult> EngineImpl::Append(const RowBatch& batch, const WriteOptions& options) {
  const std::lock_guard lock(shared_producer_mutex_);
  if (!shared_producer_) {
    CISTERN_ASSIGN_OR_RETURN(shared_producer_, NewProducer());
  }
  return shared_producer_->Append(batch, options);
}

DeleteScope EngineImpl::ScopeOf(EngineCore& open, const Table& table,
                                const EntityKey& entity) const {
  (void)open.committer().CommitQueued();  // what was submitted before is held
  return {&open.query(), &table, entity.bytes, LastTimeOfRows(config_.options, open.clock())};
}

Result<WriteResult> EngineImpl::DeleteRange(const std::string& table, const EntityKey& entity,
                                            TimeRange range, const WriteOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  CISTERN_ASSIGN_OR_RETURN(const TablePtr found, open->tables().Find(table));
  if (range.from >= range.to) {
    return Status::InvalidArgument("the range to delete is empty: from must be before to");
  }
  CISTERN_ASSIGN_OR_RETURN(auto deletes, ScopeOf(*open, *found, entity).OfRange(range));
  return Delete(found, entity, std::move(deletes), options);
}

Result<WriteResult> EngineImpl::DeleteBucket(const std::string& table, const EntityKey& entity,
                                             int64_t time, const WriteOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  CISTERN_ASSIGN_OR_RETURN(const TablePtr found, open->tables().Find(table));
  CISTERN_ASSIGN_OR_RETURN(auto deletes, ScopeOf(*open, *found, entity).OfBucket(time));
  return Delete(found, entity, std::move(deletes), options);
}

Result<WriteResult> EngineImpl::Delete(const TablePtr& table, const EntityKey& entity,
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
  const std::lock_guard lock(shared_producer_mutex_);
  if (!shared_producer_) {
    CISTERN_ASSIGN_OR_RETURN(shared_producer_, NewProducer());
  }
  return static_cast<ProducerImpl&>(*shared_producer_).PushAndCommit(&unit);
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
  CISTERN_ASSIGN_OR_RETURN(CursorHold hold, CursorHold::Take(std::move(open)));
  return std::unique_ptr<Cursor>(std::make_unique<HeldCursor>(std::move(hold), std::move(cursor)));
}

Result<std::unique_ptr<AggregateCursor>> EngineImpl::Aggregate(const AggregateRequest& request) {
  CISTERN_ASSIGN_OR_RETURN(auto open, core());
  CISTERN_ASSIGN_OR_RETURN(TablePtr table, open->tables().Find(request.table));
  CISTERN_ASSIGN_OR_RETURN(auto cursor, OpenAggregate(&open->query(), std::move(table), request));
  CISTERN_ASSIGN_OR_RETURN(CursorHold hold, CursorHold::Take(std::move(open)));
  return std::unique_ptr<AggregateCursor>(
      std::make_unique<HeldAggregate>(std::move(hold), std::move(cursor)));
}

Result<std::unique_ptr<Cursor>> EngineImpl::Follow(const ScanRequest& request, int64_t wait_us) {
  if (request.from >= request.to || request.limit != 0) {
    return Status::InvalidArgument(
        "to follow goes on in time and without end: from must be before to, and there is no limit");
  }
  if (wait_us < 0 || wait_us > limits::kFollowWaitUsMax) {
    return Status::InvalidArgument("wait_us is " + std::to_string(wait_us) + ": 0 to " +
                                   std::to_string(limits::kFollowWaitUsMax));
  }
  ScanRequest scan = request;
  scan.limit = UINT64_MAX;  // of a scan without an end
  CISTERN_ASSIGN_OR_RETURN(const auto open, core());
  CISTERN_ASSIGN_OR_RETURN(const TablePtr table, open->tables().Find(request.table));
  const uint32_t version = table->schema_version;
  CISTERN_ASSIGN_OR_RETURN(const auto first, ScanAs(scan, version));
  return std::unique_ptr<Cursor>(std::make_unique<FollowCursor>(
      [this, version](const ScanRequest& r) { return ScanAs(r, version); }, config_.rows_came,
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

// The event time of the scan's first row.
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
  ResultBatch batch;
  while (cursor->Next(&batch)) {
    if (batch.row_count == 0) continue;
    const ColumnData& time = batch.columns[0];
    return std::optional<int64_t>(time.lane == Lane::kFixed ? time.fixed[0]
                                                            : TimeuuidTicks(time.bytes(0)));
  }
  CISTERN_RETURN_IF_ERROR(cursor->status());
  return std::optional<int64_t>();
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
  return ListWindowsOf(open->store().spills().view(), open->tables(), open->clock().now_s(),
                       open->clock().settled(), open->retention());
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
  return open->committer().AcceptsRows();
}

// --- maintenance

Result<TickReport> EngineImpl::Tick(TickBudget budget) {
  if (config_.options.read_only) return TickReport{};
  Status failure;
  {
    const Result<std::shared_ptr<EngineCore>> open = core();
    if (open.ok()) {
      Result<TickReport> report = (*open)->maintenance().Tick(budget);
      failure = (*open)->committer().failure();
      if (failure.ok()) return report;
    } else {
      failure = open.status();
    }
  }
  CISTERN_RETURN_IF_ERROR(Heal(failure));
  return TickReport{1, true};
}

// Closes the failed core and opens the store anew, with a pause that doubles.
Status EngineImpl::Heal(const Status& failure) {
  const std::lock_guard lock(core_mutex_);
  if (closed_) return unavailable_;
  if (core_ && core_->committer().failure().ok()) return Status::Ok();  // another thread did it
  const int64_t now_us = config_.options.clock->MonotonicMicros();
  if (now_us < heal_at_us_) return failure;
  // A store that fails again soon after it was opened is not opened ever faster.
  if (now_us - heal_at_us_ > kHealPauseMaxUs) heal_pause_us_ = 0;
  heal_pause_us_ = std::clamp(heal_pause_us_ * 2, kHealPauseMinUs, kHealPauseMaxUs);
  heal_at_us_ = now_us + heal_pause_us_;
  if (core_ && core_.use_count() > 1) return failure;  // a cursor or a call still holds it
  // What a compaction met it would meet again.
  const bool met_corruption = failure.code() == StatusCode::kCorruption ||
                              (core_ && core_->store().met_corruption());
  if (met_corruption) config_.store.segments_rest = true;
  unavailable_ = failure;
  core_.reset();
  Result<std::shared_ptr<EngineCore>> opened = EngineCore::Open(config_);
  if (!opened.ok()) {
    unavailable_ = opened.status();
    return opened.status();
  }
  core_ = *std::move(opened);
  for (const auto& queue : queues_) core_->committer().AddQueue(queue);
  return Status::Ok();
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

void EngineImpl::WakeMaintenance() {
  {
    const std::lock_guard lock(wake_mutex_);
    woken_ = true;
  }
  wake_.notify_one();
}

void EngineImpl::RunMaintenance() {
  while (true) {
    const Result<TickReport> report = Tick({});
    const bool more = report.ok() && report->more_due;
    std::unique_lock lock(wake_mutex_);
    if (!more) wake_.wait_for(lock, kIdlePause, [this] { return woken_ || stopping_; });
    woken_ = false;
    if (stopping_) return;
  }
}

Status EngineImpl::Close() {
  config_.rows_came->Close();
  {
    const std::lock_guard lock(wake_mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  {
    const std::lock_guard lock(core_mutex_);
    if (closed_) return Status::Ok();
  }
  {
    const std::lock_guard lock(shared_producer_mutex_);
    shared_producer_.reset();
  }
  std::shared_ptr<EngineCore> last;
  {
    const std::lock_guard lock(core_mutex_);
    if (closed_) return Status::Ok();
    closed_ = true;
    // Under the lock: once there is no core, producers take back what they queued.
    if (core_) (void)core_->committer().CommitQueued();
    last = std::move(core_);
    unavailable_ = Status::Closed("the engine was closed");
  }
  return last ? last->Finish() : Status::Ok();
}

}  // namespace cistern
