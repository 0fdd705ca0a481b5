// EngineImpl: what the public Engine does, over one EngineCore at a time. Wiring and lifecycle.
#ifndef CISTERN_ENGINE_ENGINE_IMPL_H_
#define CISTERN_ENGINE_ENGINE_IMPL_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/core_keeper.h"
#include "engine/delete_scope.h"
#include "engine/maintenance_thread.h"
#include "engine/producer_impl.h"

namespace cistern {

// Opens with a file system of the caller's below everything: how tests cut the power.
[[nodiscard]] Result<std::unique_ptr<Engine>> OpenEngineOver(
    const std::string& directory, const EngineOptions& options,
    std::shared_ptr<rocksdb::FileSystem> base_fs);

// Each call takes the open core from the keeper and asks it. The calls are those of Engine;
// GuardedEngine is what the host has of it.
class EngineImpl {
 public:
  explicit EngineImpl(CoreConfig config);
  ~EngineImpl();
  EngineImpl(const EngineImpl&) = delete;
  EngineImpl& operator=(const EngineImpl&) = delete;
  // Of an engine that Engine::Open gave.
  [[nodiscard]] static EngineImpl* Of(Engine* engine);
  [[nodiscard]] Status Start();

  [[nodiscard]] Status CreateTable(std::string_view cql);
  [[nodiscard]] Status AlterTable(std::string_view cql);
  [[nodiscard]] Result<std::shared_ptr<const TableSchema>> FindTable(
      std::string_view name) const;
  [[nodiscard]] std::vector<std::shared_ptr<const TableSchema>> ListTables() const;
  [[nodiscard]] Result<std::unique_ptr<Producer>> NewProducer();
  [[nodiscard]] Result<WriteResult> Append(const RowBatch& batch,
                                           const WriteOptions& options);
  [[nodiscard]] Result<WriteResult> DeleteRange(const std::string& table, const EntityKey& entity,
                                                TimeRange range,
                                                const WriteOptions& options);
  [[nodiscard]] Result<WriteResult> DeleteBucket(const std::string& table, const EntityKey& entity,
                                                 int64_t time,
                                                 const WriteOptions& options);
  [[nodiscard]] Result<std::unique_ptr<Cursor>> Scan(const ScanRequest& request);
  [[nodiscard]] Result<std::unique_ptr<AggregateCursor>> Aggregate(
      const AggregateRequest& request);
  [[nodiscard]] Result<std::unique_ptr<Cursor>> Follow(const ScanRequest& request,
                                                       int64_t wait_us);
  [[nodiscard]] Result<std::optional<int64_t>> FirstEvent(const std::string& table,
                                                          const EntityKey& entity);
  [[nodiscard]] Result<std::optional<int64_t>> LastEvent(const std::string& table,
                                                         const EntityKey& entity);
  [[nodiscard]] Status ListBuckets(const std::function<bool(const BucketInfo&)>& visit);
  [[nodiscard]] Status ListEntities(const std::string& table,
                                    const std::function<bool(const EntityKey&)>& visit);
  [[nodiscard]] Result<std::vector<WindowInfo>> ListWindows();
  [[nodiscard]] Result<TickReport> Tick(TickBudget budget);
  [[nodiscard]] Status Sync();
  [[nodiscard]] Status Rotate();
  [[nodiscard]] Result<SealReport> Seal(const SealRequest& request);
  [[nodiscard]] Result<ExpireReport> Expire();
  [[nodiscard]] Result<ClockReport> GetClock();
  [[nodiscard]] Result<ClockReport> ConfirmClock();
  [[nodiscard]] Result<VerifyReport> Verify();
  [[nodiscard]] Result<BackupReport> Backup(const std::string& directory,
                                            const BackupOptions& options);
  [[nodiscard]] Metrics GetMetrics() const;
  [[nodiscard]] RecoveryReport Recovery() const;
  [[nodiscard]] Status Health() const;
  [[nodiscard]] Status Close();

  // --- for producers
  // The open core, or why there is none.
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> core() const { return keeper_->core(); }
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> writable_core() const;
  // For a write: while the store is opened anew it waits for that, if it chose to wait and if
  // there is a thread that does it.
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> core_for(const WriteOptions& options) const;
  [[nodiscard]] CoreKeeper& keeper() { return *keeper_; }
  void WakeMaintenance() { keeper_->config().work_came->Now(); }
  [[nodiscard]] const EngineOptions& options() const { return keeper_->config().options; }
  [[nodiscard]] MemoryBudget* budget() const { return keeper_->config().budget.get(); }
  [[nodiscard]] MemoryBudget* queued_budget() const { return keeper_->config().queued.get(); }

 private:
  // A scan that shows the table as it was declared in that version; nullopt: the last one.
  [[nodiscard]] Result<std::unique_ptr<Cursor>> ScanAs(const ScanRequest& request,
                                                       std::optional<uint32_t> version);
  [[nodiscard]] DeleteScope ScopeOf(EngineCore& open, const Table& table,
                                    const EntityKey& entity) const;
  [[nodiscard]] Result<WriteResult> Delete(EngineCore* open, const TablePtr& table,
                                           const EntityKey& entity,
                                           std::vector<WriteUnit::BucketDelete> deletes,
                                           const WriteOptions& options);
  [[nodiscard]] Result<std::optional<int64_t>> OuterEvent(const ScanRequest& request);
  // One turn of the maintenance thread; for how long nothing is due then.
  [[nodiscard]] int64_t TickInThread();

  // Those that hold threads or wait for them can be left behind in a child of fork, where nothing
  // of them may be touched.
  std::unique_ptr<CoreKeeper> keeper_;
  std::unique_ptr<MaintenanceThread> thread_;  // null: the host drives

  std::unique_ptr<ProducerImpl> shared_producer_;  // of Append and of deletes, whoever calls
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_ENGINE_IMPL_H_
