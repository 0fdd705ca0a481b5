#include "engine/salvage_target.h"

#include <set>
#include <utility>

#include "engine/seal/bucket_seal.h"
#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/salvaging_mark.h"

namespace cistern {

namespace {

constexpr uint64_t kRotationBytes = 4ull << 20;  // encoded, after which a rotation or round ends
constexpr size_t kRoundBucketsMax = 1024;

}  // namespace

Status SalvageTarget::Create(const std::string& directory, const SalvageOptions& options,
                             std::shared_ptr<rocksdb::FileSystem> fs) {
  StoreConfig config;
  config.directory = directory;
  config.base_fs = std::move(fs);
  config.memory_budget_bytes = options.memory_budget_bytes;
  config.clock = options.clock;
  config.log_sink = options.log_sink;
  config.is_salvage_target = true;
  RecoveryReport report;
  CISTERN_ASSIGN_OR_RETURN(store_, Store::Open(config, &report));
  if (!report.created) {
    return Status::AlreadyExists(Concat({"there is a store in ", directory,
        ": salvage writes to a new one"}));
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

void SalvageTarget::BeginWindow(const WindowRecord& source) {
  round_ = SealCommit{};
  round_.span = source.span;
  confirmed_us_ = source.confirmed_us_last;
}

Status SalvageTarget::BeginRound() {
  if (round_.window == nullptr) {
    CISTERN_ASSIGN_OR_RETURN(round_.window_id, store_->NextSequence());
    CISTERN_ASSIGN_OR_RETURN(round_.window, store_->CreateWindow(round_.window_id));
  }
  CISTERN_ASSIGN_OR_RETURN(rotation_, store_->NextSequence());
  writer_.emplace(FamilyKind::kWindow, round_.window, rotation_);
  return Status::Ok();
}

Result<uint64_t> SalvageTarget::AddConfirmed(TablePtr table, const BucketKey& key,
                                             std::vector<SegmentRef> segments,
                                             std::shared_ptr<const BootBases> bases,
                                             ProofLevel proof, OnDamagedPage on_damage) {
  if (!writer_) CISTERN_RETURN_IF_ERROR(BeginRound());
  BucketSeal seal(std::move(table), key, std::move(segments), std::move(bases),
                  /*dictionaries=*/nullptr, &*writer_, std::move(on_damage));
  bool more = true;
  while (more) {
    CISTERN_ASSIGN_OR_RETURN(more, seal.Step());
  }
  const uint64_t added = seal.bucket().manifest.version_count();
  if (added == 0) return added;
  round_.buckets.push_back(seal.bucket());
  round_.versions_brought += added;
  proven_.push_back({{key, seal.bucket().seal}, proof});
  const bool is_full = round_.buckets.size() >= kRoundBucketsMax ||
                       writer_->byte_count() >= kRotationBytes;
  if (is_full) CISTERN_RETURN_IF_ERROR(EndRound());
  return added;
}

Status SalvageTarget::EndRound() {
  if (!writer_) return Status::Ok();
  if (!round_.buckets.empty()) {
    CISTERN_RETURN_IF_ERROR(writer_->Flush());
    CISTERN_ASSIGN_OR_RETURN(auto view, store_->CommitSeal(round_));
    store_->spills().Publish(std::move(view));
    CISTERN_RETURN_IF_ERROR(Confirm());
  }
  writer_.reset();
  CrashPoint("salvage:after_round");
  return store_->FlushMeta();
}

Status SalvageTarget::Confirm() {
  std::set<uint64_t> confirmed;
  CISTERN_ASSIGN_OR_RETURN(auto view, store_->ConfirmSeals(proven_, confirmed_us_, &confirmed));
  if (view != nullptr) store_->spills().Publish(std::move(view));
  state_.versions_written += round_.versions_brought;
  round_.versions_brought = 0;
  round_.buckets.clear();
  proven_.clear();
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
  SpillCommit commit = CommitOf(target_, rotation_, *writer_);
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
  CISTERN_RETURN_IF_ERROR(EndRotation());
  const OpenedStore& opened = store_->db().opened();
  CrashPoint("salvage:before_end");
  CISTERN_RETURN_IF_ERROR(EndSalvaging(opened.fs.get(), opened.config.directory));
  CrashPoint("salvage:after_end");
  return Status::Ok();
}

}  // namespace cistern
