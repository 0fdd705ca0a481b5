// Salvage: bucket by bucket from the damaged store into spill segments of a new one.
#include "cistern/salvage.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <shared_mutex>
#include <system_error>
#include <utility>

#include "engine/bucketing/bucket_name.h"
#include "engine/engine_core.h"
#include "engine/query/head_source.h"
#include "engine/query/inventory.h"
#include "storage/bucket_merge.h"
#include "storage/catalog_rescue.h"
#include "storage/path_check.h"
#include "storage/spill_target.h"
#include "storage/spill_writer.h"

namespace cistern {

namespace {

constexpr uint64_t kRotationBytes = 4ull << 20;  // encoded, after which a rotation ends
constexpr size_t kProblemsMax = 1000;

// The new store: rotations of merged segments, one behind the other.
class SalvageTarget {
 public:
  [[nodiscard]] Status Create(const std::string& directory, const SalvageOptions& options);
  [[nodiscard]] Status AddTable(const Table& table);
  // All rows of the merge as one segment; tells how many versions it got. None: no segment.
  [[nodiscard]] Result<uint64_t> AddBucket(BucketMerge* merge);
  // Makes everything durable. `source` issued the newest write timestamp.
  [[nodiscard]] Status Finish(const WriteClock& source);

 private:
  [[nodiscard]] Status BeginRotation();
  [[nodiscard]] Status EndRotation();

  std::unique_ptr<Store> store_;
  SpillTarget target_;
  uint64_t rotation_ = 0;
  std::optional<SpillWriter> writer_;
  StateRecord state_;
};

Status SalvageTarget::Create(const std::string& directory, const SalvageOptions& options) {
  StoreConfig config;
  config.directory = directory;
  config.memory_budget_bytes = options.memory_budget_bytes;
  config.clock = options.clock;
  config.log_sink = options.log_sink;
  RecoveryReport report;
  CISTERN_ASSIGN_OR_RETURN(store_, Store::Open(config, &report));
  if (!report.created) {
    return Status::AlreadyExists("there is a store in " + directory +
                                 ": salvage writes to a new one");
  }
  state_ = store_->state();
  return Status::Ok();
}

// With every version: a column that was dropped stays hidden. None is of the new journal.
Status SalvageTarget::AddTable(const Table& table) {
  for (uint32_t version = 0; version <= table.schema_version; ++version) {
    CISTERN_RETURN_IF_ERROR(
        store_->PutTable(table.id, version, {0, table.versions[version].schema->ToCql()}));
  }
  return Status::Ok();
}

Status SalvageTarget::BeginRotation() {
  CISTERN_ASSIGN_OR_RETURN(target_, TakeSpillTarget(store_.get(), SpillLimits{}));
  CISTERN_ASSIGN_OR_RETURN(rotation_, store_->NextSequence());
  writer_.emplace(FamilyKind::kSpill, target_.family, rotation_);
  return Status::Ok();
}

Result<uint64_t> SalvageTarget::AddBucket(BucketMerge* merge) {
  if (!writer_) CISTERN_RETURN_IF_ERROR(BeginRotation());
  const uint64_t before = writer_->version_count();
  VersionColumns rows = VersionColumns::For(*merge->table()->schema);
  bool more = true;
  while (more && rows.row_count == 0) {
    CISTERN_ASSIGN_OR_RETURN(more, merge->Next(&rows));
  }
  if (rows.row_count == 0 && merge->deletes().empty()) return uint64_t{0};
  // Of the new store's journal, which has none of these rows.
  const Table& table = *merge->table();
  writer_->Begin(merge->bucket(), table.schema.get(), table.schema_version, 0, 0);
  CISTERN_RETURN_IF_ERROR(writer_->AddRows(rows));
  while (more) {
    rows = VersionColumns::For(*merge->table()->schema);
    CISTERN_ASSIGN_OR_RETURN(more, merge->Next(&rows));
    CISTERN_RETURN_IF_ERROR(writer_->AddRows(rows));
  }
  CISTERN_RETURN_IF_ERROR(writer_->End(merge->deletes()));
  const uint64_t added = writer_->version_count() - before;
  if (writer_->byte_count() >= kRotationBytes) CISTERN_RETURN_IF_ERROR(EndRotation());
  return added;
}

Status SalvageTarget::EndRotation() {
  if (!writer_) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(writer_->Flush());
  SpillCommit commit;
  commit.family_id = target_.id;
  commit.family = target_.family;
  commit.rotations = {rotation_};
  commit.version_count = writer_->version_count();
  commit.byte_count = writer_->byte_count();
  state_.versions_written += commit.version_count;
  commit.state = state_;
  CISTERN_ASSIGN_OR_RETURN(auto view, store_->CommitSpill(commit));
  store_->spills().Publish(std::move(view));
  writer_.reset();
  target_ = {};
  return store_->FlushMeta();
}

// The clock of the new store goes on above the old one's.
Status SalvageTarget::Finish(const WriteClock& source) {
  state_.write_us_last = source.last_issued_us();
  state_.clock = source.record();
  if (!writer_) CISTERN_RETURN_IF_ERROR(BeginRotation());
  return EndRotation();
}

class Salvager {
 public:
  // `rescue` told, before, what could not be read of the source's files.
  Salvager(EngineCore* source, SalvageTarget* target, RescueReport rescue)
      : source_(source), target_(target) {
    report_.problems = std::move(rescue.problems);
    report_.versions_lost = rescue.versions_lost;
  }

  [[nodiscard]] Result<SalvageReport> Run(const std::string& table_name) {
    std::vector<TablePtr> tables = source_->tables().List();
    if (!table_name.empty()) {
      CISTERN_ASSIGN_OR_RETURN(TablePtr table, source_->tables().Find(table_name));
      tables = {std::move(table)};
    }
    for (const TablePtr& table : tables) {
      CISTERN_RETURN_IF_ERROR(target_->AddTable(*table));
      tables_[table->id].table = table->schema->QualifiedName();
    }
    for (const std::string& note : source_->recovery().notes) Problem(note);
    if (!source_->boots().complete()) {
      Problem("the time of rows that were taken on an untrusted clock is not known: they are saved "
              "as older than all others");
    }
    Status failed;
    const Status visited = VisitBuckets(source_->query(), {}, [&](const BucketSummary& bucket) {
      if (tables_.contains(bucket.key.table_id)) failed = SaveBucket(bucket.key);
      return failed.ok();
    });
    CISTERN_RETURN_IF_ERROR(failed);
    if (!visited.ok()) Problem(visited.message() + "; buckets behind it were not looked at");
    CISTERN_RETURN_IF_ERROR(target_->Finish(source_->clock()));
    report_.versions_lost += source_->store().versions_quarantined();
    for (const LostRotations& lost : source_->store().damage().lost_rotations()) {
      report_.versions_lost += lost.version_count;
    }
    for (auto& [id, table] : tables_) report_.tables.push_back(std::move(table));
    return std::move(report_);
  }

 private:
  void Problem(std::string text) {
    if (report_.problems.size() < kProblemsMax) report_.problems.push_back(std::move(text));
  }
  void Lose(const BucketKey& key, uint64_t versions, const Status& why) {
    const TableSchema& schema = *source_->tables().FindById(key.table_id)->schema;
    tables_[key.table_id].versions_lost += versions;
    Problem(BucketName(schema, key.entity, key.start_s, key.split) + ": " + why.message());
  }
  [[nodiscard]] Status SaveBucket(const BucketKey& key);
  void AddHead(const BucketKey& key, const Head* head, bool frozen, BucketMerge* merge);

  EngineCore* const source_;
  SalvageTarget* const target_;
  std::map<uint32_t, SalvagedTable> tables_;
  SalvageReport report_;
};

Status Salvager::SaveBucket(const BucketKey& key) {
  std::vector<DamagedSegment> damaged;
  CISTERN_ASSIGN_OR_RETURN(std::vector<SegmentRef> segments,
                           ListSegments(*source_->store().spills().view(), key, &damaged));
  for (const DamagedSegment& d : damaged) {
    Lose(key, d.manifest ? d.manifest->version_count() : 0, d.status);
  }
  BucketMerge merge(source_->tables().FindById(key.table_id), key, std::move(segments),
                    source_->boots().bases(),
                    [&](const SegmentRef& segment, uint32_t page, const Status& status) {
                      Lose(key, segment.header.pages[page].row_count, status);
                      return true;
                    });
  {
    const HeadSet& heads = source_->heads();
    const std::shared_lock lock(heads.mutex);
    AddHead(key, heads.active.get(), false, &merge);
    AddHead(key, heads.frozen.get(), true, &merge);
  }
  CISTERN_ASSIGN_OR_RETURN(const uint64_t added, target_->AddBucket(&merge));
  SalvagedTable& table = tables_[key.table_id];
  table.versions_saved += added;
  if (added > 0) ++table.buckets;
  return Status::Ok();
}

// REQUIRES: the heads' lock.
void Salvager::AddHead(const BucketKey& key, const Head* head, bool frozen, BucketMerge* merge) {
  if (head == nullptr) return;
  const HeadBucket* bucket = head->FindBucket(key.table_id, key.entity, key.start_s, key.split);
  if (bucket == nullptr) return;
  auto rows = std::make_unique<HeadSource>(&source_->heads(), frozen, source_->heads().epoch, key,
                                           merge->table(), merge->table()->schema_version,
                                           TimeSpan{}, nullptr,
                                           merge->bases(), VersionColumns());
  rows->Prime(*head);
  merge->Add(std::move(rows), head->deletes(*bucket));
}

Result<std::shared_ptr<EngineCore>> OpenDamaged(const std::string& directory,
                                                const SalvageOptions& options) {
  CoreConfig config;
  config.options.read_only = true;
  config.options.background_threads = false;
  config.options.clock = options.clock;
  config.options.memory_budget_bytes = options.memory_budget_bytes;
  config.budget = std::make_shared<MemoryBudget>(options.memory_budget_bytes);
  config.store.directory = directory;
  config.store.create_if_missing = false;
  config.store.read_only = true;
  config.store.is_alone = true;
  config.store.memory_budget_bytes = options.memory_budget_bytes;
  config.store.clock = options.clock;
  config.store.log_sink = options.log_sink;
  return EngineCore::Open(config);
}

// A store without a catalog that can be read, as its files and the copy of the catalog have it. The
// scratch store is below the new one, which is of no use before the end, and is removed with it.
class Rescue {
 public:
  Rescue(std::string from, const std::string& to)
      : from_(std::move(from)), scratch_(to + "/rescue") {}
  ~Rescue() {
    std::error_code failed;  // what is left is links, and the new store works with it
    std::filesystem::remove_all(scratch_, failed);
  }
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  // `opened` says why the store itself cannot be read.
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> Open(const Status& opened,
                                                         const SalvageOptions& options) {
    std::error_code failed;
    std::filesystem::remove_all(scratch_, failed);  // of a salvage that was killed
    StoreConfig config;
    config.directory = scratch_;
    config.memory_budget_bytes = options.memory_budget_bytes;
    config.clock = options.clock;
    auto report = RescueCatalog(from_, config);
    if (!report.ok()) {
      return Status(report.status().code(), opened.message() + ". Without the database: " +
                                                report.status().message());
    }
    report_ = *std::move(report);
    report_.problems.insert(report_.problems.begin(),
                            "the database cannot be opened, and files were read without it: " +
                                opened.message());
    return OpenDamaged(scratch_, options);
  }
  [[nodiscard]] RescueReport TakeReport() { return std::move(report_); }

 private:
  const std::string from_;
  const std::string scratch_;
  RescueReport report_;
};

Status NothingToGoBy(const Status& opened) {
  return Status::Corruption(
      opened.message() +
      ". Without the database salvage needs CATALOG-1 or CATALOG-2, which say what tables there "
      "are and which segments count. Put those files back from a backup of this very store; the "
      "rows of segments (*.sst) are still there, so keep the directory");
}

// Whether files of the store may be readable though the store is not.
bool MayBeRescued(const Status& opened, const std::string& from) {
  const StatusCode code = opened.code();
  const bool is_damage = code == StatusCode::kCorruption || code == StatusCode::kIoError ||
                         code == StatusCode::kNotFound || code == StatusCode::kInvalidArgument ||
                         code == StatusCode::kTooNew;  // which one bit of CISTERN may say
  return is_damage && HasCatalogCopy(from);
}

}  // namespace

Result<SalvageReport> Salvage(const std::string& from, const std::string& to,
                              const SalvageOptions& asked) {
  SalvageOptions options = asked;
  if (!options.clock) options.clock = SystemClock();
  if (IsWithin(to, from)) {
    return Status::InvalidArgument(to + " is within the damaged store " + from +
                                   ", which is only read: name a directory outside of it");
  }
  SalvageTarget target;
  Rescue rescue(from, to);
  auto source = OpenDamaged(from, options);
  const bool is_rescued = !source.ok() && MayBeRescued(source.status(), from);
  if (is_rescued) {
    CISTERN_RETURN_IF_ERROR(target.Create(to, options));
    source = rescue.Open(source.status(), options);
  }
  if (!is_rescued && source.status().code() == StatusCode::kCorruption) {
    return NothingToGoBy(source.status());
  }
  CISTERN_RETURN_IF_ERROR(source.status());
  if (!options.table.empty()) {
    CISTERN_RETURN_IF_ERROR((*source)->tables().Find(options.table).status());
  }
  if (!is_rescued) CISTERN_RETURN_IF_ERROR(target.Create(to, options));
  return Salvager(source->get(), &target, rescue.TakeReport()).Run(options.table);
}

}  // namespace cistern
