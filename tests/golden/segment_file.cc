#include "tests/golden/segment_file.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdint>

#include "lib/base/coding.h"
#include "lib/row/column_summary.h"
#include "lib/row/version_hash.h"
#include "lib/segment/page_reader.h"
#include "lib/segment/page_statistics.h"
#include "lib/segment/segment_header.h"
#include "storage/seal_records.h"
#include "tests/golden/golden_dictionary.h"
#include "tests/support/hex.h"

namespace cistern::testing {
namespace {

// The shortest decimal that reads back to the same bits; a NaN by its bits.
template <typename Float, typename Bits>
std::string FloatText(Bits bits) {
  const auto value = std::bit_cast<Float>(bits);
  std::array<char, 32> text;
  if (std::isnan(value)) {
    std::string big_endian;
    PutBig(&big_endian, bits);
    return "nan:" + ToHex(big_endian);
  }
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::string(text.data(), end) : std::string();
}

std::string NumberText(CqlType type, int64_t fixed) {
  if (type == CqlType::kDouble) return FloatText<double>(fixed);
  if (type == CqlType::kFloat) return FloatText<float>(static_cast<uint32_t>(fixed));
  return std::to_string(fixed);
}

// Text in quotes, with what is not printable ASCII as \xHH; other bytes in hexadecimal.
std::string BytesText(CqlType type, std::string_view bytes) {
  if (type != CqlType::kText && type != CqlType::kAscii) return "0x" + ToHex(bytes);
  std::string out = "\"";
  for (const char c : bytes) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\' || c == '|') {
      out.append("\\x").append(ToHex({&c, 1}));
    } else {
      out.push_back(c);
    }
  }
  return out + '"';
}

bool IsStored(const ColumnSpec& column) {
  return column.role == ColumnRole::kClustering || column.role == ColumnRole::kRegular;
}

std::string CellText(const ColumnSpec& spec, const ColumnData& column, size_t row) {
  switch (column.state(row)) {
    case CellState::kAbsent: return "absent";
    case CellState::kNull: return "null";
    case CellState::kValue: break;
  }
  return column.lane == Lane::kFixed ? NumberText(spec.type.kind, column.fixed[row])
                                     : BytesText(spec.type.kind, column.bytes(row));
}

// "name number number ..." with a line break.
template <typename... Numbers>
std::string Line(std::string_view name, Numbers... numbers) {
  std::string out(name);
  (out.append(" ").append(std::to_string(numbers)), ...);
  return out + '\n';
}

std::string TableText(const TableSchema& schema, std::string_view cql) {
  constexpr std::array<const char*, 5> kUnits = {"s", "ms", "us", "100ns", "ns"};
  std::string out = "table ";
  out.append(cql).append("\nunit ").append(kUnits[static_cast<size_t>(schema.time_unit)]);
  out += '\n';
  for (const ColumnSpec& column : schema.columns) {
    if (!IsStored(column)) continue;
    out.append("column ").append(column.name).append(" ").append(column.type.ToCql());
    out.append(column.role == ColumnRole::kClustering ? " clustering\n" : " regular\n");
  }
  return out;
}

std::string SumText(const CompactSum& sum) {
  if (sum.special != 0) return " special " + std::to_string(sum.special);
  return " sum " + std::to_string(sum.high) + " " + std::to_string(sum.low) + " " +
         std::to_string(sum.exponent);
}

// Nothing if there are none.
Result<std::string> StatisticsText(const TableSchema& schema, const StatisticsPart& part) {
  if (part.statistics.empty()) return std::string();
  CISTERN_ASSIGN_OR_RETURN(const RowStatistics rows, ReadRowStatistics(part.statistics));
  std::string out = Line("statistics", rows.expiry_s_first, rows.all_marked ? 1 : 0);
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnSpec& spec = schema.columns[c];
    if (!IsStored(spec) || c == schema.time_column()) continue;
    CISTERN_ASSIGN_OR_RETURN(const ColumnStatistics s, ReadColumnStatistics(schema, part, c));
    out.append("of ").append(spec.name).append(" ").append(std::to_string(s.count));
    if (s.has_bounds) {
      const CqlType type = spec.type.kind;
      for (const int64_t v :
           {FromOrderKey(type, s.min), FromOrderKey(type, s.max), s.first, s.last}) {
        out.append(" ").append(NumberText(type, v));
      }
      if (s.sum) out += SumText(*s.sum);
    }
    out += '\n';
  }
  return out;
}

Result<std::string> PageText(const TableSchema& schema, std::string_view page) {
  const GoldenDictionaries dictionaries;
  CISTERN_ASSIGN_OR_RETURN(const VersionColumns rows,
                           DecodePage(schema, page, nullptr, &dictionaries));
  return "content " + std::to_string(HashVersions(schema, rows)) + "\n" + RowsText(schema, rows);
}

}  // namespace

std::string RowsText(const TableSchema& schema, const VersionColumns& rows) {
  std::string out;
  for (size_t i = 0; i < rows.row_count; ++i) {
    out += "row";
    for (const int64_t n : {rows.write_us[i], int64_t{rows.boot_of(i)}, int64_t{rows.expiry_of(i)},
                            int64_t{rows.flags[i]}}) {
      out.append("|").append(std::to_string(n));
    }
    for (size_t c = 0; c < schema.columns.size(); ++c) {
      if (!IsStored(schema.columns[c])) continue;
      out.append("|").append(CellText(schema.columns[c], rows.columns[c], i));
    }
    out += '\n';
  }
  return out;
}

Result<std::string> HeaderText(const TableSchema& schema, const SegmentHeader& header) {
  std::string out = Line("segment", header.schema_version, header.journal_first,
                         header.journal_last, header.first_time, header.last_time);
  for (const RangeDelete& d : header.deletes) {
    out += Line("delete", d.from, d.to, d.write_us, d.boot);
  }
  for (const PageInfo& page : header.pages) {
    out += Line("page", page.row_count, page.byte_count, page.first_time, page.last_time);
    CISTERN_ASSIGN_OR_RETURN(
        const std::string statistics,
        StatisticsText(schema, {header.StatisticsOf(page), page.row_count}));
    out += statistics;
  }
  return out;
}

std::string PackSegment(const SegmentValues& segment) {
  std::string out;
  PutLittle<uint32_t>(&out, static_cast<uint32_t>(segment.header.size()));
  out += segment.header;
  for (const std::string& page : segment.pages) out += page;
  return out;
}

Result<std::string> SegmentText(std::string_view cql, std::string_view file) {
  CISTERN_ASSIGN_OR_RETURN(const auto schema, ParseCreateTable(cql));
  ByteReader in(file, "segment file");
  const std::string_view header_bytes = in.ReadBytes("header", in.ReadU32("header size"));
  if (!in.ok()) return in.status();
  CISTERN_ASSIGN_OR_RETURN(const SegmentHeader header, DecodeSegmentHeader(header_bytes));
  CISTERN_ASSIGN_OR_RETURN(const std::string header_text, HeaderText(*schema, header));
  std::string out = TableText(*schema, cql) + header_text;
  for (const PageInfo& info : header.pages) {
    const std::string_view page = in.ReadBytes("page", info.byte_count);
    if (!in.ok()) return in.status();
    CISTERN_ASSIGN_OR_RETURN(const std::string rows, PageText(*schema, page));
    out += rows;
  }
  if (in.remaining() != 0) in.Fail("end", "is not where the last page ends");
  if (!in.ok()) return in.status();
  return out;
}

Result<std::string> ManifestText(std::string_view cql, std::string_view record) {
  CISTERN_ASSIGN_OR_RETURN(const auto schema, ParseCreateTable(cql));
  CISTERN_ASSIGN_OR_RETURN(const Manifest m, DecodeManifest(record));
  std::string out = TableText(*schema, cql);
  out += Line("manifest", m.row_count, m.delete_count, m.byte_count, m.first_time, m.last_time,
              m.write_us_first, m.write_us_last, m.expiry_s_last, int{m.has_endless_rows},
              int{m.has_deletes}, static_cast<int>(m.proof), m.schema_version);
  out += Line("content", m.content_hash);
  if (m.rotations) {
    for (const SequenceInterval& i : *m.rotations) out += Line("rotations", i.first, i.length);
  }
  CISTERN_ASSIGN_OR_RETURN(const std::string statistics,
                           StatisticsText(*schema, {m.statistics, m.row_count}));
  return out + statistics;
}

}  // namespace cistern::testing
