// MeasurementRule: which points of line protocol a run takes, by their measurement.
#ifndef CISTERN_TOOLS_MEASUREMENT_RULE_H_
#define CISTERN_TOOLS_MEASUREMENT_RULE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cistern::tool {

// Points of two measurements may have the same tags and the same time: in one table the second
// would overwrite the first. So a run takes one measurement, unless a key column of the table has
// it: the one that is asked for, or else that of the first point which became a row.
// One thread at a time.
class MeasurementRule {
 public:
  enum class Verdict {
    kTake,
    kLeaveOut,  // others were asked for
    kRefuse,    // its rows could overwrite those of another measurement: see Reason()
  };

  // `asked`: of --measurement; empty: any.
  explicit MeasurementRule(std::vector<std::string> asked) : asked_(std::move(asked)) {}

  // `is_in_key`: whether the measurement is part of a row's key.
  [[nodiscard]] Verdict Judge(std::string_view measurement, bool is_in_key);
  // A point that was to be taken became a row.
  void Took(std::string_view measurement) {
    if (!taken_) taken_ = measurement;
  }
  // Why a point of `measurement` is refused, with the options that help.
  [[nodiscard]] std::string Reason(std::string_view measurement) const;

  // "no line is of the measurement 'boilr'; there are boiler, room": what was asked for was never
  // seen; nullopt if it was, or if nothing was left out.
  [[nodiscard]] std::optional<std::string> Unmet() const;

 private:
  const std::vector<std::string> asked_;
  std::optional<std::string> taken_;
  bool saw_asked_ = false;
  std::vector<std::string> left_out_;  // the first few of them
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_MEASUREMENT_RULE_H_
