// A zone of the tz database as a table: which offset is in force from when on.
//
// The system's files are read as RFC 8536 has them. Hinnant's tz library is not used: as Debian
// builds that library, a file's rule for the years after its last listed change is left out.
#ifndef CISTERN_TOOLS_TZ_FILE_H_
#define CISTERN_TOOLS_TZ_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "tools/tz_rule.h"

namespace cistern::tool {

inline constexpr int64_t kTzOffsetMaxS = 26 * 3600;  // RFC 8536 has at most this

// A time in which clocks have one offset from UTC.
struct TzPeriod {
  int32_t offset_s = 0;        // east of UTC
  int64_t from_s = INT64_MIN;  // since 1970 UTC; INT64_MIN: since ever
  int64_t to_s = INT64_MAX;    // not included; INT64_MAX: for ever
};

struct TzTable {
  struct Change {
    int64_t at_s = 0;  // since 1970 UTC
    uint32_t kind = 0;
  };

  struct Moment {
    int64_t utc_s = 0;
    const TzKind* kind = nullptr;  // of this table
  };
  // In the order of time. More than two are there where clocks are put back twice in a day.
  struct Moments {
    static constexpr size_t kMax = 4;
    size_t count = 0;
    Moment at[kMax];
    const TzKind* before = nullptr;  // of the offsets around, the first and the last
    const TzKind* after = nullptr;
  };

  // The moments at which clocks show `local_s`, in seconds since 1970-01-01 by these clocks.
  // None where clocks were put forward over that time.
  [[nodiscard]] Moments MomentsOf(int64_t local_s) const;
  // Around this moment, in seconds since 1970-01-01 UTC. The periods beside it may have the same
  // offset.
  [[nodiscard]] TzPeriod PeriodAt(int64_t utc_s) const;

  std::vector<TzKind> kinds;    // at least one; the first is in force before all changes
  std::vector<Change> changes;  // ascending
  // The calendar repeats every 400 years: from here on the changes of 400 years do as well.
  int64_t repeats_from_s = INT64_MAX;

 private:
  [[nodiscard]] int64_t ShiftOf(int64_t s) const;
};

// The table in the bytes of a file. kCorruption, with what is wrong, for bytes that are none.
[[nodiscard]] Result<TzTable> ParseTzFile(std::string_view bytes);

// The table of a zone such as "Europe/Berlin", from TZDIR or where systems keep the database.
// kInvalidArgument for a name that is no zone of the database, kNotFound if there is no database.
[[nodiscard]] Result<TzTable> ReadTzFile(std::string_view name);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TZ_FILE_H_
