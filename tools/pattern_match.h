// PatternMatch: whether a text is of a pattern, and what its parts say.
#ifndef CISTERN_TOOLS_PATTERN_MATCH_H_
#define CISTERN_TOOLS_PATTERN_MATCH_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "tools/pattern_item.h"
#include "tools/time_fields.h"

namespace cistern::tool {

// Where a number may have more or less digits, the most are tried first, as strptime does:
// 1122024 by '%d%m%Y' is the 11th of February. For one text; the items and the text outlive it.
class PatternMatch {
 public:
  PatternMatch(const std::vector<PatternItem>& items, std::string_view text)
      : items_(items), text_(text) {}

  // True if all of the text is read by all of the items.
  [[nodiscard]] bool Run() { return From(0, 0); }

  // After a match.
  [[nodiscard]] const TimeFields& fields() const { return fields_; }
  [[nodiscard]] bool finer_than_nanos() const { return finer_than_nanos_; }

  // Without one: how far the items could read, and the item that could not read on. The number
  // of items: all of them have read, and the text is not at its end.
  [[nodiscard]] size_t furthest_at() const { return furthest_at_; }
  [[nodiscard]] size_t furthest_item() const { return furthest_item_; }

 private:
  bool From(size_t item, size_t at);
  bool NumberFrom(size_t item, size_t at);
  bool NameFrom(size_t item, size_t at);
  bool FractionFrom(size_t item, size_t at);
  bool OffsetFrom(size_t item, size_t at);
  bool ZoneFrom(size_t item, size_t at);
  // Sets the nanoseconds of the digits that begin at `at`; how many there are.
  size_t ReadFraction(size_t at);

  const std::vector<PatternItem>& items_;
  const std::string_view text_;
  TimeFields fields_;
  bool finer_than_nanos_ = false;
  size_t furthest_at_ = 0;
  size_t furthest_item_ = 0;
  size_t steps_ = 0;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_PATTERN_MATCH_H_
