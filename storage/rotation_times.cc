#include "storage/rotation_times.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "lib/base/check.h"
#include "storage/keyspace.h"
#include "storage/version_source.h"

namespace cistern {

namespace {

constexpr size_t kKnownMax = 4096;

struct ReadTimes {
  std::optional<WriteTimes> times;
  bool is_provisional = false;  // some of them, so that they may change
};

ReadTimes TimesOfFirstPage(const SegmentRef& segment, const TablePtr& table,
                           const BootBases& bases) {
  std::vector<RangeDelete> deletes = segment.header.deletes;
  const std::vector<bool> wanted(table->schema->columns.size(), false);
  VersionColumns rows;
  if (!segment.header.pages.empty()) {
    const SegmentPages pages(table, table->schema_version,
                             std::make_shared<const SegmentRef>(segment), &wanted);
    Result<VersionColumns> read = pages.Read(0);
    if (!read.ok()) return {};
    rows = *std::move(read);
  }
  ReadTimes read;
  read.is_provisional = !rows.boot.empty() ||
                        std::any_of(deletes.begin(), deletes.end(),
                                    [](const RangeDelete& d) { return d.boot != 0; });
  ResolveBoots(bases, &rows, deletes);
  const auto note = [&read](int64_t write_us) {
    if (!read.times) read.times = WriteTimes{write_us, write_us};
    read.times->first_us = std::min(read.times->first_us, write_us);
    read.times->last_us = std::max(read.times->last_us, write_us);
  };
  for (size_t i = 0; i < rows.row_count; ++i) note(rows.write_us[i]);
  for (const RangeDelete& d : deletes) note(d.write_us);
  return read;
}

// One for all segments of a rotation, or that of the segment.
uint64_t KeyOf(const SegmentRef& segment) {
  CISTERN_CHECK(segment.family->kind == FamilyKind::kSpill);
  const auto& spill = static_cast<const SpillFamily&>(*segment.family);
  return spill.record.tier == 0 ? segment.id | kSegmentIndexMask : segment.id;
}

}  // namespace

std::optional<WriteTimes> RotationTimes::Of(const SegmentRef& segment, const TablePtr& table,
                                            const BootBases& bases) {
  const uint64_t key = KeyOf(segment);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const ReadTimes read = TimesOfFirstPage(segment, table, bases);
  if (!read.is_provisional && known_.size() < kKnownMax) known_.emplace(key, read.times);
  return read.times;
}

void RotationTimes::ForgetBut(const SpillView& view) {
  std::erase_if(known_, [&view](const auto& entry) {
    return std::none_of(view.families.begin(), view.families.end(), [&entry](const auto& family) {
      return family->record.Contains(RotationOf(entry.first));
    });
  });
}

}  // namespace cistern
