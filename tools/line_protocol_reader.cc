#include "tools/line_protocol_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/line_framer.h"
#include "tools/line_protocol_value.h"

namespace cistern::tool {
namespace {

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::string_view WithoutLineEnd(std::string_view raw) {
  if (raw.ends_with('\n')) raw.remove_suffix(1);
  if (raw.ends_with('\r')) raw.remove_suffix(1);
  return raw;
}

class LineProtocolReader : public RecordReader {
 public:
  explicit LineProtocolReader(Input* input) : framer_(input) {
    plain_.reserve(kLineBytesMax);  // text without escapes is never longer than its point
  }

  ReadOutcome Next(Record* record) override {
    for (;;) {
      record->cells.clear();
      plain_.clear();
      const ReadOutcome outcome = framer_.Next(record);
      if (outcome != ReadOutcome::kRecord) return outcome;
      text_ = WithoutLineEnd(record->raw);
      raw_bytes_ = record->raw.size();
      line_count_ = 1;
      position_ = 0;
      SkipSpaces();
      if (position_ == text_.size()) continue;
      if (!At('#')) return ReadPoint(record);
      while (position_ < text_.size() && (At('\t') || !IsControl(text_[position_]))) ++position_;
      if (position_ == text_.size()) continue;
      return Bad(record, Fail("a control character in a comment").message());
    }
  }

 private:
  // How the search for the end of a string ended.
  enum class Grown { kYes, kNeverClosed, kIdle, kInterrupted, kFailed };

  ReadOutcome Bad(Record* record, std::string reason) {
    record->cells.clear();
    record->reason = std::move(reason);
    return ReadOutcome::kBad;
  }

  ReadOutcome ReadPoint(Record* record) {
    const size_t first_line_bytes = raw_bytes_;
    grown_ = Grown::kYes;
    Status s = Split(record);
    switch (grown_) {
      case Grown::kYes:
        break;
      case Grown::kNeverClosed:
        framer_.Extend(record, first_line_bytes, 1);
        return Bad(record, s.message());
      case Grown::kIdle:
      case Grown::kInterrupted:
      case Grown::kFailed:
        framer_.Extend(record, 0, 0);  // the same point again, at the next call
        if (grown_ == Grown::kIdle) return ReadOutcome::kIdle;
        return grown_ == Grown::kInterrupted ? ReadOutcome::kInterrupted : ReadOutcome::kFailed;
    }
    framer_.Extend(record, raw_bytes_, line_count_);
    if (s.ok()) s = CheckText(record->raw);
    return s.ok() ? ReadOutcome::kRecord : Bad(record, s.message());
  }

  Status Fail(std::string_view what) const {
    const std::string_view before = text_.substr(0, position_);
    const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    const auto line = std::count(before.begin(), before.end(), '\n');
    const std::string place = line == 0 ? "" : fmt::format("line {} of the point, ", line + 1);
    return Status::InvalidArgument(
        fmt::format("{}column {}: {}", place, position_ - line_begin + 1, what));
  }
  bool At(char c) const { return position_ < text_.size() && text_[position_] == c; }
  void SkipSpaces() {
    while (At(' ')) ++position_;
  }

  // Text up to a bare character of `ends` or a control character. A backslash takes the next
  // character if that is one of `ends`.
  std::string_view Word(std::string_view ends) {
    const size_t first = plain_.size();
    for (; position_ < text_.size(); ++position_) {
      char c = text_[position_];
      if (c == '\\' && position_ + 1 < text_.size() &&
          ends.find(text_[position_ + 1]) != std::string_view::npos) {
        c = text_[++position_];
      } else if (IsControl(c) || ends.find(c) != std::string_view::npos) {
        break;
      }
      plain_.push_back(c);
    }
    return std::string_view(plain_).substr(first);
  }

  // What stands where `expected` should: an error that names it.
  Status Expected(std::string_view expected) const {
    if (position_ == text_.size()) {
      return Fail(fmt::format("expected {}, and the line ends", expected));
    }
    const char c = text_[position_];
    if (IsControl(c)) {
      return Fail(fmt::format("expected {}, not the control character {:#04x}", expected,
                              static_cast<unsigned char>(c)));
    }
    return Fail(fmt::format("expected {}, not '{}'", expected, c));
  }

  Status Split(Record* record) {
    const std::string_view measurement = Word(", ");
    if (measurement.empty()) return Fail("the measurement is missing");
    record->cells.push_back({kMeasurementCell, measurement, CellForm::kBare});
    while (At(',')) CISTERN_RETURN_IF_ERROR(Tag(record));
    if (!At(' ')) return Expected("a space and the fields");
    SkipSpaces();
    for (;;) {
      CISTERN_RETURN_IF_ERROR(Field(record));
      if (!At(',')) break;
      ++position_;
    }
    if (position_ < text_.size() && !At(' ')) return Expected("a comma or a space");
    SkipSpaces();
    if (position_ == text_.size()) return Status::Ok();
    return Timestamp(record);
  }

  Status Tag(Record* record) {
    ++position_;  // the comma
    const std::string_view name = Word(",= ");
    if (name.empty() || !At('=')) return Expected("tag=value");
    ++position_;
    const std::string_view value = Word(",= ");
    if (value.empty()) return Fail(fmt::format("tag '{}' has no value", name));
    if (At('=')) {
      return Fail(fmt::format(
          "the value of tag '{}' holds a bare '=', which is written '\\='; a backslash before a "
          "comma or a space takes it into the value", name));
    }
    return Add(record, name, value, CellForm::kBare);
  }

  Status Field(Record* record) {
    const std::string_view name = Word(",= ");
    if (name.empty() || !At('=')) return Expected("field=value");
    ++position_;
    if (At('"')) return StringField(record, name);
    const size_t begin = position_;
    while (position_ < text_.size() && !At(',') && !At(' ') && !IsControl(text_[position_])) {
      ++position_;
    }
    if (position_ == begin) return Fail(fmt::format("field '{}' has no value", name));
    const size_t first = plain_.size();
    plain_ += text_.substr(begin, position_ - begin);
    const Result<std::string_view> value =
        BareFieldValue(std::string_view(plain_).substr(first));
    if (value.ok()) return Add(record, name, *value, CellForm::kBare);
    position_ = begin;
    return Fail(fmt::format("field '{}': {}", name, value.status().message()));
  }

  // From the opening quote to behind the closing one, which may stand in a later line.
  Status StringField(Record* record, std::string_view name) {
    const size_t open = position_++;
    const size_t first = plain_.size();
    while (!At('"')) {
      if (position_ == text_.size()) {
        grown_ = Grow();
        if (grown_ == Grown::kYes) continue;
        position_ = open;
        return Fail(fmt::format("the quote of field '{}' is never closed", name));
      }
      if (At('\\') && position_ + 1 < text_.size() &&
          (text_[position_ + 1] == '"' || text_[position_ + 1] == '\\')) {
        ++position_;
      }
      plain_.push_back(text_[position_++]);
    }
    ++position_;
    if (position_ < text_.size() && !At(',') && !At(' ')) {
      return Fail(fmt::format("field '{}': text after its closing quote", name));
    }
    return Add(record, name, std::string_view(plain_).substr(first), CellForm::kQuoted);
  }

  // Takes the next line into the point, the line end between them included.
  Grown Grow() {
    for (;;) {
      const std::string_view ahead = framer_.Ahead().substr(0, kLineBytesMax);
      const size_t end = ahead.find('\n', raw_bytes_);
      if (end != std::string_view::npos) return TakeUpTo(end + 1);
      const Fill fill = ahead.size() >= kLineBytesMax ? Fill::kEnd : framer_.Grow();
      text_ = WithoutLineEnd(framer_.Ahead().substr(0, raw_bytes_));  // the bytes have moved
      switch (fill) {
        case Fill::kData: continue;
        case Fill::kIdle: return Grown::kIdle;
        case Fill::kInterrupted: return Grown::kInterrupted;
        case Fill::kError: return Grown::kFailed;
        case Fill::kEnd: break;
      }
      // The last line of an input may have no line end.
      const bool is_last = ahead.size() < kLineBytesMax && ahead.size() > raw_bytes_;
      return is_last ? TakeUpTo(ahead.size()) : Grown::kNeverClosed;
    }
  }
  Grown TakeUpTo(size_t raw_bytes) {
    raw_bytes_ = raw_bytes;
    ++line_count_;
    text_ = WithoutLineEnd(framer_.Ahead().substr(0, raw_bytes_));
    return Grown::kYes;
  }

  Status Timestamp(Record* record) {
    const size_t begin = position_;
    const std::string_view time = Word(" ");
    if (const Status s = CheckTimestamp(time); !s.ok()) {
      position_ = begin;
      return Fail(s.message());
    }
    SkipSpaces();
    if (position_ != text_.size()) return Fail("text after the timestamp");
    return Add(record, kTimestampCell, time, CellForm::kBare);
  }

  Status Add(Record* record, std::string_view name, std::string_view value, CellForm form) {
    if (record->cells.size() >= kCellCountMax) {
      return Fail(fmt::format("more than {} tags and fields", kCellCountMax));
    }
    record->cells.push_back({name, value, form});
    return Status::Ok();
  }

  LineFramer framer_;
  std::string_view text_;    // the point without its line end, as far as it was looked for
  size_t raw_bytes_ = 0;     // of the same, with its line end
  uint64_t line_count_ = 0;  // lines in it
  size_t position_ = 0;
  Grown grown_ = Grown::kYes;
  std::string plain_;
};

}  // namespace

std::unique_ptr<RecordReader> NewLineProtocolReader(Input* input) {
  return std::make_unique<LineProtocolReader>(input);
}

}  // namespace cistern::tool
