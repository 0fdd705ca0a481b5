#include <fmt/format.h>

#include "tools/line_framer.h"

namespace cistern::tool {
namespace {

// A line without its LF or CRLF.
std::string_view WithoutLineEnd(std::string_view raw) {
  if (raw.ends_with('\n')) raw.remove_suffix(1);
  if (raw.ends_with('\r')) raw.remove_suffix(1);
  return raw;
}

class CsvReader : public RecordReader {
 public:
  CsvReader(Input* input, char delimiter) : framer_(input), delimiter_(delimiter) {
    // Cells without their quotes are never longer than the record: views stay valid.
    unquoted_.reserve(kLineBytesMax);
  }

  ReadOutcome Next(Record* record) override {
    for (;;) {
      record->cells.clear();
      const ReadOutcome outcome = framer_.Next(record);
      if (outcome != ReadOutcome::kRecord) return outcome;
      if (WithoutLineEnd(record->raw).empty()) continue;
      if (record->raw.find('"') == std::string_view::npos) return SplitBare(record);
      return SplitQuoted(record);
    }
  }

 private:
  enum class Parse { kDone, kOpenQuote, kBad };

  ReadOutcome Bad(Record* record, std::string reason) {
    record->cells.clear();
    record->reason = std::move(reason);
    return ReadOutcome::kBad;
  }

  ReadOutcome Checked(Record* record) {
    if (Status s = CheckText(record->raw); !s.ok()) return Bad(record, s.message());
    if (record->cells.size() > kCellCountMax) {
      return Bad(record, fmt::format("more than {} cells", kCellCountMax));
    }
    return ReadOutcome::kRecord;
  }

  ReadOutcome SplitBare(Record* record) {
    std::string_view rest = WithoutLineEnd(record->raw);
    for (;;) {
      const size_t end = rest.find(delimiter_);
      record->cells.push_back({{}, rest.substr(0, end), CellForm::kBare});
      if (end == std::string_view::npos) return Checked(record);
      rest.remove_prefix(end + 1);
    }
  }

  // A record with quotes may go on over line ends: it is taken from the bytes ahead.
  ReadOutcome SplitQuoted(Record* record) {
    const size_t line_bytes = record->raw.size();
    for (;;) {
      size_t bytes = 0;
      uint64_t lines = 0;
      const std::string_view ahead = framer_.Ahead().substr(0, kLineBytesMax);
      const Parse parse = ParseQuoted(ahead, record, &bytes, &lines);
      if (parse == Parse::kDone) {
        framer_.Extend(record, bytes, lines);
        return Checked(record);
      }
      if (parse == Parse::kBad) return ReadOutcome::kBad;
      const Fill fill = ahead.size() >= kLineBytesMax ? Fill::kEnd : framer_.Grow();
      framer_.Extend(record, line_bytes, 1);
      if (fill == Fill::kEnd) return Bad(record, "a quote is opened and never closed");
      if (fill == Fill::kData) continue;
      framer_.Extend(record, 0, 0);  // the same line again, at the next call
      if (fill == Fill::kIdle) return ReadOutcome::kIdle;
      return fill == Fill::kInterrupted ? ReadOutcome::kInterrupted : ReadOutcome::kFailed;
    }
  }

  Parse ParseQuoted(std::string_view text, Record* record, size_t* bytes, uint64_t* lines) {
    record->cells.clear();
    unquoted_.clear();
    *lines = 0;
    size_t i = 0;
    for (;;) {
      bool last = false;
      if (i < text.size() && text[i] == '"') {
        const size_t first = unquoted_.size();
        if (!TakeQuotes(text, &i, lines)) return Parse::kOpenQuote;
        record->cells.push_back(
            {{}, std::string_view(unquoted_).substr(first), CellForm::kQuoted});
        if (!AtCellEnd(text, i)) {
          Bad(record, fmt::format("cell {}: text after its closing quote",
                                  record->cells.size()));
          return Parse::kBad;
        }
      } else {
        const size_t end = CellEnd(text, i);
        std::string_view cell = text.substr(i, end - i);
        if ((end == text.size() || text[end] == '\n') && cell.ends_with('\r')) {
          cell.remove_suffix(1);
        }
        if (cell.find('"') != std::string_view::npos) {
          Bad(record, fmt::format("cell {}: a quote inside a cell that does not begin with one",
                                  record->cells.size() + 1));
          return Parse::kBad;
        }
        record->cells.push_back({{}, cell, CellForm::kBare});
        i = end;
      }
      if (i < text.size() && text[i] == '\r') ++i;
      last = i >= text.size() || text[i] == '\n';
      if (last) {
        *bytes = i < text.size() ? i + 1 : i;
        ++*lines;
        return Parse::kDone;
      }
      ++i;  // the delimiter
    }
  }

  // From the opening quote at *i to behind the closing one. False if it never comes.
  bool TakeQuotes(std::string_view text, size_t* i, uint64_t* lines) {
    for (size_t k = *i + 1; k < text.size(); ++k) {
      if (text[k] == '"') {
        if (k + 1 >= text.size() || text[k + 1] != '"') {
          *i = k + 1;
          return true;
        }
        ++k;
      } else if (text[k] == '\n') {
        ++*lines;
      }
      unquoted_.push_back(text[k]);
    }
    return false;
  }

  bool AtCellEnd(std::string_view text, size_t i) const {
    if (i >= text.size() || text[i] == delimiter_ || text[i] == '\n') return true;
    return text[i] == '\r' && (i + 1 >= text.size() || text[i + 1] == '\n');
  }
  size_t CellEnd(std::string_view text, size_t i) const {
    while (i < text.size() && text[i] != delimiter_ && text[i] != '\n') ++i;
    return i;
  }

  LineFramer framer_;
  const char delimiter_;
  std::string unquoted_;
};

}  // namespace

std::unique_ptr<RecordReader> NewCsvReader(Input* input, char delimiter) {
  return std::make_unique<CsvReader>(input, delimiter);
}

}  // namespace cistern::tool
