// Damage: the row versions of an open store that cannot be read, as far as it is known.
#ifndef CISTERN_STORAGE_DAMAGE_H_
#define CISTERN_STORAGE_DAMAGE_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/keyspace.h"

namespace cistern {

// Rotations of a spill family whose files are lost. Of what they held only this is known:
// headers were in the files.
struct LostRotations {
  uint64_t family_id = 0;
  std::string what;  // the files, what is wrong, how much it is
  uint64_t version_count = 0;
  std::vector<RotationExtent> extents;  // of each file; all times where even that is unknown
  // Whether a bucket of the table that starts in [first_s, last_s] may have rows in them.
  [[nodiscard]] bool MayHold(uint32_t table_id, int64_t first_s, int64_t last_s) const;
};

// What is lost as a whole is known when the store has been opened; pages are met by who reads
// them, and by Verify. Thread-safe.
class Damage {
 public:
  // While opening.
  void AddLostRotations(LostRotations lost) { lost_.push_back(std::move(lost)); }
  [[nodiscard]] const std::vector<LostRotations>& lost_rotations() const { return lost_; }
  // The same, of every family with files that cannot be used: which, why, what is lost with them.
  void AddLostFiles(std::string what) { lost_files_.push_back(std::move(what)); }
  [[nodiscard]] const std::vector<std::string>& lost_files() const { return lost_files_; }

  // The families of those in which a bucket of the table that starts in [first_s, last_s] may have
  // rows.
  [[nodiscard]] std::set<uint64_t> FamiliesThatMayHide(uint32_t table_id, int64_t first_s,
                                                       int64_t last_s) const;

  // Noted again, something counts once.
  void NoteSegment(uint64_t family_id, uint64_t segment, uint64_t version_count);
  void NotePage(uint64_t family_id, uint64_t segment, uint32_t page, uint64_t version_count);
  // Whether something of the segment was noted.
  [[nodiscard]] bool Touches(uint64_t family_id, uint64_t segment) const;
  // Of a family, lost rotations included.
  [[nodiscard]] uint64_t versions_in(uint64_t family_id) const;

 private:
  struct Pieces {
    bool whole = false;
    uint64_t version_count = 0;
    std::map<uint32_t, uint64_t> pages;  // version counts
  };
  std::vector<LostRotations> lost_;
  std::vector<std::string> lost_files_;
  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, Pieces> segments_;  // by family and number
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_DAMAGE_H_
