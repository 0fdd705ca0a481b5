// SealedRows: the rows of a bucket that is in one seal alone, page by page.
#ifndef CISTERN_ENGINE_QUERY_SEALED_ROWS_H_
#define CISTERN_ENGINE_QUERY_SEALED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "cistern/result.h"
#include "engine/query/query_context.h"
#include "engine/query/scan_shape.h"
#include "engine/query/sealed_pages.h"
#include "lib/row/version_columns.h"
#include "storage/entity_buckets.h"
#include "storage/keyspace.h"

namespace cistern {

// As of the view; downwards only for a scan that wants few rows. Goes as far as pages stand alone
// and show as they are. One thread.
class SealedRows {
 public:
  enum class State {
    kRows,   // page(), begin() and end() tell of the next ones
    kEnd,
    kMerge,  // what is behind the rows that were taken has to be merged: it may have expired since
             // it was read, something else has a say about it, or it is damaged
  };

  // Whatever is pointed to must outlive this. `parts` are of the view, and name a window.
  SealedRows(const QueryContext* context, const ScanShape* shape, const BucketKey* bucket,
             std::shared_ptr<const SpillView> view, BucketOutline bucket_in_view,
             SealedPages* pages);

  // Makes sure that rows of the span stand ready, if there are more.
  [[nodiscard]] Result<State> Load();
  // The page, of which rows begin..end-1 have not been taken and are in the span, in the order of
  // the scan. Its cells may be absent where the scan gives null.
  [[nodiscard]] const VersionColumns& page() const { return page_; }
  [[nodiscard]] size_t begin() const { return begin_; }
  [[nodiscard]] size_t end() const { return end_; }
  void Take(size_t count) { begin_ += count; }
  // Whether Load() can say nothing but kEnd from now on.
  [[nodiscard]] bool IsDone() const {
    return has_begun_ && begin_ == end_ && next_stretch_ >= pages_.stretches.size();
  }
  // All of the page, or of what was read of it, if none of it was taken and all is in the span.
  [[nodiscard]] bool IsWhole() const { return begin_ == 0 && end_ == page_.row_count; }
  [[nodiscard]] VersionColumns TakePage();

  [[nodiscard]] size_t MemoryBytes() const { return page_.MemoryBytes(); }

 private:
  [[nodiscard]] Result<std::optional<State>> Begin();
  void NoteSound(bool first, bool last);
  [[nodiscard]] bool Passes(const Stretch& stretch) const;
  [[nodiscard]] const ChooseRows* ChoiceFor(int64_t first_time, int64_t last_time);
  [[nodiscard]] std::optional<RowRange> RowsToTake(size_t row_count,
                                                   const VersionColumns* rows) const;
  [[nodiscard]] RowRange RowsOfSpan(const VersionColumns& rows) const;
  [[nodiscard]] RowRange AtMostLimit(size_t begin, size_t end) const;
  void TakeIn(bool is_cut);

  const QueryContext* const context_;
  const ScanShape* const shape_;
  const BucketKey* const bucket_;
  const std::shared_ptr<const SpillView> view_;
  BucketOutline outline_;
  const ChooseRows choose_;  // asks RowsToTake
  bool spans_page_ = false;  // the scan, all of the page that is read
  SealedPages* const reader_;
  TablePtr newest_;    // knows the version of whatever was sealed
  BucketPages pages_;  // unless the only page could be read without its header
  bool has_begun_ = false;
  size_t next_stretch_ = 0;
  VersionColumns page_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint32_t expiry_s_ = 0;  // the first of the page's, 0: none
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_SEALED_ROWS_H_
