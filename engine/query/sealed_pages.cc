#include "engine/query/sealed_pages.h"

#include <utility>

#include "lib/row/row_order.h"
#include "lib/segment/page_reader.h"
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

// Whether the bucket may have one page alone, and its rows show as they are.
Result<bool> SealedPages::IsOnlyPage(const BucketParts& parts) {
  const Manifest& m = parts.manifest;
  if (parts.window == nullptr || m.delete_count > 0 || m.statistics.empty() ||
      m.row_count > limits::kPageRowsMax || m.schema_version != shown_->schema_version) {
    return false;
  }
  CISTERN_ASSIGN_OR_RETURN(const RowStatistics rows, ReadRowStatistics(m.statistics));
  expiry_s_first_ = rows.expiry_s_first;
  return ShowAsTheyAre(rows, m.schema_version);
}

Result<bool> SealedPages::ReadOnlyPage(const BucketParts& parts, VersionColumns* rows) {
  CISTERN_ASSIGN_OR_RETURN(const bool is_only, IsOnlyPage(parts));
  if (!is_only) return false;
  const Result<std::string_view> page = stream_.ReadPage(parts.window, parts.seal, 0);
  if (page.status().code() == StatusCode::kCorruption) return false;
  CISTERN_RETURN_IF_ERROR(page.status());
  const WindowDictionaries dictionaries(*parts.window);
  const Status decoded = DecodePageValues(*shown_->schema, *page, parts.manifest.row_count,
                                          *wanted_, &dictionaries, rows);
  stream_.LetGoOfLarge();
  return decoded.ok();
}

Result<BucketPages> SealedPages::Open(const SpillView& view, const BucketKey& bucket,
                                      const BucketParts& parts) {
  return OpenSealedBucket(*context_, view, bucket, parts, &stream_);
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
                                    const Stretch& stretch, VersionColumns* rows) {
  const std::shared_ptr<const SegmentRef>& segment = pages.segments[stretch.segment];
  const SegmentPages reader(newest, shown_->schema_version, segment, wanted_, &stream_);
  const bool is_told = TellsOfRows(segment->header, segment->header.pages[stretch.page]);
  Result<VersionColumns> read =
      is_told ? reader.ReadValues(stretch.page) : reader.Read(stretch.page);
  stream_.LetGoOfLarge();
  if (read.status().code() == StatusCode::kCorruption) return false;
  CISTERN_RETURN_IF_ERROR(read.status());
  *rows = *std::move(read);
  if (is_told) return true;
  ResolveBoots(*pages.bases, &*rows, {});
  expiry_s_first_ = 0;
  for (const uint32_t expiry_s : rows->expiry_s) {
    if (HasExpired(expiry_s)) return false;
    const bool is_first = expiry_s != 0 && (expiry_s_first_ == 0 || expiry_s < expiry_s_first_);
    if (is_first) expiry_s_first_ = expiry_s;
  }
  return StandAlone(*shown_->schema, *rows, 0, rows->row_count);
}

}  // namespace cistern
