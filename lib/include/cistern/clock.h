// Clock: the only source of "now". The engine judges it, it never trusts it.
#ifndef CISTERN_CLOCK_H_
#define CISTERN_CLOCK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cistern/export.h"

namespace cistern {

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
  // Differs for every boot of the machine, equal within one. At most 64 bytes.
  virtual std::string BootId() = 0;
};

// The machine's own clocks. Shared by every engine of the process.
[[nodiscard]] CISTERN_EXPORT std::shared_ptr<Clock> SystemClock();

}  // namespace cistern

#endif  // CISTERN_CLOCK_H_
