#include "tests/golden/recipe.h"

#include <algorithm>
#include <bit>

#include "lib/base/check.h"
#include "lib/row/row_order.h"
#include "lib/row/version_hash.h"
#include "lib/segment/page_builder.h"
#include "lib/segment/page_statistics.h"
#include "lib/segment/segment_header.h"
#include "storage/seal_records.h"
#include "tests/golden/golden_dictionary.h"
#include "tests/golden/segment_file.h"

namespace cistern::testing {
namespace {

// The segment of the rows, and its header as it is before encoding.
SegmentValues Encode(const GoldenRecipe& recipe, const GoldenRows& golden, SegmentHeader* header) {
  const TableSchema& schema = golden.schema();
  const VersionColumns& rows = golden.rows();
  header->schema_version = golden.schema_version;
  header->journal_first = golden.journal_first;
  header->journal_last = golden.journal_last;
  header->deletes = golden.deletes;
  header->row_count = rows.row_count;
  SegmentValues values;
  CodecCache cache;  // of the table, as a writer has one
  for (size_t c = 0; recipe.is_trained && c < schema.columns.size(); ++c) {
    cache.SetDictionary(c, GoldenDictionaries().Only());
  }
  for (size_t begin = 0; begin < rows.row_count;) {
    const size_t end = PageEnd(schema, rows, begin, recipe.page_rows_max);
    values.pages.push_back(recipe.page != nullptr ? recipe.page()
                                                  : EncodePage(schema, rows, begin, end, &cache));
    PageInfo info;
    info.row_count = static_cast<uint32_t>(end - begin);
    info.byte_count = static_cast<uint32_t>(values.pages.back().size());
    info.first_time = EventTime(schema, rows, begin);
    info.last_time = EventTime(schema, rows, end - 1);
    const std::string statistics = PageStatisticsOf(schema, rows, begin, end);
    if (!statistics.empty()) {
      info.statistics_begin = static_cast<uint32_t>(header->statistics.size());
    }
    info.statistics_size = static_cast<uint32_t>(statistics.size());
    header->statistics += statistics;
    if (begin == 0) header->first_time = info.first_time;
    header->last_time = info.last_time;
    header->pages.push_back(info);
    begin = end;
  }
  values.header = EncodeSegmentHeader(*header);
  return values;
}

}  // namespace

GoldenRows& GoldenRows::Double(double value) { return Number(std::bit_cast<int64_t>(value)); }
GoldenRows& GoldenRows::Float(float value) {
  return Number(static_cast<int64_t>(std::bit_cast<uint32_t>(value)));
}

GoldenRows FilledRows(const GoldenRecipe& recipe) {
  auto schema = ParseCreateTable(recipe.cql);
  CISTERN_CHECK(schema.ok());
  GoldenRows rows(*schema);
  recipe.fill(&rows);
  return rows;
}

std::vector<GoldenRecipe> GoldenRecipes() {
  std::vector<GoldenRecipe> all(ValueRecipes().begin(), ValueRecipes().end());
  all.insert(all.end(), VersionRecipes().begin(), VersionRecipes().end());
  return all;
}

std::string MakeSegment(const GoldenRecipe& recipe) {
  SegmentHeader header;
  return PackSegment(Encode(recipe, FilledRows(recipe), &header));
}

std::string MakeManifest() {
  const std::vector<GoldenRecipe> all = GoldenRecipes();
  const auto recipe = std::find_if(all.begin(), all.end(), [](const GoldenRecipe& r) {
    return std::string_view(r.name) == kManifestOf;
  });
  CISTERN_CHECK(recipe != all.end());
  const GoldenRows golden = FilledRows(*recipe);
  SegmentHeader header;
  Encode(*recipe, golden, &header);
  const VersionColumns& rows = golden.rows();
  Manifest m;
  m.row_count = rows.row_count;
  m.byte_count = header.byte_count();
  m.first_time = header.first_time;
  m.last_time = header.last_time;
  const auto [first, last] = std::minmax_element(rows.write_us.begin(), rows.write_us.end());
  m.write_us_first = *first;
  m.write_us_last = *last;
  m.expiry_s_last = *std::max_element(rows.expiry_s.begin(), rows.expiry_s.end());
  m.has_endless_rows = std::count(rows.expiry_s.begin(), rows.expiry_s.end(), 0u) > 0;
  m.content_hash = HashVersions(golden.schema(), rows);
  m.rotations = {{5, 2}, {9, 1}};
  m.schema_version = header.schema_version;
  m.statistics = SegmentStatisticsOf(golden.schema(), header);
  CISTERN_CHECK(!m.statistics.empty());
  m.proof = ProofLevel::kRows;
  return EncodeManifest(m);
}

}  // namespace cistern::testing
