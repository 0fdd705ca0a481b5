// Opening: whether the MANIFEST lists the files of all that counts. One that was cut, or is an old
// one, opens without a word; what it does not list would be deleted.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "storage/damage_advice.h"
#include "storage/header_iterator.h"
#include "storage/keyspace.h"
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

Status TooOld(const std::string& directory, const std::string& what) {
  return Status::Corruption(Concat({"the MANIFEST is damaged or an old one: it lists no file for ",
      what, ", which counts. Nothing was deleted", SalvageAdvice(directory)}));
}

}  // namespace

// `copy` may be ahead of the database by what a crash kept from being committed; the files of that
// are there, and listed. One that is behind says nothing.
Status Store::CheckListed(const CatalogContent& copy, bool is_ahead) const {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->db()->GetLiveFilesMetaData(&files);
  const Listing listing(files);
  for (const auto& [id, record] : spill_records_) {
    if (!record.superseded && listing.Lacks(SpillFamilyName(id), record)) {
      return TooOld(directory(), Concat({"a rotation of spill family ", id}));
    }
  }
  if (!is_ahead) return Status::Ok();
  for (const auto& [key, value] : copy.records) {
    if (key.size() != 1 + sizeof(uint64_t)) continue;
    const auto id = GetBig<uint64_t>(key.data() + 1);
    if (key[0] == 'S') {
      const auto record = DecodeSpill(value);
      if (!record.ok() || record->superseded) continue;
      if (listing.Lacks(SpillFamilyName(id), *record)) {
        return TooOld(directory(), Concat({"a rotation of spill family ", id}));
      }
    }
    if (key[0] != 'R') continue;
    const auto rounds = DecodeSealRounds(value);
    if (!rounds.ok()) continue;
    for (const SealRound& round : *rounds) {
      if (!listing.Has(WindowFamilyName(id), round.round)) {
        return TooOld(directory(), Concat({"a seal round of window ", id}));
      }
    }
  }
  return Status::Ok();
}

}  // namespace cistern
