// Prints how small the codecs make things: bits a value for every double column of the published
// recordings beside zstd, bytes a row for made rows. Sizes do not depend on the machine.
//
//   codec_sizes           columns and pages alone
//   codec_sizes --store   stores too: all bytes of the files of sealed pages
#include <cstdio>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/bench_util.h"
#include "bench/page_sizes.h"
#include "bench/trained_texts.h"
#include "bench/write_bytes.h"
#include "lib/base/check.h"
#include "lib/codec/codec_select.h"
#include "lib/codec/text_codec.h"
#include "tests/support/recordings.h"

namespace cistern::bench {
namespace {

using testing::RecordedColumn;

constexpr size_t kPageValues = 360;
constexpr int kZstdLevel = 3;

struct ColumnSize {
  size_t value_count = 0;
  size_t raw_bytes = 0;
  size_t page_bytes = 0;
  size_t zstd_bytes = 0;
  std::map<EncodingId, size_t> pages;  // by encoding
  [[nodiscard]] double BitsOf(size_t bytes) const {
    return 8.0 * static_cast<double>(bytes) / static_cast<double>(value_count);
  }
};

const char* NameOf(EncodingId id) {
  switch (id) {
    case EncodingId::kNone: return "none";
    case EncodingId::kInteger: return "integer";
    case EncodingId::kDecimal64: return "decimal64";
    case EncodingId::kDecimal32: return "decimal32";
    case EncodingId::kBits32: return "bits32";
    case EncodingId::kBits64: return "bits64";
    case EncodingId::kRawZstd: return "zstd";
    case EncodingId::kText: return "text";
    case EncodingId::kDictionary: return "dictionary";
    case EncodingId::kUuid: return "uuid";
    case EncodingId::kDistinct: return "distinct";
    case EncodingId::kPrinted32: return "printed32";
  }
  return "?";
}

// Every series of the column in pages, with one memory, as a table's column is encoded.
ColumnSize MeasureNumbers(const RecordedColumn& column, CqlType type) {
  ColumnSize size;
  const NumberShape shape = ShapeOf(type);
  FixedEncoder encoder;
  ColumnMemory memory;
  std::string raw;
  for (const std::vector<int64_t>& series : column.numbers) {
    for (size_t begin = 0; begin < series.size(); begin += kPageValues) {
      const size_t count = std::min(kPageValues, series.size() - begin);
      const FixedRun run{std::span(series).subspan(begin, count), shape};
      std::string page;
      const EncodingId id = encoder.Encode(run, &memory, &page);
      std::vector<int64_t> back(count);
      ByteReader in(page, "page");
      DecodeFixed(id, shape, &in, back);
      CISTERN_CHECK(in.ok() && std::equal(back.begin(), back.end(), run.values.begin()));
      ++size.pages[id];
      size.page_bytes += page.size();
    }
    for (const int64_t bits : series) {
      if (shape.byte_width == 8) PutLittle<uint64_t>(&raw, static_cast<uint64_t>(bits));
      if (shape.byte_width == 4) PutLittle<uint32_t>(&raw, static_cast<uint32_t>(bits));
    }
    size.value_count += series.size();
  }
  size.raw_bytes = raw.size();
  size.zstd_bytes = testing::ZstdBytes(raw, kZstdLevel);
  return size;
}

ColumnSize MeasureTexts(const RecordedColumn& column) {
  ColumnSize size;
  std::string raw;
  for (const std::vector<std::string>& series : column.texts) {
    for (size_t begin = 0; begin < series.size(); begin += kPageValues) {
      const size_t end = std::min(begin + kPageValues, series.size());
      const std::vector<std::string_view> cells(series.begin() + begin, series.begin() + end);
      std::string page;
      ++size.pages[EncodeText(cells, {}, &page).id];
      size.page_bytes += page.size();
    }
    for (const std::string& cell : series) raw.append(cell).push_back('\n');
    size.value_count += series.size();
  }
  size.raw_bytes = raw.size();
  size.zstd_bytes = testing::ZstdBytes(raw, kZstdLevel);
  return size;
}

void PrintColumn(const RecordedColumn& column, const ColumnSize& size) {
  std::string name = column.dataset;
  name.append(" ").append(column.name);
  std::printf("%-40s %7zu %8.2f %8.2f ", name.c_str(), size.value_count,
              size.BitsOf(size.page_bytes), size.BitsOf(size.zstd_bytes));
  for (const auto& [id, pages] : size.pages) std::printf(" %zu %s", pages, NameOf(id));
  std::printf("\n");
}

// A table of columns, its mean, and the total of each data set.
template <typename Measure>
void PrintColumns(const char* title, const std::vector<RecordedColumn>& columns, Measure measure) {
  std::printf("\n%-40s %7s %8s %8s  %s\n", title, "values", "Cistern", "zstd -3", "pages");
  std::vector<std::string> order;
  std::map<std::string, ColumnSize> totals;
  double page_bits = 0;
  double zstd_bits = 0;
  for (const RecordedColumn& column : columns) {
    const ColumnSize size = measure(column);
    PrintColumn(column, size);
    page_bits += size.BitsOf(size.page_bytes);
    zstd_bits += size.BitsOf(size.zstd_bytes);
    if (!totals.contains(column.dataset)) order.push_back(column.dataset);
    ColumnSize& total = totals[column.dataset];
    total.raw_bytes += size.raw_bytes;
    total.page_bytes += size.page_bytes;
    total.zstd_bytes += size.zstd_bytes;
  }
  const auto count = static_cast<double>(columns.size());
  std::printf("%-40s %7zu %8.2f %8.2f\n", "mean of the columns", columns.size(),
              page_bits / count, zstd_bits / count);
  for (const std::string& name : order) {
    const ColumnSize& total = totals[name];
    std::printf("bytes of all of %-20s raw %9zu Cistern %9zu zstd -3 %9zu ratio %.2f\n",
                name.c_str(), total.raw_bytes, total.page_bytes, total.zstd_bytes,
                static_cast<double>(total.page_bytes) / static_cast<double>(total.zstd_bytes));
  }
}

void PrintPages() {
  std::printf("\nbytes a row in pages and segment headers\n%-44s %7s %7s %7s %9s\n",
              "rows a bucket", "60", "360", "1800", "60/1800");
  for (const uint64_t jitter_us : {uint64_t{1}, uint64_t{1000}}) {
    for (const auto& [name, measure] : {std::pair{"gateway row (52 B)", &GatewayBytesPerRow},
                                        std::pair{"TSBS reading", &TruckBytesPerRow}}) {
      const double small = measure({60, jitter_us});
      const double large = measure({1800, jitter_us});
      std::printf("%-20s written within %4llu us    %7.2f %7.2f %7.2f %9.2f\n", name,
                  static_cast<unsigned long long>(jitter_us), small, measure({360, jitter_us}),
                  large, small / large);
    }
  }
}

// Small buckets of text: where a dictionary tells what each would tell again.
void PrintTexts() {
  std::printf("\ntext with a trained dictionary, a cell: without, with (of that), CPU the same\n");
  for (const size_t page_rows : {size_t{60}, kPageValues}) {
    PrintTrained("made log lines", LogLines(60'000), page_rows);
    for (const RecordedColumn& column : testing::TextColumns()) {
      std::vector<std::string> cells;
      for (const std::vector<std::string>& series : column.texts) {
        cells.insert(cells.end(), series.begin(), series.end());
      }
      PrintTrained(column.dataset + " " + column.name, cells, page_rows);
    }
  }
}

int PrintStores() {
  std::printf("\nbytes of a gateway row in a store: pages with headers, and all of their files\n");
  double files[3] = {};
  const uint32_t bucket_rows[] = {60, 360, 1800};
  for (size_t i = 0; i < 3; ++i) {
    const auto measured = MeasureWriteBytes(FreshDirectory("codec-sizes"),
                                            {RowsFromEnv(1'800'000), 32 << 20, bucket_rows[i]});
    if (!measured.ok()) {
      std::fprintf(stderr, "%s\n", measured.status().ToString().c_str());
      return 1;
    }
    files[i] = measured->WindowFilesPerRow();
    std::printf("buckets of %4u rows: %.2f, files %.2f\n", bucket_rows[i],
                measured->SealedPerRow(), files[i]);
  }
  std::printf("60/1800: %.2f\n", files[0] / files[2]);
  for (const uint64_t jitter_us : {uint64_t{1000}, uint64_t{20'000}}) {
    const auto measured = MeasureWriteBytes(
        FreshDirectory("codec-sizes"), {RowsFromEnv(1'800'000), 32 << 20, 360, jitter_us});
    if (!measured.ok()) {
      std::fprintf(stderr, "%s\n", measured.status().ToString().c_str());
      return 1;
    }
    std::printf("buckets of  360 rows, appended with a jitter of %2llu ms: %.2f, files %.2f\n",
                static_cast<unsigned long long>(jitter_us / 1000), measured->SealedPerRow(),
                measured->WindowFilesPerRow());
  }
  return 0;
}

int Main(bool with_stores) {
  const std::vector<RecordedColumn> doubles = testing::DoubleColumns();
  if (doubles.empty()) {
    std::fprintf(stderr, "no recordings in %s: set CISTERN_SHARED_DIR\n",
                 testing::RecordingsDir().c_str());
    return 1;
  }
  PrintColumns("double column, bits a value", doubles, [](const RecordedColumn& column) {
    return MeasureNumbers(column, CqlType::kDouble);
  });
  PrintColumns("float column, bits a value", testing::FloatColumns(),
               [](const RecordedColumn& column) {
                 return MeasureNumbers(column, CqlType::kFloat);
               });
  PrintColumns("text column, bits a cell", testing::TextColumns(), &MeasureTexts);
  PrintTexts();
  PrintPages();
  return with_stores ? PrintStores() : 0;
}

}  // namespace
}  // namespace cistern::bench

int main(int argc, char** argv) {
  return cistern::bench::Main(argc > 1 && std::strcmp(argv[1], "--store") == 0);
}
