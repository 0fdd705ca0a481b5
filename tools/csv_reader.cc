#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "tools/csv_dialect.h"
#include "tools/line_framer.h"

namespace cistern::tool {
namespace {

class CsvReader : public RecordReader {
 public:
  CsvReader(Input* input, CsvDialect dialect) : framer_(input), dialect_(std::move(dialect)) {
    // Cells without their quotes are never longer than the record: views stay valid.
    unquoted_.reserve(kLineBytesMax);
    if (dialect_.escape != '\0') marks_ += dialect_.escape;
  }

  ReadOutcome Next(Record* record) override {
    if (!begun_) {
      const ReadOutcome outcome = ReadPreamble(record);
      if (outcome != ReadOutcome::kRecord) return outcome;
    }
    for (;;) {
      record->cells.clear();
      const ReadOutcome outcome = framer_.Next(record);
      if (outcome != ReadOutcome::kRecord) return outcome;
      if (WithoutLineEnd(record->raw).empty() || IsComment(record->raw)) continue;
      return HoldsMarks(record->raw) ? SplitMarked(record) : SplitBare(record);
    }
  }

  ReadOutcome ReadPreamble(Record* record) override {
    while (!begun_) {
      record->cells.clear();
      const ReadOutcome outcome = framer_.Next(record);
      if (outcome != ReadOutcome::kRecord && outcome != ReadOutcome::kBad) return outcome;
      const bool names_separator = TakeSeparator(*record);
      const bool agrees = separator_ == dialect_.delimiter;
      if (names_separator && !agrees) return Bad(record, SeparatorConflict());
      if (names_separator || skipped_ < dialect_.skip_lines) {
        Keep(*record);
        if (!record->raw_continues && skipped_ < dialect_.skip_lines) ++skipped_;
        continue;
      }
      framer_.Extend(record, 0, 0);  // the same line again, at the next call
      begun_ = true;
    }
    return ReadOutcome::kRecord;
  }

  std::string_view preamble() const override { return preamble_; }

 private:
  // kOpen: the record goes on behind the text that is there.
  enum class Parse { kDone, kOpen, kBad };

  // --- Before the first record

  // True if this is the first line of the input and a `sep=` line. Its separator becomes the
  // delimiter, unless a person gave one.
  bool TakeSeparator(const Record& record) {
    if (std::exchange(seen_first_line_, true)) return false;
    const std::optional<char> separator = SeparatorOf(WithoutLineEnd(record.raw));
    if (!separator) return false;
    separator_ = *separator;
    // Who skips the line and names a delimiter has seen what the line says.
    if (!dialect_.delimiter_given) dialect_.delimiter = separator_;
    if (dialect_.skip_lines > 0) separator_ = dialect_.delimiter;
    return true;
  }
  std::string SeparatorConflict() const {
    return fmt::format("the input says sep={}, and --delimiter '{}' says otherwise: leave it out, "
                       "or pass over the line with --skip-lines 1", separator_,
                       dialect_.delimiter);
  }

  // A copy of the lines before the header, bounded: beyond the bound empty lines stand for them.
  void Keep(const Record& record) {
    if (preamble_.size() + record.raw.size() <= kLineBytesMax) {
      preamble_ += record.raw;
    } else if (!record.raw_continues) {
      preamble_ += '\n';
    }
  }

  // --- A record

  bool IsComment(std::string_view raw) const {
    return !dialect_.comment.empty() && raw.starts_with(dialect_.comment);
  }
  bool HoldsMarks(std::string_view raw) const {
    if (raw.find('"') != std::string_view::npos) return true;
    return dialect_.escape != '\0' && raw.find(dialect_.escape) != std::string_view::npos;
  }

  ReadOutcome Bad(Record* record, std::string reason) {
    record->cells.clear();
    record->reason = std::move(reason);
    return ReadOutcome::kBad;
  }

  ReadOutcome Checked(Record* record) {
    if (Status s = CheckText(record->raw); !s.ok()) return Bad(record, s.message());
    // A control character may be spelled (\x00); text with one is refused here as in a raw line.
    for (size_t i = 0; HasControls() && i < record->cells.size(); ++i) {
      if (record->cells[i].text.find('\0') == std::string_view::npos) continue;
      return Bad(record, fmt::format("cell {} holds a NUL byte", i + 1));
    }
    if (record->cells.size() > kCellCountMax) {
      return Bad(record, fmt::format("more than {} cells", kCellCountMax));
    }
    return ReadOutcome::kRecord;
  }

  ReadOutcome SplitBare(Record* record) {
    std::string_view rest = WithoutLineEnd(record->raw);
    for (;;) {
      const size_t end = rest.find(dialect_.delimiter);
      record->cells.push_back({{}, rest.substr(0, end), CellForm::kBare});
      if (end == std::string_view::npos) return Checked(record);
      rest.remove_prefix(end + 1);
    }
  }

  // A record with quotes or escapes may go on over line ends: it is taken from the bytes ahead.
  ReadOutcome SplitMarked(Record* record) {
    const size_t line_bytes = record->raw.size();
    bool ended = false;  // no byte will follow those that are there
    for (;;) {
      size_t bytes = 0;
      uint64_t lines = 0;
      const std::string_view ahead = framer_.Ahead().substr(0, kLineBytesMax);
      const Parse parse = ParseMarked(ahead, ended, record, &bytes, &lines);
      if (parse == Parse::kDone) {
        framer_.Extend(record, bytes, lines);
        return Checked(record);
      }
      if (parse == Parse::kBad) return ReadOutcome::kBad;
      const Fill fill = ended || ahead.size() >= kLineBytesMax ? Fill::kEnd : framer_.Grow();
      framer_.Extend(record, line_bytes, 1);
      if (fill == Fill::kEnd) {
        if (ended || ahead.size() >= kLineBytesMax) {
          return Bad(record, "a quote is opened and never closed");
        }
        ended = true;
        continue;
      }
      if (fill == Fill::kData) continue;
      framer_.Extend(record, 0, 0);  // the same line again, at the next call
      if (fill == Fill::kIdle) return ReadOutcome::kIdle;
      return fill == Fill::kInterrupted ? ReadOutcome::kInterrupted : ReadOutcome::kFailed;
    }
  }

  Parse ParseMarked(std::string_view text, bool ended, Record* record, size_t* bytes,
                    uint64_t* lines) {
    record->cells.clear();
    unquoted_.clear();
    *lines = 0;
    size_t i = 0;
    for (;;) {
      const bool quoted = i < text.size() && text[i] == '"';
      const Parse parse = quoted ? TakeQuotedCell(text, &i, record, lines)
                                 : TakeBareCell(text, ended, &i, record, lines);
      if (parse != Parse::kDone) return parse;
      if (i < text.size() && text[i] == '\r') ++i;
      // The first line is whole, so the text's end is the record's. A later one may be cut off.
      if (i >= text.size() && *lines > 0 && !ended) return Parse::kOpen;
      if (i >= text.size() || text[i] == '\n') {
        *bytes = i < text.size() ? i + 1 : i;
        ++*lines;
        return Parse::kDone;
      }
      ++i;  // the delimiter
    }
  }

  Parse TakeQuotedCell(std::string_view text, size_t* i, Record* record, uint64_t* lines) {
    const size_t first = unquoted_.size();
    if (!TakeQuotes(text, i, lines)) return Parse::kOpen;
    record->cells.push_back({{}, std::string_view(unquoted_).substr(first), CellForm::kQuoted});
    if (AtCellEnd(text, *i)) return Parse::kDone;
    Bad(record, fmt::format("cell {}: text after its closing quote{}", record->cells.size(),
                            EscapeAdvice(text, *i - 1)));
    return Parse::kBad;
  }

  // From the opening quote at *i to behind the closing one. False if it never comes.
  bool TakeQuotes(std::string_view text, size_t* i, uint64_t* lines) {
    for (size_t k = *i + 1;; ++k) {
      const size_t mark =
          dialect_.escape == '\0' ? text.find('"', k) : text.find_first_of(marks_, k);
      if (mark == std::string_view::npos) return false;
      const std::string_view plain = text.substr(k, mark - k);
      unquoted_.append(plain);
      *lines += static_cast<uint64_t>(std::count(plain.begin(), plain.end(), '\n'));
      k = mark;
      if (IsEscape(text[k])) {
        if (k + 1 >= text.size()) return false;
        TakeEscaped(text, &k, lines);
        continue;
      }
      *i = k + 1;
      if (*i >= text.size() || text[*i] != '"') return true;
      unquoted_.push_back('"');
      ++k;
    }
  }

  Parse TakeBareCell(std::string_view text, bool ended, size_t* i, Record* record,
                     uint64_t* lines) {
    size_t end = *i;
    while (end < text.size() && text[end] != dialect_.delimiter && text[end] != '\n') ++end;
    std::string_view cell = text.substr(*i, end - *i);
    if (dialect_.escape != '\0' && cell.find(dialect_.escape) != std::string_view::npos) {
      return TakeEscapedCell(text, ended, i, record, lines);
    }
    if (const size_t quote = cell.find('"'); quote != std::string_view::npos) {
      return StrayQuote(text, *i + quote, record);
    }
    *i = end;
    PushBare(text, end, cell, record);
    return Parse::kDone;
  }

  // As TakeBareCell, of a cell that is shorter without its escapes.
  Parse TakeEscapedCell(std::string_view text, bool ended, size_t* i, Record* record,
                        uint64_t* lines) {
    const size_t first = unquoted_.size();
    size_t k = *i;
    for (; k < text.size() && text[k] != dialect_.delimiter && text[k] != '\n'; ++k) {
      if (text[k] == '"') return StrayQuote(text, k, record);
      if (!IsEscape(text[k])) {
        unquoted_.push_back(text[k]);
        continue;
      }
      if (k + 1 >= text.size() && !ended) return Parse::kOpen;
      TakeEscaped(text, &k, lines);
    }
    *i = k;
    PushBare(text, k, std::string_view(unquoted_).substr(first), record);
    return Parse::kDone;
  }

  // `end`: behind the cell in `text`. The CR of a line end is none of the cell, an escaped one is.
  static void PushBare(std::string_view text, size_t end, std::string_view cell, Record* record) {
    const bool at_line_end = end >= text.size() || text[end] == '\n';
    if (at_line_end && !cell.empty() && text[end - 1] == '\r') cell.remove_suffix(1);
    record->cells.push_back({{}, cell, CellForm::kBare});
  }

  Parse StrayQuote(std::string_view text, size_t i, Record* record) {
    Bad(record, fmt::format("cell {}: a quote inside a cell that does not begin with one{}",
                            record->cells.size() + 1, EscapeAdvice(text, i)));
    return Parse::kBad;
  }

  // --- Escapes

  bool HasControls() const { return dialect_.escapes_controls || dialect_.escapes_twice; }
  bool IsEscape(char c) const { return c == dialect_.escape && c != '\0'; }

  // Appends what the escape at *k and the characters behind it stand for; *k is then the last
  // of them.
  void TakeEscaped(std::string_view text, size_t* k, uint64_t* lines) {
    if (*k + 1 >= text.size()) {
      unquoted_.push_back(text[*k]);
      return;
    }
    const char next = text[*k + 1];
    const bool crlf = next == '\r' && *k + 2 < text.size() && text[*k + 2] == '\n';
    if (crlf) unquoted_.push_back('\r');
    if (crlf) ++*k;
    if (crlf || next == '\n') ++*lines;
    if (crlf || next == '\n' || next == '"' || next == dialect_.delimiter || IsEscape(next)) {
      ++*k;
      if (dialect_.escapes_twice && IsEscape(next)) return TakeDoubled(text, k);
      unquoted_.push_back(text[*k]);
      return;
    }
    const bool is_control = dialect_.escapes_controls && TakeControl(text, k);
    if (is_control) return;
    if (dialect_.escapes_controls) ++*k;
    unquoted_.push_back(text[*k]);
  }

  // A backslash that the writer doubled, with *k at the second one: one of two, or of a control
  // character.
  void TakeDoubled(std::string_view text, size_t* k) {
    const std::string_view behind = text.substr(*k + 1, 2);
    if (TakeControl(text, k)) return;
    unquoted_.push_back(text[*k]);
    if (behind.size() == 2 && IsEscape(behind[0]) && IsEscape(behind[1])) *k += 2;
  }

  // \n, \r, \t or \xHH at *k, which is then its last character. False if it is none.
  bool TakeControl(std::string_view text, size_t* k) {
    constexpr std::string_view kLetters = "nrt";
    constexpr std::string_view kControls = "\n\r\t";
    if (*k + 1 >= text.size()) return false;
    if (text[*k + 1] == 'x') return TakeHexControl(text, k);
    const size_t control = kLetters.find(text[*k + 1]);
    if (control == std::string_view::npos) return false;
    unquoted_.push_back(kControls[control]);
    ++*k;
    return true;
  }

  // \xHH, a code point below 256, at *k. False if it is none.
  bool TakeHexControl(std::string_view text, size_t* k) {
    const std::string_view digits = text.substr(*k + 2, 2);
    uint8_t code = 0;
    const char* const end = digits.data() + digits.size();
    if (digits.size() < 2 || std::from_chars(digits.data(), end, code, 16).ptr != end) return false;
    if (code >= 0x80) {
      unquoted_.push_back(static_cast<char>(0xC0 | (code >> 6)));
      code = static_cast<uint8_t>(0x80 | (code & 0x3F));
    }
    unquoted_.push_back(static_cast<char>(code));
    *k += 3;
    return true;
  }

  // Behind what is wrong with the quote at `i`, where a backslash before it may be why.
  std::string_view EscapeAdvice(std::string_view text, size_t i) const {
    const bool escaped = i > 0 && i < text.size() && text[i] == '"' && text[i - 1] == '\\';
    if (!escaped || dialect_.escape != '\0') return {};
    return "; where a backslash stands before quotes, --escape '\\' reads it, and --escape cqlsh "
           "what its COPY TO wrote";
  }

  bool AtCellEnd(std::string_view text, size_t i) const {
    if (i >= text.size() || text[i] == dialect_.delimiter || text[i] == '\n') return true;
    return text[i] == '\r' && (i + 1 >= text.size() || text[i + 1] == '\n');
  }

  LineFramer framer_;
  CsvDialect dialect_;
  bool begun_ = false;            // the preamble is behind
  bool seen_first_line_ = false;
  char separator_ = '\0';
  uint64_t skipped_ = 0;
  std::string preamble_;
  std::string marks_ = "\"";  // what ends a plain piece of a quoted cell
  std::string unquoted_;
};

}  // namespace

std::unique_ptr<RecordReader> NewCsvReader(Input* input, CsvDialect dialect) {
  return std::make_unique<CsvReader>(input, std::move(dialect));
}

}  // namespace cistern::tool
