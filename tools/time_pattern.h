// TimePattern: times by a pattern such as '%d.%m.%Y %H:%M:%S'.
//
// A time that a pattern takes is the one that Python's datetime.strptime makes of it, or glibc's
// strptime for what Python does not know (%e %k %l %C %D %F %R %T %r %h %n %t %s %P, the modifiers
// E and O, the flags - _ 0 ^ #). More is refused than there: docs/tool.md (Times) has the table.
#ifndef CISTERN_TOOLS_TIME_PATTERN_H_
#define CISTERN_TOOLS_TIME_PATTERN_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "tools/instant.h"
#include "tools/local_clock.h"
#include "tools/pattern_item.h"

namespace cistern::tool {

// Cheap to copy. Any number of threads may read one.
class TimePattern {
 public:
  TimePattern() = default;  // of no times; empty()

  // kInvalidArgument for a pattern by which no time, or a wrong one, would be known: with a % that
  // is none of its parts, with a part twice, without a day, with %I and no %p. The message says
  // what is wrong and where.
  [[nodiscard]] static Result<TimePattern> Compile(std::string_view text);

  [[nodiscard]] bool empty() const { return program_ == nullptr; }

  // All of `text` by the pattern, which is not empty(). `clock` is of times that name no offset.
  // kInvalidArgument for a text that does not match, kOutOfRange for a time that there is not.
  [[nodiscard]] Result<Instant> Parse(std::string_view text, const LocalClock& clock) const;

 private:
  struct Program {
    std::string text;
    std::vector<PatternItem> items;
  };

  std::shared_ptr<const Program> program_;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TIME_PATTERN_H_
