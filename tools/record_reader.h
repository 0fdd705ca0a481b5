// RecordReader: one record of an input after another, as named or numbered cells.
#ifndef CISTERN_TOOLS_RECORD_READER_H_
#define CISTERN_TOOLS_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/status.h"
#include "tools/csv_dialect.h"
#include "tools/input.h"

namespace cistern::tool {

// A line of an input, line end included, may be this long. A longer one is rejected, and read
// on in pieces, so that memory stays bounded whatever the file holds.
inline constexpr size_t kLineBytesMax = 64 * 1024;
// Cells of one record.
inline constexpr size_t kCellCountMax = 4096;

// How a cell was written. A --null token means absent only where it cannot be meant as text.
enum class CellForm : uint8_t {
  kBare,    // without quotes: a number, a word, a JSON number or boolean
  kQuoted,  // CSV or line protocol text in quotes: always text, never a null token
  kString,  // a JSON string: JSON cannot write a bare word, so tokens are looked for here too
  kNull,    // JSON null
  kNested,  // a JSON array or object, as a CQL literal: for collections alone
};

struct Cell {
  std::string_view name;  // where the format names cells (jsonl, line); else empty
  std::string_view text;  // without quotes and escapes
  CellForm form = CellForm::kBare;
};

enum class ReadOutcome {
  kRecord,       // cells are valid
  kBad,          // this record cannot be read: see reason; goes on with the next
  kIdle,         // nothing came for a while; call again
  kEnd,          //
  kInterrupted,  //
  kFailed,       // the input cannot be read further: see input status
};

// One record. All views point into the reader and are valid until its next call.
struct Record {
  uint64_t line = 0;         // of its first line, from 1
  uint64_t number = 0;       // from 1, without the header; bad records count. Set by IngestRun
  std::string_view raw;      // as it stands in the input, line end included
  std::vector<Cell> cells;   // in the order of the record
  std::string reason;        // why it is bad
  bool raw_continues = false;  // with kBad: the line was too long, the next record is its rest
};

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  [[nodiscard]] virtual ReadOutcome Next(Record* record) = 0;

  // Reads on to the first record, which the next call of Next returns then: kRecord. Otherwise
  // as Next.
  [[nodiscard]] virtual ReadOutcome ReadPreamble(Record*) { return ReadOutcome::kRecord; }
  // What stood before the first record and is passed over by its place, not by its looks: a copy
  // of some records of the input must begin with it. Complete from the first record on.
  [[nodiscard]] virtual std::string_view preamble() const { return {}; }
};

// RFC 4180 in a dialect: quotes, doubled quotes, delimiters and line ends in quotes, LF or CRLF, a
// UTF-8 byte order mark. Blank lines are skipped. A quote that is never closed spoils its own line
// only. A line `sep=;` at the very beginning names the delimiter.
[[nodiscard]] std::unique_ptr<RecordReader> NewCsvReader(Input* input, CsvDialect dialect);
// One JSON object a line, or, in a document, objects one after another and arrays of them over any
// number of lines. NaN, Infinity and -Infinity are taken for numbers, as Python writes them.
//
// A nested array or object is a CQL collection literal. If one of `names` leads into it, its
// members are cells of their own instead, `sensor.temp`, those of an array by their place,
// `samples.0`.
enum class JsonLayout : uint8_t { kLines, kDocument };
[[nodiscard]] std::unique_ptr<RecordReader> NewJsonReader(
    Input* input, JsonLayout layout = JsonLayout::kLines,
    const std::vector<std::string>& names = {});

// A line without its LF or CRLF, if it has one.
[[nodiscard]] inline std::string_view WithoutLineEnd(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Cells that line_protocol_reader.h has beside tags and fields.
inline constexpr std::string_view kMeasurementCell = "measurement()";
inline constexpr std::string_view kTimestampCell = "timestamp()";

// OK, or why `line` may not be stored: a NUL byte, or bytes that are not UTF-8, and where.
[[nodiscard]] Status CheckText(std::string_view line);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_RECORD_READER_H_
