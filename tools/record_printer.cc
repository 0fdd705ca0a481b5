#include "tools/record_printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/cql/wire_value.h"

namespace cistern::tool {
namespace {

constexpr size_t kWidthSampleRows = 256;
constexpr size_t kWidthMax = 60;  // a wider cell shifts its own row only

// The bytes of the character at the front of `text`; 0 if none is there.
size_t CharacterBytes(std::string_view text) {
  for (size_t count = 1; count <= std::min<size_t>(text.size(), 4); ++count) {
    if (IsUtf8(text.substr(0, count))) return count;
  }
  return 0;
}

// With U+FFFD for each byte that is of no character.
std::string AsUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t count = CharacterBytes(text);
    out += count == 0 ? "\xEF\xBF\xBD" : text.substr(0, count);
    text.remove_prefix(std::max<size_t>(count, 1));
  }
  return out;
}

// Code points: near enough to what a terminal shows.
size_t ShownWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<uint8_t>(c) & 0xC0) != 0x80;
  }));
}

class TablePrinter : public RecordPrinter {
 public:
  TablePrinter(std::vector<PrintColumn> columns, Output* output)
      : columns_(std::move(columns)), output_(output) {
    for (const PrintColumn& column : columns_) widths_.push_back(ShownWidth(column.name));
  }

  void Row(std::span<const PrintCell> cells) override {
    std::vector<std::string> texts;
    texts.reserve(cells.size());
    for (const PrintCell& cell : cells) texts.push_back(cell.null ? "-" : Visible(cell.text));
    if (widths_fixed_) {
      Print(texts);
      return;
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      widths_[i] = std::max(widths_[i], std::min(ShownWidth(texts[i]), kWidthMax));
    }
    held_.push_back(std::move(texts));
    if (held_.size() >= kWidthSampleRows) PrintHeld();
  }
  void Finish() override {
    if (!widths_fixed_) PrintHeld();
  }

 private:
  // A table must not be torn by what a text holds.
  static std::string Visible(std::string_view text) {
    std::string visible;
    visible.reserve(text.size());
    for (const char c : text) {
      if (static_cast<uint8_t>(c) >= 0x20 && c != 0x7f) {
        visible += c;
      } else {
        visible += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
      }
    }
    return visible;
  }
  void PrintHeld() {
    widths_fixed_ = true;
    std::vector<std::string> names;
    for (const PrintColumn& column : columns_) names.push_back(column.name);
    Print(names);
    std::string rule;
    for (size_t i = 0; i < widths_.size(); ++i) {
      rule += (i == 0 ? "" : "  ") + std::string(widths_[i], '-');
    }
    output_->Write(rule + "\n");
    for (const std::vector<std::string>& row : held_) Print(row);
    held_.clear();
  }
  void Print(const std::vector<std::string>& texts) {
    std::string line;
    for (size_t i = 0; i < texts.size(); ++i) {
      const size_t width = ShownWidth(texts[i]);
      const std::string padding(widths_[i] > width ? widths_[i] - width : 0, ' ');
      if (i > 0) line += "  ";
      line += columns_[i].right ? padding + texts[i] : texts[i] + padding;
    }
    while (line.ends_with(' ')) line.pop_back();
    output_->Write(line + "\n");
  }

  std::vector<PrintColumn> columns_;
  Output* output_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> held_;
  bool widths_fixed_ = false;
};

class CsvPrinter : public RecordPrinter {
 public:
  CsvPrinter(const std::vector<PrintColumn>& columns, Output* output) : output_(output) {
    for (const PrintColumn& column : columns) {
      if (!line_.empty()) line_ += ',';
      AppendCsvCell(column.name, &line_);
    }
    output_->Write(line_ + "\n");
  }
  void Row(std::span<const PrintCell> cells) override {
    line_.clear();
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line_ += ',';
      if (!cells[i].null) AppendCsvCell(cells[i].text, &line_);
    }
    line_ += '\n';
    output_->Write(line_);
  }
  void Finish() override {}

 private:
  Output* output_;
  std::string line_;
};

class JsonlPrinter : public RecordPrinter {
 public:
  JsonlPrinter(const std::vector<PrintColumn>& columns, Output* output) : output_(output) {
    for (const PrintColumn& column : columns) {
      std::string key = keys_.empty() ? "{" : ",";
      AppendJsonString(column.name, &key);
      keys_.push_back(key + ":");
    }
  }
  void Row(std::span<const PrintCell> cells) override {
    line_.clear();
    for (size_t i = 0; i < cells.size(); ++i) {
      line_ += keys_[i];
      if (cells[i].null) {
        line_ += "null";
      } else if (cells[i].bare) {
        line_ += cells[i].text;
      } else {
        AppendJsonString(cells[i].text, &line_);
      }
    }
    line_ += "}\n";
    output_->Write(line_);
  }
  void Finish() override {}

 private:
  Output* output_;
  std::vector<std::string> keys_;
  std::string line_;
};

}  // namespace

Result<PrintFormat> ParsePrintFormat(std::string_view text) {
  if (text == "table") return PrintFormat::kTable;
  if (text == "csv") return PrintFormat::kCsv;
  return Status::InvalidArgument(
      fmt::format("--format '{}' is not one of table, csv; --json prints JSON", text));
}

std::unique_ptr<RecordPrinter> RecordPrinter::New(PrintFormat format,
                                                  std::vector<PrintColumn> columns,
                                                  Output* output) {
  switch (format) {
    case PrintFormat::kTable: return std::make_unique<TablePrinter>(std::move(columns), output);
    case PrintFormat::kCsv: return std::make_unique<CsvPrinter>(columns, output);
    case PrintFormat::kJsonl: break;
  }
  return std::make_unique<JsonlPrinter>(columns, output);
}

void PrintValues(const std::vector<NamedValue>& values, PrintFormat format,
                 std::string_view name_column, Output* output) {
  if (format == PrintFormat::kTable) {
    const auto printer =
        RecordPrinter::New(format, {{std::string(name_column)}, {"value", true}}, output);
    for (const NamedValue& value : values) {
      const PrintCell cells[] = {{value.name}, {value.text, false, value.bare}};
      printer->Row(cells);
    }
    printer->Finish();
    return;
  }
  std::vector<PrintColumn> columns;
  std::vector<PrintCell> cells;
  for (const NamedValue& value : values) {
    columns.push_back({value.name, true});
    cells.push_back({value.text, false, value.bare});
  }
  const auto printer = RecordPrinter::New(format, std::move(columns), output);
  printer->Row(cells);
  printer->Finish();
}

void AppendJsonString(std::string_view text, std::string* out) {
  std::string mended;
  if (!IsUtf8(text)) text = mended = AsUtf8(text);
  *out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': *out += "\\\""; break;
      case '\\': *out += "\\\\"; break;
      case '\n': *out += "\\n"; break;
      case '\r': *out += "\\r"; break;
      case '\t': *out += "\\t"; break;
      default:
        if (static_cast<uint8_t>(c) < 0x20) {
          *out += fmt::format("\\u{:04x}", static_cast<uint8_t>(c));
        } else {
          *out += c;
        }
    }
  }
  *out += '"';
}

void AppendCsvCell(std::string_view text, std::string* out) {
  const bool spaced = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!text.empty() && !spaced && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    *out += text;
    return;
  }
  *out += '"';
  for (const char c : text) {
    if (c == '"') *out += '"';
    *out += c;
  }
  *out += '"';
}

}  // namespace cistern::tool
