// RecordReader: one record of an input after another, as named or numbered cells.
#ifndef CISTERN_TOOLS_RECORD_READER_H_
#define CISTERN_TOOLS_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/status.h"
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
  std::string_view raw;      // as it stands in the input, line end included
  std::vector<Cell> cells;   // in the order of the record
  std::string reason;        // why it is bad
  bool raw_continues = false;  // with kBad: the line was too long, the next record is its rest
};

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  [[nodiscard]] virtual ReadOutcome Next(Record* record) = 0;
};

// RFC 4180 with any single-byte delimiter: quotes, doubled quotes, delimiters and line ends in
// quotes, LF or CRLF, a UTF-8 byte order mark. Blank lines are skipped. A quote that is never
// closed spoils its own line only.
[[nodiscard]] std::unique_ptr<RecordReader> NewCsvReader(Input* input, char delimiter);
// One flat JSON object a line. Nested arrays and objects become CQL collection literals.
[[nodiscard]] std::unique_ptr<RecordReader> NewJsonReader(Input* input);

// Cells that line_protocol_reader.h has beside tags and fields.
inline constexpr std::string_view kMeasurementCell = "measurement()";
inline constexpr std::string_view kTimestampCell = "timestamp()";

// OK, or why `line` may not be stored: a NUL byte, or bytes that are not UTF-8, and where.
[[nodiscard]] Status CheckText(std::string_view line);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_RECORD_READER_H_
