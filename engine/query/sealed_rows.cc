#include "engine/query/sealed_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/query/bucket_index.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {
// What a scan reads first is remembered; one that goes on for longer is not to push out the rest.
constexpr size_t kPagesOfASmallScan = 8;
}

SealedRows::SealedRows(const QueryContext* context, const ScanShape* shape,
                       const BucketKey* bucket, std::shared_ptr<const SpillView> view,
                       BucketOutline bucket_in_view, SealedPages* pages)
    : context_(context),
      shape_(shape),
      bucket_(bucket),
      view_(std::move(view)),
      outline_(std::move(bucket_in_view)),
      choose_([this](size_t row_count, const VersionColumns* rows) {
        return RowsToTake(row_count, rows);
      }),
      reader_(pages) {}

Result<SealedRows::State> SealedRows::Load() {
  reader_->ForgetTime();
  if (begin_ < end_) return reader_->HasExpired(expiry_s_) ? State::kMerge : State::kRows;
  if (!has_begun_) {
    CISTERN_ASSIGN_OR_RETURN(const std::optional<State> known, Begin());
    if (known) return *known;
  }
  const size_t count = pages_.stretches.size();
  for (; next_stretch_ < count; ++next_stretch_) {
    const bool down = shape_->span.descending;
    const size_t at = down ? count - 1 - next_stretch_ : next_stretch_;
    const Stretch& stretch = pages_.stretches[at];
    if (!shape_->span.Meets(stretch.times.first, stretch.times.last)) continue;
    if (!stretch.is_page || AnyMeets(pages_.deletes, stretch.times)) return State::kMerge;
    if (!Passes(stretch)) continue;
    const ChooseRows* const choose = ChoiceFor(stretch.times.first, stretch.times.last);
    bool is_cut = false;
    CISTERN_ASSIGN_OR_RETURN(
        const bool is_read,
        reader_->ReadAlone(newest_, pages_, stretch, choose, &page_, &is_cut));
    if (!is_read) return State::kMerge;
    if (count == 1 && reader_->rows_found() && pages_.deletes.empty() &&
        page_.row_count == outline_.row_count) {
      context_->buckets->NoteRows(view_, *bucket_, outline_.seal, *reader_->rows_found());
    }
    NoteSound(at == 0, at + 1 == count);
    TakeIn(is_cut);
    if (begin_ == end_) continue;
    ++next_stretch_;
    return State::kRows;
  }
  return State::kEnd;
}

// Reads the only page, or what pages there are: then nothing is said.
Result<std::optional<SealedRows::State>> SealedRows::Begin() {
  const BucketOutline& o = outline_;
  if (!o.has_deletes && !shape_->span.Meets(o.first_time, o.last_time)) {
    return std::optional(State::kEnd);
  }
  has_begun_ = true;
  // Statistics of pages, which a filter goes by, are in the header.
  if (shape_->filter.empty()) {
    page_ = reader_->TakeSpare();
    const ChooseRows* const choose = ChoiceFor(o.first_time, o.last_time);
    const bool cuts = choose != nullptr;
    CISTERN_ASSIGN_OR_RETURN(const bool is_read, reader_->ReadOnlyPage(o, choose, &page_));
    const bool is_small = (cuts && page_.row_count <= ScanShape::kFewRows) ||
                          reader_->only_pages_read() <= kPagesOfASmallScan;
    if (is_read && o.page == nullptr && is_small) {
      context_->buckets->KeepPage(view_, *bucket_, o.seal, reader_->page_read());
    }
    if (is_read) NoteSound(true, true);
    reader_->LetGoOfLarge();
    if (is_read) {
      outline_.page.reset();  // charged where it is remembered, and read here
      TakeIn(cuts);
      return std::optional(begin_ < end_ ? State::kRows : State::kEnd);
    }
  }
  newest_ = context_->tables->FindById(bucket_->table_id);
  CISTERN_ASSIGN_OR_RETURN(pages_, reader_->Open(*view_, *bucket_, o.window, o.seal));
  return pages_.is_damaged ? std::optional(State::kMerge) : std::nullopt;
}

// For who asks for an outer row, and later for its time alone.
void SealedRows::NoteSound(bool first, bool last) {
  const bool is_new =
      (first && !outline_.first_is_sound) || (last && !outline_.last_is_sound);
  if (!shape_->WantsFew() || !is_new) return;
  context_->buckets->NoteSound(view_, *bucket_, outline_.seal, first, last);
}

// Whether a row of the page may pass the filter.
bool SealedRows::Passes(const Stretch& stretch) const {
  const SegmentHeader& header = pages_.segments[stretch.segment]->header;
  const TableSchema& schema = *shape_->table->schema;
  return shape_->filter.empty() || header.schema_version != shape_->table->schema_version ||
         shape_->filter.MayMatch(schema, header, header.pages[stretch.page]);
}

// How rows of a page of these times are chosen; null, if all are taken.
const ChooseRows* SealedRows::ChoiceFor(int64_t first_time, int64_t last_time) {
  const TimeSpan& span = shape_->span;
  spans_page_ = span.Holds(first_time) && span.Holds(last_time);
  return shape_->WantsFew() || !spans_page_ ? &choose_ : nullptr;
}

// Of a page that is in the span as a whole the number of its rows tells it.
std::optional<RowRange> SealedRows::RowsToTake(size_t row_count, const VersionColumns* rows) const {
  if (rows != nullptr) return RowsOfSpan(*rows);
  return spans_page_ ? std::optional(AtMostLimit(0, row_count)) : std::nullopt;
}

// Of rows begin..end-1 no more than the scan wants.
RowRange SealedRows::AtMostLimit(size_t begin, size_t end) const {
  if (shape_->WantsFew() && end - begin > shape_->limit) {
    if (shape_->span.descending) begin = end - shape_->limit;
    if (!shape_->span.descending) end = begin + shape_->limit;
  }
  return {begin, end};
}

// Those of the span, and of them no more than the scan wants.
RowRange SealedRows::RowsOfSpan(const VersionColumns& rows) const {
  const TableSchema& schema = *shape_->table->schema;
  const TimeSpan& span = shape_->span;
  const auto first_at = [&](int64_t time) {
    size_t first = 0;
    for (size_t last = rows.row_count; first < last;) {
      const size_t middle = first + (last - first) / 2;
      if (EventTime(schema, rows, middle) < time) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  };
  size_t begin = 0;
  size_t end = rows.row_count;
  if (end == 0) return {0, 0};
  if (EventTime(schema, rows, 0) < span.from) begin = first_at(span.from);
  if (!span.Holds(EventTime(schema, rows, end - 1))) end = std::max(begin, first_at(span.to));
  return AtMostLimit(begin, end);
}

// The page that was just read, or what is to be taken of it.
void SealedRows::TakeIn(bool is_cut) {
  expiry_s_ = reader_->expiry_s_first();
  begin_ = 0;
  end_ = page_.row_count;
  if (!is_cut) std::tie(begin_, end_) = RowsOfSpan(page_);
  if (!shape_->span.descending || end_ - begin_ < 2) return;
  VersionColumns turned = VersionColumns::For(*shape_->table->schema);
  for (size_t c = 0; c < turned.columns.size(); ++c) {
    if (page_.columns[c].size() == 0) continue;  // not wanted
    for (size_t i = end_; i-- > begin_;) turned.columns[c].AppendFrom(page_.columns[c], i);
  }
  turned.row_count = end_ - begin_;
  page_ = std::move(turned);
  begin_ = 0;
  end_ = page_.row_count;
}

VersionColumns SealedRows::TakePage() {
  begin_ = end_ = 0;
  return std::exchange(page_, {});
}

}  // namespace cistern
