// BatchStream: one seal of one bucket as a sequence of batches.
//
// Order: first what deletes ranges, then the pages in clustering order. So a reader of the cluster
// who sees a row of this seal never sees beside it an older one that this seal deletes. The
// order matters for readers in between only: write timestamps decide what stays, so batches may be
// sent several times, in any order, and from any earlier position again.
//
// A batch never crosses a page: the page's `now` holds for all of it (push_expiry.h). What deletes
// single rows and cells goes before a page's rows where these need an old now (row_emission.h).
//
// On v5 a batch depends on the seal, the options, the position it begins at and on which rows
// are over, and on nothing else: with the same `now_s` every repeat is equal byte for byte.
#ifndef CISTERN_ENGINE_REPLICATE_BATCH_STREAM_H_
#define CISTERN_ENGINE_REPLICATE_BATCH_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cistern/limits.h"
#include "cistern/result.h"
#include "engine/replicate/push_batch.h"
#include "engine/replicate/push_position.h"
#include "engine/replicate/row_binder.h"
#include "engine/replicate/row_emission.h"
#include "engine/replicate/timestamp_mode.h"
#include "lib/row/version_columns.h"

namespace cistern::replicate {

struct PushOptions {
  bool names_now = true;  // protocol v5: a request can name its now
  TimestampMode mode = TimestampMode::kWriteTime;
  // Versions of the bucket's keys may be upstream already: an earlier seal, another writer. Then
  // also what is over is sent, as the deletion that it is.
  bool older_may_exist = true;
  size_t statement_count_max = limits::kPushStatementsDefault;  // clamped to 1..65,535
  size_t byte_count_max = limits::kPushBatchBytesDefault;  // a statement beyond it goes alone
};

struct SealPage {
  VersionColumns rows;         // mapped to the schema of the statements, their boots resolved
  std::vector<bool> shadowed;  // those that are not to be sent (page_shadow.h); empty: none
};

// What a seal consists of.
struct SealContent {
  std::vector<RangeDelete> deletes;  // their boots resolved
  uint32_t page_count = 0;
  // Called again for a page when a stream begins in the middle of it: the rows stand where they
  // stood. `now_s`: as BatchStream::Next has it.
  std::function<Result<SealPage>(uint32_t page, std::optional<int64_t> now_s)> read_page;
};

// Holds one page. One thread at a time.
class BatchStream {
 public:
  // `binder` is the bucket's. `from`: the last batch's `next`, or nothing.
  BatchStream(std::shared_ptr<const RowBinder> binder, PushOptions options, SealContent content,
              PushPosition from);

  // Replaces *batch by the next one. It may be empty, where a page has nothing to send, or not
  // much: its tally and position count all the same. `now_s`: the trusted clock's, none: not known.
  //
  //   kBusy          v4, and the clock is not known or behind (RemainingTtl): ask later
  //   kOutOfRange    a timestamp or an expiry that no server takes
  //   kNotSupported  a delete in a table of event timestamps
  //   kCorruption    `from` lies behind the rows of its page
  //   others         of read_page
  // After an error the same batch may be asked for again.
  [[nodiscard]] Status Next(std::optional<int64_t> now_s, PushBatch* batch);
  [[nodiscard]] bool at_end() const {
    return position_.range_delete >= content_.deletes.size() &&
           position_.page >= content_.page_count;
  }
  // Of the batch that comes next.
  [[nodiscard]] const PushPosition& position() const { return position_; }

 private:
  [[nodiscard]] Status Fill(std::optional<int64_t> now_s, PushBatch* batch);
  [[nodiscard]] Status FillRanges(PushBatch* batch);
  [[nodiscard]] Status OpenPage(std::optional<int64_t> now_s);
  [[nodiscard]] Status CheckPage() const;
  void LookAtCells();
  [[nodiscard]] bool HasDeletions() const;
  void BeginPage(std::optional<int64_t> now_s);
  [[nodiscard]] Status FillRows(std::optional<int64_t> now_s, PushBatch* batch);
  [[nodiscard]] Result<bool> AddVersion(size_t i, std::optional<int64_t> now_s, PushBatch* batch);
  // What a statement is sent with.
  struct Terms {
    std::optional<int32_t> now_s;
    int32_t ttl_s = 0;
  };
  [[nodiscard]] Result<Terms> TermsOf(const Emission& emission, size_t i,
                                      std::optional<int64_t> now_s) const;
  [[nodiscard]] VersionTraits TraitsOf(size_t i, std::optional<int64_t> now_s) const;
  [[nodiscard]] bool MayShadow(size_t i) const;
  [[nodiscard]] bool is_by_event() const { return options_.mode == TimestampMode::kEventTime; }
  [[nodiscard]] bool HasRoom(const PushBatch& batch, size_t more_bytes) const;
  void EndPass();
  void ClosePage();

  const std::shared_ptr<const RowBinder> binder_;
  const TableSchema& schema_;
  const PushOptions options_;
  const SealContent content_;

  PushPosition position_;
  bool page_is_open_ = false;
  VersionColumns rows_;                // of the open page
  std::vector<bool> shadowed_;         // the same
  std::optional<int32_t> page_now_s_;  // it has two passes; none: it is sent whole
  bool all_have_values_ = false;       // some regular column has a value in every version
  std::vector<size_t> mixed_columns_;  // regular ones with cells that are no values
  std::vector<size_t> multicell_columns_;  // regular ones whose values replace elements upstream
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_BATCH_STREAM_H_
