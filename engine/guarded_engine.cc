#include "engine/guarded_engine.h"

#include "lib/base/entered.h"

namespace cistern {

EngineImpl* EngineImpl::Of(Engine* engine) {
  return static_cast<GuardedEngine*>(engine)->inside();  // there is no other
}

Status GuardedEngine::CreateTable(std::string_view cql) {
  return Entered([&] { return inside_->CreateTable(cql); });
}

Status GuardedEngine::AlterTable(std::string_view cql) {
  return Entered([&] { return inside_->AlterTable(cql); });
}

Result<std::shared_ptr<const TableSchema>> GuardedEngine::FindTable(std::string_view name) const {
  return Entered([&] { return inside_->FindTable(name); });
}

std::vector<std::shared_ptr<const TableSchema>> GuardedEngine::ListTables() const {
  return GuardedOr(std::vector<std::shared_ptr<const TableSchema>>{},
                   [&] { return inside_->ListTables(); });
}

Result<std::unique_ptr<Producer>> GuardedEngine::NewProducer() {
  return Entered([&] { return inside_->NewProducer(); });
}

Result<WriteResult> GuardedEngine::Append(const RowBatch& batch, const WriteOptions& options) {
  return Entered([&] { return inside_->Append(batch, options); });
}

Result<WriteResult> GuardedEngine::DeleteRange(const std::string& table, const EntityKey& entity,
                                               TimeRange range, const WriteOptions& options) {
  return Entered([&] { return inside_->DeleteRange(table, entity, range, options); });
}

Result<WriteResult> GuardedEngine::DeleteBucket(const std::string& table, const EntityKey& entity,
                                                int64_t time, const WriteOptions& options) {
  return Entered([&] { return inside_->DeleteBucket(table, entity, time, options); });
}

Result<std::unique_ptr<Cursor>> GuardedEngine::Scan(const ScanRequest& request) {
  return Entered([&] { return inside_->Scan(request); });
}

Result<std::unique_ptr<AggregateCursor>> GuardedEngine::Aggregate(const AggregateRequest& request) {
  return Entered([&] { return inside_->Aggregate(request); });
}

Result<std::unique_ptr<Cursor>> GuardedEngine::Follow(const ScanRequest& request, int64_t wait_us) {
  return Entered([&] { return inside_->Follow(request, wait_us); });
}

Result<std::optional<int64_t>> GuardedEngine::FirstEvent(const std::string& table,
                                                         const EntityKey& entity) {
  return Entered([&] { return inside_->FirstEvent(table, entity); });
}

Result<std::optional<int64_t>> GuardedEngine::LastEvent(const std::string& table,
                                                        const EntityKey& entity) {
  return Entered([&] { return inside_->LastEvent(table, entity); });
}

Status GuardedEngine::ListBuckets(const std::function<bool(const BucketInfo&)>& visit) {
  return Entered([&] { return inside_->ListBuckets(visit); });
}

Status GuardedEngine::ListEntities(const std::string& table,
                                   const std::function<bool(const EntityKey&)>& visit) {
  return Entered([&] { return inside_->ListEntities(table, visit); });
}

Result<std::vector<WindowInfo>> GuardedEngine::ListWindows() {
  return Entered([&] { return inside_->ListWindows(); });
}

Result<TickReport> GuardedEngine::Tick(TickBudget budget) {
  return Entered([&] { return inside_->Tick(budget); });
}

Status GuardedEngine::Sync() {
  return Entered([&] { return inside_->Sync(); });
}

Status GuardedEngine::Rotate() {
  return Entered([&] { return inside_->Rotate(); });
}

Result<SealReport> GuardedEngine::Seal(const SealRequest& request) {
  return Entered([&] { return inside_->Seal(request); });
}

Result<ExpireReport> GuardedEngine::Expire() {
  return Entered([&] { return inside_->Expire(); });
}

Result<ClockReport> GuardedEngine::GetClock() {
  return Entered([&] { return inside_->GetClock(); });
}

Result<ClockReport> GuardedEngine::ConfirmClock() {
  return Entered([&] { return inside_->ConfirmClock(); });
}

Result<VerifyReport> GuardedEngine::Verify() {
  return Entered([&] { return inside_->Verify(); });
}

Result<BackupReport> GuardedEngine::Backup(const std::string& directory,
                                           const BackupOptions& options) {
  return Entered([&] { return inside_->Backup(directory, options); });
}

Metrics GuardedEngine::GetMetrics() const {
  return GuardedOr(Metrics{}, [&] { return inside_->GetMetrics(); });
}

RecoveryReport GuardedEngine::Recovery() const {
  return GuardedOr(RecoveryReport{}, [&] { return inside_->Recovery(); });
}

Status GuardedEngine::Health() const {
  return Entered([&] { return inside_->Health(); });
}

Status GuardedEngine::Close() {
  return Guarded([&] { return inside_->Close(); });
}

}  // namespace cistern
