// IngestRun: records become rows, rows become batches, what cannot goes to the reject file.
#ifndef CISTERN_TOOLS_INGEST_RUN_H_
#define CISTERN_TOOLS_INGEST_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cistern/clock.h"
#include "cistern/row_batch.h"
#include "cistern/status.h"
#include "tools/duplicate_watch.h"
#include "tools/measurement_rule.h"
#include "tools/progress.h"
#include "tools/record_reader.h"
#include "tools/reject_file.h"
#include "tools/row_mapper.h"

namespace cistern::tool {

// What becomes of rows that replace values of earlier rows of the run.
enum class DuplicatePolicy {
  kWarn,    // they are stored and counted
  kRefuse,  // they are rejected
  kAllow,   // they are stored
};

struct IngestTotals {
  uint64_t rows = 0;      // answered by the engine
  uint64_t rejected = 0;  // lines; RejectFile::kept() says how many of them are kept
  uint64_t left_out = 0;  // lines of other measurements than those that were asked for
  // By DuplicateWatch, unless duplicates are allowed:
  uint64_t replaced = 0;        // rows that were stored and replaced values of earlier ones
  uint64_t uncompared = 0;      // rows of which an earlier one may have been forgotten
  std::string first_replaced;   // "in.csv:5", the first of `replaced`
};

struct IngestSettings {
  size_t batch_rows_max = 1000;
  size_t batch_bytes_max = 1024 * 1024;
  // A slow stream is stored at least this often, though it never pauses.
  int64_t batch_age_us_max = 1'000'000;
  std::shared_ptr<Clock> clock = SystemClock();
  uint64_t reasons_shown_max = 20;         // rejected lines that are named on standard error
  uint64_t rejected_max = UINT64_MAX;      // stop beyond it
  // Of --header; empty: none. A first record of an input that has just these cells is its header.
  std::vector<std::string> header_names;
  DuplicatePolicy duplicates = DuplicatePolicy::kWarn;
  // Records have a measurement as their first cell; see MeasurementRule.
  bool has_measurements = false;
  std::vector<std::string> measurements;
  std::function<Status(const RowBatch&)> append;
  std::function<void(const std::string&)> complain;  // prints one line for people
};

// Takes one input after another. One thread at a time.
class IngestRun {
 public:
  IngestRun(std::shared_ptr<const TableSchema> schema, IngestSettings settings,
            Progress* progress);

  // Reads `input` to its end. OK when interrupted too: see InterruptSignal(). What was read
  // before a failure is stored as far as the engine still takes it.
  [[nodiscard]] Status Read(const std::string& name, Input* input, RecordReader* reader,
                            RowMapper* mapper, RejectFile* rejects);

  [[nodiscard]] const IngestTotals& totals() const { return totals_; }
  [[nodiscard]] const MeasurementRule& measurements() const { return measurements_; }

 private:
  struct Pending {  // of the row at the same place in batch_
    uint64_t line = 0;
    size_t raw_end = 0;
  };

  Status Take(const Record& record, RowMapper* mapper);
  bool IsNamedHeader(const Record& record);
  Status TakeMeasured(const Record& record, RowMapper* mapper);
  Status AddRow(const Record& record, RowMapper* mapper, bool* was_added);
  Status CheckUnit(const Record& record, RowMapper* mapper);
  // `continues`: the line is too long, and its rest comes with the next record.
  Status Reject(uint64_t line, std::string_view raw, const std::string& reason,
                bool continues = false);
  Status TakeBad(const Record& record);
  Status Flush();
  Status RefuseDuplicates();
  void CountDuplicates(const RowBatch& batch, size_t first);
  Status AppendRows(const RowBatch& batch, size_t first);
  Status AppendHalf(const RowBatch& batch, size_t begin, size_t end, size_t first);
  [[nodiscard]] std::string_view RawOf(size_t row) const;

  std::shared_ptr<const TableSchema> schema_;
  IngestSettings settings_;
  Progress* progress_;
  IngestTotals totals_;
  RowBatch batch_;
  int64_t batch_began_us_ = 0;  // monotonic, when it got its first row
  std::vector<Pending> pending_;
  std::string pending_raw_;
  std::string name_;
  Input* input_ = nullptr;
  RejectFile* rejects_ = nullptr;
  bool in_long_line_ = false;
  bool at_first_record_ = true;  // of the input
  bool unit_checked_ = false;    // of the input's event times
  DuplicateWatch watch_;
  MeasurementRule measurements_;
  bool measurement_is_in_key_ = false;
  uint64_t stored_to_line_ = 0;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_INGEST_RUN_H_
