#include "tools/json_framer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cistern::tool {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

void JsonFramer::Drop() {
  const std::string_view handed = input_->window().substr(0, handed_);
  line_ += static_cast<uint64_t>(std::count(handed.begin(), handed.end(), '\n'));
  input_->Consume(handed_);
  handed_ = 0;
}

bool JsonFramer::PassMark() {
  const std::string_view window = input_->window();
  if (window.size() < kByteOrderMark.size() && !ended_) return false;
  if (window.starts_with(kByteOrderMark)) input_->Consume(kByteOrderMark.size());
  return passed_mark_ = true;
}

JsonFramer::Found JsonFramer::PassSeparators() {
  for (;;) {
    const std::string_view window = input_->window();
    if (window.empty()) return Found::kNothing;
    const char c = window.front();
    const bool in_array = expects_ != Expects::kDocument;
    if (IsBlank(c)) {
      if (c == '\n') ++line_;
    } else if (c == '[' && !in_array) {
      expects_ = Expects::kFirstElement;
    } else if (c == ']' && (expects_ == Expects::kFirstElement || expects_ == Expects::kComma)) {
      expects_ = Expects::kDocument;
    } else if (c == ',' && expects_ == Expects::kComma) {
      expects_ = Expects::kElement;
    } else {
      if (expects_ == Expects::kComma || c == ',' || c == ']' || c == '}') return Found::kMistake;
      return c == '{' || in_array ? Found::kValue : Found::kMistake;
    }
    input_->Consume(1);
  }
}

bool JsonFramer::FindEnd(std::string_view window) {
  for (; scanned_ < window.size(); ++scanned_) {
    const char c = window[scanned_];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
      continue;
    }
    if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (depth_ == 0 && (c == ',' || c == '}' || c == ']' || IsBlank(c))) {
      return true;  // behind a number, a string or a word
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      ++scanned_;
      return true;
    }
  }
  return ended_ && depth_ == 0 && !in_string_;
}

ReadOutcome JsonFramer::HandOutBad(Record* record, size_t bytes, bool continues,
                                   std::string reason) {
  record->line = line_;
  record->raw = input_->window().substr(0, bytes);
  record->raw_continues = continues;
  record->reason = std::move(reason);
  handed_ = bytes;
  scanned_ -= std::min(scanned_, bytes);
  return ReadOutcome::kBad;
}

ReadOutcome JsonFramer::HandOutValue(Record* record) {
  const std::string_view window = input_->window();
  size_t bytes = std::exchange(scanned_, 0);
  const std::string_view behind = window.substr(bytes);
  if (behind.starts_with("\r\n")) ++bytes;
  if (behind.starts_with("\r\n") || behind.starts_with('\n')) ++bytes;
  in_value_ = false;
  if (expects_ != Expects::kDocument) expects_ = Expects::kComma;
  if (std::exchange(in_long_value_, false)) {
    return HandOutBad(record, bytes, false, "the object is too long");
  }
  if (!is_object_) {
    return HandOutBad(record, bytes, false, "an element of the array is not an object");
  }
  record->line = line_;
  record->raw = window.substr(0, bytes);
  record->raw_continues = false;
  handed_ = bytes;
  return ReadOutcome::kRecord;
}

ReadOutcome JsonFramer::AtEnd(Record* record) {
  const size_t bytes = input_->window().size();
  const bool in_array = expects_ != Expects::kDocument;
  if (broken_ || (bytes == 0 && !in_array)) return ReadOutcome::kEnd;
  broken_ = true;  // nothing follows
  return HandOutBad(record, bytes, false,
                    in_value_ ? "the input ends inside an object"
                              : "the input ends inside an array: its bracket is never closed");
}

ReadOutcome JsonFramer::Next(Record* record) {
  Drop();
  for (;;) {
    const bool ready = passed_mark_ || PassMark();
    const std::string_view whole = input_->window();
    if (ready && broken_ && !whole.empty()) {
      const size_t bytes = std::min(whole.size(), kLineBytesMax);
      return HandOutBad(record, bytes, true, "not JSON here");
    }
    if (ready && !broken_ && !in_value_) {
      const Found found = PassSeparators();
      broken_ = found == Found::kMistake;
      in_value_ = found == Found::kValue;
      if (broken_) {
        const std::string_view window = input_->window();
        return HandOutBad(record, std::min(window.size(), kLineBytesMax), true,
                          fmt::format("not JSON: '{}' where {} is expected; what follows cannot be "
                                      "told apart", window.substr(0, 1),
                                      expects_ == Expects::kComma ? "a comma or a bracket"
                                                                  : "an object"));
      }
      if (in_value_) is_object_ = input_->window().front() == '{';
    }
    if (in_value_) {
      const std::string_view window = input_->window().substr(0, kLineBytesMax);
      if (FindEnd(window)) return HandOutValue(record);
      if (window.size() == kLineBytesMax) {
        in_long_value_ = true;
        return HandOutBad(record, window.size(), true,
                          fmt::format("the object is longer than {} bytes", kLineBytesMax));
      }
    }
    if (ended_) return AtEnd(record);
    switch (input_->Grow()) {
      case Fill::kData: break;
      case Fill::kEnd: ended_ = true; break;
      case Fill::kIdle: return ReadOutcome::kIdle;
      case Fill::kInterrupted: return ReadOutcome::kInterrupted;
      case Fill::kError: return ReadOutcome::kFailed;
    }
  }
}

}  // namespace cistern::tool
