// TimeSum: an event time that is spread over numeric cells, added up without rounding.
#ifndef CISTERN_TOOLS_TIME_SUM_H_
#define CISTERN_TOOLS_TIME_SUM_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "tools/decimal_text.h"
#include "tools/time_text.h"

namespace cistern::tool {

// Seconds as a sum such as `hour*3600 + minute*60 + second + micro/1e6`. A term is a cell's name,
// or a number, times and divided by numbers. A name that is no word stands in braces:
// `{Time (s)}`. Immutable: any thread.
class TimeSum {
 public:
  // kInvalidArgument says which piece cannot be read, or which division is never exact (by 3).
  [[nodiscard]] static Result<TimeSum> Parse(std::string_view text);

  // The cells that the sum takes, each once, in the order in which the text has them.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // base + the sum, where cells[i] is the text of names()[i]. Every digit counts, those of
  // `1.5004e+05` too. kInvalidArgument: a cell is no number. kOutOfRange: the time lies outside the
  // years 0001 to 9999, or is finer than a nanosecond and not to be truncated.
  [[nodiscard]] Result<Instant> At(const std::vector<std::string_view>& cells, const Instant& base,
                                   bool truncate) const;

 private:
  struct Term {
    ScaledInteger factor;
    std::optional<size_t> name;  // of names_; none: the factor alone
  };
  class Parser;

  std::string text_;
  std::vector<std::string> names_;
  std::vector<Term> terms_;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TIME_SUM_H_
