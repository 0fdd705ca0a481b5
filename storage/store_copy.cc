// The catalog kept twice: every write of meta passes here, and what it changes of the records
// that CatalogCopy keeps is written there first.
#include <algorithm>
#include <optional>
#include <string_view>
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
#include "storage/window_recount.h"

namespace cistern {

namespace {

constexpr uint64_t kEndHeadroomBytes = 512 * 1024;  // left to the end itself
constexpr uint64_t kEndedSealBytes = 256;           // of one in the second copy, about
constexpr std::string_view kTakenBack =
    "changes of the catalog were lost with the log, and were taken from its copy";

// What the copy has of the seals in a live window.
struct CopiedSeals {
  std::string rounds;     // those whose seals have manifests there
  std::string confirmed;  // empty: none is
};

Result<CopiedSeals> ReadSeals(const FamilyPtr& meta, uint64_t window_id) {
  CISTERN_ASSIGN_OR_RETURN(const std::vector<uint64_t> waiting, ListWaiting(meta, window_id));
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
    if (std::binary_search(waiting.begin(), waiting.end(), name->seal)) continue;
    confirmed.Confirm(name->seal, 1, manifest.ok() ? manifest->proof : ProofLevel::kAck);
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

// What the copy said of a window, with what the database has beside it: the last word of a seal is
// the database's.
CopiedSeals Together(const std::string& rounds, const std::string& confirmed, CopiedSeals read) {
  const auto known = DecodeSealRounds(rounds);
  const auto added = DecodeSealRounds(read.rounds);
  if (!known.ok() || !added.ok()) return read;
  CopiedSeals both{rounds, confirmed + read.confirmed};
  for (const SealRound& round : *added) {
    const bool is_known = std::any_of(known->begin(), known->end(), [&](const SealRound& k) {
      return k.round == round.round;
    });
    if (!is_known) PutSealRound(&both.rounds, round);
  }
  return both;
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
void Store::KeepEndedSeals(bool may_drop) {
  rocksdb::FileSystem* fs = db_->opened().fs.get();
  auto listed = ListEndedSeals(fs, directory());
  if (!listed.ok()) return;
  for (const auto& [id, record] : window_records_) {
    if (!record.ended || !HasSourceToRead(record)) continue;
    if (listed->erase(id) == 0) CopyEndedSeals(id);
  }
  if (!may_drop) return;
  for (const uint64_t left : *listed) {
    RemoveEndedSeals(fs, directory(), left).IgnoreError();  // the next opening tries again
  }
}

bool Store::HasSourceToRead(const WindowRecord& record) const {
  return std::any_of(record.sources.begin(), record.sources.end(),
                     [this](uint64_t spill_id) { return MayBeRead(spill_id); });
}

// The end of a window does not wait for room: the next opening makes up for it.
void Store::CopyEndedSeals(uint64_t window_id) {
  CrashPoint("catalog:before_ended");
  const uint64_t seal_count = window_records_.at(window_id).seal_count;
  Status copied = CheckHeadroom(kEndHeadroomBytes + seal_count * kEndedSealBytes);
  if (copied.ok()) {
    copied = WriteEndedSeals(db_->opened().fs.get(), directory(), meta_, window_id);
  }
  CrashPoint("catalog:after_ended");
  if (copied.ok()) return;
  db_->opened().info_log->Write(LogLevel::kWarning, Concat({"what was sealed in window ",
      window_id, " could not be written a second time: ", copied.message()}));
}

// The database is right where both can be read, unless it has lost changes with its log: it takes
// them back from the copy then.
Result<bool> Store::OpenCopy() {
  OpenedStore& opened = db_->opened();
  auto copy =
      std::make_unique<CatalogCopy>(opened.fs.get(), directory(), opened.store_id);
  const auto warn = [&opened](const char* what, const Status& status) {
    if (status.ok()) return;
    opened.info_log->Write(LogLevel::kWarning, Concat({"the copy of the catalog could not be ",
        what, ": ", status.message()}));
  };
  std::vector<std::string> foreign;
  warn("read", copy->Load(&foreign));
  for (const std::string& file : foreign) {
    opened.NoteOddity(file + ": it is not believed, and is written anew");
  }
  const CatalogContent told = copy->content();
  const bool is_ahead = IsCopyAhead(told);
  CISTERN_ASSIGN_OR_RETURN(const bool is_cut, IsCut(told));
  rocksdb::WriteBatch batch;
  if (is_cut) CISTERN_RETURN_IF_ERROR(TakeBack(told, &batch));
  CISTERN_RETURN_IF_ERROR(CheckFamilies());
  CISTERN_RETURN_IF_ERROR(CheckListed(told, is_ahead));
  CISTERN_RETURN_IF_ERROR(RecountWindows(told));
  Status copied;
  if (is_cut) {
    if (batch.Count() > 0 || is_ahead) opened.NoteOddity(std::string(kTakenBack));
    CISTERN_RETURN_IF_ERROR(WriteTakenBack(&batch));
  } else {
    CISTERN_RETURN_IF_ERROR(TakeBackBesideCrash(told));
    copied = copy->Replace(RecordsToCopy(told.records));
    warn("written", copied);
  }
  copy_ = std::move(copy);
  // A copy that could not be brought to what the database says may be ahead of it: it counts files
  // which the database does not know, and nothing else would tell of them if they were gone.
  const bool may_drop = copied.ok() && opened.rung == RecoveryRung::kClean && !is_cut;
  if (may_drop) opened.fs->ReleaseDeletions();
  else opened.fs->KeepHeldTables();
  return may_drop;
}

// The records of the database, with what the copy has of those that are damaged, of windows of
// which it knows the same, and, where row versions are missing, whatever else it knows.
std::map<std::string, std::string> Store::RecordsToCopy(
    const std::map<std::string, std::string>& was) {
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
  CountQuarantined();
  const bool lacks_versions = !damaged_.empty() || versions_quarantined_ > 0;
  for (const auto& [id, record] : window_records_) {
    records[WindowKey(id)] = EncodeWindow(record);
    if (!record.ended) AddSealsToCopy(id, record, was, lacks_versions, &records);
  }
  if (!lacks_versions) return records;
  for (const auto& [key, value] : was) {
    const bool is_kept = key[0] == 'S' || key[0] == 'B' || key[0] == 'W';
    // Of a window that is not among the database's.
    const bool is_of_kept = (key[0] == 'R' || key[0] == 'C') &&
                            !window_records_.contains(GetBig<uint64_t>(key.data() + 1));
    if (is_kept || is_of_kept) records.emplace(key, value);
  }
  return records;
}

void Store::AddSealsToCopy(uint64_t window_id, const WindowRecord& record,
                           const std::map<std::string, std::string>& was, bool lacks_versions,
                           std::map<std::string, std::string>* records) const {
  const auto value_of = [&was](const std::string& key) {
    const auto found = was.find(key);
    return found == was.end() ? std::string() : found->second;
  };
  const std::string rounds = value_of(CatalogRoundsKey(window_id));
  const std::string confirmed = value_of(CatalogConfirmedKey(window_id));
  const bool is_known = value_of(WindowKey(window_id)) == EncodeWindow(record) &&
                        was.contains(CatalogRoundsKey(window_id)) &&
                        CountSeals(rounds) == record.seal_count &&
                        (record.confirmed_count == 0 || !confirmed.empty());
  CopiedSeals copied{rounds, confirmed};
  bool has_rounds = was.contains(CatalogRoundsKey(window_id));
  if (!is_known) {
    auto read = ReadSeals(meta_, window_id);
    has_rounds = has_rounds || read.ok();
    if (read.ok() && lacks_versions) read = Together(rounds, confirmed, *std::move(read));
    if (read.ok()) copied = *std::move(read);
  }
  if (has_rounds) (*records)[CatalogRoundsKey(window_id)] = std::move(copied.rounds);
  if (!copied.confirmed.empty()) {
    (*records)[CatalogConfirmedKey(window_id)] = std::move(copied.confirmed);
  }
}

// A reader takes back in memory what the log has lost. Beside a writer the copy may know of files
// that were not there when this opening began: there it is asked only where nothing could be read.
Status Store::CheckAgainstCopy() {
  OpenedStore& opened = db_->opened();
  const Status families = CheckFamilies();
  if (!opened.config.is_alone && families.ok()) return Status::Ok();
  const auto copy = CatalogCopy::Read(opened.fs.get(), directory(), opened.store_id);
  if (!copy.ok()) return families;
  const bool is_ahead = IsCopyAhead(*copy);
  CISTERN_ASSIGN_OR_RETURN(const bool is_cut, IsCut(*copy));
  rocksdb::WriteBatch unwritten;
  if (is_cut) {
    CISTERN_RETURN_IF_ERROR(TakeBack(*copy, &unwritten));
    if (unwritten.Count() > 0 || is_ahead) opened.NoteOddity(std::string(kTakenBack));
  } else if (StateInCopy(*copy)) {
    CISTERN_RETURN_IF_ERROR(TakeBackDeclarations(*copy, &unwritten));
  }
  CISTERN_RETURN_IF_ERROR(CheckFamilies());
  return CheckListed(*copy, is_ahead);
}

}  // namespace cistern
