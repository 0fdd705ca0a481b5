#include "tools/measurement_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lib/base/shell_text.h"

namespace cistern::tool {
namespace {

constexpr size_t kNamesShown = 5;

}  // namespace

MeasurementRule::Verdict MeasurementRule::Judge(std::string_view measurement, bool is_in_key) {
  if (!asked_.empty()) {
    if (std::ranges::find(asked_, measurement) == asked_.end()) {
      if (left_out_.size() < kNamesShown &&
          std::ranges::find(left_out_, measurement) == left_out_.end()) {
        left_out_.emplace_back(measurement);
      }
      return Verdict::kLeaveOut;
    }
    saw_asked_ = true;
  }
  return is_in_key || !taken_ || *taken_ == measurement ? Verdict::kTake : Verdict::kRefuse;
}

std::string MeasurementRule::Reason(std::string_view measurement) const {
  return fmt::format(
      "measurement '{}', where this run takes '{}': in one table rows of two measurements may "
      "overwrite one another; --measurement {} leaves all others out, --map 'measurement()=COLUMN' "
      "keeps them apart by a key column", measurement.substr(0, 80), taken_.value_or(""),
      ShellQuoted(taken_.value_or("")));
}

std::optional<std::string> MeasurementRule::Unmet() const {
  if (saw_asked_ || left_out_.empty()) return std::nullopt;
  return fmt::format("no line is of the measurement '{}' that --measurement asks for; there are {}",
                     fmt::join(asked_, "', '"), fmt::join(left_out_, ", "));
}

}  // namespace cistern::tool
