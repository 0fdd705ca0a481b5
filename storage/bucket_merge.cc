#include "storage/bucket_merge.h"

#include <algorithm>
#include <utility>

#include "lib/row/reconcile.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {

constexpr size_t kStepRows = 1024;
constexpr size_t kStepBytes = 1 << 20;  // or when the rows hold this much memory
constexpr size_t kMeasureRows = 8;      // rows between looks at it

void AppendVersion(const VersionRef& from, VersionColumns* to) {
  const VersionColumns& rows = *from.rows;
  to->write_us.push_back(rows.write_us[from.index]);
  to->expiry_s.push_back(rows.expiry_of(from.index));
  to->flags.push_back(rows.flags[from.index]);
  for (size_t c = 0; c < to->columns.size(); ++c) {
    if (rows.columns[c].size() > from.index) to->columns[c].AppendFrom(rows.columns[c], from.index);
  }
  ++to->row_count;
}

}  // namespace

BucketMerge::BucketMerge(TablePtr table, BucketKey bucket, std::vector<SegmentRef> segments,
                         std::shared_ptr<const BootBases> bases, OnDamagedPage on_damage)
    : table_(std::move(table)),
      bucket_(std::move(bucket)),
      bases_(std::move(bases)),
      merge_(*table_->schema, false) {
  for (SegmentRef& s : segments) {
    journal_first_ = std::min(journal_first_, s.header.journal_first);
    journal_last_ = std::max(journal_last_, s.header.journal_last);
    versions_read_[s.family->id] += s.header.row_count + s.header.deletes.size();
    deletes_.insert(deletes_.end(), s.header.deletes.begin(), s.header.deletes.end());
    merge_.Add(std::make_unique<SegmentSource>(table_, table_->schema_version, std::move(s),
                                               TimeSpan{}, nullptr, *bases_, on_damage));
  }
  ResolveBoots(*bases_, nullptr, deletes_);
  FoldDeletes(&deletes_);
}

void BucketMerge::Add(std::unique_ptr<VersionSource> rows,
                      const std::vector<RangeDelete>& deletes) {
  deletes_.insert(deletes_.end(), deletes.begin(), deletes.end());
  ResolveBoots(*bases_, nullptr, deletes_);
  merge_.Add(std::move(rows));
}

Result<bool> BucketMerge::Next(VersionColumns* rows) {
  for (size_t n = 0; n < kStepRows; ++n) {
    CISTERN_ASSIGN_OR_RETURN(const bool more, merge_.NextKey());
    if (!more) return false;
    const std::span<const VersionRef> versions = merge_.versions();
    const int64_t time = EventTime(*table_->schema, *versions[0].rows, versions[0].index);
    KeepUnshadowed(*table_->schema, versions, DeletedUpTo(deletes_, time), &keep_);
    for (size_t i = 0; i < versions.size(); ++i) {
      if (keep_[i]) AppendVersion(versions[i], rows);
    }
    if (rows->row_count % kMeasureRows == 0 && rows->MemoryBytes() >= kStepBytes) break;
  }
  return true;
}

}  // namespace cistern
