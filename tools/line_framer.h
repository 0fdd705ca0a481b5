// LineFramer: cuts an input into lines, bounded whatever the input holds.
#ifndef CISTERN_TOOLS_LINE_FRAMER_H_
#define CISTERN_TOOLS_LINE_FRAMER_H_

#include <string_view>

#include "tools/record_reader.h"

namespace cistern::tool {

// Hands out raw lines. Line ends are LF; the last line may have none.
class LineFramer {
 public:
  explicit LineFramer(Input* input) : input_(input) {}

  // Sets record->line, raw, and on kBad reason and raw_continues; record->cells is left alone.
  // kRecord means a whole line. The raw text is consumed by the next call.
  [[nodiscard]] ReadOutcome Next(Record* record);

  // --- for readers whose records may span lines
  // Forgets the bytes of the last line, so that a longer piece can be taken instead: call
  // before Take. `bytes` from the start of the last line on, with `lines` line ends in them.
  void Extend(Record* record, size_t bytes, uint64_t lines);
  // Unread bytes from the start of the last line on.
  [[nodiscard]] std::string_view Ahead() const { return input_->window(); }
  [[nodiscard]] Fill Grow() { return ended_ ? Fill::kEnd : GrowInput(); }

 private:
  Fill GrowInput();
  void Drop();  // consumes what was handed out

  Input* input_;
  size_t handed_ = 0;          // bytes of the window that were handed out
  uint64_t handed_lines_ = 0;  // line ends in them
  uint64_t line_ = 1;          // number of the line at the window's start
  size_t scanned_ = 0;         // bytes of the window known to hold no line end
  bool first_ = true;
  bool ended_ = false;
  bool in_long_line_ = false;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_LINE_FRAMER_H_
