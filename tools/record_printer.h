// RecordPrinter: rows of cells as a table for people, CSV or JSON lines.
#ifndef CISTERN_TOOLS_RECORD_PRINTER_H_
#define CISTERN_TOOLS_RECORD_PRINTER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "tools/output.h"

namespace cistern::tool {

enum class PrintFormat { kTable, kCsv, kJsonl };
// "table", "csv"; JSON has an option of its own.
[[nodiscard]] Result<PrintFormat> ParsePrintFormat(std::string_view text);

struct PrintColumn {
  std::string name;
  bool right = false;  // a table aligns it to the right
};

struct PrintCell {
  std::string_view text;
  bool null = false;
  bool bare = false;  // JSON takes it without quotes: numbers, booleans
};

// Bounded memory: a table takes its widths from the first rows.
//
//   table  null is shown as "-"
//   csv    RFC 4180 with LF; null is an empty cell, empty text is ""; read back by
//          `cistern ingest` it gives the same rows
//   JSON   one object a line; null is null
class RecordPrinter {
 public:
  [[nodiscard]] static std::unique_ptr<RecordPrinter> New(PrintFormat format,
                                                          std::vector<PrintColumn> columns,
                                                          Output* output);
  virtual ~RecordPrinter() = default;
  // One cell for each column; the texts are copied.
  virtual void Row(std::span<const PrintCell> cells) = 0;
  // After the last row.
  virtual void Finish() = 0;
};

// The name and the value of each: a table has a line for each, csv and JSON have one record.
struct NamedValue {
  std::string name;
  std::string text;
  bool bare = true;  // as PrintCell has it
};
void PrintValues(const std::vector<NamedValue>& values, PrintFormat format,
                 std::string_view name_column, Output* output);

// Appends `text` as a JSON string with its quotes. Values are UTF-8, since others were refused on
// their way in. Names of files and words of servers may be none: U+FFFD stands for each such byte.
void AppendJsonString(std::string_view text, std::string* out);
// Appends `text` as a CSV cell, quoted where it must be.
void AppendCsvCell(std::string_view text, std::string* out);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_RECORD_PRINTER_H_
