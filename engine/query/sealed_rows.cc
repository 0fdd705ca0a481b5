#include "engine/query/sealed_rows.h"

#include <utility>

#include "lib/row/row_order.h"

namespace cistern {

SealedRows::SealedRows(const QueryContext* context, const ScanShape* shape,
                       const BucketKey* bucket, std::shared_ptr<const SpillView> view,
                       BucketParts parts, SealedPages* pages)
    : context_(context),
      shape_(shape),
      bucket_(bucket),
      view_(std::move(view)),
      parts_(std::move(parts)),
      reader_(pages) {}

Result<SealedRows::State> SealedRows::Load() {
  reader_->ForgetTime();
  if (begin_ < end_) return reader_->HasExpired(expiry_s_) ? State::kMerge : State::kRows;
  if (!has_begun_) {
    CISTERN_ASSIGN_OR_RETURN(const std::optional<State> known, Begin());
    if (known) return *known;
  }
  for (; next_stretch_ < pages_.stretches.size(); ++next_stretch_) {
    const Stretch& stretch = pages_.stretches[next_stretch_];
    if (!shape_->span.Meets(stretch.times.first, stretch.times.last)) continue;
    if (!stretch.is_page || AnyMeets(pages_.deletes, stretch.times)) return State::kMerge;
    if (!Passes(stretch)) continue;
    CISTERN_ASSIGN_OR_RETURN(const bool is_read,
                             reader_->ReadAlone(newest_, pages_, stretch, &page_));
    if (!is_read) return State::kMerge;
    CutToSpan();
    if (begin_ == end_) continue;
    ++next_stretch_;
    return State::kRows;
  }
  return State::kEnd;
}

// Reads the only page, or what pages there are: then nothing is said.
Result<std::optional<SealedRows::State>> SealedRows::Begin() {
  const Manifest& m = parts_.manifest;
  if (m.delete_count == 0 && !shape_->span.Meets(m.first_time, m.last_time)) {
    return std::optional(State::kEnd);
  }
  has_begun_ = true;
  // Statistics of pages, which a filter goes by, are in the header.
  if (shape_->filter.empty()) {
    page_ = reader_->TakeSpare();
    const Result<bool> is_read = reader_->ReadOnlyPage(parts_, &page_);
    if (!is_read.ok() && is_read.status().code() != StatusCode::kCorruption) {
      return is_read.status();
    }
    if (is_read.ok() && *is_read) {
      CutToSpan();
      return std::optional(begin_ < end_ ? State::kRows : State::kEnd);
    }
  }
  newest_ = context_->tables->FindById(bucket_->table_id);
  CISTERN_ASSIGN_OR_RETURN(pages_, reader_->Open(*view_, *bucket_, parts_));
  return pages_.is_damaged ? std::optional(State::kMerge) : std::nullopt;
}

// Whether a row of the page may pass the filter.
bool SealedRows::Passes(const Stretch& stretch) const {
  const SegmentHeader& header = pages_.segments[stretch.segment]->header;
  const TableSchema& schema = *shape_->table->schema;
  return shape_->filter.empty() || header.schema_version != shape_->table->schema_version ||
         shape_->filter.MayMatch(schema, header, header.pages[stretch.page]);
}

// Of the page that was just read.
void SealedRows::CutToSpan() {
  const TableSchema& schema = *shape_->table->schema;
  const TimeSpan& span = shape_->span;
  const auto first_at = [&](int64_t time) {
    size_t first = 0;
    for (size_t last = page_.row_count; first < last;) {
      const size_t middle = first + (last - first) / 2;
      if (EventTime(schema, page_, middle) < time) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  };
  expiry_s_ = reader_->expiry_s_first();
  begin_ = 0;
  end_ = page_.row_count;
  if (end_ == 0) return;
  if (EventTime(schema, page_, 0) < span.from) begin_ = first_at(span.from);
  if (!span.Holds(EventTime(schema, page_, end_ - 1))) end_ = first_at(span.to);
}

VersionColumns SealedRows::TakePage() {
  begin_ = end_ = 0;
  return std::exchange(page_, {});
}

}  // namespace cistern
