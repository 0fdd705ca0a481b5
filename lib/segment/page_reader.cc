#include "lib/segment/page_reader.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/codec/codec_select.h"
#include "lib/codec/text_codec.h"
#include "lib/segment/page_time.h"
#include "lib/segment/segment_format.h"

namespace cistern {
namespace {

using segment_format::PageStates;

constexpr uint8_t kVersionFlagsKnown = kVersionLiveness | kVersionDeleteRow;

// One page on its way to rows.
class PageDecoder {
 public:
  // Into *rows, whose memory is used again.
  PageDecoder(const TableSchema& schema, std::string_view body, const std::vector<bool>* wanted,
              const DictionarySource* dictionaries, bool values_alone, VersionColumns* rows)
      : schema_(schema), wanted_(wanted), dictionaries_(dictionaries),
        values_alone_(values_alone), in_(body, "page"), rows_(*rows) {}

  // `row_count`, if the page is to have so many; `choose`, of values alone, may be null.
  Status Decode(std::optional<size_t> row_count = std::nullopt,
                const ChooseRows* choose = nullptr) {
    ClearRows();
    ReadHeader();
    if (in_.ok() && row_count && rows_.row_count != *row_count) {
      in_.Fail("row count", "is not the expected one");
    }
    if (in_.ok() && values_alone_) SkipVersions();
    if (in_.ok() && !values_alone_) ReadVersions();
    if (in_.ok() && choose != nullptr) {
      CISTERN_RETURN_IF_ERROR(Choose(*choose));
      if (rows_.row_count == 0) return Status::Ok();  // and nothing is said of the columns
    }
    for (size_t c = 0; c < schema_.columns.size() && in_.ok(); ++c) {
      if (!IsStored(c)) continue;
      if (has_times_ && c == schema_.time_column()) {
        SkipColumn();
      } else {
        CISTERN_RETURN_IF_ERROR(ReadColumn(c));
      }
    }
    if (in_.ok() && in_.remaining() != 0) in_.Fail("end", "is not where the fields end");
    if (in_.ok() && !values_alone_) AddEventTimes();
    return in_.status();
  }

 private:
  // But numbers of wanted columns, which are written over: clearing them is half of reading them.
  void ClearRows() {
    rows_.write_us.clear();
    rows_.boot.clear();
    rows_.expiry_s.clear();
    rows_.flags.clear();
    rows_.columns.resize(schema_.columns.size());
    for (size_t c = 0; c < rows_.columns.size(); ++c) {
      ColumnData& column = rows_.columns[c];
      column.lane = schema_.columns[c].type.lane();
      column.offsets.clear();
      column.heap.clear();
      column.states.clear();
      if (column.lane != Lane::kFixed || !IsWanted(c)) column.fixed.clear();
    }
  }

  [[nodiscard]] bool IsStored(size_t c) const {
    const ColumnRole role = schema_.columns[c].role;
    return role == ColumnRole::kClustering || role == ColumnRole::kRegular;
  }

  // Asks which rows are wanted. If it takes the event time to tell, which may stand behind other
  // columns, that one is read first: once, if times are numbers.
  Status Choose(const ChooseRows& choose) {
    if (const std::optional<RowRange> known = choose(row_count_, nullptr)) {
      TakeRange(*known);
      return Status::Ok();
    }
    const ByteReader columns = in_;
    const size_t time = schema_.time_column();
    for (size_t c = 0; c < time && in_.ok(); ++c) {
      if (IsStored(c)) SkipColumn();
    }
    if (in_.ok()) CISTERN_RETURN_IF_ERROR(ReadColumn(time));
    if (!in_.ok()) return in_.status();
    in_ = columns;
    const std::optional<RowRange> range = choose(row_count_, &rows_);
    CISTERN_CHECK(range.has_value());
    TakeRange(*range);
    ColumnData& times = rows_.columns[time];
    if (times.lane != Lane::kFixed || begin_ == end_) return Status::Ok();
    std::copy(times.fixed.begin() + static_cast<ptrdiff_t>(begin_),
              times.fixed.begin() + static_cast<ptrdiff_t>(end_), times.fixed.begin());
    times.fixed.resize(end_ - begin_);
    has_times_ = true;
    return Status::Ok();
  }

  void TakeRange(const RowRange& range) {
    std::tie(begin_, end_) = range;
    CISTERN_CHECK(begin_ <= end_ && end_ <= row_count_);
    rows_.row_count = end_ - begin_;
  }

  void SkipColumn() {
    const uint8_t descriptor = in_.ReadU8("column descriptor");
    if (StatesOf(descriptor) == PageStates::kMixed && in_.ok()) SkipIntegers(&in_, row_count_);
    (void)ReadColumnBytes();
  }

  std::string_view ReadColumnBytes() {
    const size_t byte_count = in_.ReadCount("column bytes", limits::kPageBytesMax);
    return in_.ReadBytes("column bytes", byte_count);
  }

  static PageStates StatesOf(uint8_t descriptor) {
    return static_cast<PageStates>(descriptor >> segment_format::kStatesShift & 3);
  }

  [[nodiscard]] bool IsWanted(size_t c) const {
    return wanted_ == nullptr || (*wanted_)[c] ||
           (!values_alone_ && schema_.columns[c].role == ColumnRole::kClustering);
  }

  void ReadHeader() {
    flags_ = in_.ReadU8("flags");
    if ((flags_ & ~segment_format::kPageFlagsKnown) != 0) in_.Fail("flags", "has unknown bits");
    if ((flags_ & segment_format::kPageExpiryFromWrite) &&
        !(flags_ & segment_format::kPageHasExpiry)) {
      in_.Fail("flags", "describes an expiry that is not there");
    }
    if ((flags_ & segment_format::kPageWriteFromEvent) && !PredictsWriteTime(schema_)) {
      in_.Fail("flags", "tells write times from an event time that is not a number");
    }
    rows_.row_count = in_.ReadCount("row count", limits::kPageRowsMax);
    if (in_.ok() && rows_.row_count == 0) in_.Fail("row count", "is zero");
    const uint64_t columns = in_.ReadCount("column count", limits::kColumnCountMax);
    if (in_.ok() && columns != schema_.clustering_columns.size() + schema_.regular_columns.size()) {
      in_.Fail("column count", "is not the schema's");
    }
    row_count_ = end_ = rows_.row_count;
  }

  void ReadVersions() {
    rows_.write_us.resize(rows_.row_count);
    DecodeIntegers(&in_, rows_.write_us);
    if (flags_ & segment_format::kPageHasBoot) {
      rows_.boot = ReadNarrow<uint32_t>("boot", std::numeric_limits<uint32_t>::max());
    }
    // Expiries told from write times wait until those are known.
    if (flags_ & segment_format::kPageHasExpiry) {
      expiries_.resize(rows_.row_count);
      if (in_.ok()) DecodeIntegers(&in_, expiries_);
    }
    if (flags_ & segment_format::kPageVersionFlagsVary) {
      rows_.flags = ReadNarrow<uint8_t>("version flags", kVersionFlagsKnown);
    } else {
      const uint8_t all = in_.ReadU8("version flags");
      if ((all & ~kVersionFlagsKnown) != 0) in_.Fail("version flags", "has unknown bits");
      rows_.flags.assign(rows_.row_count, all);
    }
  }

  void SkipVersions() {
    SkipIntegers(&in_, rows_.row_count);
    for (const uint8_t flag : {segment_format::kPageHasBoot, segment_format::kPageHasExpiry,
                               segment_format::kPageVersionFlagsVary}) {
      if ((flags_ & flag) != 0) SkipIntegers(&in_, rows_.row_count);
    }
    if ((flags_ & segment_format::kPageVersionFlagsVary) == 0) (void)in_.ReadU8("version flags");
  }

  template <typename T>
  std::vector<T> ReadNarrow(const char* field, int64_t max) {
    std::vector<int64_t> wide(rows_.row_count);
    if (in_.ok()) DecodeIntegers(&in_, wide);
    if (!in_.ok()) return {};
    const auto [low, high] = std::minmax_element(wide.begin(), wide.end());
    if (*low < 0 || *high > max) {
      in_.Fail(field, "is out of range");
      return {};
    }
    return std::vector<T>(wide.begin(), wide.end());
  }

  // Write times and expiries, once the event times are there.
  void AddEventTimes() {
    if (flags_ & segment_format::kPageWriteFromEvent) {
      const std::vector<int64_t>& events = rows_.columns[schema_.time_column()].fixed;
      for (size_t i = 0; i < rows_.row_count; ++i) {
        rows_.write_us[i] = static_cast<int64_t>(static_cast<uint64_t>(rows_.write_us[i]) +
                                                 PredictedWriteUs(schema_.time_unit, events[i]));
      }
    }
    if (expiries_.empty()) return;
    rows_.expiry_s.resize(rows_.row_count);
    for (size_t i = 0; i < rows_.row_count; ++i) {
      uint64_t expiry = static_cast<uint64_t>(expiries_[i]);
      if (flags_ & segment_format::kPageExpiryFromWrite) {
        expiry += static_cast<uint64_t>(PredictedExpiryS(rows_.write_us[i]));
      }
      if (expiry > std::numeric_limits<uint32_t>::max()) {
        return in_.Fail("expiry", "is out of range");
      }
      rows_.expiry_s[i] = static_cast<uint32_t>(expiry);
    }
  }

  Status ReadColumn(size_t c) {
    const ColumnSpec& spec = schema_.columns[c];
    const bool clustering = spec.role == ColumnRole::kClustering;
    const uint8_t descriptor = in_.ReadU8("column descriptor");
    if (descriptor >> 7 != 0) in_.Fail("column descriptor", "has unknown bits");
    const PageStates states = StatesOf(descriptor);
    if (clustering && states != PageStates::kAllValues) {
      in_.Fail("column descriptor", "has missing cells in a clustering column");
    }
    const bool is_wanted = IsWanted(c);
    WantedValues wanted;
    if (in_.ok() && values_alone_ && !is_wanted) {
      if (states == PageStates::kMixed) SkipIntegers(&in_, row_count_);
    } else if (in_.ok()) {
      wanted = ReadStates(states, &rows_.columns[c]);
    }
    const std::string_view bytes = ReadColumnBytes();
    if (!in_.ok()) return InColumn(spec, in_.status());
    if (!is_wanted) return Status::Ok();

    ByteReader values(bytes, "page");
    const auto encoding = static_cast<EncodingId>(descriptor & segment_format::kEncodingMask);
    if (wanted.count == 0) {
      if (encoding != EncodingId::kNone) values.Fail("encoding", "is given for no values");
      FillMissing(&rows_.columns[c]);
    } else if (wanted.begin == wanted.end) {  // none in the chosen rows
      FillMissing(&rows_.columns[c]);
      return Status::Ok();
    } else if (spec.type.lane() == Lane::kFixed) {
      ReadNumbers(encoding, ShapeOf(spec.type.kind), wanted, &values, &rows_.columns[c]);
    } else {
      ReadBytes(encoding, wanted, &values, &rows_.columns[c]);
    }
    if (values.ok() && values.remaining() != 0) {
      values.Fail("end of values", "is not where the fields end");
    }
    return InColumn(spec, values.status());
  }

  static Status InColumn(const ColumnSpec& spec, const Status& status) {
    if (status.ok()) return status;
    return {status.code(), Concat({"column '", spec.name, "': ", status.message()})};
  }

  // Fills the states of the chosen rows; returns which values are theirs.
  WantedValues ReadStates(PageStates states, ColumnData* column) {
    if (states == PageStates::kAllValues) return {row_count_, begin_, end_};
    column->states.assign(row_count_, states == PageStates::kAllNull ? CellState::kNull
                                                                     : CellState::kAbsent);
    WantedValues wanted;
    if (states == PageStates::kMixed) {
      DecodeStates(&in_, column->states);
      const auto values_in = [column](size_t begin, size_t end) {
        return static_cast<size_t>(
            std::count(column->states.begin() + static_cast<ptrdiff_t>(begin),
                       column->states.begin() + static_cast<ptrdiff_t>(end), CellState::kValue));
      };
      const auto first = column->states.front();
      if (in_.ok() && std::all_of(column->states.begin(), column->states.end(),
                                  [first](CellState s) { return s == first; })) {
        in_.Fail("cell state", "is the same in all rows of a mixed column");
      }
      wanted.begin = values_in(0, begin_);
      wanted.end = wanted.begin + values_in(begin_, end_);
      wanted.count = wanted.end + values_in(end_, row_count_);
    }
    column->states.resize(end_);
    column->states.erase(column->states.begin(),
                         column->states.begin() + static_cast<ptrdiff_t>(begin_));
    if (wanted.end - wanted.begin == end_ - begin_) column->states.clear();  // all are values
    return wanted;
  }

  void FillMissing(ColumnData* column) const {
    if (column->lane == Lane::kFixed) {
      column->fixed.assign(rows_.row_count, 0);
    } else {
      column->offsets.assign(rows_.row_count + 1, 0);
    }
  }

  // Moves dense values to the rows that have one, from the back.
  void ReadNumbers(EncodingId encoding, const NumberShape& shape, const WantedValues& wanted,
                   ByteReader* in, ColumnData* column) {
    const size_t value_count = wanted.end - wanted.begin;
    column->fixed.resize(rows_.row_count);
    if (wanted.begin == 0) {
      DecodeFixed(encoding, shape, in, wanted, std::span(column->fixed).first(wanted.end));
    } else {
      if (wanted.end > few_.size() && numbers_.size() < wanted.end) numbers_.resize(row_count_);
      const std::span<int64_t> scratch = wanted.end > few_.size() ? std::span<int64_t>(numbers_)
                                                                   : std::span<int64_t>(few_);
      DecodeFixed(encoding, shape, in, wanted, scratch.first(wanted.end));
      std::copy_n(scratch.data() + wanted.begin, value_count, column->fixed.data());
    }
    if (!in->ok()) return;
    int64_t* const cells = column->fixed.data();
    if (value_count == rows_.row_count) return;
    size_t next = value_count;
    for (size_t i = rows_.row_count; i-- > 0;) {
      const auto is_value = static_cast<int64_t>(column->states[i] == CellState::kValue);
      next -= static_cast<size_t>(is_value);
      cells[i] = cells[next] & -is_value;  // which of them is one is not to be guessed
    }
  }

  void ReadBytes(EncodingId encoding, const WantedValues& wanted, ByteReader* in,
                 ColumnData* column) {
    TextRun run{std::move(column->offsets), std::move(column->heap)};  // their memory
    run.offsets.clear();
    run.heap.clear();
    DecodeText(encoding, wanted, segment_format::kPageRawBytesMax - heap_bytes_, dictionaries_, in,
               &run);
    if (!in->ok()) return;
    heap_bytes_ += run.heap.size();
    column->heap = std::move(run.heap);
    column->offsets = std::move(run.offsets);
    const size_t value_count = wanted.end - wanted.begin;
    if (value_count == rows_.row_count) return;
    column->offsets.resize(rows_.row_count + 1);
    size_t next = value_count;  // cells not yet moved
    for (size_t i = rows_.row_count; i-- > 0;) {
      // Row i ends where the cell before it in dense order, or its own, ends.
      column->offsets[i + 1] = column->offsets[next];
      if (column->states[i] == CellState::kValue) --next;
    }
  }

  const TableSchema& schema_;
  const std::vector<bool>* const wanted_;
  const DictionarySource* const dictionaries_;
  const bool values_alone_;
  ByteReader in_;
  uint8_t flags_ = 0;
  size_t row_count_ = 0;  // of the page
  size_t begin_ = 0;      // of it, the chosen rows
  size_t end_ = 0;
  bool has_times_ = false;  // those of the chosen rows
  VersionColumns& rows_;
  std::vector<int64_t> expiries_;
  std::array<int64_t, 512> few_;  // scratch: of a column of which few are wanted; not initialised
  std::vector<int64_t> numbers_;  // the same, of a longer page
  size_t heap_bytes_ = 0;  // decoded so far
};

// What of a page's format may be named in it.
const DictionarySource* OfFormat(std::string_view page, const DictionarySource* dictionaries) {
  const uint8_t format = segment_format::FormatOf(page);
  return format >= segment_format::kFormatOfDictionaries ? dictionaries : nullptr;
}

}  // namespace

Result<VersionColumns> DecodePage(const TableSchema& schema, std::string_view page,
                                  const std::vector<bool>* wanted,
                                  const DictionarySource* dictionaries) {
  CISTERN_CHECK(wanted == nullptr || wanted->size() == schema.columns.size());
  CISTERN_ASSIGN_OR_RETURN(
      const std::string_view body,
      segment_format::CheckEnvelope(page, segment_format::kPageTag, "page"));
  VersionColumns rows;
  CISTERN_RETURN_IF_ERROR(PageDecoder(schema, body, wanted, OfFormat(page, dictionaries),
                                      /*values_alone=*/false, &rows)
                              .Decode());
  return rows;
}

namespace {

Status DecodeValues(const TableSchema& schema, std::string_view page,
                    std::optional<size_t> row_count, const std::vector<bool>& wanted,
                    const DictionarySource* dictionaries, const ChooseRows* choose,
                    VersionColumns* rows) {
  CISTERN_CHECK(wanted.size() == schema.columns.size());
  CISTERN_ASSIGN_OR_RETURN(
      const std::string_view body,
      segment_format::CheckEnvelope(page, segment_format::kPageTag, "page"));
  return PageDecoder(schema, body, &wanted, OfFormat(page, dictionaries),
                     /*values_alone=*/true, rows)
      .Decode(row_count, choose);
}

}  // namespace

Status DecodePageValues(const TableSchema& schema, std::string_view page, size_t row_count,
                        const std::vector<bool>& wanted, const DictionarySource* dictionaries,
                        VersionColumns* rows) {
  return DecodeValues(schema, page, row_count, wanted, dictionaries, nullptr, rows);
}

Status DecodePageValues(const TableSchema& schema, std::string_view page, size_t row_count,
                        const std::vector<bool>& wanted, const DictionarySource* dictionaries,
                        const ChooseRows& choose, VersionColumns* rows) {
  return DecodeValues(schema, page, row_count, wanted, dictionaries, &choose, rows);
}

Result<VersionColumns> DecodePageValues(const TableSchema& schema, std::string_view page,
                                        const std::vector<bool>& wanted,
                                        const DictionarySource* dictionaries) {
  VersionColumns rows;
  CISTERN_RETURN_IF_ERROR(
      DecodeValues(schema, page, std::nullopt, wanted, dictionaries, nullptr, &rows));
  return rows;
}

}  // namespace cistern
