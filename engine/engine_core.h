// EngineCore: one opening of a store, with everything wired together.
#ifndef CISTERN_ENGINE_ENGINE_CORE_H_
#define CISTERN_ENGINE_ENGINE_CORE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "cistern/engine.h"
#include "engine/ingest/committer.h"
#include "engine/ingest/respill.h"
#include "engine/ingest/rotation.h"
#include "engine/ingest/write_clock.h"
#include "engine/maintenance.h"
#include "engine/open_cursors.h"
#include "engine/query/query_context.h"
#include "engine/retain/window_keeper.h"
#include "engine/seal/sealer.h"
#include "lib/base/memory_budget.h"
#include "storage/boot_table.h"
#include "storage/head_set.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern {

class BucketIndex;
class SpareRows;

// When buckets are due for their seal.
[[nodiscard]] SealLimits SealLimitsOf(const EngineOptions& options);

// What an opening needs; kept by the engine so that it can open anew after a failure.
struct CoreConfig {
  StoreConfig store;
  EngineOptions options;
  std::shared_ptr<MemoryBudget> budget;   // kept by the core: a cursor may outlive the engine
  std::shared_ptr<MemoryBudget> queued;   // what of it submitted batches may have
  std::shared_ptr<ReadAhead> read_ahead;  // null: everything in the caller's thread
  std::shared_ptr<RowSignal> rows_came = std::make_shared<RowSignal>();
  // What was on the device in an opening before: less is a loss, whatever ACK says.
  uint64_t acknowledged_sequence = 0;
  std::shared_ptr<WorkSignal> work_came = std::make_shared<WorkSignal>();
};

// Members are declared in the order in which they depend on one another, and destroyed
// in reverse. Thread-safe as its parts are.
class EngineCore {
 public:
  [[nodiscard]] static Result<std::shared_ptr<EngineCore>> Open(const CoreConfig& config);
  ~EngineCore();

  [[nodiscard]] Status CreateTable(std::string_view cql);
  [[nodiscard]] Status AlterTable(std::string_view cql);
  // Syncs and remembers what was acknowledged. The store closes with the destructor.
  [[nodiscard]] Status Finish();
  [[nodiscard]] Metrics GetMetrics() const;

  Store& store() { return *store_; }
  TableSet& tables() { return tables_; }
  Committer& committer() { return *committer_; }
  Maintenance& maintenance() { return *maintenance_; }
  WriteClock& clock() { return *clock_; }
  const BootTable& boots() const { return *boots_; }
  const HeadSet& heads() const { return heads_; }
  const QueryContext& query() const { return query_; }
  const RetentionLimits& retention() const { return keeper_->limits(); }
  OpenCursors& cursors() { return cursors_; }
  const RecoveryReport& recovery() const { return recovery_; }
  [[nodiscard]] MemoryBudget* budget() const { return config_.budget.get(); }
  [[nodiscard]] bool finished() const { return finished_; }  // closed; what is under way ends

 private:
  explicit EngineCore(const CoreConfig& config);
  [[nodiscard]] Status Build();
  [[nodiscard]] Status Recover();
  // A loss that an opening before this one met, which did not come to its end.
  void NoteFormerLoss(const LostSequences& lost, uint64_t known);
  void NoteUnknownLoss(uint64_t known);
  // What of the notes from `first_note` on is a loss, into the store's LOG.
  void LogLoss(size_t first_note);
  [[nodiscard]] Status BoundLogs();
  [[nodiscard]] Status AlterBuckets(const Table& table, std::shared_ptr<const TableSchema> schema,
                                    int64_t from_s);
  [[nodiscard]] Status CheckBuckets(const Table& table, const TableSchema& next,
                                    int64_t from_s) const;
  [[nodiscard]] Status PutVersion(const Table& table, std::shared_ptr<const TableSchema> schema);

  const CoreConfig config_;
  MemoryCharge base_charge_;  // RocksDB's own
  RecoveryReport recovery_;
  std::unique_ptr<Store> store_;
  TableSet tables_;
  std::mutex create_mutex_;  // of declarations; taken before the maintenance actor's
  std::unique_ptr<BootTable> boots_;
  HeadSet heads_;
  std::unique_ptr<WriteClock> clock_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<Rotation> rotation_;
  std::unique_ptr<Respill> respill_;
  std::unique_ptr<Sealer> sealer_;
  std::unique_ptr<WindowKeeper> keeper_;
  std::unique_ptr<WindowMerger> merger_;
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<BucketIndex> buckets_;
  std::unique_ptr<SpareRows> spare_rows_;
  QueryContext query_;
  OpenCursors cursors_;
  std::atomic<bool> finished_{false};  // a cursor that is left over changes nothing any more
  int64_t open_us_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_ENGINE_CORE_H_
