#include "tests/fuzz/decoder_targets.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/check.h"
#include "lib/segment/dictionary_value.h"
#include "lib/segment/page_builder.h"
#include "lib/segment/page_reader.h"
#include "lib/segment/page_statistics.h"
#include "lib/segment/segment_format.h"
#include "lib/segment/segment_header.h"
#include "tests/golden/golden_dictionary.h"

namespace cistern {
namespace {

TableSchema Schema(const std::vector<CqlType>& clustering, const std::vector<CqlType>& regular) {
  TableSchema s;
  const auto add = [&s](CqlType type, ColumnRole role) {
    ColumnSpec spec;
    spec.name.push_back(static_cast<char>('a' + s.columns.size()));
    spec.type.kind = type;
    spec.role = role;
    s.columns.push_back(std::move(spec));
    return s.columns.size() - 1;
  };
  s.entity_columns.push_back(add(CqlType::kText, ColumnRole::kEntity));
  s.bucket_column = add(CqlType::kDate, ColumnRole::kBucket);
  for (const CqlType type : clustering) {
    s.clustering_columns.push_back(add(type, ColumnRole::kClustering));
  }
  for (const CqlType type : regular) s.regular_columns.push_back(add(type, ColumnRole::kRegular));
  return s;
}

const std::array<TableSchema, 3>& Schemas() {
  static const std::array<TableSchema, 3> schemas = {
      Schema({CqlType::kTimestamp}, {CqlType::kDouble, CqlType::kText}),
      Schema({CqlType::kTimeuuid}, {CqlType::kFloat, CqlType::kBoolean, CqlType::kInt}),
      Schema({CqlType::kBigint, CqlType::kText},
             {CqlType::kUuid, CqlType::kDouble, CqlType::kSmallint, CqlType::kBlob})};
  return schemas;
}

void CheckColumn(const ColumnData& a, const ColumnData& b, size_t row_count) {
  CISTERN_CHECK(a.size() == row_count && b.size() == row_count);
  CISTERN_CHECK(a.states.empty() || a.states.size() == row_count);
  CISTERN_CHECK(a.fixed == b.fixed && a.offsets == b.offsets && a.heap == b.heap);
  CISTERN_CHECK(a.states == b.states);
}

void CheckProjection(const TableSchema& schema, std::string_view page, const VersionColumns& all) {
  std::vector<bool> wanted(schema.columns.size());
  for (size_t c = 0; c < wanted.size(); ++c) wanted[c] = c % 2 == 0;
  const testing::GoldenDictionaries dictionaries;
  const Result<VersionColumns> some = DecodePage(schema, page, &wanted, &dictionaries);
  CISTERN_CHECK(some.ok());
  CISTERN_CHECK(some->write_us == all.write_us && some->flags == all.flags);
  const Result<VersionColumns> values = DecodePageValues(schema, page, wanted, &dictionaries);
  CISTERN_CHECK(values.ok() && values->row_count == all.row_count);
  for (const size_t c : schema.regular_columns) {
    if (!wanted[c]) continue;
    CheckColumn(values->columns[c], all.columns[c], all.row_count);
  }
  VersionColumns used = all;  // by a page before, and with its columns elsewhere
  std::reverse(used.columns.begin(), used.columns.end());
  CISTERN_CHECK(
      DecodePageValues(schema, page, all.row_count, wanted, &dictionaries, &used).ok());
  for (const size_t c : schema.regular_columns) {
    CISTERN_CHECK(used.columns[c].size() == (wanted[c] ? all.row_count : 0));
    if (wanted[c]) CheckColumn(used.columns[c], all.columns[c], all.row_count);
  }
  CISTERN_CHECK(
      !DecodePageValues(schema, page, all.row_count + 1, wanted, &dictionaries, &used).ok());
  for (const size_t c : schema.regular_columns) {
    CISTERN_CHECK(some->columns[c].states == all.columns[c].states);
    CISTERN_CHECK(some->columns[c].size() == (wanted[c] ? all.row_count : 0));
  }
}

}  // namespace

void FuzzPage(std::string_view input) {
  if (input.empty()) return;
  const TableSchema& schema = Schemas()[static_cast<uint8_t>(input[0]) % 3];
  const testing::GoldenDictionaries dictionaries;
  // The bytes as they are: the checksum is wrong but for one in 2^64.
  DecodePage(schema, input, nullptr, &dictionaries).status().IgnoreError();
  const std::vector<bool> none(schema.columns.size());
  DecodePageValues(schema, input, none, &dictionaries).status().IgnoreError();
  std::string page(input.substr(1));
  segment_format::AppendChecksum(&page);
  const Result<VersionColumns> rows = DecodePage(schema, page, nullptr, &dictionaries);
  // Looks at fewer fields.
  const bool is_kept = DecodePageValues(schema, page, none, &dictionaries).ok();
  CISTERN_CHECK(is_kept || !rows.ok());
  if (!rows.ok()) {
    CISTERN_CHECK(rows.status().code() == StatusCode::kCorruption ||
                  rows.status().code() == StatusCode::kTooNew);
    return;
  }
  CISTERN_CHECK(rows->row_count >= 1 && rows->row_count <= limits::kPageRowsMax);
  CheckProjection(schema, page, *rows);
  if (PageEnd(schema, *rows, 0, limits::kPageRowsMax) != rows->row_count) return;
  CodecCache cache;
  if (input[0] & 4) {
    for (size_t c = 0; c < schema.columns.size(); ++c) cache.SetDictionary(c, dictionaries.Only());
  }
  const std::string again = EncodePage(schema, *rows, 0, rows->row_count, &cache);
  const Result<VersionColumns> same = DecodePage(schema, again, nullptr, &dictionaries);
  CISTERN_CHECK(same.ok());
  CISTERN_CHECK(same->write_us == rows->write_us && same->flags == rows->flags);
  for (size_t i = 0; i < rows->row_count; ++i) {
    CISTERN_CHECK(same->boot_of(i) == rows->boot_of(i));
    CISTERN_CHECK(same->expiry_of(i) == rows->expiry_of(i));
  }
  const std::string statistics = PageStatisticsOf(schema, *rows, 0, rows->row_count);
  for (size_t c = schema.time_column() + 1; c < schema.columns.size(); ++c) {
    if (statistics.empty()) break;
    CISTERN_CHECK(ReadColumnStatistics(schema, {statistics, rows->row_count}, c).ok());
  }
  for (size_t c = 2; c < schema.columns.size(); ++c) {
    CheckColumn(rows->columns[c], same->columns[c], rows->row_count);
  }
}

void FuzzDictionary(std::string_view input) {
  DecodeDictionary(7, input).status().IgnoreError();
  const auto dictionary = ZstdDictionary::Make(std::string(input));
  if (!dictionary.ok()) {
    CISTERN_CHECK(dictionary.status().code() == StatusCode::kCorruption);
    return;
  }
  CISTERN_CHECK(DecodeDictionary(7, EncodeDictionary(7, **dictionary)).ok());
  const std::string_view text = input.substr(input.size() / 2, 1024);
  const std::string frame = (*dictionary)->Compress(text, 2 * text.size() + 64);
  if (frame.empty()) return;  // libzstd reads some that it does not write with
  std::string back;
  ByteReader in("", "test");
  (*dictionary)->Decompress(frame, text.size(), "frame", &in, &back);
  CISTERN_CHECK(in.ok() && back == text);
  // A frame of another dictionary: damage, or other bytes.
  ByteReader other("", "test");
  testing::GoldenDictionaries().Only().dictionary->Decompress(frame, text.size(), "frame", &other,
                                                              &back);
}

void FuzzHeader(std::string_view input) {
  DecodeSegmentHeader(input).status().IgnoreError();
  std::string bytes(input);
  segment_format::AppendChecksum(&bytes);
  const Result<SegmentHeader> header = DecodeSegmentHeader(bytes);
  if (!header.ok()) return;
  const Result<SegmentHeader> same = DecodeSegmentHeader(EncodeSegmentHeader(*header));
  CISTERN_CHECK(same.ok());
  CISTERN_CHECK(same->pages == header->pages && same->deletes == header->deletes);
  CISTERN_CHECK(same->row_count == header->row_count && same->last_time == header->last_time);
  CISTERN_CHECK(same->statistics == header->statistics);
  for (const TableSchema& schema : Schemas()) {
    (void)SegmentStatisticsOf(schema, *header);
    for (const PageInfo& page : header->pages) {
      const StatisticsPart part{header->StatisticsOf(page), page.row_count};
      for (size_t c = schema.time_column() + 1; c < schema.columns.size(); ++c) {
        const Result<ColumnStatistics> read = ReadColumnStatistics(schema, part, c);
        CISTERN_CHECK(!read.ok() || read->count <= page.row_count);
        CISTERN_CHECK(!read.ok() || !read->has_bounds || read->min <= read->max);
      }
    }
  }
}

}  // namespace cistern
