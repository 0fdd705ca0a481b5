// The catalog kept twice: every write of meta passes here, and what it changes of the records
// that CatalogCopy keeps is written there first.
#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/confirmed_seals.h"
#include "storage/ended_seals.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_reader.h"
#include "storage/store.h"

namespace cistern {

namespace {

// What the copy has of the seals in a live window.
struct CopiedSeals {
  std::string rounds;     // those whose seals have manifests there
  std::string confirmed;  // empty: none is
};

Result<std::set<uint64_t>> ReadWaiting(const FamilyPtr& meta, uint64_t window_id) {
  std::set<uint64_t> waiting;
  const std::unique_ptr<rocksdb::Iterator> it(
      meta->db()->NewIterator(MetaIteratorOptions(), meta->handle()));
  const std::string prefix = OutboxKeyFrom(window_id);
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    if (it->key().size() != prefix.size() + sizeof(uint64_t)) continue;
    waiting.insert(GetBig<uint64_t>(it->key().data() + prefix.size()));
  }
  if (!it->status().ok()) return ToReadStatus(it->status(), "reading the outbox");
  return waiting;
}

Result<CopiedSeals> ReadSeals(const FamilyPtr& meta, uint64_t window_id) {
  CISTERN_ASSIGN_OR_RETURN(const std::set<uint64_t> waiting, ReadWaiting(meta, window_id));
  std::map<uint64_t, SealRound> rounds;
  std::map<uint64_t, std::vector<uint64_t>> indexes;
  ConfirmedSeals confirmed;
  const std::unique_ptr<rocksdb::Iterator> it(
      meta->db()->NewIterator(MetaIteratorOptions(), meta->handle()));
  for (it->Seek(ManifestKeyFrom(window_id, "")); it->Valid(); it->Next()) {
    const auto name = ParseManifestKey(it->key().ToStringView());
    if (!name || name->window_id != window_id) break;
    const uint64_t round = RotationOf(name->seal);
    const uint64_t index = name->seal & kSegmentIndexMask;
    rounds[round].round = round;
    indexes[round].push_back(index);
    const auto manifest = DecodeManifest(it->value().ToStringView());
    if (manifest.ok() && manifest->rotations) rounds[round].named[index] = *manifest->rotations;
    if (waiting.contains(name->seal)) continue;
    confirmed[name->seal] = manifest.ok() ? manifest->proof : ProofLevel::kAck;
  }
  if (!it->status().ok()) return ToReadStatus(it->status(), "reading manifests");
  CopiedSeals copied;
  for (auto& [number, round] : rounds) {
    round.indexes = IntervalsOf(std::move(indexes[number]));
    PutSealRound(&copied.rounds, round);
  }
  PutConfirmed(confirmed, &copied.confirmed);
  return copied;
}

}  // namespace

SealRound RoundOf(const SealCommit& commit) {
  SealRound round;
  std::vector<uint64_t> indexes;
  for (const SealCommit::Bucket& bucket : commit.buckets) {
    round.round = RotationOf(bucket.seal);
    const uint64_t index = bucket.seal & kSegmentIndexMask;
    indexes.push_back(index);
    if (bucket.manifest.rotations) round.named[index] = *bucket.manifest.rotations;
  }
  round.indexes = IntervalsOf(std::move(indexes));
  return round;
}

// What the copy cannot take costs no write: the database has it, and the next change, or the next
// opening, writes the copy anew.
Status Store::WriteMeta(rocksdb::WriteBatch* batch, bool sync, const char* what,
                        CatalogChange change) {
  if (copy_) {
    change.AddBatch(*batch);
    const Status copied = copy_->Write(change);
    if (!copied.ok()) {
      db_->opened().info_log->Write(
          LogLevel::kWarning, "the copy of the catalog could not be written: " + copied.message());
    }
  }
  rocksdb::WriteOptions options;
  options.sync = sync;
  const rocksdb::Status s = db_->db()->Write(options, batch);
  return s.ok() ? Status::Ok() : ToStatus(s, what);
}

Status Store::WriteSynced(rocksdb::WriteBatch* batch, const char* what, CatalogChange change) {
  return WriteMeta(batch, true, what, std::move(change));
}

// An ended window's, while a spill family that may be read needs its manifests.
void Store::KeepEndedSeals() {
  rocksdb::FileSystem* fs = db_->opened().fs.get();
  const std::string& directory = db_->opened().config.directory;
  auto listed = ListEndedSeals(fs, directory);
  if (!listed.ok()) return;
  for (const auto& [id, record] : window_records_) {
    if (!record.ended || !HasSourceToRead(record)) continue;
    if (listed->erase(id) == 0) CopyEndedSeals(id);
  }
  for (const uint64_t left : *listed) {
    RemoveEndedSeals(fs, directory, left).IgnoreError();  // the next opening tries again
  }
}

bool Store::HasSourceToRead(const WindowRecord& record) const {
  return std::any_of(record.sources.begin(), record.sources.end(),
                     [this](uint64_t spill_id) { return MayBeRead(spill_id); });
}

void Store::CopyEndedSeals(uint64_t window_id) {
  CrashPoint("catalog:before_ended");
  const Status copied = WriteEndedSeals(db_->opened().fs.get(), db_->opened().config.directory,
                                        meta_, window_id);
  CrashPoint("catalog:after_ended");
  if (copied.ok()) return;
  db_->opened().info_log->Write(LogLevel::kWarning, Concat({"what was sealed in window ",
      window_id, " could not be written a second time: ", copied.message()}));
}

// The database is right where both can be read. What the copy has of damaged records stays in it,
// and so do the rounds of windows of which it knows the same as the database.
Status Store::OpenCopy() {
  const OpenedStore& opened = db_->opened();
  auto copy =
      std::make_unique<CatalogCopy>(opened.fs.get(), opened.config.directory, opened.store_id);
  const auto warn = [&opened](const char* what, const Status& status) {
    if (status.ok()) return;
    opened.info_log->Write(LogLevel::kWarning, Concat({"the copy of the catalog could not be ",
        what, ": ", status.message()}));
  };
  warn("read", copy->Load());
  const CatalogContent told = copy->content();
  CISTERN_RETURN_IF_ERROR(CheckListed(told));
  const std::map<std::string, std::string>& was = told.records;
  std::map<std::string, std::string> records;
  records[std::string(kStateKey)] = EncodeState(state_);
  for (const auto& [id, versions] : tables_) {
    for (uint32_t version = 0; version < versions.size(); ++version) {
      records[TableKey(id, version)] = EncodeTable(versions[version]);
    }
  }
  for (uint32_t boot = 1; boot < boots_.size(); ++boot) {
    if (!boots_[boot].boot_id.empty()) records[BootKey(boot)] = EncodeBoot(boots_[boot]);
  }
  for (const auto& [id, record] : spill_records_) records[SpillKey(id)] = EncodeSpill(record);
  for (const auto& [id, record] : window_records_) {
    const std::string key = WindowKey(id);
    const std::string bytes = records[key] = EncodeWindow(record);
    if (record.ended) continue;
    const auto known = was.find(key);
    const auto keep = [&](const std::string& name) {
      const auto found = was.find(name);
      if (found != was.end()) records.insert(*found);
    };
    const bool is_known = known != was.end() && known->second == bytes &&
                          was.contains(CatalogRoundsKey(id)) &&
                          (record.confirmed_count == 0 || was.contains(CatalogConfirmedKey(id)));
    auto read = is_known ? Result<CopiedSeals>(CopiedSeals()) : ReadSeals(meta_, id);
    if (is_known || !read.ok()) {
      keep(CatalogRoundsKey(id));
      keep(CatalogConfirmedKey(id));
      continue;
    }
    records[CatalogRoundsKey(id)] = std::move(read->rounds);
    if (!read->confirmed.empty()) records[CatalogConfirmedKey(id)] = std::move(read->confirmed);
  }
  CountQuarantined();
  if (!damaged_.empty() || versions_quarantined_ > 0) {
    for (const auto& record : was) {
      if (record.first[0] == 'S' || record.first[0] == 'B') records.insert(record);
    }
  }
  warn("written", copy->Replace(std::move(records)));
  copy_ = std::move(copy);
  db_->opened().fs->ReleaseDeletions();
  return Status::Ok();
}

// Beside a writer the copy may know of files that were not there when this opening began.
Status Store::CheckAgainstCopy() const {
  const OpenedStore& opened = db_->opened();
  if (!opened.config.is_alone) return Status::Ok();
  const auto copy = CatalogCopy::Read(opened.fs.get(), opened.config.directory);
  const bool is_ours = copy.ok() && copy->store_id == opened.store_id;
  return is_ours ? CheckListed(*copy) : Status::Ok();
}

}  // namespace cistern
