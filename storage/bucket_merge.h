// BucketMerge: the segments of one bucket as one run of row versions, for rewriting.
#ifndef CISTERN_STORAGE_BUCKET_MERGE_H_
#define CISTERN_STORAGE_BUCKET_MERGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "storage/boot_table.h"
#include "storage/spill_reader.h"
#include "storage/table_set.h"
#include "storage/version_merge.h"

namespace cistern {

// Versions come as the table's last declaration has them, in row order, resolved (no boots),
// without those that are wholly shadowed by others or by the deletes. A version is a repeat if
// another one that is kept has each of its cells, and no earlier expiry. One thread.
class BucketMerge {
 public:
  // `segments` are all of one bucket. Damage fails the merge, unless `on_damage` is there and
  // passes over it.
  BucketMerge(TablePtr table, BucketKey bucket, std::vector<SegmentRef> segments,
              std::shared_ptr<const BootBases> bases, OnDamagedPage on_damage = {});
  // One more source of the bucket, before the first Next().
  void Add(std::unique_ptr<VersionSource> rows, const std::vector<RangeDelete>& deletes);

  // `sealed`, other segments of the bucket, are not given out, and neither is what they shadow. Of
  // equal versions of one timestamp the sealed one counts, so that a table of event time leaves out
  // its repeats. One version is given in any case, as no segment may be empty. Damage of `sealed`
  // costs nothing but repeats that are not found. Call it before the first Next().
  void CompareWith(std::vector<SegmentRef> sealed);

  // Appends the next versions: of about a thousand keys, fewer where they are wide. False:
  // there are no more behind them.
  [[nodiscard]] Result<bool> Next(VersionColumns* rows);

  // Rows that its sources hold decoded.
  [[nodiscard]] size_t MemoryBytes() const { return merge_.MemoryBytes(); }

  [[nodiscard]] const TablePtr& table() const { return table_; }
  [[nodiscard]] const BucketKey& bucket() const { return bucket_; }
  [[nodiscard]] const BootBases& bases() const { return *bases_; }
  // Of all segments together.
  [[nodiscard]] uint64_t journal_first() const { return journal_first_; }
  [[nodiscard]] uint64_t journal_last() const { return journal_last_; }
  // Of all sources together.
  [[nodiscard]] const std::vector<RangeDelete>& deletes() const { return deletes_; }
  // Versions that the segments have, deletes included, by family.
  [[nodiscard]] const std::map<uint64_t, uint64_t>& versions_read() const { return versions_read_; }
  // Repeats that were left out so far.
  [[nodiscard]] uint64_t repeats() const { return repeats_; }

 private:
  [[nodiscard]] Result<bool> NextRun(VersionColumns* rows);
  void AppendKept(VersionColumns* rows);
  void NoteDropped(size_t dropped);
  void GiveAnyVersion(VersionColumns* rows);

  const TablePtr table_;
  const BucketKey bucket_;
  const std::shared_ptr<const BootBases> bases_;
  VersionMerge merge_;
  uint64_t journal_first_ = UINT64_MAX;
  uint64_t journal_last_ = 0;
  std::vector<RangeDelete> deletes_;
  std::map<uint64_t, uint64_t> versions_read_;
  TimeSpan times_;                   // of the segments' rows
  uint64_t repeats_ = 0;
  bool has_given_ = false;           // any version
  std::optional<VersionColumns> dropped_;  // a version, in case that all are
  bool dropped_repeats_ = false;
  std::vector<VersionRef> versions_;  // scratch: of a key, the sealed ones first
  std::vector<bool> keep_;            // scratch
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_BUCKET_MERGE_H_
