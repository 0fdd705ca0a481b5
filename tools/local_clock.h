// LocalClock: the clock by which an input's times were written, where they name no offset
// themselves. By the clock a local time becomes a moment, or is refused.
#ifndef CISTERN_TOOLS_LOCAL_CLOCK_H_
#define CISTERN_TOOLS_LOCAL_CLOCK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "tools/tz_file.h"

namespace cistern::tool {

// Which moment is meant by a local time that is there twice, as clocks are put back.
enum class AmbiguousTimes { kRefuse, kEarlier, kLater };

// Cheap to copy. Any number of threads may read one.
class LocalClock {
 public:
  LocalClock() = default;  // UTC
  explicit LocalClock(int32_t utc_offset_s) : offset_s_(utc_offset_s) {}

  // The clocks of a zone of the tz database, such as "Europe/Berlin". kInvalidArgument if the
  // system's database has no such zone, kNotFound if the system has no database.
  [[nodiscard]] static Result<LocalClock> OfZone(std::string_view name);

  void set_ambiguous(AmbiguousTimes ambiguous) { ambiguous_ = ambiguous; }
  // The same clock for bounds of time: UtcOf() is FirstFrom() then, and fails for no time.
  [[nodiscard]] LocalClock ForBounds() const;

  // Seconds since 1970-01-01 UTC when the clock shows `local_s`, which counts seconds since
  // 1970-01-01 by the clock. kOutOfRange for a time that clocks were put forward over, and for
  // one that is there twice unless set_ambiguous() says which is meant. `text` is for the message.
  [[nodiscard]] Result<int64_t> UtcOf(int64_t local_s, std::string_view text) const;

  // The same where the text names its zone by `word`: UTC or GMT; an abbreviation that this clock
  // shows at that time (CEST), and then it tells apart the times that are there twice; or a zone
  // of the tz database. kInvalidArgument for any other word.
  [[nodiscard]] Result<int64_t> UtcOfNamed(int64_t local_s, std::string_view word,
                                           std::string_view text) const;

  // The first moment, in seconds since 1970-01-01 UTC, at which the clock shows `local_s` or later:
  // of a time that is there twice the earlier one, of one that clocks were put forward over the
  // moment of that.
  [[nodiscard]] int64_t FirstFrom(int64_t local_s) const;

  // The time around a moment in which the clock has one offset. Those beside it may have the same.
  [[nodiscard]] TzPeriod PeriodAt(int64_t utc_s) const;

 private:
  Result<int64_t> Choose(const TzTable::Moments& moments, std::string_view text) const;

  std::shared_ptr<const TzTable> table_;  // null: one offset at all times
  std::string name_ = "UTC";
  int32_t offset_s_ = 0;
  AmbiguousTimes ambiguous_ = AmbiguousTimes::kRefuse;
  bool is_for_bounds_ = false;
};

// "earlier", "later" or "refuse".
[[nodiscard]] Result<AmbiguousTimes> ParseAmbiguousTimes(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_LOCAL_CLOCK_H_
