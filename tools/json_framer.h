// JsonFramer: cuts a JSON document into the objects that are its records, bounded whatever the
// input holds.
#ifndef CISTERN_TOOLS_JSON_FRAMER_H_
#define CISTERN_TOOLS_JSON_FRAMER_H_

#include <cstdint>
#include <string_view>

#include "tools/record_reader.h"

namespace cistern::tool {

// Objects one after another, and arrays of objects. An object ends where its braces are closed, so
// a mistake inside of one spoils that one alone. A mistake between them spoils the rest, which is
// handed out as one bad record in pieces.
class JsonFramer {
 public:
  explicit JsonFramer(Input* input) : input_(input) {}

  // Sets record->line, raw, and on kBad reason and raw_continues; record->cells is left alone.
  // kRecord: raw is an object, from brace to brace, with the line end behind it if it ends a line.
  // The raw text is consumed by the next call.
  [[nodiscard]] ReadOutcome Next(Record* record);

 private:
  enum class Expects : uint8_t {
    kDocument,      // an object, an array or the end
    kFirstElement,  // behind the bracket
    kElement,       // behind a comma
    kComma,         // behind an element
  };

  enum class Found : uint8_t { kNothing, kValue, kMistake };

  void Drop();
  // Consumes a byte order mark at the very beginning. False if more bytes are needed to know.
  bool PassMark();
  // Consumes what stands before the next value, as far as it is there.
  Found PassSeparators();
  // Scans on for the end of the value at the front of `window`. True if it is there.
  bool FindEnd(std::string_view window);
  ReadOutcome HandOutValue(Record* record);
  ReadOutcome HandOutBad(Record* record, size_t bytes, bool continues, std::string reason);
  // What is left at the end of the input, or kEnd.
  ReadOutcome AtEnd(Record* record);

  Input* input_;
  Expects expects_ = Expects::kDocument;
  uint64_t line_ = 1;         // number of the line at the window's start
  size_t handed_ = 0;         // bytes of the window that were handed out
  bool passed_mark_ = false;
  bool ended_ = false;
  bool broken_ = false;       // nothing behind can be told apart
  bool in_long_value_ = false;

  // Of the value that is being scanned.
  bool in_value_ = false;
  size_t scanned_ = 0;
  size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool is_object_ = false;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_JSON_FRAMER_H_
