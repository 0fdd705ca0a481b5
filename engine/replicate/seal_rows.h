// SealRows: what one seal says of each of its rows, row by row in the order of the cluster's table.
//
// The versions of a row are merged as the cluster merges them (lib/row/reconcile.h), but for time:
// what has expired stays, as whether it has is for the reader to judge. What the seal itself
// deletes is gone, and so is what a push leaves out because other seals deleted it.
#ifndef CISTERN_ENGINE_REPLICATE_SEAL_ROWS_H_
#define CISTERN_ENGINE_REPLICATE_SEAL_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cistern/result.h"
#include "engine/replicate/row_key.h"
#include "engine/replicate/seal_push.h"

namespace cistern::replicate {

// Pages [first, last] of a seal.
struct PageSpan {
  uint32_t first = 0;
  uint32_t last = 0;
  [[nodiscard]] bool Has(uint32_t page) const { return first <= page && page <= last; }
  void Add(const PageSpan& other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
  friend bool operator==(const PageSpan&, const PageSpan&) = default;
};

// No timestamp is below it; one that is equal never reaches a cluster (batch_stream.h).
inline constexpr int64_t kNothingDeleted = std::numeric_limits<int64_t>::min();

// A cell, or the row's marker, as the version that wins has it.
struct SealCell {
  CellState state = CellState::kAbsent;  // absent: the seal says nothing of it
  int64_t write_us = 0;                  // as it was pushed: by the table's timestamp mode
  uint32_t expiry_s = 0;                 // 0: never
  std::string bytes;                     // of a value, as CQL serialises it; empty for a marker
};

struct SealRow {
  RowKey key;
  PageSpan pages;  // where its versions stand
  // By the seal's own deletes of the row and of ranges; below it nothing counts.
  int64_t deleted_up_to_us = kNothingDeleted;
  SealCell marker;              // kAbsent: the row has none
  std::vector<SealCell> cells;  // by the schema's regular columns
};

// Holds one page, and one row. One thread at a time.
class SealRows {
 public:
  enum class Found : uint8_t {
    kRow,
    kPage,  // a page was read, and no row is complete yet: ask again
    kEnd,
  };
  // The rows of pages `span` of `source`, which has them. Of a row that has versions outside of the
  // span only those inside count.
  SealRows(const SealSource& source, PageSpan span);

  // The next row, into *row, whose memory is used again. Reads one page at most. `now_s`: the
  // trusted clock's, none: not known; what other seals delete depends on it (page_shadow.h).
  //   kInternal  the page was not mapped to the schema of the statements
  //   others     of read_page
  // After an error the same row may be asked for again.
  [[nodiscard]] Result<Found> Next(std::optional<int64_t> now_s, SealRow* row);

  // The lowest and highest event time of the pages, as the keys have it; nothing: they have no row.
  // Reads two pages, more where some are empty. Errors as of Next.
  using TimeBounds = std::optional<std::pair<CellValue, CellValue>>;
  [[nodiscard]] Result<TimeBounds> ReadBounds(std::optional<int64_t> now_s);

  // How many bytes a version of the page that was read last takes on the wire, about.
  [[nodiscard]] size_t version_bytes() const { return version_bytes_; }

 private:
  [[nodiscard]] Result<SealPage> ReadPage(uint32_t page, std::optional<int64_t> now_s);
  [[nodiscard]] Status OpenPage(std::optional<int64_t> now_s);
  void Begin(size_t i);
  void Add(size_t i);
  void AddCell(size_t k, size_t i, int64_t write_us);
  void Finish();

  const SealSource source_;
  const TableSchema& schema_;
  const PageSpan span_;
  const bool is_backwards_;           // the table declares its event time DESC
  std::vector<RangeDelete> deletes_;  // folded

  uint32_t pages_left_;
  uint32_t page_ = 0;  // the open one
  VersionColumns rows_;
  std::vector<bool> shadowed_;  // the same
  size_t rows_left_ = 0;
  size_t version_bytes_ = 0;
  bool row_is_begun_ = false;
  SealRow row_;
  std::string scratch_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SEAL_ROWS_H_
