#include "storage/head_reader.h"

#include <algorithm>
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

template <typename T>
void CopyFixed(const std::vector<HeadRun::Ref>& refs, uint32_t offset, int64_t* out) {
  for (const HeadRun::Ref& r : refs) {
    *out++ = HeadLayout::Load<T>(r.row + offset);  // NOLINT(bugprone-signed-char-misuse)
  }
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

// Merges main run and late rows from the end where the scan is, whole keys only. Of equal
// keys the main run's rows arrived first: a row is late only against a later key.
void HeadReader::Select() {
  Range main = MainRange();
  Range late = LateRange();
  const bool up = !request_.descending;
  refs_.reserve(std::min<size_t>(request_.max_rows, main.end - main.begin + late.end - late.begin));
  if (late.begin == late.end && main.end - main.begin <= request_.max_rows) {
    return bucket_.main_.GetRows(layout_, main.begin, main.end, &refs_);
  }
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
    if (refs_.size() >= request_.max_rows && !refs_.empty() &&
        CompareHeadRows(layout_, refs_.back().row, ref.row) != 0) {
      break;
    }
    refs_.push_back(ref);
    Range& taken = take_main ? main : late;
    up ? ++taken.begin : --taken.end;
  }
  if (!up) std::reverse(refs_.begin(), refs_.end());
}

// Within each key, turns the order of arrival into newest write first. Provisional
// timestamps do not compare with others, so such a key goes by arrival alone.
void HeadReader::NewestFirst() {
  if (bucket_.side_ == nullptr && !bucket_.has_equal_times_) return;
  for (size_t begin = 0; begin < refs_.size();) {
    size_t end = begin + 1;
    while (end < refs_.size() && CompareHeadRows(layout_, refs_[begin].row, refs_[end].row) == 0) {
      ++end;
    }
    if (end - begin > 1) {
      const auto first = refs_.begin() + static_cast<ptrdiff_t>(begin);
      const auto last = refs_.begin() + static_cast<ptrdiff_t>(end);
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
  const HeadRun::Chunk* before = nullptr;
  for (const HeadRun::Ref& r : refs_) {
    if (r.chunk == before) continue;
    before = r.chunk;
    if (before->states != nullptr || before->expiry != nullptr || before->boot != nullptr) {
      return true;
    }
  }
  return false;
}

void HeadReader::CopyVersions(bool any_rare, VersionColumns* out) const {
  out->row_count = refs_.size();
  out->write_us.resize(refs_.size());
  out->flags.resize(refs_.size());
  int64_t* write_us = out->write_us.data();
  uint8_t* flags = out->flags.data();
  for (const HeadRun::Ref& r : refs_) {
    *write_us++ = HeadLayout::WriteOf(r.row);
    *flags++ = HeadLayout::FlagsOf(r.row);
  }
  if (!any_rare) return;
  bool any_expiry = false;
  bool any_boot = false;
  for (const HeadRun::Ref& r : refs_) {
    any_expiry |= r.expiry_s() != 0;
    any_boot |= r.boot() != 0;
  }
  if (any_expiry) {
    for (const HeadRun::Ref& r : refs_) out->expiry_s.push_back(r.expiry_s());
  }
  if (any_boot) {
    for (const HeadRun::Ref& r : refs_) out->boot.push_back(r.boot());
  }
}

void HeadReader::CopyTexts(const HeadLayout::Column& c, ColumnData* out) const {
  out->offsets.resize(refs_.size() + 1);
  uint32_t* offset = out->offsets.data();
  uint32_t bytes = 0;
  for (const HeadRun::Ref& r : refs_) {
    bytes += static_cast<uint32_t>(HeadLayout::TextOf(c, r.row).size());
    *++offset = bytes;
  }
  out->heap.resize(bytes);
  char* heap = out->heap.data();
  for (const HeadRun::Ref& r : refs_) {
    const std::string_view text = HeadLayout::TextOf(c, r.row);
    heap = std::copy(text.begin(), text.end(), heap);
  }
}

// Cells without a value are stored as 0 and as the empty text already.
void HeadReader::CopyColumn(size_t index, ColumnData* out) const {
  const HeadLayout::Column& c = layout_.columns[index];
  if (c.is_text) {
    return CopyTexts(c, out);
  }
  out->fixed.resize(refs_.size());
  switch (c.width) {
    case 1:
      return CopyFixed<int8_t>(refs_, c.offset, out->fixed.data());
    case 2:
      return CopyFixed<int16_t>(refs_, c.offset, out->fixed.data());
    case 4:
      if (c.is_float) return CopyFixed<uint32_t>(refs_, c.offset, out->fixed.data());
      return CopyFixed<int32_t>(refs_, c.offset, out->fixed.data());
    default:
      return CopyFixed<int64_t>(refs_, c.offset, out->fixed.data());
  }
}

void HeadReader::CopyStates(size_t index, ColumnData* out) const {
  const auto is_value = [&](const HeadRun::Ref& r) {
    return r.state(layout_, index) == CellState::kValue;
  };
  if (std::all_of(refs_.begin(), refs_.end(), is_value)) return;
  out->states.reserve(refs_.size());
  for (const HeadRun::Ref& r : refs_) out->states.push_back(r.state(layout_, index));
}

void HeadReader::Copy(VersionColumns* out) {
  Clear(*layout_.schema, out);
  Select();
  if (refs_.empty()) return;
  NewestFirst();
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
