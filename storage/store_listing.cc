// Opening: whether the MANIFEST lists the files of all that counts. One that was cut, or is an old
// one, opens without a word; what it does not list would be deleted.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "storage/header_iterator.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/store.h"

namespace cistern {

namespace {

// The files of families of segments, by the rotations or rounds that they hold.
class Listing {
 public:
  explicit Listing(const std::vector<rocksdb::LiveFileMetaData>& files) {
    for (const auto& file : files) {
      Family& family = families_[file.column_family_name];
      family.spans.emplace_back(RotationOfKey(file.smallestkey), RotationOfKey(file.largestkey));
      const auto extent = ParseExtentKey(file.largestkey);
      if (extent) family.extents[extent->rotation] = extent->version_count;
    }
  }
  [[nodiscard]] bool Has(const std::string& family, uint64_t rotation) const {
    const auto found = families_.find(family);
    if (found == families_.end()) return false;
    for (const auto& [first, last] : found->second.spans) {
      if (rotation >= first && rotation <= last) return true;
    }
    return false;
  }
  // Whether a rotation of the record is in no file. One that is empty never had one.
  [[nodiscard]] bool Lacks(const std::string& family, const SpillRecord& record) const {
    uint64_t version_count = 0;
    const auto found = families_.find(family);
    if (found != families_.end()) {
      for (const auto& [rotation, count] : found->second.extents) {
        version_count += record.Contains(rotation) ? count : 0;
      }
    }
    if (version_count >= record.version_count) return false;
    for (const SequenceInterval& interval : record.committed) {
      for (uint64_t r = interval.first; r < interval.first + interval.length; ++r) {
        if (!Has(family, r)) return true;
      }
    }
    return false;
  }

 private:
  struct Family {
    std::vector<std::pair<uint64_t, uint64_t>> spans;
    std::map<uint64_t, uint64_t> extents;  // row versions by rotation
  };
  std::map<std::string, Family> families_;
};

Status TooOld(const std::string& what) {
  return Status::Corruption(Concat({"the MANIFEST is damaged or an old one: it lists no file for ",
      what, ", which counts. Nothing was deleted; salvage the store, or restore the directory from "
      "a backup"}));
}

bool IsAhead(const StateRecord& a, const StateRecord& b) {
  return a.sequence_reserved > b.sequence_reserved || a.journal_floor > b.journal_floor ||
         a.versions_written > b.versions_written || a.versions_superseded > b.versions_superseded ||
         a.versions_expired > b.versions_expired || a.versions_shed > b.versions_shed;
}

}  // namespace

// By what it counts; not where the database is ahead in another way.
bool Store::IsCopyAhead(const CatalogContent& copy) const {
  const auto state = copy.records.find(std::string(kStateKey));
  if (state == copy.records.end()) return false;
  const auto told = DecodeState(state->second);
  return told.ok() && IsAhead(*told, state_) && !IsAhead(state_, *told);
}

// Whether the copy knows changes that the database had and has lost with its log. A crash leaves
// the copy ahead too, by the last change: then what was acknowledged of the rows that it calls
// spilled is in the journal still.
Result<bool> Store::IsCut(const CatalogContent& copy) const {
  const OpenedStore& opened = db_->opened();
  const auto state = copy.records.find(std::string(kStateKey));
  if (state == copy.records.end()) return false;
  const auto decoded = DecodeState(state->second);
  if (!decoded.ok() || IsAhead(state_, *decoded)) return false;
  if (opened.rung != RecoveryRung::kClean) return true;  // a table's declaration counts nothing
  const StateRecord& told = *decoded;
  uint64_t last = state_.journal_floor;
  for (const auto& [name, handle] : opened.families) {
    if (FamilyKindOf(name) != FamilyKind::kJournal) continue;
    const std::unique_ptr<rocksdb::Iterator> it(
        db_->db()->NewIterator(MetaIteratorOptions(), handle));
    it->SeekToLast();
    if (!it->status().ok()) return ToReadStatus(it->status(), "reading the journal");
    const auto sequence = it->Valid() ? ParseJournalKey(it->key().ToStringView()) : std::nullopt;
    last = std::max(last, sequence.value_or(0));
  }
  const uint64_t acknowledged =
      opened.beacon->is_whole() ? opened.beacon->sequence() : told.journal_floor;
  return last < std::min(told.journal_floor, acknowledged);
}

// `copy` may be ahead of the database by what a crash kept from being committed; the files of that
// are there, and listed. One that is behind says nothing.
Status Store::CheckListed(const CatalogContent& copy) const {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->db()->GetLiveFilesMetaData(&files);
  const Listing listing(files);
  for (const auto& [id, record] : spill_records_) {
    if (!record.superseded && listing.Lacks(SpillFamilyName(id), record)) {
      return TooOld(Concat({"a rotation of spill family ", id}));
    }
  }
  if (!IsCopyAhead(copy)) return Status::Ok();
  for (const auto& [key, value] : copy.records) {
    if (key.size() != 1 + sizeof(uint64_t)) continue;
    const auto id = GetBig<uint64_t>(key.data() + 1);
    if (key[0] == 'S') {
      const auto record = DecodeSpill(value);
      if (!record.ok() || record->superseded) continue;
      if (listing.Lacks(SpillFamilyName(id), *record)) {
        return TooOld(Concat({"a rotation of spill family ", id}));
      }
    }
    if (key[0] != 'R') continue;
    const auto rounds = DecodeSealRounds(value);
    if (!rounds.ok()) continue;
    for (const SealRound& round : *rounds) {
      if (!listing.Has(WindowFamilyName(id), round.round)) {
        return TooOld(Concat({"a seal round of window ", id}));
      }
    }
  }
  return Status::Ok();
}

}  // namespace cistern
