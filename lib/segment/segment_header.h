// The header value of a segment: which journal records it covers, its pages, its range
// deletes. Specified in FORMAT.md.
#ifndef CISTERN_SEGMENT_SEGMENT_HEADER_H_
#define CISTERN_SEGMENT_SEGMENT_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "lib/row/version_columns.h"

namespace cistern {

// One page of a segment.
struct PageInfo {
  uint32_t row_count = 0;   // 1..kPageRowsMax
  uint32_t byte_count = 0;  // encoded, 1..kPageBytesMax
  int64_t first_time = 0;   // event times in the table's ticks, inclusive
  int64_t last_time = 0;
  // Where its statistics are in SegmentHeader::statistics; none: no bytes.
  uint32_t statistics_begin = 0;
  uint32_t statistics_size = 0;
  friend bool operator==(const PageInfo&, const PageInfo&) = default;
};

struct SegmentHeader {
  uint32_t schema_version = 0;
  uint64_t journal_first = 0;  // sequences of the journal records whose rows are here, inclusive
  uint64_t journal_last = 0;
  uint64_t row_count = 0;      // row versions, the sum over the pages; deletes are not counted
  int64_t first_time = 0;      // event times of the rows, inclusive; nothing of the deletes
  int64_t last_time = 0;
  std::vector<PageInfo> pages;  // in time order; none if the segment has only deletes
  std::vector<RangeDelete> deletes;
  std::string statistics;  // of the pages (page_statistics.h), one after another

  [[nodiscard]] std::string_view StatisticsOf(const PageInfo& page) const {
    return std::string_view(statistics).substr(page.statistics_begin, page.statistics_size);
  }
  // Encoded bytes of all pages.
  [[nodiscard]] uint64_t byte_count() const {
    uint64_t sum = 0;
    for (const PageInfo& page : pages) sum += page.byte_count;
    return sum;
  }
};

// `header` must keep its own rules: row_count is the pages' sum, times and journal
// sequences do not go backwards, pages lie within first_time..last_time and do not
// overlap except at their borders, counts keep to limits.h, statistics lie in the order of their
// pages and fill `statistics`. Breaking one ends the process.
[[nodiscard]] std::string EncodeSegmentHeader(const SegmentHeader& header);

// kCorruption names the field; kTooNew if a later format wrote it.
[[nodiscard]] Result<SegmentHeader> DecodeSegmentHeader(std::string_view bytes);

}  // namespace cistern

#endif  // CISTERN_SEGMENT_SEGMENT_HEADER_H_
