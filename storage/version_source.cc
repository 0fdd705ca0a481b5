#include "storage/version_source.h"

#include <string>
#include <utility>

#include "lib/base/concat.h"
#include "storage/window_dictionaries.h"

namespace cistern {

SegmentPages::SegmentPages(TablePtr table, uint32_t shown,
                           std::shared_ptr<const SegmentRef> segment,
                           const std::vector<bool>* wanted, SegmentStream* stream)
    : table_(std::move(table)), segment_(std::move(segment)), wanted_(wanted), stream_(stream) {
  const uint32_t own = segment_->header.schema_version;
  if (own == shown || own > table_->schema_version) return;
  map_ = table_->Map(own, shown);
  if (wanted_ != nullptr) sources_ = map_->Sources(*wanted_);
}

Result<VersionColumns> SegmentPages::Read(uint32_t page) const {
  return Read(page, /*values_alone=*/false, nullptr);
}

Result<VersionColumns> SegmentPages::ReadValues(uint32_t page, const ChooseRows* choose) const {
  return Read(page, /*values_alone=*/true, choose);
}

Result<VersionColumns> SegmentPages::Decode(std::string_view bytes, uint32_t page,
                                            bool values_alone, const ChooseRows* choose) const {
  const uint32_t version = segment_->header.schema_version;
  if (version > table_->schema_version) {
    return Status::Corruption(Concat({"the catalog has no version ", version, " of table ",
        table_->schema->QualifiedName()}));
  }
  const std::vector<bool>* wanted = sources_ ? &*sources_ : wanted_;
  const TableSchema& schema = *table_->versions[version].schema;
  const WindowDictionaries dictionaries(*segment_->family);
  if (choose != nullptr && wanted != nullptr) {
    VersionColumns rows;
    CISTERN_RETURN_IF_ERROR(DecodePageValues(schema, bytes, segment_->header.pages[page].row_count,
                                             *wanted, &dictionaries, *choose, &rows));
    return rows;
  }
  return values_alone && wanted != nullptr
             ? DecodePageValues(schema, bytes, *wanted, &dictionaries)
             : DecodePage(schema, bytes, wanted, &dictionaries);
}

Result<VersionColumns> SegmentPages::Read(uint32_t page, bool values_alone,
                                          const ChooseRows* choose) const {
  std::string own;
  std::string_view bytes;
  if (stream_ != nullptr) {
    CISTERN_ASSIGN_OR_RETURN(bytes, stream_->ReadPage(*segment_, page));
  } else {
    CISTERN_ASSIGN_OR_RETURN(own, ReadPage(*segment_, page));
    bytes = own;
  }
  Result<VersionColumns> rows = Decode(bytes, page, values_alone, choose);
  if (rows.ok() && (choose != nullptr ||
                    rows->row_count == segment_->header.pages[page].row_count)) {
    return map_ ? map_->Apply(*std::move(rows)) : std::move(rows);
  }
  const std::string where = NameOfPage(*segment_, page) + ": ";
  if (rows.ok()) return Status::Corruption(Concat({where, "its row count is not the header's"}));
  return Status(rows.status().code(), where + rows.status().message());
}

SegmentSource::SegmentSource(TablePtr table, uint32_t shown, SegmentRef segment, TimeSpan span,
                             const std::vector<bool>* wanted, const BootBases& bases,
                             OnDamagedPage on_damage, std::vector<bool> skipped)
    : pages_(std::move(table), shown, std::make_shared<const SegmentRef>(std::move(segment)),
             wanted),
      span_(span),
      bases_(bases),
      on_damage_(std::move(on_damage)),
      skipped_(std::move(skipped)) {}

int64_t SegmentSource::bound_time() const {
  const SegmentHeader& header = pages_.segment().header;
  return span_.descending ? header.last_time : header.first_time;
}

Result<std::shared_ptr<const VersionColumns>> SegmentSource::NextChunk() {
  const std::vector<PageInfo>& pages = pages_.segment().header.pages;
  while (next_page_ < pages.size()) {
    const size_t page = span_.descending ? pages.size() - 1 - next_page_ : next_page_;
    ++next_page_;
    const PageInfo& info = pages[page];
    if (!span_.Meets(info.first_time, info.last_time)) continue;
    if (!skipped_.empty() && skipped_[page]) continue;
    Result<VersionColumns> rows = pages_.Read(static_cast<uint32_t>(page));
    if (!rows.ok()) {
      const bool goes_on = on_damage_ && rows.status().code() == StatusCode::kCorruption &&
                           on_damage_(pages_.segment(), static_cast<uint32_t>(page), rows.status());
      if (!goes_on) return rows.status();
      continue;
    }
    ResolveBoots(bases_, &*rows, {});
    return std::make_shared<const VersionColumns>(*std::move(rows));
  }
  return std::shared_ptr<const VersionColumns>();
}

}  // namespace cistern
