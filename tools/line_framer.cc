#include "tools/line_framer.h"

#include <fmt/format.h>

namespace cistern::tool {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

ReadOutcome OutcomeOf(Fill fill) {
  switch (fill) {
    case Fill::kIdle: return ReadOutcome::kIdle;
    case Fill::kInterrupted: return ReadOutcome::kInterrupted;
    case Fill::kError: return ReadOutcome::kFailed;
    case Fill::kData:
    case Fill::kEnd: break;
  }
  return ReadOutcome::kEnd;
}

}  // namespace

Fill LineFramer::GrowInput() {
  const Fill fill = input_->Grow();
  if (fill == Fill::kEnd) ended_ = true;
  return fill;
}

void LineFramer::Drop() {
  input_->Consume(handed_);
  line_ += handed_lines_;
  if (handed_ > 0) scanned_ = 0;
  handed_ = 0;
  handed_lines_ = 0;
}

ReadOutcome LineFramer::Next(Record* record) {
  Drop();
  for (;;) {
    std::string_view window = input_->window();
    if (first_ && (window.size() >= kByteOrderMark.size() || ended_)) {
      first_ = false;
      if (window.starts_with(kByteOrderMark)) input_->Consume(kByteOrderMark.size());
      window = input_->window();
    }
    const size_t end = first_ ? std::string_view::npos : window.find('\n', scanned_);
    const bool found = end != std::string_view::npos;
    size_t length = found ? end + 1 : window.size();
    if (!found && length < kLineBytesMax) {
      scanned_ = first_ ? 0 : length;
      if (!ended_) {
        const Fill fill = GrowInput();
        if (fill == Fill::kData || fill == Fill::kEnd) continue;
        return OutcomeOf(fill);
      }
      if (length == 0) return ReadOutcome::kEnd;
    }
    const bool too_long = in_long_line_ || length > kLineBytesMax || (!found && !ended_);
    const bool rest_follows = length > kLineBytesMax || (!found && !ended_);
    if (length > kLineBytesMax) length = kLineBytesMax;
    record->line = line_;
    record->raw = window.substr(0, length);
    record->raw_continues = rest_follows;
    handed_ = length;
    handed_lines_ = rest_follows ? 0 : 1;
    in_long_line_ = rest_follows;
    if (!too_long) return ReadOutcome::kRecord;
    record->reason = fmt::format("the line is longer than {} bytes", kLineBytesMax);
    return ReadOutcome::kBad;
  }
}

void LineFramer::Extend(Record* record, size_t bytes, uint64_t lines) {
  record->raw = input_->window().substr(0, bytes);
  handed_ = bytes;
  handed_lines_ = lines;
}

}  // namespace cistern::tool
