// Columns of real recordings through the codecs: every bit comes back, and what a value
// takes is printed. The files are in CISTERN_SHARED_DIR, else in ../shared beside the
// sources; where they are absent the test says so.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "lib/codec/codec_select.h"
#include "tests/support/recordings.h"

namespace cistern {
namespace {

namespace fs = std::filesystem;

// The excerpt of a recording that the repository carries; empty where there is none.
std::string ReadExcerpt(const std::string& file) {
  const char* source = std::getenv("CISTERN_SOURCE_DIR");
  const fs::path dir = fs::path(source != nullptr ? source : ".") / "tests" / "data";
  std::ifstream in(dir / fs::path(file).replace_extension(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Uncompressed size of each file, from the manifest.
std::map<std::string, size_t> ReadManifest(const fs::path& dir) {
  std::map<std::string, size_t> sizes;
  std::ifstream in(dir / "MANIFEST.tsv");
  std::string line;
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    for (size_t from = 0; from <= line.size();) {
      const size_t to = std::min(line.find('\t', from), line.size());
      cells.push_back(line.substr(from, to - from));
      from = to + 1;
    }
    if (cells.size() > 4 && cells[0] != "file") sizes[cells[0]] = std::stoull(cells[4]);
  }
  return sizes;
}

struct Source {
  const char* file;
  size_t column;
  char delimiter;
  bool header;
  CqlType type;
};

const Source kSources[] = {
    {"alp-samples/air_sensor_f.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/basel_temp_f.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/bird_migration_f.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/bitcoin_transactions_f.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/cms1.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/cms9.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/gov10.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/gov30.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/gov40.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/medicare9.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/neon_bio_temp_c.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/neon_pm10_dust.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/nyc29.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/poi_lon.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/stocks_de.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/stocks_usa_c.csv.zst", 0, ',', false, CqlType::kDouble},
    {"alp-samples/bitcoin_transactions_f_tw.bin.zst", 0, 0, false, CqlType::kDouble},
    {"alp-samples/nyc29_tw.bin.zst", 0, 0, false, CqlType::kDouble},
    {"beijing-air/PRSA_Data_Dongsi_20130301-20170228.csv.zst", 5, ',', true, CqlType::kDouble},
    {"beijing-air/PRSA_Data_Dongsi_20130301-20170228.csv.zst", 11, ',', true, CqlType::kDouble},
    {"beijing-air/PRSA_Data_Dongsi_20130301-20170228.csv.zst", 12, ',', true, CqlType::kDouble},
    {"beijing-air/PRSA_Data_Dongsi_20130301-20170228.csv.zst", 16, ',', true, CqlType::kDouble},
    {"xio-imu/sensor_data.csv.zst", 1, ',', true, CqlType::kFloat},
    {"xio-imu/sensor_data.csv.zst", 4, ',', true, CqlType::kFloat},
    {"xio-imu/sensor_data.csv.zst", 7, ',', true, CqlType::kFloat},
    {"daphnet-imu/S01R02.txt.zst", 0, ' ', false, CqlType::kInt},
    {"daphnet-imu/S01R02.txt.zst", 1, ' ', false, CqlType::kInt},
    {"daphnet-imu/S01R02.txt.zst", 10, ' ', false, CqlType::kTinyint},
    {"capmetro-buses/2016-11-25.csv.zst", 2, ',', true, CqlType::kDouble},
    {"capmetro-buses/2016-11-25.csv.zst", 5, ',', true, CqlType::kDouble},
    {"nab-metrics/realKnownCause/machine_temperature_system_failure.csv.zst", 1, ',', true,
     CqlType::kDouble},
    {"nab-metrics/realAWSCloudwatch/ec2_cpu_utilization_24ae8d.csv.zst", 1, ',', true,
     CqlType::kDouble},
};

// The numbers of one column; cells that are none (NA) are left out.
std::vector<int64_t> ParseColumn(const std::string& text, const Source& source) {
  std::vector<int64_t> values;
  if (source.delimiter == 0) {
    for (size_t i = 0; i + 8 <= text.size(); i += 8) {
      values.push_back(GetLittle<int64_t>(text.data() + i));
    }
    return values;
  }
  const auto cells = testing::CellsOf(text, source.column, {source.delimiter, source.header});
  if (source.type == CqlType::kDouble) return testing::DoublesOf(cells);
  if (source.type == CqlType::kFloat) return testing::FloatsOf(cells);
  return testing::IntegersOf(cells);
}

// Bits per value in pages of `page_rows`; checks that every value comes back.
double BitsPerValue(const std::vector<int64_t>& values, CqlType type, size_t page_rows) {
  FixedEncoder encoder;
  ColumnMemory memory;
  size_t bytes = 0;
  for (size_t begin = 0; begin < values.size(); begin += page_rows) {
    const size_t count = std::min(page_rows, values.size() - begin);
    const FixedRun run{std::span(values).subspan(begin, count), ShapeOf(type)};
    std::string page;
    const EncodingId encoding = encoder.Encode(run, &memory, &page);
    bytes += page.size();
    ByteReader in(page, "page");
    std::vector<int64_t> got(count);
    DecodeFixed(encoding, run.shape, &in, got);
    EXPECT_TRUE(in.ok()) << in.status().ToString();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), run.values.begin())) << "page at " << begin;
  }
  return 8.0 * static_cast<double>(bytes) / static_cast<double>(values.size());
}

TEST(RealColumns, ComeBackBitForBit) {
  const fs::path dir = testing::RecordingsDir();
  const std::map<std::string, size_t> sizes = ReadManifest(dir);
  if (sizes.empty()) {
    const char* ci = std::getenv("CI");
    ASSERT_FALSE(ci != nullptr && std::string_view(ci) == "true") << "CI needs the full recordings";
    std::printf("NOTE: the full recordings are absent (no %s): columns of tests/data alone\n",
                (dir / "MANIFEST.tsv").c_str());
  }
  size_t tested = 0;
  std::printf("%-68s %6s %7s %7s %7s\n", "column, bits per value in pages of", "values", "60",
              "360", "1024");
  for (const Source& source : kSources) {
    SCOPED_TRACE(source.file);
    const std::string text =
        sizes.empty() ? ReadExcerpt(source.file) : testing::ReadRecording(dir / source.file);
    if (sizes.empty() && text.empty()) continue;
    if (!sizes.empty()) {
      const auto size = sizes.find(source.file);
      ASSERT_NE(size, sizes.end()) << "not in the manifest";
      ASSERT_EQ(text.size(), size->second);
    }
    ++tested;
    const std::vector<int64_t> values = ParseColumn(text, source);
    ASSERT_GE(values.size(), 1000u);
    const double bits60 = BitsPerValue(values, source.type, 60);
    const double bits360 = BitsPerValue(values, source.type, 360);
    const double bits1024 = BitsPerValue(values, source.type, 1024);
    std::printf("%-64s %3zu %6zu %7.1f %7.1f %7.1f\n", source.file, source.column, values.size(),
                bits60, bits360, bits1024);
    EXPECT_LE(bits360, 8.0 * ShapeOf(source.type).byte_width * 1.02);
  }
  EXPECT_GE(tested, sizes.empty() ? 7u : std::size(kSources));
}

}  // namespace
}  // namespace cistern
