#include "lib/segment/page_statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/row/reconcile.h"
#include "lib/segment/segment_format.h"

namespace cistern {
namespace {

using segment_format::StatisticsForm;

constexpr unsigned kDigitsMax = 22;  // 10^22 is the last exact power of ten
constexpr unsigned kDigitsSought = 9;
constexpr double kIntegerMax = 9007199254740992.0;  // 2^53: every integer below is a double
constexpr size_t kSumBytesMax = 16;
constexpr std::array<double, kDigitsMax + 1> kPowers = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

uint64_t Distance(int64_t a, int64_t b) {
  return static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
}
int64_t Plus(int64_t a, uint64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + b); }

bool IsFloating(CqlType type) { return type == CqlType::kDouble || type == CqlType::kFloat; }

// Whether the statistics have an entry of the column: of the event time the header tells.
bool IsDescribed(const TableSchema& schema, size_t column) {
  const ColumnRole role = schema.columns[column].role;
  const bool is_stored = role == ColumnRole::kClustering || role == ColumnRole::kRegular;
  return is_stored && column != schema.time_column();
}

// --- the four values as integers: as they are, as decimals, or as the order of their bits

using FourValues = std::array<int64_t, 4>;  // min, max, first, last, as on the lane

// The value that decimal d with k digits stands for, on the lane.
int64_t FromDecimal(CqlType type, unsigned k, int64_t d) {
  const double value = static_cast<double>(d) / kPowers[k];
  if (type == CqlType::kDouble) return std::bit_cast<int64_t>(value);
  return static_cast<int64_t>(std::bit_cast<uint32_t>(static_cast<float>(value)));
}

bool ToDecimal(CqlType type, unsigned k, int64_t fixed, int64_t* d) {
  const double value =
      type == CqlType::kDouble
          ? std::bit_cast<double>(fixed)
          : static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(fixed)));
  const double scaled = value * kPowers[k];
  if (!(std::abs(scaled) < kIntegerMax)) return false;
  *d = static_cast<int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  return FromDecimal(type, k, *d) == fixed;
}

// The fewest digits with which all four are decimals.
bool ToDecimals(CqlType type, const FourValues& values, unsigned* k, FourValues* decimals) {
  for (*k = 0; *k <= kDigitsSought; ++*k) {
    size_t fitting = 0;
    while (fitting < 4 && ToDecimal(type, *k, values[fitting], &(*decimals)[fitting])) ++fitting;
    if (fitting == 4) return true;
  }
  return false;
}

// Order of bits, without making NaNs alike. Its own inverse but for the float's width.
int64_t ToBits(CqlType type, int64_t fixed) {
  if (type == CqlType::kDouble) return fixed ^ ((fixed >> 63) & INT64_MAX);
  const auto bits = static_cast<int32_t>(static_cast<uint32_t>(fixed));
  return bits ^ ((bits >> 31) & INT32_MAX);
}
int64_t FromBits(CqlType type, int64_t bits) { return FromOrderKey(type, bits); }

// --- writing

void PutSum(const CompactSum& sum, std::string* out) {
  if (sum.special != 0) {
    out->push_back(static_cast<char>(sum.special));
    return;
  }
  PutSigned(out, sum.exponent);
  std::string bytes;
  PutLittle(&bytes, sum.low);
  PutLittle(&bytes, static_cast<uint64_t>(sum.high));
  // Bytes that only repeat the sign are left out.
  const char sign = sum.high < 0 ? '\xff' : '\0';
  size_t size = bytes.size();
  while (size > 0 && bytes[size - 1] == sign &&
         (size == 1 ? sign == 0 : ((bytes[size - 2] ^ sign) & 0x80) == 0)) {
    --size;
  }
  out->push_back(static_cast<char>(size));
  out->append(bytes, 0, size);
}

void PutColumn(CqlType type, uint64_t row_count, const ColumnStatistics& column,
               std::string* out) {
  uint8_t descriptor = column.count < row_count ? segment_format::kStatisticsSomeMissing : 0;
  StatisticsForm form = StatisticsForm::kCount;
  FourValues v{};
  unsigned k = 0;
  if (column.has_bounds) {
    form = StatisticsForm::kIntegers;
    v = {FromOrderKey(type, column.min), FromOrderKey(type, column.max), column.first,
         column.last};
    if (IsFloating(type)) {
      FourValues decimals{};
      form = ToDecimals(type, v, &k, &decimals) ? StatisticsForm::kDecimals : StatisticsForm::kBits;
      for (size_t i = 0; i < 4; ++i) {
        v[i] = form == StatisticsForm::kDecimals ? decimals[i] : ToBits(type, v[i]);
      }
    }
    if (v[0] == v[1] && v[0] == v[2] && v[0] == v[3]) {
      descriptor |= segment_format::kStatisticsAllEqual;
    }
    if (column.sum) descriptor |= segment_format::kStatisticsHasSum;
    if (column.sum && column.sum->special != 0) {
      descriptor |= segment_format::kStatisticsSpecialSum;
    }
  }
  descriptor |= static_cast<uint8_t>(form);
  if (descriptor == 0) {  // a value in every row, and no more is known
    out->push_back(0);
    return;
  }
  std::string body(1, static_cast<char>(descriptor));
  if (column.count < row_count) PutVarint(&body, column.count);
  if (form == StatisticsForm::kDecimals) body.push_back(static_cast<char>(k));
  if (form != StatisticsForm::kCount) PutSigned(&body, v[0]);
  if (form != StatisticsForm::kCount && (descriptor & segment_format::kStatisticsAllEqual) == 0) {
    for (size_t i = 1; i < 4; ++i) PutVarint(&body, Distance(v[i], v[0]));
  }
  if (descriptor & segment_format::kStatisticsHasSum) PutSum(*column.sum, &body);
  PutVarint(out, body.size());
  out->append(body);
}

std::string Begin(const RowStatistics& rows) {
  const uint8_t flags =
      static_cast<uint8_t>((rows.expiry_s_first != 0 ? segment_format::kStatisticsExpires : 0) |
                           (rows.all_marked ? 0 : segment_format::kStatisticsUnmarked));
  std::string out(1, static_cast<char>(flags));
  if (rows.expiry_s_first != 0) PutVarint(&out, rows.expiry_s_first);
  return out;
}

ColumnStatistics FromSummary(CqlType type, const ColumnSummary& summary) {
  ColumnStatistics column;
  column.count = summary.count;
  column.has_bounds = summary.count > 0;
  if (!column.has_bounds) return column;
  column.min = summary.min;
  column.max = summary.max;
  column.first = summary.first;
  column.last = summary.last;
  if (HasSum(type)) column.sum = summary.sum.Compact();
  return column;
}

// The summary of a column's values among rows begin..end-1.
ColumnStatistics Describe(CqlType type, const ColumnData& column, size_t begin, size_t end,
                          std::vector<int64_t>* dense) {
  ColumnStatistics out;
  if (column.lane == Lane::kBytes) {
    for (size_t i = begin; i < end; ++i) out.count += column.state(i) == CellState::kValue ? 1 : 0;
    return out;
  }
  std::span<const int64_t> values(column.fixed.data() + begin, end - begin);
  if (!column.states.empty()) {
    dense->clear();
    for (size_t i = begin; i < end; ++i) {
      if (column.states[i] == CellState::kValue) dense->push_back(column.fixed[i]);
    }
    values = *dense;
  }
  ColumnSummary summary;
  summary.Add(type, {}, values);
  return FromSummary(type, summary);
}

uint32_t EarlierExpiry(uint32_t a, uint32_t b) {
  if (a == 0 || b == 0) return a | b;
  return std::min(a, b);
}

// --- reading

// The integer of at most eight bytes, lowest first, of which the highest has the sign.
int64_t SignedOf(std::string_view bytes) {
  if (bytes.size() >= sizeof(uint32_t)) {
    // In halves, which agree in the bytes that both have.
    const size_t rest = bytes.size() - sizeof(uint32_t);
    const auto high = static_cast<uint64_t>(int64_t{GetLittle<int32_t>(bytes.data() + rest)});
    return static_cast<int64_t>(high << (8 * rest) | GetLittle<uint32_t>(bytes.data()));
  }
  uint64_t v = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (size_t i = bytes.size(); i-- > 0;) v = v << 8 | static_cast<uint8_t>(bytes[i]);
  return static_cast<int64_t>(v);
}

void ReadSum(ByteReader* in, bool is_special, ColumnStatistics* column) {
  CompactSum& sum = column->sum.emplace();
  if (is_special) {
    sum.special = in->ReadU8("sum");
    if (sum.special == 0 || (sum.special & ~kSumSpecialKnown) != 0) in->Fail("sum", "is not known");
    return;
  }
  const int64_t exponent = in->ReadSigned("sum exponent");
  if (exponent < kSumExponentMin || exponent > kSumExponentMax) {
    return in->Fail("sum exponent", "is out of range");
  }
  sum.exponent = static_cast<int32_t>(exponent);
  const uint8_t size = in->ReadU8("sum size");
  if (size > kSumBytesMax) in->Fail("sum size", "is beyond its limit");
  const std::string_view bytes = in->ReadBytes("sum", size);
  const std::string_view low = bytes.substr(0, sizeof(uint64_t));
  const std::string_view high = bytes.substr(low.size());
  sum.low = static_cast<uint64_t>(SignedOf(low));
  sum.high = high.empty() ? SignedOf(low) >> 63 : SignedOf(high);
}

// Min, max, first and last of the form, as statistics have them.
void ReadValues(ByteReader* in, CqlType type, StatisticsForm form, bool all_equal,
                ColumnStatistics* column) {
  const uint8_t k = form == StatisticsForm::kDecimals ? in->ReadU8("exponent") : uint8_t{0};
  if (k > kDigitsMax) return in->Fail("exponent", "is above 22");
  FourValues v;
  v.fill(in->ReadSigned("min"));
  if (!all_equal) {
    v[1] = Plus(v[0], in->ReadVarint("max"));
    v[2] = Plus(v[0], in->ReadVarint("first"));
    v[3] = Plus(v[0], in->ReadVarint("last"));
  }
  for (int64_t& value : v) {
    if (form == StatisticsForm::kDecimals) value = FromDecimal(type, k, value);
    if (form != StatisticsForm::kBits) continue;
    if (type == CqlType::kFloat && value != static_cast<int32_t>(value)) {
      return in->Fail("min", "is more than a float's bits");
    }
    value = FromBits(type, value);
  }
  column->has_bounds = true;
  column->min = OrderKey(type, v[0]);
  column->max = OrderKey(type, v[1]);
  column->first = v[2];
  column->last = v[3];
  if (column->min > column->max) in->Fail("max", "is below min");
}

// *column has the count of all rows and nothing else before.
void ReadColumn(ByteReader* in, CqlType type, ColumnStatistics* column) {
  const uint8_t descriptor = in->ReadU8("descriptor");
  if ((descriptor & ~segment_format::kStatisticsKnown) != 0) {
    in->Fail("descriptor", "has unknown bits");
  }
  const auto form = static_cast<StatisticsForm>(descriptor & segment_format::kStatisticsFormMask);
  if (descriptor & segment_format::kStatisticsSomeMissing) {
    column->count = in->ReadCount("count", column->count);
  }
  const bool fits = form == StatisticsForm::kCount
                        ? (descriptor & ~segment_format::kStatisticsSomeMissing) == 0
                        : LaneOf(type) == Lane::kFixed && column->count > 0 &&
                              (form == StatisticsForm::kIntegers) != IsFloating(type);
  if (in->ok() && !fits) in->Fail("descriptor", "does not fit the column");
  const bool has_sum = (descriptor & segment_format::kStatisticsHasSum) != 0;
  const bool is_special = (descriptor & segment_format::kStatisticsSpecialSum) != 0;
  if (in->ok() && ((has_sum && !HasSum(type)) || (is_special && !(has_sum && IsFloating(type))))) {
    in->Fail("descriptor", "has a sum that its column has not");
  }
  if (form == StatisticsForm::kCount || !in->ok()) return;
  ReadValues(in, type, form, (descriptor & segment_format::kStatisticsAllEqual) != 0, column);
  if (has_sum && in->ok()) ReadSum(in, is_special, column);
}

RowStatistics ReadRows(ByteReader* in) {
  RowStatistics rows;
  const uint8_t flags = in->ReadU8("flags");
  if ((flags & ~segment_format::kStatisticsFlagsKnown) != 0) {
    in->Fail("flags", "has unknown bits");
  }
  rows.all_marked = (flags & segment_format::kStatisticsUnmarked) == 0;
  if ((flags & segment_format::kStatisticsExpires) == 0 || !in->ok()) return rows;
  rows.expiry_s_first = static_cast<uint32_t>(in->ReadCount("first expiry", UINT32_MAX));
  if (in->ok() && rows.expiry_s_first == 0) in->Fail("first expiry", "is zero");
  return rows;
}

// Passes over what is said of so many columns: mostly less than 128 bytes each.
void SkipColumns(std::string_view statistics, size_t count, ByteReader* in) {
  size_t at = in->position();
  for (; count > 0 && at < statistics.size(); --count) {
    const auto size = static_cast<uint8_t>(statistics[at]);
    if (size >= 0x80) break;
    at += 1 + size_t{size};
  }
  (void)in->ReadBytes("column", at - in->position());
  for (; count > 0 && in->ok(); --count) {
    (void)in->ReadBytes("column", in->ReadVarint("column size"));
  }
}

// --- merging

// One column over all parts. What a part does not tell nobody can tell of all.
Status MergeColumn(const TableSchema& schema, std::span<const StatisticsPart> parts, size_t c,
                   ColumnStatistics* all) {
  ExactSum sum;
  bool has_sum = HasSum(schema.columns[c].type.kind);
  bool has_bounds = schema.columns[c].type.lane() == Lane::kFixed;
  for (const StatisticsPart& part : parts) {
    CISTERN_ASSIGN_OR_RETURN(const ColumnStatistics one, ReadColumnStatistics(schema, part, c));
    if (one.count == 0) continue;
    has_bounds = has_bounds && one.has_bounds;
    has_sum = has_sum && one.sum.has_value();
    if (all->count == 0) {
      all->min = one.min;
      all->max = one.max;
      all->first = one.first;
    }
    all->min = std::min(all->min, one.min);
    all->max = std::max(all->max, one.max);
    all->last = one.last;
    all->count += one.count;
    if (has_sum) sum.Add(*one.sum);
  }
  all->has_bounds = has_bounds && all->count > 0;
  if (all->has_bounds && has_sum) all->sum = sum.Compact();
  return Status::Ok();
}

Result<std::string> MergeStatistics(const TableSchema& schema,
                                    std::span<const StatisticsPart> parts) {
  RowStatistics rows;
  uint64_t row_count = 0;
  for (const StatisticsPart& part : parts) {
    CISTERN_ASSIGN_OR_RETURN(const RowStatistics of_part, ReadRowStatistics(part.statistics));
    rows.expiry_s_first = EarlierExpiry(rows.expiry_s_first, of_part.expiry_s_first);
    rows.all_marked = rows.all_marked && of_part.all_marked;
    row_count += part.row_count;
  }
  std::string out = Begin(rows);
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!IsDescribed(schema, c)) continue;
    ColumnStatistics all;
    CISTERN_RETURN_IF_ERROR(MergeColumn(schema, parts, c, &all));
    PutColumn(schema.columns[c].type.kind, row_count, all, &out);
  }
  return out;
}

}  // namespace

std::string PageStatisticsOf(const TableSchema& schema, const VersionColumns& rows, size_t begin,
                             size_t end) {
  if (end - begin < segment_format::kStatisticsRowsMin) return {};
  if (!rows.boot.empty() && std::any_of(rows.boot.begin() + static_cast<ptrdiff_t>(begin),
                                        rows.boot.begin() + static_cast<ptrdiff_t>(end),
                                        [](uint32_t boot) { return boot != 0; })) {
    return {};
  }
  if (!StandAlone(schema, rows, begin, end)) return {};
  RowStatistics all;
  for (size_t i = begin; i < end; ++i) {
    all.expiry_s_first = EarlierExpiry(all.expiry_s_first, rows.expiry_of(i));
    all.all_marked = all.all_marked && (rows.flags[i] & kVersionLiveness) != 0;
  }
  std::string out = Begin(all);
  std::vector<int64_t> dense;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!IsDescribed(schema, c)) continue;
    const CqlType type = schema.columns[c].type.kind;
    PutColumn(type, end - begin, Describe(type, rows.columns[c], begin, end, &dense), &out);
  }
  return out;
}

std::string SegmentStatisticsOf(const TableSchema& schema, const SegmentHeader& header) {
  std::vector<StatisticsPart> parts;
  for (const PageInfo& page : header.pages) {
    if (page.statistics_size == 0) return {};
    if (!parts.empty() && (&page)[-1].last_time == page.first_time) return {};
    parts.push_back({header.StatisticsOf(page), page.row_count});
  }
  if (parts.empty()) return {};
  if (parts.size() == 1) return std::string(parts[0].statistics);
  const Result<std::string> merged = MergeStatistics(schema, parts);
  return merged.ok() ? *merged : std::string();
}

StatisticsReader::StatisticsReader(const TableSchema& schema, std::span<const size_t> columns)
    : schema_(&schema) {
  size_t skipped = 0;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!IsDescribed(schema, c)) continue;
    if (wanted_.size() < columns.size() && c == columns[wanted_.size()]) {
      wanted_.push_back({c, schema.columns[c].type.kind, skipped});
      skipped = 0;
    } else {
      ++skipped;
    }
  }
  skipped_behind_ = skipped;
  CISTERN_CHECK(wanted_.size() == columns.size());  // each is described, and they ascend
}

Status StatisticsReader::Read(const StatisticsPart& part, RowStatistics* rows,
                              std::span<ColumnStatistics> out) const {
  CISTERN_CHECK(out.size() == wanted_.size());
  ByteReader in(part.statistics, "statistics");
  *rows = ReadRows(&in);
  auto next = out.begin();
  for (const Wanted& wanted : wanted_) {
    SkipColumns(part.statistics, wanted.skipped, &in);
    const std::string_view body = in.ReadBytes("column", in.ReadVarint("column size"));
    ColumnStatistics* const column = &*next++;
    *column = {};
    column->count = part.row_count;
    if (body.empty()) continue;
    ByteReader of_column(body, "statistics");
    ReadColumn(&of_column, wanted.type, column);
    if (of_column.ok() && of_column.remaining() != 0) {
      of_column.Fail("end of column", "is not where the fields end");
    }
    if (of_column.ok()) continue;
    return {of_column.status().code(), Concat({"column '", schema_->columns[wanted.column].name,
        "': ", of_column.status().message()})};
  }
  SkipColumns(part.statistics, skipped_behind_, &in);
  if (in.ok() && in.remaining() != 0) in.Fail("end", "is not where the fields end");
  if (!in.ok()) return in.status();
  return Status::Ok();
}

Result<ColumnStatistics> ReadColumnStatistics(const TableSchema& schema,
                                              const StatisticsPart& part, size_t column) {
  RowStatistics rows;
  ColumnStatistics out;
  const StatisticsReader reader(schema, std::span(&column, 1));
  CISTERN_RETURN_IF_ERROR(reader.Read(part, &rows, std::span(&out, 1)));
  return out;
}

Result<RowStatistics> ReadRowStatistics(std::string_view statistics) {
  ByteReader in(statistics, "statistics");
  const RowStatistics rows = ReadRows(&in);
  if (!in.ok()) return in.status();
  return rows;
}

}  // namespace cistern
