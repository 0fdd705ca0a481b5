#include "storage/damage.h"

#include <algorithm>

namespace cistern {

bool LostRotations::MayHold(uint32_t table_id, int64_t first_s, int64_t last_s) const {
  return std::any_of(extents.begin(), extents.end(), [&](const RotationExtent& e) {
    return table_id >= e.table_first && table_id <= e.table_last && last_s >= e.start_first_s &&
           first_s <= e.start_last_s;
  });
}

std::set<uint64_t> Damage::FamiliesThatMayHide(uint32_t table_id, int64_t first_s,
                                               int64_t last_s) const {
  std::set<uint64_t> families;
  for (const LostRotations& lost : lost_) {
    if (lost.MayHold(table_id, first_s, last_s)) families.insert(lost.family_id);
  }
  return families;
}

void Damage::NoteSegment(uint64_t family_id, uint64_t segment, uint64_t version_count) {
  const std::lock_guard lock(mutex_);
  Pieces& pieces = segments_[{family_id, segment}];
  pieces.whole = true;
  pieces.version_count = version_count;
}

void Damage::NotePage(uint64_t family_id, uint64_t segment, uint32_t page,
                      uint64_t version_count) {
  const std::lock_guard lock(mutex_);
  Pieces& pieces = segments_[{family_id, segment}];
  if (!pieces.whole && pieces.pages.emplace(page, version_count).second) {
    pieces.version_count += version_count;
  }
}

bool Damage::Touches(uint64_t family_id, uint64_t segment) const {
  const std::lock_guard lock(mutex_);
  return segments_.contains({family_id, segment});
}

uint64_t Damage::versions_in(uint64_t family_id) const {
  uint64_t count = 0;
  for (const LostRotations& lost : lost_) {
    if (lost.family_id == family_id) count += lost.version_count;
  }
  const std::lock_guard lock(mutex_);
  for (auto it = segments_.lower_bound({family_id, 0});
       it != segments_.end() && it->first.first == family_id; ++it) {
    count += it->second.version_count;
  }
  return count;
}

}  // namespace cistern
