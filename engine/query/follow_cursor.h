// FollowCursor: a scan that waits at its end for the rows behind it.
#ifndef CISTERN_ENGINE_QUERY_FOLLOW_CURSOR_H_
#define CISTERN_ENGINE_QUERY_FOLLOW_CURSOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cistern/cursor.h"
#include "cistern/options.h"
#include "storage/row_signal.h"

namespace cistern {

// One scan after another, each from the token of the one before: so it holds nothing open while
// it waits, and rotations, seals and a store that was opened anew are nothing to it.
//
// A scan is no snapshot: it may see a row and not the one that was written just before it, to
// a bucket or split that it had read by then. A scan that ends there is begun again, but one that
// goes on behind the later row would never give the earlier. So a batch that begins another
// bucket, or is of a table with splits, is given only if a second scan, begun after it was read,
// finds the same.
class FollowCursor final : public Cursor {
 public:
  using ScanFunction = std::function<Result<std::unique_ptr<Cursor>>(const ScanRequest&)>;

  // `request` is ascending and checked; `schema` and `columns` as its first scan gives them.
  FollowCursor(ScanFunction scan, std::shared_ptr<RowSignal> signal, ScanRequest request,
               std::shared_ptr<const TableSchema> schema, std::vector<size_t> columns,
               bool has_splits, int64_t wait_us);

  [[nodiscard]] bool Next(ResultBatch* batch) override;
  [[nodiscard]] const Status& status() const override { return status_; }
  [[nodiscard]] const std::vector<ScanGap>& gaps() const override { return gaps_; }
  [[nodiscard]] const std::shared_ptr<const TableSchema>& schema() const override {
    return schema_;
  }
  [[nodiscard]] const std::vector<size_t>& columns() const override { return columns_; }
  [[nodiscard]] std::string Token() const override;

 private:
  [[nodiscard]] bool GiveOrWait(ResultBatch* batch);
  [[nodiscard]] bool TakeBatch(ResultBatch* batch);
  [[nodiscard]] bool ReadBatch(ResultBatch* batch, std::string* token);
  [[nodiscard]] bool MayMissRows(const std::string& token) const;
  void NoteGaps(const Cursor& scan);

  const ScanFunction scan_;
  const std::shared_ptr<RowSignal> signal_;
  ScanRequest request_;
  const std::shared_ptr<const TableSchema> schema_;
  const std::vector<size_t> columns_;
  const bool has_splits_;
  const int64_t wait_us_;
  std::unique_ptr<Cursor> current_;  // null while it waits
  uint64_t seen_ = 0;                // of the signal, before `current_` began
  std::set<std::string> known_gaps_;
  std::vector<ScanGap> gaps_;
  Status status_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_FOLLOW_CURSOR_H_
