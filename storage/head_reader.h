// HeadReader: selects rows of a head bucket in key order and copies them into columns.
#ifndef CISTERN_STORAGE_HEAD_READER_H_
#define CISTERN_STORAGE_HEAD_READER_H_

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cistern/row_batch.h"
#include "lib/row/version_columns.h"
#include "storage/head.h"

namespace cistern {

// Clustering keys of packed rows in row order.
[[nodiscard]] std::strong_ordering CompareHeadRows(const HeadLayout& layout, const char* a,
                                                   const char* b);
[[nodiscard]] std::strong_ordering CompareHeadRow(const HeadLayout& layout, const char* a,
                                                  const VersionColumns& b, size_t row);
[[nodiscard]] std::strong_ordering CompareHeadRow(const HeadLayout& layout, const char* a,
                                                  const RowBatch& b, size_t row);

// Serves one CopyRows. The bucket's late rows must be sorted, and stay as they are while
// it works.
class HeadReader {
 public:
  HeadReader(const HeadBucket& bucket, const CopyRequest& request);
  // Replaces what *out holds.
  void Copy(VersionColumns* out);

 private:
  // The rows [begin, end) of a sorted run that the request asks for.
  struct Range {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  [[nodiscard]] HeadRun::Ref Main(uint32_t i) const { return bucket_.main_.At(layout_, i); }
  [[nodiscard]] HeadRun::Ref Late(uint32_t i) const {
    return bucket_.side_->late.At(layout_, bucket_.side_->order[i]);
  }
  [[nodiscard]] bool IsBeforeRange(const char* row) const;
  [[nodiscard]] bool IsBeforeEnd(const char* row) const;
  [[nodiscard]] Range MainRange() const;
  [[nodiscard]] Range LateRange() const;
  void Select();
  [[nodiscard]] std::vector<HeadRun::Ref> Merge(Range main, Range late) const;
  void NewestFirst(std::vector<HeadRun::Ref>* refs) const;
  [[nodiscard]] bool AnyRare() const;
  void CopyVersions(bool any_rare, VersionColumns* out) const;
  void CopyColumn(size_t index, ColumnData* out) const;
  void CopyTexts(const HeadLayout::Column& c, ColumnData* out) const;
  void CopyStates(size_t index, ColumnData* out) const;

  const HeadBucket& bucket_;
  const CopyRequest& request_;
  const HeadLayout& layout_;
  std::vector<HeadRun::Piece> pieces_;  // what is copied, in this order
  size_t row_count_ = 0;                // of them
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_READER_H_
