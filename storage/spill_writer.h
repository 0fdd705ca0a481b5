// SpillWriter: writes the segments of one rotation into a spill family, or of one seal round
// into a window.
#ifndef CISTERN_STORAGE_SPILL_WRITER_H_
#define CISTERN_STORAGE_SPILL_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/row/version_columns.h"
#include "lib/segment/page_builder.h"
#include "lib/segment/segment_header.h"
#include "storage/family_kind.h"
#include "storage/keyspace.h"
#include "storage/unlogged_writer.h"

namespace cistern {

// Pages and headers pass the write-ahead log by; nothing counts before Flush()
// succeeded and the rotation was committed. One thread at a time.
class SpillWriter {
 public:
  // `rotation` was reserved for this writer alone. Pages of a window get statistics. Those of a
  // spill family do not: they would cost every row, and what is spilled is soon rewritten.
  SpillWriter(FamilyKind kind, FamilyPtr family, uint64_t rotation)
      : has_statistics_(kind == FamilyKind::kWindow),
        out_(std::move(family)),
        rotation_(rotation) {
    extent_.rotation = rotation;
  }

  // --- one segment: Begin, AddRows in row order any number of times, End. kTooLarge beyond
  // the pages or deletes that a header takes
  void Begin(const BucketKey& bucket, const TableSchema* schema, uint32_t schema_version,
             uint64_t journal_first, uint64_t journal_last);
  // Rows must follow the last ones in row order; they are cut into pages here.
  [[nodiscard]] Status AddRows(const VersionColumns& rows);
  [[nodiscard]] Status End(std::vector<RangeDelete> deletes);
  // Of a window: pages that follow may name the dictionary, by its number.
  [[nodiscard]] Result<uint64_t> AddDictionary(const ZstdDictionary& dictionary);
  // The column's pages that follow, of the table and version of the segment at hand, name it where
  // it serves. None of a spill family do.
  void UseDictionary(size_t column, NumberedDictionary dictionary) {
    Cache().SetDictionary(column, std::move(dictionary));
  }
  // Instead of End: what was written of the segment has no header and is nothing.
  void Abandon() { schema_ = nullptr; }
  // Of the segment at hand, until End.
  [[nodiscard]] uint64_t segment_id() const { return segment_id_; }
  [[nodiscard]] const SegmentHeader& header() const { return header_; }

  // Makes everything durable as one SST.
  [[nodiscard]] Status Flush();

  [[nodiscard]] uint64_t version_count() const { return extent_.version_count; }  // with deletes
  [[nodiscard]] uint64_t byte_count() const { return byte_count_; }

 private:
  [[nodiscard]] CodecCache& Cache() { return caches_[{bucket_.table_id, header_.schema_version}]; }
  [[nodiscard]] uint64_t NextNumber();
  [[nodiscard]] Status AddPage(const VersionColumns& rows, size_t begin, size_t end);
  void AddStatistics(const std::string& statistics, PageInfo* info);

  const bool has_statistics_;
  UnloggedWriter out_;
  const uint64_t rotation_;
  uint64_t next_index_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, CodecCache> caches_;  // by table and version

  BucketKey bucket_;
  const TableSchema* schema_ = nullptr;
  uint64_t segment_id_ = 0;
  SegmentHeader header_;
  RotationExtent extent_;  // of the segments that have ended
  uint64_t byte_count_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_SPILL_WRITER_H_
