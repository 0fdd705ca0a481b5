// The published recordings of CISTERN_SHARED_DIR/data, column by column, for tests and benchmarks
// of the codecs. The files are as published, compressed with zstd.
#ifndef CISTERN_TESTS_SUPPORT_RECORDINGS_H_
#define CISTERN_TESTS_SUPPORT_RECORDINGS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cistern::testing {

// The folder of the recordings: CISTERN_SHARED_DIR/data, else ../shared/data beside the sources.
// It need not be there.
[[nodiscard]] std::filesystem::path RecordingsDir();

// A whole file, uncompressed; empty if it cannot be read.
[[nodiscard]] std::string ReadRecording(const std::filesystem::path& file);

// How a text file is cut into cells.
struct CellFormat {
  char delimiter = ',';
  bool has_header = true;
};

// The cells of column `column`, counted from 0, of the lines that have it; without the line's end.
// They point into `text`.
[[nodiscard]] std::vector<std::string_view> CellsOf(std::string_view text, size_t column,
                                                    CellFormat format);
// The cells that are numbers: as bits of doubles, zero-extended bits of floats, or as they are.
// Others (`NA`, a blank) are left out.
[[nodiscard]] std::vector<int64_t> DoublesOf(const std::vector<std::string_view>& cells);
[[nodiscard]] std::vector<int64_t> FloatsOf(const std::vector<std::string_view>& cells);
[[nodiscard]] std::vector<int64_t> IntegersOf(const std::vector<std::string_view>& cells);

// One column of one data set.
struct RecordedColumn {
  std::string dataset;
  std::string name;
  // A series for each file: no page reaches from one into the next.
  std::vector<std::vector<int64_t>> numbers;   // bits of doubles; of floats if so asked for
  std::vector<std::vector<std::string>> texts;  // cells of a text column
};

// Every column of doubles: a schema column of a data set, or one `.csv` of alp-samples. Empty if
// the recordings are not there.
[[nodiscard]] std::vector<RecordedColumn> DoubleColumns();
// The nine columns of xio-imu, printed from floats, as bits of floats.
[[nodiscard]] std::vector<RecordedColumn> FloatColumns();
// Every column of text.
[[nodiscard]] std::vector<RecordedColumn> TextColumns();

// What zstd makes of `raw` in one frame, in bytes: the compressor that others are compared with.
[[nodiscard]] size_t ZstdBytes(std::string_view raw, int level);

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_RECORDINGS_H_
