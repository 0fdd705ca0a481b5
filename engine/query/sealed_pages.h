// SealedPages: pages whose rows show as they were written, read without a merge.
#ifndef CISTERN_ENGINE_QUERY_SEALED_PAGES_H_
#define CISTERN_ENGINE_QUERY_SEALED_PAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "cistern/result.h"
#include "engine/query/bucket_pages.h"
#include "engine/query/query_context.h"
#include "lib/base/memory_budget.h"
#include "lib/row/version_columns.h"
#include "lib/segment/page_reader.h"
#include "lib/segment/page_statistics.h"
#include "storage/entity_buckets.h"
#include "storage/segment_stream.h"
#include "storage/table_set.h"

namespace cistern {

// Reads the buckets of an entity one behind another, as version `shown` of the table shows them.
// Who gets false from it merges the bucket instead, which names what is damaged. One thread.
class SealedPages {
 public:
  // `wanted` as in DecodePage, by columns of `shown`; it must outlive this.
  SealedPages(const QueryContext* context, TablePtr shown, const std::vector<bool>* wanted);

  // Of another bucket, or later: the clock is asked anew, if anything expires.
  void ForgetTime() { now_s_.reset(); }
  // Whether rows with such statistics, written under that version, show now as they were written.
  // One thread, as all here: the clock is asked once.
  [[nodiscard]] bool ShowAsTheyAre(const RowStatistics& rows, uint32_t version);
  // 0: never.
  [[nodiscard]] bool HasExpired(uint32_t expiry_s);

  // Whether the manifest of the bucket's only seal tells that its rows show as they are.
  [[nodiscard]] bool ShowsAsItIs(const BucketOutline& bucket);
  // The values of a bucket's only page, if the manifest tells so much: then the header need not be
  // read. Into *rows, whose memory is used again; of the chosen rows alone, unless `choose` is
  // null. False: it is not so, or cannot be read. page_read() has its bytes then, until the next
  // page is read, unless the outline had them.
  [[nodiscard]] Result<bool> ReadOnlyPage(const BucketOutline& bucket, const ChooseRows* choose,
                                          VersionColumns* rows);
  [[nodiscard]] std::string_view page_read() const { return page_read_; }
  // How many of those were read in all.
  [[nodiscard]] size_t only_pages_read() const { return only_pages_read_; }

  // Of the rows that were read last: when the first of them expires; 0: none does.
  [[nodiscard]] uint32_t expiry_s_first() const { return expiry_s_first_; }

  // Lets go of the families that were read: a window that ends is not held by who moved on.
  void LetGo() {
    page_read_ = {};
    stream_.LetGo();
  }

  // Holds nothing of a large page any more: who waits for the caller does not keep it.
  void LetGoOfLarge() {
    page_read_ = {};
    stream_.LetGoOfLarge();
  }

  // Memory of rows that nobody needs any more, for the next page.
  void GiveBack(VersionColumns rows);
  [[nodiscard]] VersionColumns TakeSpare();

  // As OpenSealedBucket.
  [[nodiscard]] Result<BucketPages> Open(const SpillView& view, const BucketKey& bucket,
                                         const std::shared_ptr<const WindowFamily>& window,
                                         uint64_t seal);
  // The rows of a page that stands alone and that no delete meets; `newest` knows its version.
  // False: they do not all show as they are, or cannot be read. `choose` as above; *is_chosen tells
  // whether it was asked, as a page of another version is read whole.
  [[nodiscard]] Result<bool> ReadAlone(const TablePtr& newest, const BucketPages& pages,
                                       const Stretch& stretch, const ChooseRows* choose,
                                       VersionColumns* rows, bool* is_chosen);
  // What was found of the rows that ReadAlone read last, where no statistics told it and nothing
  // that is settled later can change it.
  [[nodiscard]] const std::optional<RowStatistics>& rows_found() const { return rows_found_; }

 private:
  [[nodiscard]] bool TellsOfRows(const SegmentHeader& header, const PageInfo& page);

  const QueryContext* const context_;
  const TablePtr shown_;
  const std::vector<bool>* const wanted_;
  SegmentStream stream_;
  std::optional<int64_t> now_s_;  // once it was asked for
  uint32_t expiry_s_first_ = 0;
  std::string_view page_read_;
  size_t only_pages_read_ = 0;
  std::optional<RowStatistics> rows_found_;
  VersionColumns spare_;
  MemoryCharge spare_charge_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_SEALED_PAGES_H_
