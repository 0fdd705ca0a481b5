#include "engine/seal/bucket_seal.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/row/version_hash.h"
#include "lib/segment/page_reader.h"
#include "lib/segment/page_statistics.h"

namespace cistern {

namespace {

constexpr size_t kPageMemoryBytes = 1 << 20;  // of wide rows, for one page

// Widens the manifest by rows that were written.
void Note(const VersionColumns& rows, Manifest* m) {
  for (size_t i = 0; i < rows.row_count; ++i) {
    const bool first = m->row_count == 0 && i == 0;
    m->write_us_first = first ? rows.write_us[i] : std::min(m->write_us_first, rows.write_us[i]);
    m->write_us_last = first ? rows.write_us[i] : std::max(m->write_us_last, rows.write_us[i]);
    m->expiry_s_last = std::max(m->expiry_s_last, rows.expiry_of(i));
    if (rows.expiry_of(i) != 0) continue;
    const bool deletes = (rows.flags[i] & kVersionDeleteRow) != 0;
    (deletes ? m->has_deletes : m->has_endless_rows) = true;
  }
  m->row_count += rows.row_count;
}

void Note(const std::vector<RangeDelete>& deletes, Manifest* m) {
  for (const RangeDelete& d : deletes) {
    const bool first = m->version_count() == 0;
    m->write_us_first = first ? d.write_us : std::min(m->write_us_first, d.write_us);
    m->write_us_last = first ? d.write_us : std::max(m->write_us_last, d.write_us);
    m->has_deletes = true;
    ++m->delete_count;
  }
}

}  // namespace

BucketSeal::BucketSeal(TablePtr table, BucketKey key, std::vector<SegmentRef> segments,
                       std::shared_ptr<const BootBases> bases, SealDictionaries* dictionaries,
                       SpillWriter* writer, OnDamagedPage on_damage)
    : table_(std::move(table)),
      merge_(table_, key, std::move(segments), std::move(bases), std::move(on_damage)),
      dictionaries_(dictionaries),
      writer_(writer),
      rows_(VersionColumns::For(*table_->schema)) {
  bucket_.key = std::move(key);
  writer_->Begin(bucket_.key, table_->schema.get(), table_->schema_version,
                 merge_.journal_first(), merge_.journal_last());
  bucket_.seal = writer_->segment_id();
}

// Pages are filled: what is read later is fewer and larger pieces.
Result<bool> BucketSeal::Step() {
  const TableSchema& schema = *table_->schema;
  bool more = true;
  while (more && rows_.row_count < limits::kPageRowsMax / 2 &&
         rows_.MemoryBytes() < kPageMemoryBytes) {
    CISTERN_ASSIGN_OR_RETURN(more, merge_.Next(&rows_));
  }
  Note(rows_, &bucket_.manifest);
  bucket_.manifest.content_hash += HashVersions(schema, rows_);
  if (dictionaries_ != nullptr) {
    CISTERN_RETURN_IF_ERROR(dictionaries_->Serve(bucket_.key.table_id, schema, rows_, writer_));
  }
  CISTERN_RETURN_IF_ERROR(writer_->AddRows(rows_));
  rows_ = VersionColumns::For(schema);
  if (!more) CISTERN_RETURN_IF_ERROR(End());
  return more;
}

Status BucketSeal::End() {
  Note(merge_.deletes(), &bucket_.manifest);
  if (bucket_.manifest.version_count() == 0) {
    writer_->Abandon();
    return Status::Ok();
  }
  bucket_.manifest.first_time = writer_->header().first_time;
  bucket_.manifest.last_time = writer_->header().last_time;
  bucket_.manifest.byte_count = writer_->header().byte_count();
  bucket_.manifest.schema_version = table_->schema_version;
  bucket_.manifest.statistics =
      SegmentStatisticsOf(*table_->schema, writer_->header());
  return writer_->End(merge_.deletes());
}

Result<bool> SealCheck::Step() {
  // The table may have been altered since the segment was written.
  const uint32_t version = std::min(segment_.header.schema_version, table_->schema_version);
  const TableSchema& schema = *table_->versions[version].schema;
  if (next_page_ < segment_.header.pages.size()) {
    CISTERN_ASSIGN_OR_RETURN(const std::string bytes, ReadPage(segment_, next_page_));
    CISTERN_ASSIGN_OR_RETURN(const VersionColumns rows,
                             DecodePage(schema, bytes, nullptr, &dictionaries_));
    rows_found_ += rows.row_count;
    hash_ += HashVersions(schema, rows);
    ++next_page_;
  }
  if (next_page_ < segment_.header.pages.size()) return true;
  if (rows_found_ == manifest_.row_count && hash_ == manifest_.content_hash &&
      segment_.header.deletes.size() == manifest_.delete_count) {
    return false;
  }
  return Status::Corruption(Concat({"seal ", segment_.id, " in ", segment_.family->Name(),
      ": what was read back is not what was written"}));
}

}  // namespace cistern
