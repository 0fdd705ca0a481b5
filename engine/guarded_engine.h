// GuardedEngine: the public Engine. Every call of it passes here, and no exception does.
#ifndef CISTERN_ENGINE_GUARDED_ENGINE_H_
#define CISTERN_ENGINE_GUARDED_ENGINE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_impl.h"

namespace cistern {

// Hands each call on to the EngineImpl, with Guarded (lib/base/guard.h) around it. No call begins
// while the machine's memory is used up (MemoryReserve), but for those that only tell or close.
class GuardedEngine final : public Engine {
 public:
  explicit GuardedEngine(std::unique_ptr<EngineImpl> inside) : inside_(std::move(inside)) {}
  [[nodiscard]] EngineImpl* inside() { return inside_.get(); }

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

 private:
  const std::unique_ptr<EngineImpl> inside_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_GUARDED_ENGINE_H_
