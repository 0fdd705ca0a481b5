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
#include "engine/salvage_over.h"
#include "engine/salvage_target.h"
#include "lib/base/concat.h"
#include "lib/base/entered.h"
#include "lib/base/shortage.h"
#include "storage/bucket_merge.h"
#include "storage/catalog_rescue.h"
#include "storage/damage_advice.h"
#include "storage/keyspace.h"
#include "storage/path_check.h"
#include "storage/seal_reader.h"

namespace cistern {

namespace {

constexpr size_t kProblemsMax = 1000;

// The seals of a bucket in a window that upstream has.
struct ConfirmedBucket {
  BucketKey key;
  std::vector<SegmentRef> segments;
  ProofLevel proof = ProofLevel::kAck;  // of all of them
};

class Salvager {
 public:
  // `rescue` told, before, what could not be read of the source's files. `knows_confirmed`: what is
  // not in the source's outbox has been confirmed.
  Salvager(EngineCore* source, SalvageTarget* target, RescueReport rescue, bool knows_confirmed)
      : source_(source),
        target_(target),
        knows_confirmed_(knows_confirmed),
        knows_acknowledged_(rescue.knows_acknowledged) {
    report_.problems = std::move(rescue.problems);
    report_.versions_lost = rescue.versions_lost;
    report_.saw_all_buckets = rescue.has_all_buckets;
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
    for (const std::string& note : source_->recovery().notes) Problem(WithoutDamageAdvice(note));
    if (!source_->boots().complete()) {
      Problem("the time of rows that were taken on an untrusted clock is not known: they are saved "
              "as older than all others");
    }
    if (knows_confirmed_) CISTERN_RETURN_IF_ERROR(SaveConfirmed());
    Status failed;
    const Status visited = VisitBuckets(source_->query(), {}, [&](const BucketSummary& bucket) {
      if (tables_.contains(bucket.key.table_id)) failed = SaveBucket(bucket.key);
      return failed.ok();
    });
    CISTERN_RETURN_IF_ERROR(failed);
    if (IsShortage(visited)) return visited;
    if (!visited.ok()) {
      report_.saw_all_buckets = false;
      Problem(visited.message() + "; buckets behind it were not looked at");
    }
    CISTERN_RETURN_IF_ERROR(target_->Finish(source_->clock()));
    report_.versions_lost += source_->store().versions_quarantined();
    for (const LostRotations& lost : source_->store().damage().lost_rotations()) {
      report_.versions_lost += lost.version_count;
    }
    report_.journal_records_lost = CountLostRecords();
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
    Problem(Concat({BucketName(schema, key.entity, key.start_s, key.split), ": ", why.message()}));
  }
  [[nodiscard]] std::optional<uint64_t> CountLostRecords() const;
  [[nodiscard]] OnDamagedPage LoseDamagedPagesOf(const BucketKey& key);
  void Count(uint32_t table_id, uint64_t versions);
  [[nodiscard]] Status SaveConfirmed();
  [[nodiscard]] Status SaveConfirmedIn(const SpillView& view,
                                       const std::shared_ptr<const WindowFamily>& window);
  [[nodiscard]] bool IsConfirmed(const SpillView& view, const ManifestName& name) const;
  [[nodiscard]] bool IsSaved(const SegmentRef& segment) const;
  [[nodiscard]] Status SaveConfirmedBucket(ConfirmedBucket* bucket);
  [[nodiscard]] Status SaveBucket(const BucketKey& key);
  void AddHead(const BucketKey& key, const Head* head, bool frozen, BucketMerge* merge);

  EngineCore* const source_;
  SalvageTarget* const target_;
  const bool knows_confirmed_;  // the outbox has all that it is to have
  const bool knows_acknowledged_;  // the source's beacon has
  std::map<uint32_t, SalvagedTable> tables_;
  std::vector<uint64_t> saved_seals_;  // as confirmed ones; ascending once all are
  SalvageReport report_;
};

// A beacon that is not whole knows no end of what was acknowledged, unless an opening before left
// in it what the logs lack.
std::optional<uint64_t> Salvager::CountLostRecords() const {
  const AckBeacon& beacon = source_->store().beacon();
  const RecoveryReport& recovery = source_->recovery();
  const bool knows_end = knows_acknowledged_ && (beacon.is_whole() || beacon.has_lost_logs());
  // Behind damage of the log there may be records that ACK does not know yet.
  const bool is_read_whole = source_->store().db().opened().rung == RecoveryRung::kClean;
  const bool knows_count =
      recovery.recovered_with_loss ? recovery.lost_record_count > 0 : is_read_whole;
  return knows_end && knows_count ? std::optional(recovery.lost_record_count) : std::nullopt;
}

OnDamagedPage Salvager::LoseDamagedPagesOf(const BucketKey& key) {
  return [this, key](const SegmentRef& segment, uint32_t page, const Status& status) {
    Lose(key, segment.header.pages[page].row_count, status);
    return true;
  };
}

void Salvager::Count(uint32_t table_id, uint64_t versions) {
  tables_[table_id].versions_saved += versions;
}

// What upstream has stays confirmed. Of a seal of which that is not known it is sent again.
Status Salvager::SaveConfirmed() {
  const auto view = source_->store().spills().view();
  for (const auto& window : view->windows) {
    if (window->record.confirmed_count == 0) continue;
    target_->BeginWindow(window->record);
    CISTERN_RETURN_IF_ERROR(SaveConfirmedIn(*view, window));
    CISTERN_RETURN_IF_ERROR(target_->EndWindow());
  }
  std::sort(saved_seals_.begin(), saved_seals_.end());
  return Status::Ok();
}

// Manifests come in the order of buckets. What cannot be read is left to SaveBucket, which tells.
Status Salvager::SaveConfirmedIn(const SpillView& view,
                                 const std::shared_ptr<const WindowFamily>& window) {
  ConfirmedBucket bucket;
  const auto manifests = NewManifestIterator(view);
  for (manifests->Seek(ManifestKeyFrom(window->id, "")); manifests->Valid(); manifests->Next()) {
    const auto name = ParseManifestKey(manifests->key().ToStringView());
    if (!name || name->window_id != window->id) break;
    if (!tables_.contains(name->bucket.table_id) || !IsConfirmed(view, *name)) continue;
    const auto manifest = DecodeManifest(manifests->value().ToStringView());
    auto segment = ReadSealedSegment(window, name->bucket, name->seal);
    if (!manifest.ok() || !segment.ok()) continue;
    if (!bucket.segments.empty() && !(bucket.key == name->bucket)) {
      CISTERN_RETURN_IF_ERROR(SaveConfirmedBucket(&bucket));
    }
    if (bucket.segments.empty()) bucket = {name->bucket, {}, manifest->proof};
    bucket.proof = std::min(bucket.proof, manifest->proof);
    bucket.segments.push_back(*std::move(segment));
  }
  return bucket.segments.empty() ? Status::Ok() : SaveConfirmedBucket(&bucket);
}

bool Salvager::IsConfirmed(const SpillView& view, const ManifestName& name) const {
  const Result<bool> waits = IsInOutbox(view.meta, name.window_id, {name.bucket, name.seal});
  return waits.ok() && !*waits;
}

Status Salvager::SaveConfirmedBucket(ConfirmedBucket* bucket) {
  for (const SegmentRef& segment : bucket->segments) saved_seals_.push_back(segment.id);
  CISTERN_ASSIGN_OR_RETURN(
      const uint64_t added,
      target_->AddConfirmed(source_->tables().FindById(bucket->key.table_id), bucket->key,
                            std::move(bucket->segments), source_->boots().bases(), bucket->proof,
                            LoseDamagedPagesOf(bucket->key)));
  Count(bucket->key.table_id, added);
  tables_[bucket->key.table_id].versions_confirmed += added;
  bucket->segments.clear();
  return Status::Ok();
}

bool Salvager::IsSaved(const SegmentRef& segment) const {
  return segment.family->kind == FamilyKind::kWindow &&
         std::binary_search(saved_seals_.begin(), saved_seals_.end(), segment.id);
}

Status Salvager::SaveBucket(const BucketKey& key) {
  std::vector<DamagedSegment> damaged;
  CISTERN_ASSIGN_OR_RETURN(std::vector<SegmentRef> segments,
                           ListSegments(*source_->store().spills().view(), key, &damaged));
  for (const DamagedSegment& d : damaged) {
    Lose(key, d.manifest ? d.manifest->version_count() : 0, d.status);
  }
  const size_t is_saved =
      std::erase_if(segments, [this](const SegmentRef& segment) { return IsSaved(segment); });
  BucketMerge merge(source_->tables().FindById(key.table_id), key, std::move(segments),
                    source_->boots().bases(), LoseDamagedPagesOf(key));
  {
    const HeadSet& heads = source_->heads();
    const std::shared_lock lock(heads.mutex);
    AddHead(key, heads.active.get(), false, &merge);
    AddHead(key, heads.frozen.get(), true, &merge);
  }
  CISTERN_ASSIGN_OR_RETURN(const uint64_t added, target_->AddBucket(&merge));
  Count(key.table_id, added);
  if (added > 0 || is_saved > 0) ++tables_[key.table_id].buckets;
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

// For reading alone. A message that it cannot be opened does not advise to salvage it.
// `segments_rest` as in StoreConfig.
Result<std::shared_ptr<EngineCore>> OpenDamaged(const std::string& directory,
                                                const SalvageOptions& options,
                                                bool segments_rest = false) {
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
  config.store.segments_rest = segments_rest;
  config.store.memory_budget_bytes = options.memory_budget_bytes;
  config.store.clock = options.clock;
  config.store.log_sink = options.log_sink;
  auto source = EngineCore::Open(config);
  if (source.ok()) return source;
  return Status(source.status().code(), WithoutDamageAdvice(source.status().message()));
}

// A store without a catalog that can be read, as its files and the copy of the catalog have it. The
// scratch store is below the new one, which is of no use before the end, and is removed with it.
class Rescue {
 public:
  Rescue(std::string from, const std::string& to)
      : from_(std::move(from)), scratch_(to + "/rescue") {}
  ~Rescue() {
    if (!has_begun_) return;  // nothing in the new directory is ours
    std::error_code failed;  // what is left is links, and the new store works with it
    std::filesystem::remove_all(scratch_, failed);
  }
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  // `opened` says why the store itself cannot be read. REQUIRES: the new store has been created.
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> Open(const Status& opened,
                                                         const SalvageOptions& options) {
    has_begun_ = true;
    std::error_code failed;
    std::filesystem::remove_all(scratch_, failed);  // of a salvage that was killed
    StoreConfig config;
    config.directory = scratch_;
    config.memory_budget_bytes = options.memory_budget_bytes;
    config.clock = options.clock;
    auto report = RescueCatalog(from_, config);
    if (!report.ok()) {
      return Status(report.status().code(), Concat({opened.message(), ". Without the database: ",
          report.status().message()}));
    }
    report_ = *std::move(report);
    report_.problems.insert(report_.problems.begin(),
                            "the database cannot be read, and files were read without it: " +
                                opened.message());
    return OpenDamaged(scratch_, options, /*segments_rest=*/true);
  }
  [[nodiscard]] RescueReport TakeReport() { return std::move(report_); }

 private:
  const std::string from_;
  const std::string scratch_;
  bool has_begun_ = false;
  RescueReport report_;
};

// `copy` says why the copy of the catalog is of no use.
Status NothingToGoBy(const Status& opened, const Status& copy) {
  if (copy.code() != StatusCode::kNotFound && !copy.ok()) {
    return Status::Corruption(opened.message() + ". Without the database: " + copy.message());
  }
  return Status::Corruption(
      opened.message() +
      ". Without the database salvage needs CATALOG-1 or CATALOG-2, which say what tables there "
      "are and which segments count. Put those files back from a backup of this very store; the "
      "rows of segments (*.sst) are still there, so keep the directory");
}

// Whether the database of an open store says all that it is to say of its files. What is damaged of
// it costs rows which the copy of the catalog may know how to read.
Status CheckCatalog(Store* store) {
  if (!store->damaged_records().empty()) {
    return Status::Corruption(WithoutDamageAdvice(store->damaged_records().front().what));
  }
  if (store->versions_quarantined() > 0) {
    return Status::Corruption(std::to_string(store->versions_quarantined()) +
                              " row versions are in nothing that the catalog has");
  }
  const auto view = store->spills().view();
  std::map<uint64_t, uint64_t> seals;
  ManifestWalker manifests(view, "");
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(const auto item, manifests.Next());
    if (!item) break;
    ++seals[item->window->id];
  }
  for (const auto& window : view->windows) {
    uint64_t waiting = 0;
    OutboxWalker outbox(view, window->id);
    while (true) {
      CISTERN_ASSIGN_OR_RETURN(const auto entry, outbox.Next());
      if (!entry) break;
      ++waiting;
    }
    const bool is_right = seals[window->id] == window->record.seal_count &&
                          waiting == WaitingCount(window->record);
    if (!is_right) return Status::Corruption(Concat({window->Name(),
        " lacks manifests or outbox entries"}));
  }
  return Status::Ok();
}

// Whether files of the store may be readable though the store is not.
bool MayBeRescued(const Status& opened, const std::string& from) {
  const StatusCode code = opened.code();
  const bool is_damage = code == StatusCode::kCorruption || code == StatusCode::kIoError ||
                         code == StatusCode::kNotFound || code == StatusCode::kInvalidArgument ||
                         code == StatusCode::kTooNew;  // which one bit of CISTERN may say
  return is_damage && CheckCatalogCopy(from).ok();
}

}  // namespace

Result<SalvageReport> SalvageOver(const std::string& from, const std::string& to,
                                  const SalvageOptions& asked,
                                  std::shared_ptr<rocksdb::FileSystem> target_fs) {
  SalvageOptions options = asked;
  if (!options.clock) options.clock = SystemClock();
  if (IsWithin(to, from)) {
    return Status::InvalidArgument(Concat({to, " is within the damaged store ", from,
        ", which is only read: name a directory outside of it"}));
  }
  SalvageTarget target;
  Rescue rescue(from, to);
  auto source = OpenDamaged(from, options);
  const Status sound = source.ok() ? CheckCatalog(&(*source)->store()) : source.status();
  const bool is_rescued = !sound.ok() && MayBeRescued(sound, from);
  if (is_rescued) {
    CISTERN_RETURN_IF_ERROR(target.Create(to, options, target_fs));
    source = rescue.Open(sound, options);
  }
  if (!is_rescued && source.status().code() == StatusCode::kCorruption) {
    return NothingToGoBy(source.status(), CheckCatalogCopy(from));
  }
  CISTERN_RETURN_IF_ERROR(source.status());
  if (!options.table.empty()) {
    CISTERN_RETURN_IF_ERROR((*source)->tables().Find(options.table).status());
  }
  if (!is_rescued) CISTERN_RETURN_IF_ERROR(target.Create(to, options, target_fs));
  RescueReport report = rescue.TakeReport();
  const bool knows_confirmed = sound.ok() || is_rescued;
  if (!knows_confirmed) {
    report.has_all_buckets = false;
    report.problems.push_back(sound.message() +
                              ": what upstream has confirmed is not known, and all is sent again");
  }
  return Salvager(source->get(), &target, std::move(report), knows_confirmed).Run(options.table);
}

Result<SalvageReport> Salvage(const std::string& from, const std::string& to,
                              const SalvageOptions& options) {
  return Entered([&] { return SalvageOver(from, to, options, nullptr); });
}

}  // namespace cistern
