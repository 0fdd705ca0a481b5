#include "storage/rotation_times.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "storage/keyspace.h"
#include "storage/version_source.h"

namespace cistern {

namespace {

std::optional<WriteTimes> ReadTimes(const SegmentRef& segment, const TablePtr& table,
                                    const BootBases& bases) {
  std::vector<RangeDelete> deletes = segment.header.deletes;
  const std::vector<bool> wanted(table->schema->columns.size(), false);
  VersionColumns rows;
  if (!segment.header.pages.empty()) {
    const SegmentPages pages(table, table->schema_version,
                             std::make_shared<const SegmentRef>(segment), &wanted);
    Result<VersionColumns> read = pages.Read(0);
    if (!read.ok()) return std::nullopt;
    rows = *std::move(read);
  }
  ResolveBoots(bases, &rows, deletes);
  std::optional<WriteTimes> times;
  const auto note = [&times](int64_t write_us) {
    if (!times) times = WriteTimes{write_us, write_us};
    times->first_us = std::min(times->first_us, write_us);
    times->last_us = std::max(times->last_us, write_us);
  };
  for (size_t i = 0; i < rows.row_count; ++i) note(rows.write_us[i]);
  for (const RangeDelete& d : deletes) note(d.write_us);
  return times;
}

}  // namespace

std::optional<WriteTimes> RotationTimes::Of(const SegmentRef& segment, const TablePtr& table,
                                            const BootBases& bases) {
  const uint64_t rotation = RotationOf(segment.id);
  const auto known = known_.find(rotation);
  if (known != known_.end()) return known->second;
  return known_.emplace(rotation, ReadTimes(segment, table, bases)).first->second;
}

void RotationTimes::ForgetBut(const SpillView& view) {
  std::erase_if(known_, [&view](const auto& entry) {
    return std::none_of(view.families.begin(), view.families.end(), [&entry](const auto& family) {
      return family->record.Contains(entry.first);
    });
  });
}

}  // namespace cistern
