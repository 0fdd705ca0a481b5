#include <fmt/format.h>

#include "tools/line_framer.h"

namespace cistern::tool {
namespace {

// measurement[,tag=value...] field=value[,field=value...] [timestamp]
class LineProtocolReader : public RecordReader {
 public:
  explicit LineProtocolReader(Input* input) : framer_(input) {
    plain_.reserve(kLineBytesMax);  // text without escapes is never longer than its line
  }

  ReadOutcome Next(Record* record) override {
    for (;;) {
      record->cells.clear();
      plain_.clear();
      const ReadOutcome outcome = framer_.Next(record);
      if (outcome != ReadOutcome::kRecord) return outcome;
      text_ = record->raw;
      while (!text_.empty() && (text_.back() == '\n' || text_.back() == '\r')) {
        text_.remove_suffix(1);
      }
      position_ = 0;
      SkipSpaces();
      if (position_ == text_.size() || text_[position_] == '#') continue;
      Status s = CheckText(record->raw);
      if (s.ok()) s = Split(record);
      if (s.ok()) return ReadOutcome::kRecord;
      record->cells.clear();
      record->reason = s.message();
      return ReadOutcome::kBad;
    }
  }

 private:
  Status Fail(std::string_view what) const {
    return Status::InvalidArgument(fmt::format("column {}: {}", position_ + 1, what));
  }
  bool At(char c) const { return position_ < text_.size() && text_[position_] == c; }
  void SkipSpaces() {
    while (At(' ')) ++position_;
  }

  // Text up to a bare character of `ends`; a backslash takes the next one of `escapable`.
  std::string_view Word(std::string_view ends, std::string_view escapable) {
    const size_t first = plain_.size();
    for (; position_ < text_.size(); ++position_) {
      char c = text_[position_];
      if (c == '\\' && position_ + 1 < text_.size() &&
          escapable.find(text_[position_ + 1]) != std::string_view::npos) {
        c = text_[++position_];
      } else if (ends.find(c) != std::string_view::npos) {
        break;
      }
      plain_.push_back(c);
    }
    return std::string_view(plain_).substr(first);
  }

  Status Split(Record* record) {
    const std::string_view measurement = Word(", ", ", ");
    if (measurement.empty()) return Fail("the measurement is missing");
    record->cells.push_back({kMeasurementCell, measurement, CellForm::kBare});
    while (At(',')) {
      ++position_;
      const std::string_view name = Word("=, ", ",= ");
      if (name.empty() || !At('=')) return Fail("expected tag=value");
      ++position_;
      const std::string_view value = Word(", ", ",= ");
      if (value.empty()) return Fail(fmt::format("tag '{}' has no value", name));
      CISTERN_RETURN_IF_ERROR(Add(record, name, value, CellForm::kBare));
    }
    if (!At(' ')) return Fail("expected a space and the fields");
    SkipSpaces();
    for (;;) {
      CISTERN_RETURN_IF_ERROR(Field(record));
      if (!At(',')) break;
      ++position_;
    }
    SkipSpaces();
    if (position_ == text_.size()) return Status::Ok();
    const std::string_view time = Word(" ", "");
    SkipSpaces();
    if (position_ != text_.size()) return Fail("text after the timestamp");
    return Add(record, kTimestampCell, time, CellForm::kBare);
  }

  Status Field(Record* record) {
    const std::string_view name = Word("=, ", ",= ");
    if (name.empty() || !At('=')) return Fail("expected field=value");
    ++position_;
    if (At('"')) {
      ++position_;
      const std::string_view value = Word("\"", "\"\\");
      if (!At('"')) return Fail(fmt::format("the quote of field '{}' is never closed", name));
      ++position_;
      if (position_ < text_.size() && !At(',') && !At(' ')) {
        return Fail(fmt::format("field '{}': text after its closing quote", name));
      }
      return Add(record, name, value, CellForm::kQuoted);
    }
    std::string_view value = Word(", ", "");
    if (value.empty()) return Fail(fmt::format("field '{}' has no value", name));
    if (value == "t" || value == "T" || value == "True" || value == "TRUE") value = "true";
    if (value == "f" || value == "F" || value == "False" || value == "FALSE") value = "false";
    const char last = value.back();
    const char before = value.size() > 1 ? value[value.size() - 2] : ' ';
    if ((last == 'i' || last == 'u') && before >= '0' && before <= '9') value.remove_suffix(1);
    return Add(record, name, value, CellForm::kBare);
  }

  Status Add(Record* record, std::string_view name, std::string_view value, CellForm form) {
    if (record->cells.size() >= kCellCountMax) {
      return Fail(fmt::format("more than {} tags and fields", kCellCountMax));
    }
    record->cells.push_back({name, value, form});
    return Status::Ok();
  }

  LineFramer framer_;
  std::string_view text_;
  size_t position_ = 0;
  std::string plain_;
};

}  // namespace

std::unique_ptr<RecordReader> NewLineProtocolReader(Input* input) {
  return std::make_unique<LineProtocolReader>(input);
}

}  // namespace cistern::tool
