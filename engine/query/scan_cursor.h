// ScanCursor: the public Cursor over the buckets of one entity.
#ifndef CISTERN_ENGINE_QUERY_SCAN_CURSOR_H_
#define CISTERN_ENGINE_QUERY_SCAN_CURSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/cursor.h"
#include "cistern/options.h"
#include "engine/bucketing/bucketer.h"
#include "engine/query/bucket_group.h"
#include "engine/query/bucket_walk.h"
#include "engine/query/scan_token.h"
#include "engine/query/sealed_pages.h"
#include "lib/cql/wire_value.h"

namespace cistern {

// Checks the request and positions the cursor; reads nothing yet.
//   kInvalidArgument  unknown column, token of another scan, unbounded without a limit
[[nodiscard]] Result<std::unique_ptr<Cursor>> OpenScan(const QueryContext* context, TablePtr table,
                                                       const ScanRequest& request);

// The values of the entity columns, in key order. kInvalidArgument for bytes that are no
// entity key of the table.
[[nodiscard]] Result<std::vector<CellValue>> ParseEntityKey(const TableSchema& schema,
                                                            std::string_view bytes);

class ScanCursor final : public Cursor {
 public:
  ScanCursor(const QueryContext* context, ScanShape shape, const ScanRequest& request,
             std::vector<size_t> columns, uint64_t request_checksum);
  ~ScanCursor() override;

  [[nodiscard]] bool Next(ResultBatch* batch) override;
  [[nodiscard]] const Status& status() const override { return status_; }
  [[nodiscard]] const std::vector<ScanGap>& gaps() const override { return gaps_; }
  [[nodiscard]] const std::shared_ptr<const TableSchema>& schema() const override {
    return shape_.table->schema;
  }
  [[nodiscard]] const std::vector<size_t>& columns() const override { return columns_; }
  [[nodiscard]] std::string Token() const override;

  // Continues behind the row that the token names. Before the first Next().
  [[nodiscard]] Status Resume(const ScanToken& token);
  // Works out the values of the entity columns. Before the first Next().
  [[nodiscard]] Status SetEntity();

 private:
  [[nodiscard]] Status TopUp();
  [[nodiscard]] Status TakeRows(size_t wanted, GroupRows* rows);
  void DropAhead();
  [[nodiscard]] Result<bool> NextRows(GroupRows* rows, int64_t* start_s);
  void EmitNone(ResultBatch* batch) const;
  void Emit(GroupRows rows, int64_t start_s, ResultBatch* batch);
  [[nodiscard]] bool AtLimit() const { return limit_ != 0 && rows_returned_ >= limit_; }
  [[nodiscard]] ScanToken PositionBehind(const GroupRows& rows, int64_t start_s) const;
  void NoteGaps(std::vector<ScanGap> gaps);
  void NoteLostRotations();
  void Conclude();

  const QueryContext* const context_;
  const ScanShape shape_;
  const std::string entity_;
  const std::vector<size_t> columns_;
  const bool has_repeats_;  // among them
  const uint64_t request_checksum_;
  const uint64_t limit_;  // 0: none
  const size_t batch_rows_max_;
  bool opens_ahead_;    // buckets before their turn
  const bool adapts_;   // whether that goes by how long the last one took to open
  size_t buckets_ahead_;
  const Bucketer bucketer_;  // of the table's last declaration, whichever is shown
  std::vector<CellValue> entity_values_;  // by entity column, in key order

  int64_t first_at_s_ = 0;  // start of the bucket where this cursor begins
  int64_t next_at_s_ = 0;  // where to look for the next bucket
  int64_t last_at_s_ = 0;  // start of the last bucket that can hold rows of the span
  bool all_listed_ = false;
  BucketWalk walk_;
  std::shared_ptr<const SpillView> view_;  // of the walk
  SealedPages pages_;  // of what is read in the caller's thread
  std::optional<GroupPosition> resume_;
  int64_t resume_start_s_ = 0;
  std::vector<std::unique_ptr<BucketGroup>> groups_;  // few; the front is being read

  uint64_t rows_returned_ = 0;
  ScanToken token_;
  bool has_position_ = false;
  bool ended_ = false;
  std::vector<ScanGap> gaps_;
  Status status_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_SCAN_CURSOR_H_
