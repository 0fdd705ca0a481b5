// Clock: the only source of "now". The engine judges it, it never trusts it.
#ifndef CISTERN_CLOCK_H_
#define CISTERN_CLOCK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cistern/export.h"

namespace cistern {

// Whether something outside of the machine keeps its wall clock right.
enum class ClockSync : uint8_t {
  kUnknown,  // nobody can tell
  kNo,       // nothing does, or not yet
  kYes,      // a time server, GNSS or the like has set the wall clock and keeps it
};

// What the engine asks of the machine's clocks. Implementations must be
// thread-safe. A test injects a fake; a host with a better source of time
// (GNSS, a secure element) injects its own.
class CISTERN_EXPORT Clock {
 public:
  virtual ~Clock() = default;
  // Microseconds since 1970-01-01 UTC as the machine believes. May lie, jump, go back.
  virtual int64_t WallMicros() = 0;
  // Microseconds since some fixed point of this boot; never goes back, counts suspend.
  virtual int64_t MonotonicMicros() = 0;
  // Differs for every boot of the machine, equal within one. At most 64 bytes. Empty: the boots
  // cannot be told apart, and every opening of a store is taken for a boot of its own.
  virtual std::string BootId() = 0;
  // Whether the wall clock as it is now was set by something that knows the time. kYes is believed
  // at once (docs/operating.md, "The clock"); kNo and kUnknown mean the same to the engine.
  // Firmware that knows overrides it: it is asked by Tick, and at writes while the clock is not
  // trusted.
  virtual ClockSync Sync() { return ClockSync::kUnknown; }
};

// The machine's own clocks. Its Sync() is that of the kernel: what NTP and PTP daemons say to it by
// adjtimex. Shared by every engine of the process.
[[nodiscard]] CISTERN_EXPORT std::shared_ptr<Clock> SystemClock();

// What a store believes of the time, and why. Times are microseconds since 1970.
struct ClockReport {
  int64_t wall_us = 0;  // what the machine's wall clock shows
  ClockSync sync = ClockSync::kUnknown;
  // Whether the wall clock is believed. While it is not, rows are taken and wait for their time;
  // nothing is sealed, confirmed or dropped.
  bool trusted = false;
  // Whether rows wait for their time. It is given to them as soon as the clock is trusted and the
  // disk has room for a record.
  bool rows_wait = false;
  // What the store takes for the time: the wall clock while that is trusted; else the time that was
  // believed last and what the monotonic clock says has passed since. 0: none was ever believed.
  int64_t now_us = 0;
  // What has passed for certain: rows that upstream has not confirmed expire by it alone. It
  // follows the monotonic clock, and now_us at once where `sync` or a person confirms that.
  int64_t certain_us = 0;
  // How long the wall clock must still go on as it does to be believed. 0: it is trusted, or time
  // does not help.
  int64_t dwell_left_us = 0;
  std::string why;  // for people
};

}  // namespace cistern

#endif  // CISTERN_CLOCK_H_
