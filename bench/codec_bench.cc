// What pages of gateway rows cost: CPU to encode and decode a row, bytes that it takes.
// Row: time each second, four decimal random walks, int, boolean, short text (52 B).
//
// And what a double costs, over the columns of the published recordings, if they are there.
//
//   codec_bench            all; the counter bytes_per_row is the page's size over its rows
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "lib/segment/page_builder.h"
#include "lib/segment/page_reader.h"
#include "tests/support/recordings.h"

namespace cistern {
namespace {

constexpr size_t kRowCount = 3600;
constexpr int64_t kStartMs = 1'721'900'000'000;

const TableSchema& GatewaySchema() {
  static const TableSchema schema = [] {
    TableSchema s;
    const auto add = [&s](CqlType type, ColumnRole role) {
      ColumnSpec spec;
      spec.name.push_back(static_cast<char>('a' + s.columns.size()));
      spec.type.kind = type;
      spec.role = role;
      s.columns.push_back(spec);
      return s.columns.size() - 1;
    };
    s.entity_columns.push_back(add(CqlType::kText, ColumnRole::kEntity));
    s.bucket_column = add(CqlType::kDate, ColumnRole::kBucket);
    s.clustering_columns.push_back(add(CqlType::kTimestamp, ColumnRole::kClustering));
    for (int i = 0; i < 4; ++i) {
      s.regular_columns.push_back(add(CqlType::kDouble, ColumnRole::kRegular));
    }
    for (const CqlType type : {CqlType::kInt, CqlType::kBoolean, CqlType::kText}) {
      s.regular_columns.push_back(add(type, ColumnRole::kRegular));
    }
    return s;
  }();
  return schema;
}

// Rows whose write times follow the event by 1.5 ms and up to `jitter_us` more.
VersionColumns GatewayRows(uint64_t jitter_us) {
  std::mt19937_64 random(7);
  VersionColumns rows = VersionColumns::For(GatewaySchema());
  int64_t walk[4] = {2150, 612, 101325, 405};
  const double powers[4] = {100, 10, 1000, 10};
  const int64_t steps[4] = {5, 2, 8, 1};
  int64_t level = 80;
  for (size_t i = 0; i < kRowCount; ++i) {
    const int64_t ms = kStartMs + 1000 * static_cast<int64_t>(i);
    rows.write_us.push_back(ms * 1000 + 1500 + static_cast<int64_t>(random() % jitter_us));
    rows.flags.push_back(kVersionLiveness);
    rows.columns[2].AppendFixed(ms);
    for (size_t k = 0; k < 4; ++k) {
      walk[k] += static_cast<int64_t>(random() % (2 * steps[k] + 1)) - steps[k];
      rows.columns[3 + k].AppendFixed(
          std::bit_cast<int64_t>(static_cast<double>(walk[k]) / powers[k]));
    }
    if (random() % 20 == 0) level += static_cast<int64_t>(random() % 3) - 1;
    rows.columns[7].AppendFixed(level);
    rows.columns[8].AppendFixed(random() % 50 == 0 ? 0 : 1);
    rows.columns[9].AppendBytes(random() % 10 == 0 ? "WARN" : "OK");
  }
  rows.row_count = kRowCount;
  return rows;
}

std::vector<std::string> EncodeAll(const VersionColumns& rows, size_t page_rows,
                                   CodecCache* cache) {
  std::vector<std::string> pages;
  for (size_t begin = 0; begin + page_rows <= rows.row_count; begin += page_rows) {
    pages.push_back(EncodePage(GatewaySchema(), rows, begin, begin + page_rows, cache));
  }
  return pages;
}

void Report(benchmark::State* state, const std::vector<std::string>& pages, size_t page_rows) {
  size_t bytes = 0;
  for (const std::string& page : pages) bytes += page.size();
  const auto rows = static_cast<double>(pages.size() * page_rows);
  state->counters["bytes_per_row"] = static_cast<double>(bytes) / rows;
  state->SetItemsProcessed(static_cast<int64_t>(rows) * static_cast<int64_t>(state->iterations()));
}

void BM_EncodePages(benchmark::State& state) {
  const auto page_rows = static_cast<size_t>(state.range(0));
  const VersionColumns rows = GatewayRows(static_cast<uint64_t>(state.range(1)));
  CodecCache cache;
  std::vector<std::string> pages;
  for (auto _ : state) pages = EncodeAll(rows, page_rows, &cache);
  Report(&state, pages, page_rows);
}

void BM_DecodePages(benchmark::State& state) {
  const auto page_rows = static_cast<size_t>(state.range(0));
  const VersionColumns rows = GatewayRows(static_cast<uint64_t>(state.range(1)));
  CodecCache cache;
  const std::vector<std::string> pages = EncodeAll(rows, page_rows, &cache);
  for (auto _ : state) {
    for (const std::string& page : pages) {
      const Result<VersionColumns> got = DecodePage(GatewaySchema(), page, nullptr, nullptr);
      if (!got.ok()) return state.SkipWithError(got.status().message().c_str());
      benchmark::DoNotOptimize(got->row_count);
    }
  }
  Report(&state, pages, page_rows);
}

// One double of eight columns, as a projection reads it.
void BM_DecodeOneColumn(benchmark::State& state) {
  const auto page_rows = static_cast<size_t>(state.range(0));
  const VersionColumns rows = GatewayRows(1000);
  CodecCache cache;
  const std::vector<std::string> pages = EncodeAll(rows, page_rows, &cache);
  std::vector<bool> wanted(GatewaySchema().columns.size());
  wanted[3] = true;
  for (auto _ : state) {
    for (const std::string& page : pages) {
      const Result<VersionColumns> got = DecodePage(GatewaySchema(), page, &wanted, nullptr);
      if (!got.ok()) return state.SkipWithError(got.status().message().c_str());
      benchmark::DoNotOptimize(got->row_count);
    }
  }
  Report(&state, pages, page_rows);
}

// Each column's first values, in pages, so that no column weighs more than another.
constexpr size_t kRecordedValuesMax = 18'000;
constexpr size_t kRecordedPageValues = 360;

struct RecordedPage {
  size_t column = 0;
  std::span<const int64_t> values;
  EncodingId encoding = EncodingId::kNone;
  std::string bytes;
};

std::vector<RecordedPage> RecordedPages() {
  static const std::vector<testing::RecordedColumn> columns = testing::DoubleColumns();
  std::vector<RecordedPage> pages;
  for (size_t c = 0; c < columns.size(); ++c) {
    size_t left = kRecordedValuesMax;
    for (const std::vector<int64_t>& series : columns[c].numbers) {
      const std::span<const int64_t> values(series.data(), std::min(series.size(), left));
      left -= values.size();
      for (size_t begin = 0; begin < values.size(); begin += kRecordedPageValues) {
        const size_t count = std::min(kRecordedPageValues, values.size() - begin);
        pages.push_back({c, values.subspan(begin, count), EncodingId::kNone, {}});
      }
    }
  }
  return pages;
}

size_t EncodeRecorded(std::vector<RecordedPage>* pages) {
  FixedEncoder encoder;
  std::vector<ColumnMemory> memories(pages->empty() ? 0 : pages->back().column + 1);
  size_t values = 0;
  for (RecordedPage& page : *pages) {
    page.bytes.clear();
    page.encoding = encoder.Encode({page.values, ShapeOf(CqlType::kDouble)},
                                   &memories[page.column], &page.bytes);
    values += page.values.size();
  }
  return values;
}

void BM_EncodeRecordedDoubles(benchmark::State& state) {
  std::vector<RecordedPage> pages = RecordedPages();
  if (pages.empty()) return state.SkipWithError("no recordings: set CISTERN_SHARED_DIR");
  size_t values = 0;
  for (auto _ : state) values += EncodeRecorded(&pages);
  state.SetItemsProcessed(static_cast<int64_t>(values));
}

void BM_DecodeRecordedDoubles(benchmark::State& state) {
  std::vector<RecordedPage> pages = RecordedPages();
  if (pages.empty()) return state.SkipWithError("no recordings: set CISTERN_SHARED_DIR");
  EncodeRecorded(&pages);
  std::vector<int64_t> out(kRecordedPageValues);
  size_t values = 0;
  for (auto _ : state) {
    for (const RecordedPage& page : pages) {
      ByteReader in(page.bytes, "page");
      DecodeFixed(page.encoding, ShapeOf(CqlType::kDouble), &in,
                  std::span(out).first(page.values.size()));
      if (!in.ok()) return state.SkipWithError(in.status().message().c_str());
      values += page.values.size();
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(values));
}

BENCHMARK(BM_EncodeRecordedDoubles);
BENCHMARK(BM_DecodeRecordedDoubles);
BENCHMARK(BM_EncodePages)->ArgNames({"rows", "jitter_us"})
    ->ArgsProduct({{60, 100, 360, 1800}, {1, 1000}});
BENCHMARK(BM_DecodePages)->ArgNames({"rows", "jitter_us"})->ArgsProduct({{60, 360, 1800}, {1000}});
BENCHMARK(BM_DecodeOneColumn)->ArgName("rows")->Arg(60)->Arg(360)->Arg(1800);

}  // namespace
}  // namespace cistern

BENCHMARK_MAIN();
