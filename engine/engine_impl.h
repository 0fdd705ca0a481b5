// EngineImpl: the public Engine over one EngineCore at a time. Wiring and lifecycle only.
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

// Each call takes the open core from the keeper and asks it.
class EngineImpl final : public Engine {
 public:
  explicit EngineImpl(CoreConfig config);
  ~EngineImpl() override;
  [[nodiscard]] Status Start();

  [[nodiscard]] Status CreateTable(std::string_view cql) override;
  [[nodiscard]] Status AlterTable(std::string_view cql) override;
  [[nodiscard]] Result<std::shared_ptr<const TableSchema>> FindTable(
      std::string_view name) const override;
  [[nodiscard]] std::vector<std::shared_ptr<const TableSchema>> ListTables() const override;
  [[nodiscard]] Result<std::unique_ptr<Producer>> NewProducer() override;
  [[nodiscard]] Result<WriteResult> Append(const RowBatch& batch,
                                           const WriteOptions& options) override;
  [[nodiscard]] Result<WriteResult> DeleteRange(const std::string& table, const EntityKey& entity,
                                                TimeRange range,
                                                const WriteOptions& options) override;
  [[nodiscard]] Result<WriteResult> DeleteBucket(const std::string& table, const EntityKey& entity,
                                                 int64_t time,
                                                 const WriteOptions& options) override;
  [[nodiscard]] Result<std::unique_ptr<Cursor>> Scan(const ScanRequest& request) override;
  [[nodiscard]] Result<std::unique_ptr<AggregateCursor>> Aggregate(
      const AggregateRequest& request) override;
  [[nodiscard]] Result<std::unique_ptr<Cursor>> Follow(const ScanRequest& request,
                                                       int64_t wait_us) override;
  [[nodiscard]] Result<std::optional<int64_t>> FirstEvent(const std::string& table,
                                                          const EntityKey& entity) override;
  [[nodiscard]] Result<std::optional<int64_t>> LastEvent(const std::string& table,
                                                         const EntityKey& entity) override;
  [[nodiscard]] Status ListBuckets(const std::function<bool(const BucketInfo&)>& visit) override;
  [[nodiscard]] Status ListEntities(const std::string& table,
                                    const std::function<bool(const EntityKey&)>& visit) override;
  [[nodiscard]] Result<std::vector<WindowInfo>> ListWindows() override;
  [[nodiscard]] Result<TickReport> Tick(TickBudget budget) override;
  [[nodiscard]] Status Sync() override;
  [[nodiscard]] Status Rotate() override;
  [[nodiscard]] Result<SealReport> Seal(const SealRequest& request) override;
  [[nodiscard]] Result<ExpireReport> Expire() override;
  [[nodiscard]] Result<ClockReport> GetClock() override;
  [[nodiscard]] Result<ClockReport> ConfirmClock() override;
  [[nodiscard]] Result<VerifyReport> Verify() override;
  [[nodiscard]] Result<BackupReport> Backup(const std::string& directory,
                                            const BackupOptions& options) override;
  [[nodiscard]] Metrics GetMetrics() const override;
  [[nodiscard]] RecoveryReport Recovery() const override;
  [[nodiscard]] Status Health() const override;
  Status Close() override;

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
