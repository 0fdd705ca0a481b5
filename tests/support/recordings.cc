#include "tests/support/recordings.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

struct ColumnSource {
  const char* dataset;
  CellFormat format;
  const char* name;
  size_t cell;
};

constexpr CellFormat kCsv = {',', true};
constexpr CellFormat kBalloon = {';', true};

constexpr ColumnSource kDoubles[] = {
    {"beijing-air", kCsv, "PM2.5", 5},
    {"beijing-air", kCsv, "PM10", 6},
    {"beijing-air", kCsv, "SO2", 7},
    {"beijing-air", kCsv, "NO2", 8},
    {"beijing-air", kCsv, "CO", 9},
    {"beijing-air", kCsv, "O3", 10},
    {"beijing-air", kCsv, "TEMP", 11},
    {"beijing-air", kCsv, "PRES", 12},
    {"beijing-air", kCsv, "DEWP", 13},
    {"beijing-air", kCsv, "RAIN", 14},
    {"beijing-air", kCsv, "WSPM", 16},
    {"capmetro-buses", kCsv, "speed", 2},
    {"capmetro-buses", kCsv, "latitude", 5},
    {"capmetro-buses", kCsv, "longitude", 6},
    {"metro-traffic", kCsv, "temp", 1},
    {"metro-traffic", kCsv, "rain_1h", 2},
    {"metro-traffic", kCsv, "snow_1h", 3},
    {"nab-metrics", kCsv, "value", 1},
    {"balloon-telemetry", kBalloon, "V_nicr", 1},
    {"balloon-telemetry", kBalloon, "temperature", 2},
    {"balloon-telemetry", kBalloon, "pressure", 3},
    {"balloon-telemetry", kBalloon, "V_pile_intel", 4},
    {"balloon-telemetry", kBalloon, "V_alim_nicr", 5},
    {"balloon-telemetry", kBalloon, "V_5v", 6},
    {"balloon-telemetry", kBalloon, "I_nicr", 7},
    {"balloon-telemetry", kBalloon, "vitesse", 8},
    {"balloon-telemetry", kBalloon, "COG", 9},
    {"balloon-telemetry", kBalloon, "vitesse_verticale", 10},
    {"balloon-telemetry", kBalloon, "latitude", 12},
    {"balloon-telemetry", kBalloon, "longitude", 13},
    {"balloon-telemetry", kBalloon, "altitude", 14},
};

constexpr ColumnSource kFloats[] = {
    {"xio-imu", kCsv, "gyroscope X", 1},     {"xio-imu", kCsv, "gyroscope Y", 2},
    {"xio-imu", kCsv, "gyroscope Z", 3},     {"xio-imu", kCsv, "accelerometer X", 4},
    {"xio-imu", kCsv, "accelerometer Y", 5}, {"xio-imu", kCsv, "accelerometer Z", 6},
    {"xio-imu", kCsv, "magnetometer X", 7},  {"xio-imu", kCsv, "magnetometer Y", 8},
    {"xio-imu", kCsv, "magnetometer Z", 9},
};

constexpr ColumnSource kTexts[] = {
    {"beijing-air", kCsv, "wd", 15},
    {"beijing-air", kCsv, "station", 17},
    {"capmetro-buses", kCsv, "vehicle_id", 0},
    {"capmetro-buses", kCsv, "route_id", 3},
    {"capmetro-buses", kCsv, "trip_id", 4},
    {"capmetro-buses", kCsv, "trip_headsign", 7},
    {"metro-traffic", kCsv, "holiday", 0},
    {"metro-traffic", kCsv, "weather_main", 5},
    {"metro-traffic", kCsv, "weather_description", 6},
    {"balloon-telemetry", kBalloon, "etat", 11},
    {"balloon-telemetry", kBalloon, "heure_GPS", 16},
};

// The files of a data set, in order of their names.
std::vector<fs::path> FilesOf(const std::string& dataset) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(RecordingsDir() / dataset, error)) {
    if (entry.path().extension() == ".zst") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The columns of a list; each file is read once for all of its columns.
template <typename AddSeries>
std::vector<RecordedColumn> ReadColumns(std::span<const ColumnSource> sources, AddSeries add) {
  std::vector<RecordedColumn> columns;
  for (size_t begin = 0, end; begin < sources.size(); begin = end) {
    const std::string dataset = sources[begin].dataset;
    const size_t first = columns.size();
    for (end = begin; end < sources.size() && sources[end].dataset == dataset; ++end) {
      columns.push_back({dataset, sources[end].name, {}, {}});
    }
    for (const fs::path& file : FilesOf(dataset)) {
      const std::string text = ReadRecording(file);
      for (size_t s = begin; s < end; ++s) {
        add(CellsOf(text, sources[s].cell, sources[s].format), &columns[first + s - begin]);
      }
    }
    if (columns.back().numbers.empty() && columns.back().texts.empty()) return {};
  }
  return columns;
}

template <typename T>
std::vector<T> NumbersOf(const std::vector<std::string_view>& cells) {
  std::vector<T> numbers;
  for (const std::string_view cell : cells) {
    T v;
    const char* end = cell.data() + cell.size();
    const auto parsed = std::from_chars(cell.data(), end, v);
    if (parsed.ec == std::errc() && parsed.ptr == end) numbers.push_back(v);
  }
  return numbers;
}

}  // namespace

fs::path RecordingsDir() {
  if (const char* shared = std::getenv("CISTERN_SHARED_DIR")) return fs::path(shared) / "data";
  const char* source = std::getenv("CISTERN_SOURCE_DIR");
  return fs::path(source != nullptr ? source : ".") / ".." / "shared" / "data";
}

std::string ReadRecording(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string frame{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  std::string text;
  ZSTD_inBuffer input = {frame.data(), frame.size(), 0};
  std::string buffer(ZSTD_DStreamOutSize(), '\0');
  while (input.pos < input.size) {
    ZSTD_outBuffer output = {buffer.data(), buffer.size(), 0};
    if (ZSTD_isError(ZSTD_decompressStream(context.get(), &output, &input)) != 0) return {};
    text.append(buffer, 0, output.pos);
  }
  return text;
}

std::vector<std::string_view> CellsOf(std::string_view text, size_t column, CellFormat format) {
  std::vector<std::string_view> cells;
  for (size_t line = format.has_header ? text.find('\n') + 1 : 0; line < text.size();) {
    const size_t next = std::min(text.find('\n', line), text.size()) + 1;
    size_t end = next - 1;
    if (end > line && text[end - 1] == '\r') --end;
    size_t from = line;
    for (size_t c = 0; c < column && from <= end; ++c) {
      from = std::min(text.find(format.delimiter, from), end) + 1;
    }
    if (from <= end) {
      const size_t to = std::min(text.find(format.delimiter, from), end);
      cells.push_back(text.substr(from, to - from));
    }
    line = next;
  }
  return cells;
}

std::vector<int64_t> DoublesOf(const std::vector<std::string_view>& cells) {
  std::vector<int64_t> bits;
  for (const double v : NumbersOf<double>(cells)) bits.push_back(std::bit_cast<int64_t>(v));
  return bits;
}

std::vector<int64_t> FloatsOf(const std::vector<std::string_view>& cells) {
  std::vector<int64_t> bits;
  for (const float v : NumbersOf<float>(cells)) bits.push_back(std::bit_cast<uint32_t>(v));
  return bits;
}

std::vector<int64_t> IntegersOf(const std::vector<std::string_view>& cells) {
  return NumbersOf<int64_t>(cells);
}

std::vector<RecordedColumn> DoubleColumns() {
  std::vector<RecordedColumn> columns =
      ReadColumns(kDoubles, [](const std::vector<std::string_view>& cells, RecordedColumn* column) {
        column->numbers.push_back(DoublesOf(cells));
      });
  if (columns.empty()) return columns;
  for (const fs::path& file : FilesOf("alp-samples")) {
    const fs::path name = file.stem();
    if (name.extension() != ".csv") continue;
    const std::string text = ReadRecording(file);
    columns.push_back(
        {"alp-samples", name.stem().string(), {DoublesOf(CellsOf(text, 0, {',', false}))}, {}});
  }
  return columns;
}

std::vector<RecordedColumn> FloatColumns() {
  return ReadColumns(kFloats,
                     [](const std::vector<std::string_view>& cells, RecordedColumn* column) {
                       column->numbers.push_back(FloatsOf(cells));
                     });
}

std::vector<RecordedColumn> TextColumns() {
  return ReadColumns(kTexts,
                     [](const std::vector<std::string_view>& cells, RecordedColumn* column) {
                       column->texts.emplace_back(cells.begin(), cells.end());
                     });
}

size_t ZstdBytes(std::string_view raw, int level) {
  std::string frame(ZSTD_compressBound(raw.size()), '\0');
  return ZSTD_compress(frame.data(), frame.size(), raw.data(), raw.size(), level);
}

}  // namespace cistern::testing
