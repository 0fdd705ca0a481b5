#include "lib/segment/page_builder.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/codec/text_codec.h"
#include "lib/segment/page_time.h"
#include "lib/segment/segment_format.h"

namespace cistern {
namespace {

using segment_format::PageStates;

// Raw bytes at which a page ends. Far below what a reader allows: encoding and decoding
// hold a few copies of it, and memory is small.
constexpr size_t kPageRawBytesTarget = 1024 * 1024;
static_assert(kPageRawBytesTarget + limits::kRowBytesMax + 8 * limits::kColumnCountMax <
              segment_format::kPageRawBytesMax);

bool IsStored(const ColumnSpec& column) {
  return column.role == ColumnRole::kClustering || column.role == ColumnRole::kRegular;
}

// One page on its way to bytes.
class PageEncoder {
 public:
  PageEncoder(const TableSchema& schema, const VersionColumns& rows, size_t begin, size_t end,
              CodecCache* cache)
      : schema_(schema), rows_(rows), begin_(begin), end_(end), cache_(cache) {}

  std::string Encode() {
    out_.reserve(256 + 8 * row_count());
    values_.reserve(2 * row_count());
    out_.push_back(static_cast<char>(segment_format::kPageTag | segment_format::kFormat));
    const size_t flags_position = out_.size();
    out_.push_back(0);
    PutVarint(&out_, row_count());
    PutVarint(&out_, schema_.clustering_columns.size() + schema_.regular_columns.size());
    uint8_t flags = PutWriteTimes();
    flags |= PutBoots();
    flags |= PutExpiries();
    flags |= PutVersionFlags();
    out_[flags_position] = static_cast<char>(flags);
    for (size_t c = 0; c < schema_.columns.size(); ++c) {
      if (IsStored(schema_.columns[c])) PutColumn(c);
    }
    if (names_dictionary_) {
      out_[0] = static_cast<char>(segment_format::kPageTag | segment_format::kFormatOfDictionaries);
    }
    segment_format::AppendChecksum(&out_);
    return std::move(out_);
  }

 private:
  [[nodiscard]] size_t row_count() const { return end_ - begin_; }

  uint8_t PutWriteTimes() {
    const std::span<const int64_t> times(rows_.write_us.data() + begin_, row_count());
    CodecCache::WriteTimes* memory = cache_->write_times();
    IntegerPlan plan;
    if (!PlanRememberedWriteTimes(times, memory, &plan)) {
      plan = PlanIntegers(times);
      memory->from_event = false;
      if (PredictsWriteTime(schema_)) {
        PredictWriteTimes(times);
        IntegerPlan from_event = PlanIntegers(numbers_);
        if (from_event.byte_count < plan.byte_count) {
          plan = std::move(from_event);
          memory->from_event = true;
        }
      }
      NoteSearch(plan.byte_count, row_count(), memory);
      memory->integers = plan.form();
    }
    EncodeIntegers(memory->from_event ? std::span<const int64_t>(numbers_) : times, plan, &out_);
    return memory->from_event ? segment_format::kPageWriteFromEvent : 0;
  }

  // What was best for the last pages; false if it is due for a search, or went worse.
  bool PlanRememberedWriteTimes(std::span<const int64_t> times, CodecCache::WriteTimes* memory,
                                IntegerPlan* plan) {
    if (memory->pages_until_search == 0) return false;
    --memory->pages_until_search;
    if (memory->from_event) PredictWriteTimes(times);
    *plan = PlanIntegers(memory->from_event ? std::span<const int64_t>(numbers_) : times,
                         memory->integers);
    return IsAsBefore(*memory, plan->byte_count, row_count(), sizeof(int64_t));
  }

  // Puts the distances from what the event times predict into numbers_.
  void PredictWriteTimes(std::span<const int64_t> times) {
    const std::vector<int64_t>& events = rows_.columns[schema_.time_column()].fixed;
    numbers_.resize(row_count());
    for (size_t i = 0; i < row_count(); ++i) {
      numbers_[i] =
          static_cast<int64_t>(static_cast<uint64_t>(times[i]) -
                               PredictedWriteUs(schema_.time_unit, events[begin_ + i]));
    }
  }

  uint8_t PutBoots() {
    if (rows_.boot.empty()) return 0;
    numbers_.assign(rows_.boot.begin() + begin_, rows_.boot.begin() + end_);
    if (std::all_of(numbers_.begin(), numbers_.end(), [](int64_t b) { return b == 0; })) return 0;
    EncodeIntegers(numbers_, &out_);
    return segment_format::kPageHasBoot;
  }

  uint8_t PutExpiries() {
    if (rows_.expiry_s.empty()) return 0;
    numbers_.assign(rows_.expiry_s.begin() + begin_, rows_.expiry_s.begin() + end_);
    if (std::all_of(numbers_.begin(), numbers_.end(), [](int64_t s) { return s == 0; })) return 0;
    std::vector<int64_t> lives(numbers_);
    for (size_t i = 0; i < lives.size(); ++i)
      lives[i] -= PredictedExpiryS(rows_.write_us[begin_ + i]);
    const IntegerPlan plan = PlanIntegers(numbers_);
    const IntegerPlan predicted = PlanIntegers(lives);
    if (predicted.byte_count < plan.byte_count) {
      EncodeIntegers(lives, predicted, &out_);
      return segment_format::kPageHasExpiry | segment_format::kPageExpiryFromWrite;
    }
    EncodeIntegers(numbers_, plan, &out_);
    return segment_format::kPageHasExpiry;
  }

  uint8_t PutVersionFlags() {
    const std::span<const uint8_t> flags(rows_.flags.data() + begin_, row_count());
    if (std::equal(flags.begin() + 1, flags.end(), flags.begin())) {
      out_.push_back(static_cast<char>(flags.front()));
      return 0;
    }
    numbers_.assign(flags.begin(), flags.end());
    EncodeIntegers(numbers_, &out_);
    return segment_format::kPageVersionFlagsVary;
  }

  // Descriptor, states if they are mixed, size of the values, values.
  void PutColumn(size_t c) {
    const ColumnData& column = rows_.columns[c];
    const PageStates states = StatesOf(column);
    CISTERN_CHECK(states == PageStates::kAllValues ||
                  schema_.columns[c].role == ColumnRole::kRegular);
    EncodingId encoding = EncodingId::kNone;
    values_.clear();
    if (states == PageStates::kAllValues || states == PageStates::kMixed) {
      encoding = column.lane == Lane::kFixed ? EncodeNumbers(c, states) : EncodeBytes(c, states);
    }
    out_.push_back(static_cast<char>(static_cast<uint8_t>(encoding) |
                                     static_cast<uint8_t>(states) << segment_format::kStatesShift));
    if (states == PageStates::kMixed) {
      EncodeStates(std::span(column.states).subspan(begin_, row_count()), &out_);
    }
    PutVarint(&out_, values_.size());
    out_.append(values_);
  }

  [[nodiscard]] PageStates StatesOf(const ColumnData& column) const {
    if (column.states.empty()) return PageStates::kAllValues;
    const CellState first = column.states[begin_];
    for (size_t i = begin_; i < end_; ++i) {
      if (column.states[i] != first) return PageStates::kMixed;
    }
    switch (first) {
      case CellState::kValue: return PageStates::kAllValues;
      case CellState::kAbsent: return PageStates::kAllAbsent;
      case CellState::kNull: return PageStates::kAllNull;
    }
    return PageStates::kMixed;
  }

  EncodingId EncodeNumbers(size_t c, PageStates states) {
    const ColumnData& column = rows_.columns[c];
    FixedRun run{{column.fixed.data() + begin_, row_count()},
                 ShapeOf(schema_.columns[c].type.kind)};
    if (states == PageStates::kMixed) {
      numbers_.clear();
      for (size_t i = begin_; i < end_; ++i) {
        if (column.states[i] == CellState::kValue) numbers_.push_back(column.fixed[i]);
      }
      run.values = numbers_;
    }
    if (run.values.empty()) return EncodingId::kNone;
    return encoder_.Encode(run, cache_->Column(c), &values_);
  }

  EncodingId EncodeBytes(size_t c, PageStates states) {
    const ColumnData& column = rows_.columns[c];
    std::vector<std::string_view> cells;
    cells.reserve(row_count());
    for (size_t i = begin_; i < end_; ++i) {
      if (states == PageStates::kAllValues || column.states[i] == CellState::kValue) {
        cells.push_back(column.bytes(i));
      }
    }
    if (cells.empty()) return EncodingId::kNone;
    const TextEncoding text = EncodeText(cells, cache_->Dictionary(c), &values_);
    names_dictionary_ = names_dictionary_ || text.has_dictionary;
    return text.id;
  }

  const TableSchema& schema_;
  const VersionColumns& rows_;
  const size_t begin_;
  const size_t end_;
  CodecCache* const cache_;
  FixedEncoder encoder_;
  bool names_dictionary_ = false;
  std::string out_;
  std::string values_;            // of the column at hand
  std::vector<int64_t> numbers_;  // scratch
};

}  // namespace

size_t PageEnd(const TableSchema& schema, const VersionColumns& rows, size_t begin,
               size_t row_count_max) {
  const size_t row_max =
      std::min({rows.row_count - begin, row_count_max, size_t{limits::kPageRowsMax}});
  size_t fixed_bytes = 0;  // of a row: a slot or an offset for each column
  std::vector<const ColumnData*> texts;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!IsStored(schema.columns[c])) continue;
    fixed_bytes += 8;
    if (rows.columns[c].lane == Lane::kBytes) texts.push_back(&rows.columns[c]);
  }
  const auto bytes_until = [&](size_t end) {
    size_t bytes = (end - begin) * fixed_bytes;
    for (const ColumnData* text : texts) bytes += text->offsets[end] - text->offsets[begin];
    return bytes;
  };
  // Nearly always all of them fit. Otherwise the longest page that does, of one row at least.
  if (bytes_until(begin + row_max) <= kPageRawBytesTarget) return begin + row_max;
  size_t fits = begin + 1;
  size_t too_long = begin + row_max;
  while (too_long - fits > 1) {
    const size_t middle = fits + (too_long - fits) / 2;
    (bytes_until(middle) <= kPageRawBytesTarget ? fits : too_long) = middle;
  }
  return fits;
}

std::string EncodePage(const TableSchema& schema, const VersionColumns& rows, size_t begin,
                       size_t end, CodecCache* cache) {
  CISTERN_CHECK(begin < end && end <= rows.row_count && end - begin <= limits::kPageRowsMax);
  CodecCache unused;
  std::string page =
      PageEncoder(schema, rows, begin, end, cache != nullptr ? cache : &unused).Encode();
  CISTERN_CHECK(page.size() <= limits::kPageBytesMax);
  return page;
}

}  // namespace cistern
