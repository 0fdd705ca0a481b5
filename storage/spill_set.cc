#include "storage/spill_set.h"

#include <algorithm>

#include "cistern/limits.h"

namespace cistern {

namespace {

// The policy's view of all families at once. It goes by those that are whole: a damaged one that
// counted as one of too many would have another rewritten in its stead again and again, and what
// was written into it would stay with it for good. So there may be one family more for each that
// is damaged, and no more than that.
class Families {
 public:
  Families(std::span<const SpillStats> families, const SpillLimits& limits)
      : families_(families), limits_(limits) {
    for (const SpillStats& f : families_) total_bytes_ += f.damaged ? 0 : f.byte_count;
  }
  // Its rotations are many and small: they are to become one, a tier above.
  [[nodiscard]] bool IsCrowded(size_t i) const {
    const SpillStats& f = families_[i];
    return f.tier < limits::kSpillTierMax && f.rotation_count >= limits_.rotation_count_max &&
           f.byte_count < f.rotation_count * limits_.small_rotation_bytes;
  }
  [[nodiscard]] bool IsOpen(size_t i) const {
    return !IsCrowded(i) &&
           families_[i].byte_count < std::max(limits_.base_bytes, total_bytes_ / 2);
  }
  [[nodiscard]] std::optional<size_t> Newest(uint8_t tier) const {
    for (size_t i = families_.size(); i-- > 0;) {
      if (families_[i].tier == tier && !families_[i].damaged) return i;
    }
    return std::nullopt;
  }
  // The family of the tier that takes more.
  [[nodiscard]] std::optional<size_t> Open(uint8_t tier) const {
    const auto newest = Newest(tier);
    return newest && IsOpen(*newest) ? newest : std::nullopt;
  }

 private:
  const std::span<const SpillStats> families_;
  const SpillLimits& limits_;
  uint64_t total_bytes_ = 0;
};

}  // namespace

std::string SegmentFamily::Name() const {
  return (kind == FamilyKind::kWindow ? "window " : "spill family ") + std::to_string(id);
}

bool AwaitsFiles(const SpillView& view, const WindowRecord& window) {
  return std::any_of(window.awaited.begin(), window.awaited.end(), [&view](uint64_t id) {
    return std::any_of(view.families.begin(), view.families.end(),
                       [id](const auto& f) { return f->id == id; }) ||
           std::find(view.set_aside.begin(), view.set_aside.end(), id) != view.set_aside.end();
  });
}

std::vector<SpillStats> StatsOf(const SpillView& view) {
  std::vector<SpillStats> stats;
  for (const auto& f : view.families) {
    stats.push_back({.tier = f->record.tier,
                     .byte_count = f->record.byte_count,
                     .rotation_count = f->record.rotation_count()});
  }
  return stats;
}

std::optional<size_t> RotationTarget(std::span<const SpillStats> families,
                                     const SpillLimits& limits) {
  return Families(families, limits).Open(0);
}

std::optional<SpillRewrite> NextRewrite(std::span<const SpillStats> families,
                                        const SpillLimits& limits) {
  const Families all(families, limits);
  std::vector<size_t> rolled;
  for (size_t i = 0; i < families.size(); ++i) {
    if (families[i].damaged) continue;
    const uint8_t tier = families[i].tier;
    const bool newest = all.Newest(tier) == i;
    if (!newest) rolled.push_back(i);
    // Into the newest family of tier 0 a rotation may be writing.
    if (!all.IsCrowded(i) || (tier == 0 && newest)) continue;
    const auto above = static_cast<uint8_t>(tier + 1);
    return SpillRewrite{.source = i, .target = all.Open(above), .tier = above, .gathers = true};
  }
  if (rolled.size() < limits.family_count_max) return std::nullopt;
  for (uint8_t tier = limits::kSpillTierMax + 1; tier-- > 0;) {
    if (const auto target = all.Open(tier)) {
      return SpillRewrite{.source = rolled.front(), .target = target, .tier = tier};
    }
  }
  return std::nullopt;
}

}  // namespace cistern
