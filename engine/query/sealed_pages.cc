#include "engine/query/sealed_pages.h"

#include <utility>

#include "lib/row/row_order.h"
#include "storage/version_source.h"
#include "storage/window_dictionaries.h"

namespace cistern {

SealedPages::SealedPages(const QueryContext* context, TablePtr shown,
                         const std::vector<bool>* wanted)
    : context_(context),
      shown_(std::move(shown)),
      wanted_(wanted),
      spare_charge_(context->budget) {}

void SealedPages::GiveBack(VersionColumns rows) {
  if (spare_charge_.TrySet(rows.MemoryBytes())) spare_ = std::move(rows);
}

VersionColumns SealedPages::TakeSpare() {
  spare_charge_.Set(0);
  return std::exchange(spare_, {});
}

bool SealedPages::ShowAsTheyAre(const RowStatistics& rows, uint32_t version) {
  return !HasExpired(rows.expiry_s_first) &&
         (rows.all_marked || version == shown_->schema_version);
}

bool SealedPages::HasExpired(uint32_t expiry_s) {
  if (expiry_s == 0) return false;
  if (!now_s_) now_s_ = context_->now_s();
  return *now_s_ >= int64_t{expiry_s};
}

bool SealedPages::ShowsAsItIs(const BucketOutline& bucket) {
  if (bucket.window == nullptr || bucket.has_deletes || !bucket.rows) return false;
  expiry_s_first_ = bucket.rows->expiry_s_first;
  return ShowAsTheyAre(*bucket.rows, bucket.schema_version);
}

Result<bool> SealedPages::ReadOnlyPage(const BucketOutline& bucket, const ChooseRows* choose,
                                       VersionColumns* rows) {
  const bool is_only = bucket.row_count <= limits::kPageRowsMax &&
                       bucket.schema_version == shown_->schema_version && ShowsAsItIs(bucket);
  if (!is_only) return false;
  page_read_ = {};
  std::string_view page;
  if (bucket.page != nullptr) {
    page = *bucket.page;
  } else {
    const Result<std::string_view> read = stream_.ReadPage(bucket.window, bucket.seal, 0);
    if (read.status().code() == StatusCode::kCorruption) return false;
    CISTERN_RETURN_IF_ERROR(read.status());
    page = page_read_ = *read;
    ++only_pages_read_;
  }
  const WindowDictionaries dictionaries(*bucket.window);
  const TableSchema& schema = *shown_->schema;
  const Status decoded =
      choose != nullptr
          ? DecodePageValues(schema, page, bucket.row_count, *wanted_, &dictionaries, *choose, rows)
          : DecodePageValues(schema, page, bucket.row_count, *wanted_, &dictionaries, rows);
  if (!decoded.ok()) page_read_ = {};
  return decoded.ok();
}

Result<BucketPages> SealedPages::Open(const SpillView& view, const BucketKey& bucket,
                                      const std::shared_ptr<const WindowFamily>& window,
                                      uint64_t seal) {
  return OpenSealedBucket(*context_, view, bucket, window, seal, &stream_);
}

// Whether the page's statistics tell that its rows show as they are.
bool SealedPages::TellsOfRows(const SegmentHeader& header, const PageInfo& page) {
  if (page.statistics_size == 0) return false;
  const Result<RowStatistics> rows = ReadRowStatistics(header.StatisticsOf(page));
  if (!rows.ok()) return false;
  expiry_s_first_ = rows->expiry_s_first;
  return ShowAsTheyAre(*rows, header.schema_version);
}

Result<bool> SealedPages::ReadAlone(const TablePtr& newest, const BucketPages& pages,
                                    const Stretch& stretch, const ChooseRows* choose,
                                    VersionColumns* rows, bool* is_chosen) {
  const std::shared_ptr<const SegmentRef>& segment = pages.segments[stretch.segment];
  const SegmentPages reader(newest, shown_->schema_version, segment, wanted_, &stream_);
  const bool is_told = TellsOfRows(segment->header, segment->header.pages[stretch.page]);
  rows_found_.reset();
  page_read_ = {};
  *is_chosen = choose != nullptr && is_told && reader.IsAsShown();
  Result<VersionColumns> read =
      is_told ? reader.ReadValues(stretch.page, *is_chosen ? choose : nullptr)
              : reader.Read(stretch.page);
  stream_.LetGoOfLarge();
  if (read.status().code() == StatusCode::kCorruption) return false;
  CISTERN_RETURN_IF_ERROR(read.status());
  *rows = *std::move(read);
  if (is_told) return true;
  const bool has_boots = !rows->boot.empty();
  ResolveBoots(*pages.bases, &*rows, {});
  expiry_s_first_ = 0;
  for (const uint32_t expiry_s : rows->expiry_s) {
    if (HasExpired(expiry_s)) return false;
    const bool is_first = expiry_s != 0 && (expiry_s_first_ == 0 || expiry_s < expiry_s_first_);
    if (is_first) expiry_s_first_ = expiry_s;
  }
  if (!StandAlone(*shown_->schema, *rows, 0, rows->row_count)) return false;
  const bool is_lasting = !has_boots && segment->header.schema_version == shown_->schema_version;
  if (is_lasting) rows_found_ = RowStatistics{expiry_s_first_, /*all_marked=*/false};
  return true;
}

}  // namespace cistern
