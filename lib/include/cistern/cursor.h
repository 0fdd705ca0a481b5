// Cursor: the rows of a scan, in batches.
#ifndef CISTERN_CURSOR_H_
#define CISTERN_CURSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cistern/column_data.h"
#include "cistern/export.h"
#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// Rows by column. columns[i] holds the scan's i-th projected column; all have
// row_count rows. Null cells, absent cells and expired cells all read as kNull,
// as in CQL. ExportArrowBatch (arrow.h) hands them to readers of Apache Arrow.
struct ResultBatch {
  size_t row_count = 0;
  std::vector<ColumnData> columns;
};

// What a scan could not read, for damage.
struct ScanGap {
  int64_t first_time = 0;  // event times in the table's ticks, both inclusive
  int64_t last_time = 0;
  // True: no row of that partition and these times was given out, readable ones among them
  // neither, as a newer version or a delete of theirs may be missing. False: whole files are
  // lost and nobody knows whose rows they held. The rows of these times that are readable were
  // given out; others, or newer versions of them, may be missing.
  bool located = true;
  uint64_t versions = 0;  // row versions that are lost; not located: of all entities; 0: unknown
  std::string what;       // the bucket, the piece of it, what is wrong
};

// Not a snapshot: every row that was answered before the scan began is there; of rows
// written while it runs, each bucket shows those of about the time it is read.
//
// Holds the store open: an engine that is closed waits for its cursors. One whose store failed
// opens it anew when they are through, and ends those that are left 5 s later: the next call of
// Next() gives the reason then, and Token() where to go on. Destroy what is read. May outlive its
// engine.
class CISTERN_EXPORT Cursor {
 public:
  virtual ~Cursor() = default;

  // Replaces *batch by the next rows in scan order. Returns false at the end of
  // the range or limit, and on error: look at status() after every scan.
  // A batch may be empty: the scan has passed limits::kEmptyBucketsMax buckets in which all
  // is expired or deleted, and lets you decide whether to go on.
  // Where stored rows are damaged the scan passes over them and goes on. At its end, or
  // that of its limit, status() is then kCorruption and gaps() tells what is missing:
  // a scan that ends OK is complete. Token() leads on all the same.
  // Short of memory it gives smaller batches, reads nothing ahead and has the head
  // rotated; kOutOfMemory if not even one row fits then, with the pages it is merged
  // from: one for each segment and split that holds rows of that time.
  // One thread at a time.
  [[nodiscard]] virtual bool Next(ResultBatch* batch) = 0;
  [[nodiscard]] virtual const Status& status() const = 0;

  // What was passed over so far. At the end every gap that meets the range that was read, the
  // first limits::kScanGapsMax of them.
  [[nodiscard]] virtual const std::vector<ScanGap>& gaps() const = 0;

  // The table as it was declared when the scan began, whatever AlterTable does meanwhile.
  [[nodiscard]] virtual const std::shared_ptr<const TableSchema>& schema() const = 0;
  // Schema columns that the batches carry, as indices into schema()->columns.
  [[nodiscard]] virtual const std::vector<size_t>& columns() const = 0;

  // Where the scan stands, to continue later with ScanRequest::token, also after
  // a restart, after rotations and after new buckets. Opaque, checked when used.
  // Covers every row handed out so far: behind the last of them when the limit ended
  // the scan; empty once the range is exhausted (and before the first row).
  //
  // Pages of 100 rows; the limit counts those of the pages before too:
  //   while (true) {
  //     request.limit += 100;
  //     auto cursor = engine->Scan(request);
  //     ...                                    // show what Next() gives until it is false
  //     request.token = (*cursor)->Token();
  //     if (request.token.empty()) break;      // exhausted
  //   }
  [[nodiscard]] virtual std::string Token() const = 0;
};

}  // namespace cistern

#endif  // CISTERN_CURSOR_H_
