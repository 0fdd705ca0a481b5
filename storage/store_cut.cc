// Opening: what the database has lost with a log, as its files were damaged or are gone, and the
// copy of the catalog still has.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "storage/damage_advice.h"
#include "storage/keyspace.h"
#include "storage/meta_merge.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/store.h"
#include "storage/window_recount.h"

namespace cistern {

namespace {

constexpr uint64_t kTakenBackRoomBytes = 512 * 1024;  // to write what was lost
constexpr uint64_t kRecountRoomBytes = 64 * 1024;     // to write records of windows
constexpr uint64_t kFlushRoomBytes = 256 * 1024;      // beside what is flushed
constexpr uint64_t kMetaFilesMax = 64;                // behind flushes, from which on there is none

bool IsAhead(const StateRecord& a, const StateRecord& b) {
  return a.sequence_reserved > b.sequence_reserved || a.journal_floor > b.journal_floor ||
         a.versions_written > b.versions_written || a.versions_superseded > b.versions_superseded ||
         a.versions_expired > b.versions_expired || a.versions_shed > b.versions_shed;
}

}  // namespace

std::optional<StateRecord> Store::StateInCopy(const CatalogContent& copy) const {
  const auto state = copy.records.find(std::string(kStateKey));
  if (state == copy.records.end()) return std::nullopt;
  const auto told = DecodeState(state->second);
  return told.ok() && !IsAhead(state_, *told) ? std::optional(*told) : std::nullopt;
}

// By what it counts.
bool Store::IsCopyAhead(const CatalogContent& copy) const {
  const auto told = StateInCopy(copy);
  return told && IsAhead(*told, state_);
}

// A crash leaves the copy ahead too, by the last change: the journal has every record that the copy
// calls spilled then, as it goes behind the commit alone. So what is missing of them was lost with
// the commit. A table's declaration, a boot and a number count nothing: they are taken back anyway.
Result<bool> Store::IsCut(const CatalogContent& copy) const {
  const auto told = StateInCopy(copy);
  if (!told) return false;
  if (db_->opened().rung != RecoveryRung::kClean || !CheckFamilies().ok()) return true;
  return JournalLacks(told->journal_floor);
}

// The last record alone would not tell: one of two logs may be gone, and rows that were taken
// meanwhile are in the other.
Result<bool> Store::JournalLacks(uint64_t floor) const {
  if (floor <= state_.journal_floor) return false;
  uint64_t found = 0;
  for (const auto& [name, handle] : db_->opened().families) {
    if (FamilyKindOf(name) != FamilyKind::kJournal) continue;
    const std::unique_ptr<rocksdb::Iterator> it(
        db_->db()->NewIterator(MetaIteratorOptions(), handle));
    for (it->Seek(JournalKey(state_.journal_floor + 1)); it->Valid(); it->Next()) {
      const auto sequence = ParseJournalKey(it->key().ToStringView());
      if (!sequence || *sequence > floor) break;
      ++found;
    }
    if (!it->status().ok()) return ToReadStatus(it->status(), "reading the journal");
  }
  return found < floor - state_.journal_floor;
}

// The database gets back what it has lost: tables, boots, the rotations of spill families, whose
// files are listed, and ends of windows. Seals are not taken back, so their rows are open again.
// What nobody accounts for then, as it is in windows that the copy alone knows, is missing by the
// count of row versions: no later opening drops it, and salvage reads it by the copy. No number and
// no timestamp is given again.
Status Store::TakeBack(const CatalogContent& copy, rocksdb::WriteBatch* batch) {
  CISTERN_ASSIGN_OR_RETURN(const StateRecord told,
                           DecodeState(copy.records.at(std::string(kStateKey))));
  TakeBackEnds(copy, told, batch);
  const bool is_same_window = HasWindowsOf(copy);
  CISTERN_RETURN_IF_ERROR(TakeBackDeclarations(copy, batch));
  CISTERN_RETURN_IF_ERROR(TakeBackSpills(copy, batch));
  state_.versions_written = std::max(state_.versions_written, told.versions_written);
  state_.journal_floor = std::max(state_.journal_floor, told.journal_floor);
  state_.write_us_last = std::max(state_.write_us_last, told.write_us_last);
  if (is_same_window) state_.versions_superseded = told.versions_superseded;
  TakeBackNumbers(told);
  return Status::Ok();
}

Status Store::WriteTakenBack(rocksdb::WriteBatch* batch) {
  CISTERN_RETURN_IF_ERROR(MakeRoomToOpen(kTakenBackRoomBytes));
  batch->Put(meta_->handle(), std::string(kStateKey), EncodeState(state_));
  return WriteSynced(batch, "taking back what the log has lost");
}

// By their rows: a confirmation, say, changes nothing of these.
bool Store::HasWindowsOf(const CatalogContent& copy) const {
  return std::all_of(copy.records.begin(), copy.records.end(), [this](const auto& record) {
    if (record.first[0] != 'W') return true;
    const auto known = window_records_.find(GetBig<uint64_t>(record.first.data() + 1));
    const auto told = DecodeWindow(record.second);
    return known != window_records_.end() && told.ok() && known->second.ended == told->ended &&
           known->second.version_count == told->version_count;
  });
}

// A window whose family was dropped has ended: the drop is in the MANIFEST, and comes behind the
// end. The rows that the database counts in it are counted as gone, as the copy does.
void Store::TakeBackEnds(const CatalogContent& copy, const StateRecord& told,
                         rocksdb::WriteBatch* batch) {
  uint64_t expired = told.versions_expired - state_.versions_expired;
  uint64_t shed = told.versions_shed - state_.versions_shed;
  const uint64_t accounted = CountAccounted();
  uint64_t counted_twice = accounted - std::min(accounted, state_.versions_written);
  for (auto& [id, record] : window_records_) {
    if (record.ended || db_->opened().families.contains(WindowFamilyName(id))) continue;
    const auto found = copy.records.find(WindowKey(id));
    if (found != copy.records.end()) {  // otherwise it was forgotten behind its end
      const auto ended = DecodeWindow(found->second);
      if (!ended.ok() || !ended->ended) continue;
    }
    // A log behind the one that was lost may have a state record, which counts them as gone too.
    const uint64_t gone_twice =
        record.version_count - std::min(record.version_count, expired + shed);
    if (gone_twice > counted_twice) continue;
    counted_twice -= gone_twice;
    // Which of them expired is not told where several have ended: their sum is.
    const uint64_t of_expired = std::min(expired, record.version_count - gone_twice);
    const uint64_t of_shed = record.version_count - gone_twice - of_expired;
    expired -= of_expired;
    shed -= of_shed;
    state_.versions_expired += of_expired;
    state_.versions_shed += of_shed;
    record.ended = true;
    batch->Put(meta_->handle(), WindowKey(id), EncodeWindow(record));
    for (auto push = pushes_.begin(); push != pushes_.end();) {
      const bool is_of_it = push->second.window_id == id;
      if (is_of_it) batch->Delete(meta_->handle(), PushKey(push->first));
      push = is_of_it ? pushes_.erase(push) : std::next(push);
    }
  }
}

// Tables and boots that the database does not have.
Status Store::TakeBackDeclarations(const CatalogContent& copy, rocksdb::WriteBatch* batch) {
  for (const auto& [key, value] : copy.records) {
    if (key[0] != 'B' && key[0] != 'T') continue;
    const auto number = GetBig<uint32_t>(key.data() + 1);
    if (key[0] == 'B' && number < boots_.size()) continue;
    if (key[0] == 'T' && GetBig<uint32_t>(key.data() + 5) < tables_[number].size()) continue;
    CISTERN_RETURN_IF_ERROR(LoadRecord(key, value));
    batch->Put(meta_->handle(), key, value);
  }
  return Status::Ok();
}

void Store::TakeBackNumbers(const StateRecord& told) {
  state_.sequence_reserved = std::max(state_.sequence_reserved, told.sequence_reserved);
  next_sequence_ = state_.sequence_reserved;
}

// What a crash kept from being committed holds as well: it was asked for, and the answer was never
// given. The database has it before anything is written that builds on it.
Status Store::TakeBackBesideCrash(const CatalogContent& copy) {
  const auto told = StateInCopy(copy);
  if (!told) return Status::Ok();
  TakeBackNumbers(*told);
  rocksdb::WriteBatch batch;
  CISTERN_RETURN_IF_ERROR(TakeBackDeclarations(copy, &batch));
  if (batch.Count() == 0) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(MakeRoomToOpen(kTakenBackRoomBytes));
  db_->opened().info_log->Write(LogLevel::kInfo, Concat({batch.Count(),
      " declarations of tables and boots were not in the database, and were taken from the copy of "
      "the catalog"}));
  return WriteSynced(&batch, "taking back declarations");
}

// A family that was rewritten counts no more once the one that has its rows does. Where a round
// that sealed some of its rows was lost, the rewritten one lacks these: both count then, which
// shows no row twice, as versions are merged by what they are.
Status Store::TakeBackSpills(const CatalogContent& copy, rocksdb::WriteBatch* batch) {
  const std::map<uint64_t, SpillRecord> before = spill_records_;
  bool is_taken = false;
  for (const auto& [key, value] : copy.records) {
    if (key[0] != 'S') continue;
    CISTERN_ASSIGN_OR_RETURN(const bool is_more, TakeBackSpill(key, value, batch));
    is_taken = is_taken || is_more;
  }
  for (const auto& [id, was] : before) {
    if (was.superseded) continue;
    const bool is_there = db_->opened().families.contains(SpillFamilyName(id));
    bool has_its_seals = !is_there;
    if (const auto found = copy.records.find(SpillKey(id)); found != copy.records.end()) {
      CISTERN_ASSIGN_OR_RETURN(const SpillRecord told, DecodeSpill(found->second));
      if (!told.superseded) continue;
      has_its_seals = has_its_seals || told.sealed_count == was.sealed_count;
    } else if (is_there) {
      continue;  // a record is forgotten behind its family
    }
    const bool is_sealed = was.sealed_count == was.version_count;
    if (!is_sealed && !(is_taken && has_its_seals)) continue;
    if (is_there) {
      spill_records_[id].superseded = true;
      batch->Put(meta_->handle(), SpillKey(id), EncodeSpill(spill_records_[id]));
    } else {
      spill_records_.erase(id);
      batch->Delete(meta_->handle(), SpillKey(id));
    }
  }
  return Status::Ok();
}

Result<bool> Store::TakeBackSpill(const std::string& key, const std::string& value,
                                  rocksdb::WriteBatch* batch) {
  const auto id = GetBig<uint64_t>(key.data() + 1);
  CISTERN_ASSIGN_OR_RETURN(SpillRecord record, DecodeSpill(value));
  const auto known = spill_records_.find(id);
  const bool is_more = known == spill_records_.end() ||
                       (!known->second.superseded &&
                        known->second.version_count < record.version_count);
  const bool is_there = db_->opened().families.contains(SpillFamilyName(id));
  if (record.superseded || !is_more || !is_there) return false;
  record.sealed_count = known == spill_records_.end() ? 0 : known->second.sealed_count;
  batch->Put(meta_->handle(), key, EncodeSpill(record));
  spill_records_[id] = std::move(record);
  return true;
}

// A log has the record of a window as a whole, and what the record counts under keys of their own.
// Where an older log is gone, the record counts seals that are not there, or calls those confirmed
// that wait: the window would pass for confirmed before all of it was sent. No log of a former
// process is to be lost, by FlushLoggedMeta(), so these are logs that one process wrote.
Status Store::RecountWindows(const CatalogContent& copy) {
  CISTERN_ASSIGN_OR_RETURN(std::vector<uint64_t> counted, ListLoggedWindows(meta_));
  if (db_->opened().rung != RecoveryRung::kClean) {
    counted.clear();  // what was read of logs is in files by now
    for (const auto& [id, record] : window_records_) counted.push_back(id);
  }
  rocksdb::WriteBatch batch;
  for (const uint64_t id : counted) {
    const auto known = window_records_.find(id);
    if (known == window_records_.end() || known->second.ended) continue;
    CISTERN_RETURN_IF_ERROR(Recount(id, copy, &batch));
  }
  if (batch.Count() == 0) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(MakeRoomToOpen(kRecountRoomBytes));
  return WriteSynced(&batch, "counting seals again");
}

// What waits is sent, so confirmations follow the outbox. Without a manifest nobody can tell which
// rows of spill families are sealed: where the copy knows the seal, salvage reads more than this.
Status Store::Recount(uint64_t window_id, const CatalogContent& copy, rocksdb::WriteBatch* batch) {
  const auto found = CountWindow(meta_, window_id);
  const bool is_damaged = found.status().code() == StatusCode::kCorruption ||
                          found.status().code() == StatusCode::kTooNew;
  if (is_damaged) return Status::Ok();  // of a file, which is told where it is read
  CISTERN_RETURN_IF_ERROR(found.status());
  WindowRecord& record = window_records_.at(window_id);
  const bool counts_seals = CountsSealsOf(record, *found);
  if (counts_seals && !CallsMoreConfirmed(record, *found)) return Status::Ok();
  const std::string what = Concat({"window ", window_id, " counts ", record.seal_count,
      " seals, of which ", record.confirmed_count, " are confirmed; there are ",
      found->manifest_count, " manifests, of which ", found->confirmed_count,
      " are not in the outbox, and ", found->stray_count, " outbox entries without one: what a "
      "log (*.log) had of it is lost"});
  const auto rounds = copy.records.find(CatalogRoundsKey(window_id));
  const bool is_in_copy =
      rounds != copy.records.end() && CountSeals(rounds->second) > found->manifest_count;
  if (!counts_seals && is_in_copy) {
    return Status::Corruption(
        Concat({"meta: ", what, SalvageAdvice(db_->opened().config.directory)}));
  }
  db_->opened().NoteOddity(what + "; what waits there is sent again");
  record.confirmed_count = std::min(found->confirmed_count, record.seal_count);
  if (found->sums) {
    record.confirmed_versions = found->sums->confirmed_versions;
    record.counted_versions = found->sums->counted_versions;
    record.read_back_versions = found->sums->read_back_versions;
    record.version_count = found->sums->version_count;
    record.byte_count = found->sums->byte_count;
    record.seal_count = found->sums->seal_count;
    record.endless_row_seals = found->sums->endless_row_seals;
    record.delete_seals = found->sums->delete_seals;
  }
  batch->Put(meta_->handle(), WindowKey(window_id), EncodeWindow(record));
  return Status::Ok();
}

// What logs have of meta is in a file before anything is written that builds on it: of a log that
// is lost later, nobody needs more than its rows. Without room, or with many files of meta that
// found no room to be merged, it waits for the next opening. An error shows at the next write.
void Store::FlushLoggedMeta() {
  OpenedStore& opened = db_->opened();
  uint64_t records = 0;
  const bool known = db_->db()->GetIntProperty(
      meta_->handle(), rocksdb::DB::Properties::kNumEntriesActiveMemTable, &records);
  if (known && records == 0) return;
  if (!CheckHeadroom(MetaMemtableBytes() + kFlushRoomBytes).ok()) return;
  if (FilesBehindFlushes(*meta_) >= kMetaFilesMax) return;
  const Status flushed = FlushMeta();
  if (!flushed.ok()) opened.info_log->Write(LogLevel::kWarning, flushed.message());
}

}  // namespace cistern
