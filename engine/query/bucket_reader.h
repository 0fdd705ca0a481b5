// BucketReader: the visible rows of one bucket, from head and segments, in scan order.
#ifndef CISTERN_ENGINE_QUERY_BUCKET_READER_H_
#define CISTERN_ENGINE_QUERY_BUCKET_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cistern/cursor.h"
#include "cistern/result.h"
#include "engine/query/query_context.h"
#include "engine/query/scan_shape.h"
#include "engine/query/sealed_rows.h"
#include "lib/base/memory_budget.h"
#include "lib/row/reconcile.h"
#include "storage/keyspace.h"
#include "storage/table_set.h"
#include "storage/version_merge.h"

namespace cistern {

// A clustering key as row 0 of key columns; row_count 0: none.
using RowPosition = VersionColumns;
[[nodiscard]] RowPosition PositionOf(const TableSchema& schema, const VersionColumns& rows,
                                     size_t i);

// Whether a batch being filled holds enough bytes to be given out; seldom looks.
[[nodiscard]] bool IsWideBatch(const VersionColumns& rows);

// Not a snapshot: each key is read as of some moment after the reader was opened. When a
// rotation moves rows under it, it begins anew behind the last row it gave out. Damage is
// passed over, with every row of its times, and noted. One thread at a time.
class BucketReader {
 public:
  // Begins behind `after`, or at it if `inclusive`.
  BucketReader(const QueryContext* context, const ScanShape* shape, BucketKey bucket,
               RowPosition after, bool inclusive);
  // Of a bucket that is in one seal alone, as of the view, reads what needs no merge without one.
  // Before the first Fill() of a scan that begins at the bucket's first row, and wants few if it is
  // descending. The pages must outlive this.
  void ReadSealed(std::shared_ptr<const SpillView> view, BucketOutline outline,
                  SealedPages* pages);

  // Replaces *rows by up to `row_count_max` more visible rows that the filter lets pass, fewer
  // if they are wide: clustering columns and the wanted regular ones, cells without a value as
  // kNull. No row: the end. After kOutOfMemory the same rows may be asked for again.
  [[nodiscard]] Status Fill(size_t row_count_max, VersionColumns* rows);
  // What was passed over so far.
  [[nodiscard]] const std::vector<ScanGap>& gaps() const { return gaps_; }

 private:
  [[nodiscard]] size_t MemoryBytes() const;
  [[nodiscard]] Status FillRows(VersionColumns* rows);
  [[nodiscard]] Result<bool> FillSealed(VersionColumns* rows);
  [[nodiscard]] bool FitsWhole(const SealedRows& sealed, size_t bytes_max) const;
  [[nodiscard]] Status FillMerged(VersionColumns* rows);
  void NoteLast(const VersionColumns& rows);
  [[nodiscard]] size_t BatchBytes() const;
  [[nodiscard]] bool IsFull(const VersionColumns& rows, size_t bytes_max) const;
  [[nodiscard]] Status OpenSources();
  void OpenHeads(const TablePtr& newest, std::vector<RangeDelete>* deletes);
  [[nodiscard]] Status OpenSegments(const TablePtr& newest, const SpillView& view);
  [[nodiscard]] std::vector<bool> PagesToSkip(const std::vector<SegmentRef>& segments,
                                              size_t segment) const;
  [[nodiscard]] Result<bool> AppendNext(VersionColumns* rows);
  [[nodiscard]] Result<size_t> AppendRun(size_t row_count_max, VersionColumns* rows);
  [[nodiscard]] bool ShowsAsItIs(const ChunkRun& run) const;
  void AppendMatching(const VersionColumns& from, size_t begin, size_t end, VersionColumns* rows);
  void AppendRows(const VersionColumns& from, size_t begin, size_t end, VersionColumns* rows);
  void NotePassed(const VersionRef& key);
  void AppendRow(const VersionRef& key, VersionColumns* rows);
  void NotePage(const SegmentRef& segment, uint32_t page, const Status& status);
  void NoteSegment(const DamagedSegment& damaged);
  void NoteGap(ScanGap gap);
  [[nodiscard]] bool IsInGap(int64_t time) const;
  [[nodiscard]] bool IsBehind(const VersionRef& key) const;

  const QueryContext* const context_;
  const ScanShape* const shape_;
  const BucketKey bucket_;
  RowPosition after_;
  bool inclusive_;
  bool skipping_ = false;  // rows up to after_ may still come
  size_t passed_ = 0;      // rows that the filter held back since after_ was noted
  bool has_heads_ = false;
  uint64_t epoch_ = 0;
  std::shared_ptr<const BootBases> bases_;
  std::vector<RangeDelete> deletes_;
  std::vector<ScanGap> gaps_;  // few
  std::optional<SealedRows> sealed_;  // as long as it goes on
  std::optional<VersionMerge> merge_;
  std::optional<RowMerger> merger_;   // with it
  MemoryCharge charge_;
  size_t text_bytes_ = 0;  // of the batch being filled
  size_t row_count_max_ = 0;  // of it
  size_t keys_to_merge_ = 0;  // before a run is looked at again
  int64_t now_s_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_BUCKET_READER_H_
