// EngineImpl: the public Engine over one EngineCore at a time. Wiring and lifecycle only.
#ifndef CISTERN_ENGINE_ENGINE_IMPL_H_
#define CISTERN_ENGINE_ENGINE_IMPL_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/delete_scope.h"
#include "engine/engine_core.h"
#include "engine/producer_impl.h"

namespace cistern {

// Opens with a file system of the caller's below everything: how tests cut the power.
[[nodiscard]] Result<std::unique_ptr<Engine>> OpenEngineOver(
    const std::string& directory, const EngineOptions& options,
    std::shared_ptr<rocksdb::FileSystem> base_fs);

// After a write of unknown outcome the engine closes its core and opens the store anew,
// which tells what was stored; writes are refused until then. Cursors keep the core that
// they began with, and hold the reopening up until they are gone.
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
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> core() const;
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> writable_core() const;
  // Completes what is queued with the reason why there is no core. Nothing is taken if there is
  // one: its committer alone may empty the queue.
  void TakeBack(IngestQueue* queue);
  void RemoveProducer(const std::shared_ptr<IngestQueue>& queue);
  void WakeMaintenance();
  [[nodiscard]] const EngineOptions& options() const { return config_.options; }
  [[nodiscard]] MemoryBudget* budget() const { return config_.budget.get(); }
  [[nodiscard]] MemoryBudget* queued_budget() const { return config_.queued.get(); }

 private:
  // A scan that shows the table as it was declared in that version; nullopt: the last one.
  [[nodiscard]] Result<std::unique_ptr<Cursor>> ScanAs(const ScanRequest& request,
                                                       std::optional<uint32_t> version);
  [[nodiscard]] DeleteScope ScopeOf(EngineCore& open, const Table& table,
                                    const EntityKey& entity) const;
  [[nodiscard]] Result<WriteResult> Delete(const TablePtr& table, const EntityKey& entity,
                                           std::vector<WriteUnit::BucketDelete> deletes,
                                           const WriteOptions& options);
  [[nodiscard]] Result<std::optional<int64_t>> OuterEvent(const ScanRequest& request);
  [[nodiscard]] Status Heal(const Status& failure);
  void RunMaintenance();

  CoreConfig config_;

  mutable std::mutex core_mutex_;
  std::shared_ptr<EngineCore> core_;  // null while healing and after Close
  Status unavailable_;                // why core_ is null
  bool closed_ = false;
  int64_t heal_at_us_ = 0;  // monotonic; earliest next try
  int64_t heal_pause_us_ = 0;
  std::vector<std::shared_ptr<IngestQueue>> queues_;

  std::unique_ptr<ProducerImpl> shared_producer_;  // of Append and of deletes, whoever calls

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool woken_ = false;
  std::thread thread_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_ENGINE_IMPL_H_
