#include "tools/time_pattern.h"

#include <date/date.h>
#include <fmt/format.h>

#include <chrono>
#include <sstream>

namespace cistern::tool {

Result<Instant> ParseTimeByPattern(std::string_view text, const std::string& pattern,
                                   int32_t utc_offset_s) {
  // Nanoseconds since 1970 in 64 bits end in 2262; the parts are read apart so that all
  // years work.
  std::istringstream in{std::string(text)};
  in.imbue(std::locale::classic());
  date::fields<std::chrono::nanoseconds> fields{};
  std::string zone;
  std::chrono::minutes offset{INT32_MIN};
  date::from_stream(in, pattern.c_str(), fields, &zone, &offset);
  if (in.fail() || !fields.ymd.ok()) {
    return Status::InvalidArgument(
        fmt::format("'{}' does not match the time format '{}'", text.substr(0, 80), pattern));
  }
  // The library takes 1:2:60 for 01:03:00. No cluster keeps leap seconds.
  if (fields.tod.hours().count() > 23 || fields.tod.minutes().count() > 59 ||
      fields.tod.seconds().count() > 59) {
    return Status::OutOfRange(fmt::format("'{}' is not a time of day", text.substr(0, 80)));
  }
  if (in.peek() != std::istringstream::traits_type::eof()) {
    return Status::InvalidArgument(fmt::format("'{}' goes on after the time format '{}' ends",
                                               text.substr(0, 80), pattern));
  }
  const int64_t days = date::sys_days(fields.ymd).time_since_epoch().count();
  const int64_t nanos_of_day = fields.tod.to_duration().count();
  const int64_t offset_s =
      offset.count() == INT32_MIN ? utc_offset_s : static_cast<int64_t>(offset.count()) * 60;
  Instant t;
  t.seconds = days * 86400 + nanos_of_day / 1'000'000'000 - offset_s;
  t.nanos = static_cast<int32_t>(nanos_of_day % 1'000'000'000);
  return t;
}

}  // namespace cistern::tool
