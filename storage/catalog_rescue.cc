#include "storage/catalog_rescue.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/base/unwind_guard.h"
#include "lib/segment/segment_header.h"
#include "storage/catalog_copy.h"
#include "storage/confirmed_seals.h"
#include "storage/ended_seals.h"
#include "storage/file_survey.h"
#include "storage/header_iterator.h"
#include "storage/keyspace.h"
#include "storage/meta_records.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_records.h"
#include "storage/small_file.h"
#include "storage/stand_in.h"
#include "storage/store_format.h"
#include "storage/store_opener.h"

namespace cistern {

namespace {

// RocksDB wants to know which sequences of its own are in a file that it imports. It compares files
// of level 0 by them, and shows what is not above the highest. No store comes near.
constexpr uint64_t kImportedSequence = uint64_t{1} << 50;
constexpr size_t kBatchBytes = 256 * 1024;
constexpr char kImportFolder[] = "/import";

Manifest ManifestOf(const SegmentHeader& header) {
  Manifest manifest;
  manifest.row_count = header.row_count;
  manifest.delete_count = header.deletes.size();
  manifest.byte_count = header.byte_count();
  manifest.first_time = header.row_count == 0 ? 0 : header.first_time;
  manifest.last_time = header.row_count == 0 ? 0 : header.last_time;
  manifest.has_endless_rows = header.row_count > 0;
  manifest.has_deletes = !header.deletes.empty();
  return manifest;
}

// One rescue. The steps are called in the order of their declaration.
class Rescuer {
 public:
  Rescuer(std::string from, const StoreConfig& scratch)
      : from_(std::move(from)), config_(scratch) {
    config_.segments_rest = true;  // nothing is merged: there is nothing to gain
    config_.create_if_missing = true;
    config_.read_only = false;
  }
  [[nodiscard]] Result<RescueReport> Run();

 private:
  [[nodiscard]] Status ReadCopy();
  [[nodiscard]] Status CreateScratch();
  void LeaveOutSmallTables();
  [[nodiscard]] Status CopyRecords();
  [[nodiscard]] Status CopyEnded(uint64_t window_id, const WindowRecord& record);
  [[nodiscard]] Status ImportFamilies();
  [[nodiscard]] Status CopyJournals();

  [[nodiscard]] std::vector<const SurveyedTable*> TablesOf(FamilyKind kind, uint64_t id) const;
  [[nodiscard]] Status ImportFamily(FamilyKind kind, uint64_t id);
  [[nodiscard]] Status MakeManifests(uint64_t window_id);
  [[nodiscard]] Result<ConfirmedSeals> ConfirmedIn(uint64_t window_id) const;
  [[nodiscard]] Result<uint64_t> FindSeals(uint64_t window_id, const SealRound& round,
                                           const ConfirmedSeals& confirmed,
                                           rocksdb::SstFileReader* reader,
                                           std::set<uint64_t>* found);
  void CountRotations(uint64_t family_id, const SpillRecord& record);
  [[nodiscard]] Result<rocksdb::ColumnFamilyHandle*> JournalOf(uint64_t family);
  [[nodiscard]] Status CopyJournalTables();
  [[nodiscard]] Status PutMeta(const std::string& key, const std::string& value);
  [[nodiscard]] Status WriteOut();

  const std::string from_;
  StoreConfig config_;
  RescueReport report_;
  CatalogContent copy_;
  FileSurvey survey_;
  OpenedStore scratch_;
  rocksdb::WriteBatch batch_;
  std::map<uint64_t, SpillRecord> spills_;     // live
  std::map<uint64_t, WindowRecord> windows_;   // live
  uint64_t journal_floor_ = 0;
  uint64_t last_in_tables_ = 0;      // of journals
  uint64_t families_of_tables_ = 0;  // the highest; logs name families by RocksDB's numbers
  uint64_t imported_ = 0;  // files
};

Result<RescueReport> Rescuer::Run() {
  CISTERN_RETURN_IF_ERROR(ReadCopy());
  CISTERN_RETURN_IF_ERROR(CreateScratch());
  CISTERN_ASSIGN_OR_RETURN(survey_, SurveyFiles(scratch_.env.get(), from_));
  report_.problems.insert(report_.problems.end(), survey_.problems.begin(),
                          survey_.problems.end());
  LeaveOutSmallTables();
  CISTERN_RETURN_IF_ERROR(CopyRecords());
  CISTERN_RETURN_IF_ERROR(ImportFamilies());
  CISTERN_RETURN_IF_ERROR(CopyJournals());
  CISTERN_RETURN_IF_ERROR(scratch_.Close());
  return std::move(report_);
}

// A store whose CISTERN can be read is what that says, whatever lies beside; then what ACK says.
std::string StoreIdOf(rocksdb::FileSystem* fs, const std::string& directory) {
  const auto format = ReadStoreFormat(fs, directory);
  if (format.ok()) return format->store_id;
  return AckBeacon::StoreIdIn(fs, directory).value_or("");
}

Status Rescuer::ReadCopy() {
  rocksdb::FileSystem* fs = rocksdb::FileSystem::Default().get();
  std::vector<std::string> foreign;
  CISTERN_ASSIGN_OR_RETURN(copy_,
                           CatalogCopy::Read(fs, from_, StoreIdOf(fs, from_), &foreign));
  for (const std::string& file : foreign) {
    report_.problems.push_back(file + ": it was not believed");
  }
  return Status::Ok();
}

// It knows what was acknowledged, so that its opening tells what the logs lack.
Status Rescuer::CreateScratch() {
  CISTERN_ASSIGN_OR_RETURN(scratch_, OpenStore(config_));
  CISTERN_ASSIGN_OR_RETURN(
      const auto beacon,
      AckBeacon::Open(scratch_.fs.get(), from_, copy_.store_id, /*read_only=*/true));
  if (!beacon->note().empty()) report_.problems.push_back(beacon->note());
  report_.knows_acknowledged = beacon->is_whole();
  CISTERN_RETURN_IF_ERROR(scratch_.beacon->Write(beacon->sequence()));
  return CreateDirectoryDurably(scratch_.fs.get(), config_.directory + kImportFolder);
}

Status Rescuer::PutMeta(const std::string& key, const std::string& value) {
  batch_.Put(scratch_.families.at(std::string(kMetaFamilyName)), key, value);
  return batch_.GetDataSize() < kBatchBytes ? Status::Ok() : WriteOut();
}

Status Rescuer::WriteOut() {
  const rocksdb::Status s = scratch_.db->Write(rocksdb::WriteOptions(), &batch_);
  batch_.Clear();
  return ToStatus(s, "writing " + config_.directory);
}

Result<std::shared_ptr<const std::string>> StandInFor(const SurveyedTable& table) {
  CISTERN_ASSIGN_OR_RETURN(std::string bytes, MakeTable({table.first_key, table.last_key}));
  return FitStandIn(std::move(bytes), table.size_bytes);
}

// RocksDB ends the process at a file without a first or last key, so it is never shown one. A file
// that is too small for a stand-in has one block, or two, and one of them is damaged.
void Rescuer::LeaveOutSmallTables() {
  std::erase_if(survey_.tables, [this](const SurveyedTable& table) {
    if (table.has_ends || StandInFor(table).ok()) return false;
    report_.problems.push_back(table.path + " cannot be used: its first or last block is damaged");
    return true;
  });
}

// What was superseded counts no more, and has no record then.
Status Rescuer::CopyRecords() {
  for (const auto& [key, value] : copy_.records) {
    if (key[0] == 'R' || key[0] == 'C') continue;
    if (key[0] == 'A') {
      CISTERN_ASSIGN_OR_RETURN(const StateRecord state, DecodeState(value));
      journal_floor_ = state.journal_floor;
    }
    if (key[0] == 'S') {
      CISTERN_ASSIGN_OR_RETURN(const SpillRecord record, DecodeSpill(value));
      if (record.superseded) continue;
      spills_[GetBig<uint64_t>(key.data() + 1)] = record;
    }
    if (key[0] == 'W') {
      CISTERN_ASSIGN_OR_RETURN(const WindowRecord record, DecodeWindow(value));
      const auto id = GetBig<uint64_t>(key.data() + 1);
      if (record.ended) CISTERN_RETURN_IF_ERROR(CopyEnded(id, record));
      else windows_[id] = record;
    }
    CISTERN_RETURN_IF_ERROR(PutMeta(key, value));
  }
  return WriteOut();
}

// Keys sort spill families before windows, so that those that count are known.
Status Rescuer::CopyEnded(uint64_t window_id, const WindowRecord& record) {
  const bool is_needed =
      std::any_of(record.sources.begin(), record.sources.end(),
                  [this](uint64_t spill_id) { return spills_.contains(spill_id); });
  if (!is_needed) return Status::Ok();
  const Status read = ReadEndedSeals(
      scratch_.fs.get(), from_, window_id,
      [this](std::string_view key, std::string_view value) {
        return PutMeta(std::string(key), std::string(value));
      });
  if (read.code() != StatusCode::kNotFound && read.code() != StatusCode::kCorruption) return read;
  report_.problems.push_back(Concat({"window ", window_id, " has ended, and what was sealed in it "
      "is not known: rows that had expired may be among those saved: ", read.message()}));
  return Status::Ok();
}

std::vector<const SurveyedTable*> Rescuer::TablesOf(FamilyKind kind, uint64_t id) const {
  std::vector<const SurveyedTable*> tables;
  for (const SurveyedTable& table : survey_.tables) {
    if (table.kind == kind && table.family_id == id) tables.push_back(&table);
  }
  return tables;
}

Status Rescuer::ImportFamilies() {
  for (const auto& [id, record] : spills_) {
    CISTERN_RETURN_IF_ERROR(ImportFamily(FamilyKind::kSpill, id));
    CountRotations(id, record);
  }
  for (const auto& [id, record] : windows_) {
    CISTERN_RETURN_IF_ERROR(ImportFamily(FamilyKind::kWindow, id));
    CISTERN_RETURN_IF_ERROR(MakeManifests(id));
  }
  return WriteOut();
}

// RocksDB opens what it imports and looks for its first and last key. Where a block at an end is
// damaged, which must not cost the file, RocksDB sees a stand-in with two keys. It moves a hard
// link of the symbolic link into the database, and deletes the latter.
Status Rescuer::ImportFamily(FamilyKind kind, uint64_t id) {
  const bool is_spill = kind == FamilyKind::kSpill;
  const std::string name = is_spill ? SpillFamilyName(id) : WindowFamilyName(id);
  rocksdb::ExportImportFilesMetaData metadata;
  metadata.db_comparator_name = rocksdb::BytewiseComparator()->Name();
  for (const SurveyedTable* table : TablesOf(kind, id)) {
    const std::string file = table->path.substr(table->path.rfind('/'));
    const std::string link = config_.directory + kImportFolder + file;
    std::error_code failed;
    std::filesystem::create_symlink(std::filesystem::absolute(table->path), link, failed);
    if (failed) return Status::IoError(Concat({"linking ", link, ": ", failed.message()}));
    if (!table->has_ends) {
      CISTERN_ASSIGN_OR_RETURN(auto stand_in, StandInFor(*table));
      scratch_.fs->SetStandIn(link, std::move(stand_in), table->size_bytes);
    }
    rocksdb::LiveFileMetaData imported;
    imported.column_family_name = name;
    imported.db_path = config_.directory + kImportFolder;
    imported.name = file.substr(1);  // RocksDB puts a slash before it
    imported.relative_filename = file.substr(1);
    imported.size = table->size_bytes;
    imported.level = 0;
    imported.smallestkey = table->first_key;
    imported.largestkey = table->last_key;
    imported.smallest_seqno = kImportedSequence + 2 * imported_;
    imported.largest_seqno = kImportedSequence + 2 * imported_ + 1;
    metadata.files.push_back(std::move(imported));
    ++imported_;
  }
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  rocksdb::ImportColumnFamilyOptions options;
  options.move_files = true;
  const rocksdb::Status s =
      metadata.files.empty()
          ? scratch_.db->CreateColumnFamily(scratch_.FamilyOptions(kind), name, &handle)
          : scratch_.db->CreateColumnFamilyWithImport(scratch_.FamilyOptions(kind), name, options,
                                                      metadata, &handle);
  if (!s.ok()) return ToStatus(s, "taking the files of " + name);
  const UnwindGuard unnamed(
      [&] { scratch_.db->DestroyColumnFamilyHandle(handle).PermitUncheckedError(); });
  scratch_.families[name] = handle;
  return Status::Ok();
}

// Its last key tells of a rotation how much it has (RotationExtent); one in no file is lost.
void Rescuer::CountRotations(uint64_t family_id, const SpillRecord& record) {
  std::set<uint64_t> found;
  uint64_t found_count = 0;
  for (const SurveyedTable* table : TablesOf(FamilyKind::kSpill, family_id)) {
    // A file of pages alone is not its rotation: another has the headers.
    if (ParseHeaderKey(table->first_key)) found.insert(RotationOfKey(table->first_key));
    const auto extent = ParseExtentKey(table->last_key);
    if (extent && record.Contains(extent->rotation)) found_count += extent->version_count;
    if (extent) found.insert(extent->rotation);
  }
  uint64_t missing = 0;
  for (const SequenceInterval& interval : record.committed) {
    for (uint64_t r = interval.first; r < interval.first + interval.length; ++r) {
      missing += found.contains(r) ? 0 : 1;
    }
  }
  // One that is empty has no file.
  if (missing == 0 || found_count >= record.version_count) return;
  const uint64_t open = record.version_count - record.sealed_count;
  const uint64_t lost = std::min(open, record.version_count - std::min(record.version_count,
                                                                       found_count));
  report_.versions_lost += lost;
  report_.problems.push_back(Concat({missing, " rotations of spill family ", family_id,
      " are in no file that can be read: up to ", lost, " row versions are lost"}));
}

Status Rescuer::MakeManifests(uint64_t window_id) {
  const auto known = copy_.records.find(CatalogRoundsKey(window_id));
  if (known == copy_.records.end()) return Status::Ok();
  CISTERN_ASSIGN_OR_RETURN(const std::vector<SealRound> rounds, DecodeSealRounds(known->second));
  CISTERN_ASSIGN_OR_RETURN(const ConfirmedSeals confirmed, ConfirmedIn(window_id));
  std::vector<std::unique_ptr<rocksdb::SstFileReader>> readers;
  for (const SurveyedTable* table : TablesOf(FamilyKind::kWindow, window_id)) {
    CISTERN_ASSIGN_OR_RETURN(auto reader, OpenTable(scratch_.env.get(), table->path));
    readers.push_back(std::move(reader));
  }
  uint64_t missing_count = 0;
  uint64_t found_versions = 0;
  for (const SealRound& round : rounds) {
    std::set<uint64_t> found;  // indexes
    for (const auto& reader : readers) {
      CISTERN_ASSIGN_OR_RETURN(const uint64_t versions,
                               FindSeals(window_id, round, confirmed, reader.get(), &found));
      found_versions += versions;
    }
    missing_count += CountSequences(round.indexes) - found.size();
  }
  if (missing_count == 0) return Status::Ok();
  const uint64_t version_count = windows_.at(window_id).version_count;
  const uint64_t lost = version_count - std::min(version_count, found_versions);
  report_.versions_lost += lost;
  report_.problems.push_back(Concat({missing_count, " seals of window ", window_id,
      " are in no file that can be read: ", lost, " row versions are lost"}));
  return Status::Ok();
}

Result<ConfirmedSeals> Rescuer::ConfirmedIn(uint64_t window_id) const {
  const auto known = copy_.records.find(CatalogConfirmedKey(window_id));
  return known == copy_.records.end() ? ConfirmedSeals() : DecodeConfirmed(known->second);
}

// Makes the manifests of the round's seals whose headers are in the file, and adds their indexes to
// *found; those that are not known to be confirmed wait. Returns their row versions.
Result<uint64_t> Rescuer::FindSeals(uint64_t window_id, const SealRound& round,
                                    const ConfirmedSeals& confirmed,
                                    rocksdb::SstFileReader* reader, std::set<uint64_t>* found) {
  const auto headers = NewHeaderIterator(
      [reader](const rocksdb::ReadOptions& options) { return reader->NewIterator(options); },
      false);
  uint64_t versions = 0;
  for (headers->Seek(HeaderKeyFrom(round.round, "")); headers->Valid(); headers->Next()) {
    const std::string_view value = headers->value().ToStringView();
    ByteReader in(value, "segment header");
    const uint64_t index = in.ReadCount("index", kSegmentIndexMask);
    const auto bucket = ParseHeaderKey(headers->key().ToStringView());
    if (!in.ok() || !bucket || !HasSequence(round.indexes, index)) continue;
    if (found->contains(index)) continue;
    const auto header = DecodeSegmentHeader(value.substr(in.position()));
    if (!header.ok()) continue;
    Manifest manifest = ManifestOf(*header);
    const auto named = round.named.find(index);
    if (named != round.named.end()) manifest.rotations = named->second;
    versions += manifest.version_count();
    found->insert(index);
    const uint64_t seal = round.round << kSegmentIndexBits | index;
    const auto proof = confirmed.ProofOf(seal);
    if (proof) manifest.proof = *proof;
    else CISTERN_RETURN_IF_ERROR(PutMeta(OutboxKey(window_id, seal), EncodeBucketKey(*bucket)));
    CISTERN_RETURN_IF_ERROR(
        PutMeta(ManifestKey(window_id, *bucket, seal), EncodeManifest(manifest)));
  }
  return versions;
}

Result<rocksdb::ColumnFamilyHandle*> Rescuer::JournalOf(uint64_t family) {
  const std::string name = JournalFamilyName(family);
  rocksdb::ColumnFamilyHandle*& handle = scratch_.families[name];
  if (handle == nullptr) {
    const rocksdb::Status s = scratch_.db->CreateColumnFamily(
        scratch_.FamilyOptions(FamilyKind::kJournal), name, &handle);
    if (!s.ok()) return ToStatus(s, "creating " + name);
  }
  return handle;
}

// An opening that gives up damaged records brings journals into tables, and the logs go. Families
// are replayed by their numbers: these are older than those of logs.
Status Rescuer::CopyJournalTables() {
  for (const SurveyedTable& table : survey_.tables) {
    const auto last = ParseJournalKey(table.last_key);
    const bool is_needed =
        table.kind == FamilyKind::kJournal && (!last || *last > journal_floor_);
    if (!is_needed) continue;
    CISTERN_ASSIGN_OR_RETURN(const auto reader, OpenTable(scratch_.env.get(), table.path));
    families_of_tables_ = std::max(families_of_tables_, table.family_id);
    CISTERN_ASSIGN_OR_RETURN(rocksdb::ColumnFamilyHandle * handle, JournalOf(table.family_id));
    const std::unique_ptr<rocksdb::Iterator> it(reader->NewIterator(rocksdb::ReadOptions()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const auto sequence = ParseJournalKey(it->key().ToStringView());
      if (!sequence) continue;
      last_in_tables_ = std::max(last_in_tables_, *sequence);
      const rocksdb::Status s =
          scratch_.db->Put(rocksdb::WriteOptions(), handle, it->key(), it->value());
      CISTERN_RETURN_IF_ERROR(ToStatus(s, "writing " + config_.directory));
    }
    if (!it->status().ok()) report_.problems.push_back(table.path + ": " + it->status().ToString());
  }
  return Status::Ok();
}

// A family counts as a whole, as its records are coded one against the other: that of a record
// above the floor, with what it has below.
Status Rescuer::CopyJournals() {
  CISTERN_RETURN_IF_ERROR(CopyJournalTables());
  const size_t told = report_.problems.size();
  std::map<uint32_t, uint64_t> last;
  CISTERN_RETURN_IF_ERROR(VisitLoggedRecords(
      scratch_.env.get(), survey_.logs,
      [&](uint32_t family, uint64_t sequence, std::string_view /*record*/) {
        last[family] = std::max(last[family], sequence);
        return Status::Ok();
      },
      &report_.problems));
  // Behind damage of a log there may be records that ACK does not know yet.
  if (report_.problems.size() > told) report_.knows_acknowledged = false;
  std::vector<std::string> told_before;
  return VisitLoggedRecords(
      scratch_.env.get(), survey_.logs,
      [&](uint32_t family, uint64_t sequence, std::string_view record) -> Status {
        if (last[family] <= std::max(journal_floor_, last_in_tables_)) return Status::Ok();
        CISTERN_ASSIGN_OR_RETURN(rocksdb::ColumnFamilyHandle * handle,
                                 JournalOf(families_of_tables_ + family));
        const rocksdb::Status s = scratch_.db->Put(
            rocksdb::WriteOptions(), handle, JournalKey(sequence),
            rocksdb::Slice(record.data(), record.size()));
        return ToStatus(s, "writing " + config_.directory);
      },
      &told_before);
}

}  // namespace

Status CheckCatalogCopy(const std::string& directory) {
  rocksdb::FileSystem* fs = rocksdb::FileSystem::Default().get();
  return CatalogCopy::Read(fs, directory, StoreIdOf(fs, directory)).status();
}

Result<RescueReport> RescueCatalog(const std::string& from, const StoreConfig& scratch) {
  return Rescuer(from, scratch).Run();
}

}  // namespace cistern
