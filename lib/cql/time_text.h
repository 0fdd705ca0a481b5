// Dates and times as text: ISO 8601, UTC unless an offset says otherwise.
#ifndef CISTERN_CQL_TIME_TEXT_H_
#define CISTERN_CQL_TIME_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// A point in time in ticks of `unit` since 1970: a whole number of ticks, or
// 2024-01-15[( |T)14:05[:30[.123]][Z|+01:00|+0100|+01]]. Digits finer than the unit are
// refused unless they are zeros.
[[nodiscard]] Status ParseTimeText(std::string_view text, TimeUnit unit, int64_t* ticks);

// Appends 2024-01-15T14:05:30.123Z with as many digits as the unit has; beyond the years
// 0001 to 9999 the number of ticks.
void FormatTimeText(int64_t ticks, TimeUnit unit, std::string* out);

// 2024-01-15 in days since 1970; a sign and up to seven digits of the year are taken.
[[nodiscard]] Status ParseDateText(std::string_view text, int64_t* days);
void FormatDateText(int64_t days, std::string* out);

// 14:05:30[.123456789] in nanoseconds of the day.
[[nodiscard]] Status ParseTimeOfDayText(std::string_view text, int64_t* nanos);
void FormatTimeOfDayText(int64_t nanos, std::string* out);

}  // namespace cistern

#endif  // CISTERN_CQL_TIME_TEXT_H_
