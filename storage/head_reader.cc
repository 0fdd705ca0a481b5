#include "storage/head_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/row/row_order.h"

namespace cistern {

namespace {

using Value = std::pair<int64_t, std::string_view>;

Value PackedValue(const HeadLayout::Column& c, const char* row) {
  return c.is_text ? Value(0, HeadLayout::TextOf(c, row)) : Value(HeadLayout::FixedOf(c, row), {});
}

// Compares the key of packed row `a` with the values that `get_b` gives, column by column.
template <typename GetB>
std::strong_ordering CompareKeys(const HeadLayout& layout, const char* a, GetB get_b) {
  const TableSchema& schema = *layout.schema;
  const bool first_descending = schema.columns[layout.columns[0].column].descending;
  for (size_t k = 0; k < layout.clustering_count; ++k) {
    const HeadLayout::Column& c = layout.columns[k];
    const ColumnSpec& spec = schema.columns[c.column];
    const auto [fixed_a, text_a] = PackedValue(c, a);
    const auto [fixed_b, text_b] = get_b(c);
    const auto order = CompareValues(spec.type, fixed_a, text_a, fixed_b, text_b);
    if (order != 0) return spec.descending == first_descending ? order : 0 <=> order;
  }
  return std::strong_ordering::equal;
}

// First index in [0, n) for which `is_before` is false.
template <typename IsBefore>
uint32_t LowerBound(uint32_t n, IsBefore is_before) {
  uint32_t low = 0;
  while (low < n) {
    const uint32_t middle = low + (n - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      n = middle;
    }
  }
  return low;
}

// As VersionColumns::For, in the memory that is there.
void Clear(const TableSchema& schema, VersionColumns* rows) {
  rows->row_count = 0;
  rows->write_us.clear();
  rows->boot.clear();
  rows->expiry_s.clear();
  rows->flags.clear();
  rows->columns.resize(schema.columns.size());
  for (size_t c = 0; c < rows->columns.size(); ++c) {
    rows->columns[c].Clear();
    rows->columns[c].lane = schema.columns[c].type.lane();
  }
}

using Pieces = std::vector<HeadRun::Piece>;

// Calls `each` with every packed row.
template <typename Each>
void ForEachRow(const Pieces& pieces, uint32_t row_bytes, Each each) {
  for (const HeadRun::Piece& piece : pieces) {
    const char* row = piece.first.row;
    for (uint32_t i = 0; i < piece.count; ++i, row += row_bytes) each(row);
  }
}

// The same with what only some rows have.
template <typename Each>
void ForEachRef(const Pieces& pieces, uint32_t row_bytes, Each each) {
  for (const HeadRun::Piece& piece : pieces) {
    HeadRun::Ref ref = piece.first;
    for (uint32_t i = 0; i < piece.count; ++i, ++ref.index, ref.row += row_bytes) each(ref);
  }
}

template <typename T>
void CopyFixed(const Pieces& pieces, uint32_t row_bytes, uint32_t offset, int64_t* out) {
  ForEachRow(pieces, row_bytes, [&out, offset](const char* row) {
    *out++ = HeadLayout::Load<T>(row + offset);  // NOLINT(bugprone-signed-char-misuse)
  });
}

}  // namespace

std::strong_ordering CompareHeadRows(const HeadLayout& layout, const char* a, const char* b) {
  const HeadLayout::Column& time = layout.columns[0];
  if (!time.is_text) {
    const int64_t time_a = HeadLayout::FixedOf(time, a);
    const int64_t time_b = HeadLayout::FixedOf(time, b);
    if (time_a != time_b) return time_a <=> time_b;
    if (layout.clustering_count == 1) return std::strong_ordering::equal;
  }
  return CompareKeys(layout, a, [b](const HeadLayout::Column& c) { return PackedValue(c, b); });
}

std::strong_ordering CompareHeadRow(const HeadLayout& layout, const char* a,
                                    const VersionColumns& b, size_t row) {
  return CompareKeys(layout, a, [&](const HeadLayout::Column& c) {
    const ColumnData& data = b.columns[c.column];
    return c.is_text ? Value(0, data.bytes(row)) : Value(data.fixed[row], {});
  });
}

std::strong_ordering CompareHeadRow(const HeadLayout& layout, const char* a, const RowBatch& b,
                                    size_t row) {
  return CompareKeys(layout, a, [&](const HeadLayout::Column& c) {
    return c.is_text ? Value(0, b.bytes(row, c.column)) : Value(b.fixed(row, c.column), {});
  });
}

HeadReader::HeadReader(const HeadBucket& bucket, const CopyRequest& request)
    : bucket_(bucket), request_(request), layout_(bucket.layout()) {}

bool HeadReader::IsBeforeRange(const char* row) const {
  if (layout_.TimeOf(row) < request_.from) return true;
  if (request_.after == nullptr || request_.descending) return false;
  const auto order = CompareHeadRow(layout_, row, *request_.after, request_.after_row);
  return order < 0 || (order == 0 && !request_.inclusive);
}

bool HeadReader::IsBeforeEnd(const char* row) const {
  if (!request_.unbounded_to && layout_.TimeOf(row) >= request_.to) return false;
  if (request_.after == nullptr || !request_.descending) return true;
  const auto order = CompareHeadRow(layout_, row, *request_.after, request_.after_row);
  return order < 0 || (order == 0 && request_.inclusive);
}

HeadReader::Range HeadReader::MainRange() const {
  const uint32_t n = bucket_.main_.size();
  const uint32_t begin = LowerBound(n, [this](uint32_t i) { return IsBeforeRange(Main(i).row); });
  const uint32_t end = LowerBound(n, [this](uint32_t i) { return IsBeforeEnd(Main(i).row); });
  return {begin, std::max(begin, end)};
}

HeadReader::Range HeadReader::LateRange() const {
  const uint32_t n = bucket_.side_ == nullptr ? 0 : bucket_.side_->late.size();
  const uint32_t begin = LowerBound(n, [this](uint32_t i) { return IsBeforeRange(Late(i).row); });
  const uint32_t end = LowerBound(n, [this](uint32_t i) { return IsBeforeEnd(Late(i).row); });
  return {begin, std::max(begin, end)};
}

// Rows that came in order, each of its own key, are copied as they lie.
void HeadReader::Select() {
  const Range main = MainRange();
  const Range late = LateRange();
  const bool is_plain = late.begin == late.end && !bucket_.has_equal_times_;
  if (is_plain && main.end - main.begin <= request_.max_rows) {
    row_count_ = main.end - main.begin;
    return bucket_.main_.GetPieces(layout_, main.begin, main.end, &pieces_);
  }
  std::vector<HeadRun::Ref> refs = Merge(main, late);
  NewestFirst(&refs);
  row_count_ = refs.size();
  pieces_.reserve(refs.size());
  for (const HeadRun::Ref& ref : refs) pieces_.push_back({ref, 1});
}

// Merges main run and late rows from the end where the scan is, whole keys only. Of equal
// keys the main run's rows arrived first: a row is late only against a later key.
std::vector<HeadRun::Ref> HeadReader::Merge(Range main, Range late) const {
  const bool up = !request_.descending;
  std::vector<HeadRun::Ref> refs;
  refs.reserve(std::min<size_t>(request_.max_rows, main.end - main.begin + late.end - late.begin));
  while (main.begin < main.end || late.begin < late.end) {
    bool take_main = late.begin == late.end;
    HeadRun::Ref ref;
    if (main.begin < main.end) ref = Main(up ? main.begin : main.end - 1);
    if (late.begin < late.end) {
      const HeadRun::Ref other = Late(up ? late.begin : late.end - 1);
      if (main.begin < main.end) {
        const auto order = CompareHeadRows(layout_, ref.row, other.row);
        take_main = up ? order <= 0 : order > 0;
      }
      if (!take_main) ref = other;
    }
    if (refs.size() >= request_.max_rows && !refs.empty() &&
        CompareHeadRows(layout_, refs.back().row, ref.row) != 0) {
      break;
    }
    refs.push_back(ref);
    Range& taken = take_main ? main : late;
    up ? ++taken.begin : --taken.end;
  }
  if (!up) std::reverse(refs.begin(), refs.end());
  return refs;
}

// Within each key, turns the order of arrival into newest write first. Provisional
// timestamps do not compare with others, so such a key goes by arrival alone.
void HeadReader::NewestFirst(std::vector<HeadRun::Ref>* refs) const {
  if (bucket_.side_ == nullptr && !bucket_.has_equal_times_) return;
  const std::vector<HeadRun::Ref>& all = *refs;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin + 1;
    while (end < all.size() && CompareHeadRows(layout_, all[begin].row, all[end].row) == 0) {
      ++end;
    }
    if (end - begin > 1) {
      const auto first = refs->begin() + static_cast<ptrdiff_t>(begin);
      const auto last = refs->begin() + static_cast<ptrdiff_t>(end);
      std::reverse(first, last);
      const auto is_provisional = [](const HeadRun::Ref& r) { return r.boot() != 0; };
      if (std::none_of(first, last, is_provisional)) {
        std::stable_sort(first, last, [](const HeadRun::Ref& a, const HeadRun::Ref& b) {
          return HeadLayout::WriteOf(a.row) > HeadLayout::WriteOf(b.row);
        });
      }
    }
    begin = end;
  }
}

// Whether a chunk has something that most rows do not have.
bool HeadReader::AnyRare() const {
  return std::ranges::any_of(pieces_, [](const HeadRun::Piece& piece) {
    const HeadRun::Chunk& chunk = *piece.first.chunk;
    return chunk.states != nullptr || chunk.expiry != nullptr || chunk.boot != nullptr;
  });
}

void HeadReader::CopyVersions(bool any_rare, VersionColumns* out) const {
  out->row_count = row_count_;
  out->write_us.resize(row_count_);
  out->flags.resize(row_count_);
  ForEachRow(pieces_, layout_.row_bytes,
             [write_us = out->write_us.data(), flags = out->flags.data()](const char* row) mutable {
               *write_us++ = HeadLayout::WriteOf(row);
               *flags++ = HeadLayout::FlagsOf(row);
             });
  if (!any_rare) return;
  bool any_expiry = false;
  bool any_boot = false;
  ForEachRef(pieces_, layout_.row_bytes, [&](const HeadRun::Ref& r) {
    any_expiry |= r.expiry_s() != 0;
    any_boot |= r.boot() != 0;
  });
  ForEachRef(pieces_, layout_.row_bytes, [&](const HeadRun::Ref& r) {
    if (any_expiry) out->expiry_s.push_back(r.expiry_s());
    if (any_boot) out->boot.push_back(r.boot());
  });
}

void HeadReader::CopyTexts(const HeadLayout::Column& c, ColumnData* out) const {
  out->offsets.resize(row_count_ + 1);
  uint32_t* offset = out->offsets.data();
  uint32_t bytes = 0;
  ForEachRow(pieces_, layout_.row_bytes, [&](const char* row) {
    bytes += static_cast<uint32_t>(HeadLayout::TextOf(c, row).size());
    *++offset = bytes;
  });
  out->heap.resize(bytes + HeadLayout::kTextBytes);
  char* heap = out->heap.data();
  ForEachRow(pieces_, layout_.row_bytes, [&](const char* row) {
    const std::string_view text = HeadLayout::TextOf(c, row);
    if (text.data() == row + c.offset) {  // with its length, which the next one is put over
      std::memcpy(heap, text.data(), HeadLayout::kTextBytes);
    } else {
      std::copy(text.begin(), text.end(), heap);
    }
    heap += text.size();
  });
  out->heap.resize(bytes);
}

// Cells without a value are stored as 0 and as the empty text already.
void HeadReader::CopyColumn(size_t index, ColumnData* out) const {
  const HeadLayout::Column& c = layout_.columns[index];
  if (c.is_text) {
    return CopyTexts(c, out);
  }
  out->fixed.resize(row_count_);
  int64_t* const fixed = out->fixed.data();
  const uint32_t row_bytes = layout_.row_bytes;
  switch (c.width) {
    case 1:
      return CopyFixed<int8_t>(pieces_, row_bytes, c.offset, fixed);
    case 2:
      return CopyFixed<int16_t>(pieces_, row_bytes, c.offset, fixed);
    case 4:
      if (c.is_float) return CopyFixed<uint32_t>(pieces_, row_bytes, c.offset, fixed);
      return CopyFixed<int32_t>(pieces_, row_bytes, c.offset, fixed);
    default:
      return CopyFixed<int64_t>(pieces_, row_bytes, c.offset, fixed);
  }
}

void HeadReader::CopyStates(size_t index, ColumnData* out) const {
  bool any_missing = false;
  ForEachRef(pieces_, layout_.row_bytes, [&](const HeadRun::Ref& r) {
    any_missing |= r.state(layout_, index) != CellState::kValue;
  });
  if (!any_missing) return;
  out->states.reserve(row_count_);
  ForEachRef(pieces_, layout_.row_bytes, [&](const HeadRun::Ref& r) {
    out->states.push_back(r.state(layout_, index));
  });
}

void HeadReader::Copy(VersionColumns* out) {
  Clear(*layout_.schema, out);
  Select();
  if (row_count_ == 0) return;
  const bool any_rare = AnyRare();
  CopyVersions(any_rare, out);
  for (size_t k = 0; k < layout_.columns.size(); ++k) {
    const size_t column = layout_.columns[k].column;
    const bool wanted = k < layout_.clustering_count || request_.wanted == nullptr ||
                        (*request_.wanted)[column];
    if (wanted) CopyColumn(k, &out->columns[column]);
    if (any_rare) CopyStates(k, &out->columns[column]);
  }
}

}  // namespace cistern
