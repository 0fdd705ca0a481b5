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

Status CheckTimePattern(const std::string& pattern) {
  // Every part has two digits or more, as %e and the like write a blank before a single one.
  constexpr Instant kSample{1'640'351'655, 0};  // 2021-12-24T13:14:15Z
  const std::chrono::sys_seconds sample{std::chrono::seconds(kSample.seconds)};
  std::string told;
  for (size_t i = pattern.find('%'); i < pattern.size(); i = pattern.find('%', i + 1)) {
    if (++i < pattern.size() && (pattern[i] == 'E' || pattern[i] == 'O')) ++i;
    constexpr std::string_view kKnown = "aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%";
    if (i < pattern.size() && kKnown.find(pattern[i]) != std::string_view::npos) continue;
    told = fmt::format("'%{}' is none of its parts", pattern.substr(i, 1));
    break;
  }
  if (told.empty()) {
    std::ostringstream out;
    out.imbue(std::locale::classic());
    date::to_stream(out, pattern.c_str(), date::sys_seconds{sample.time_since_epoch()});
    const Result<Instant> read = ParseTimeByPattern(out.str(), pattern, 0);
    if (!read.ok()) told = "it does not tell a day";
  }
  if (told.empty()) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--time-format '{}': {}; expected a pattern such as '%d.%m.%Y %H:%M:%S', %z for "
                  "an offset from UTC", pattern, told));
}

}  // namespace cistern::tool
