// The machine's clocks: the only file that reads the wall clock.
#include <fcntl.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "cistern/clock.h"

namespace cistern {

namespace {

int64_t Micros(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1000;
}

class MachineClock final : public Clock {
 public:
  int64_t WallMicros() override { return Micros(CLOCK_REALTIME); }
  int64_t MonotonicMicros() override { return Micros(CLOCK_BOOTTIME); }
  std::string BootId() override {
    char text[37] = {};
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return "";
    const ssize_t n = read(fd, text, 36);
    close(fd);
    return n == 36 ? std::string(text, 36) : "";
  }
  // The kernel keeps for its daemons whether its clock is disciplined: a step by hand says no, and
  // so does an estimated error of more than 16 s, hours after the last word of a time server.
  ClockSync Sync() override {
    timex state{};
    const int answer = adjtimex(&state);  // it changes nothing, so anybody may ask
    if (answer < 0) return ClockSync::kUnknown;
    return answer == TIME_ERROR || (state.status & STA_UNSYNC) != 0 ? ClockSync::kNo
                                                                    : ClockSync::kYes;
  }
};

}  // namespace

std::shared_ptr<Clock> SystemClock() {
  static const std::shared_ptr<Clock> clock = std::make_shared<MachineClock>();
  return clock;
}

}  // namespace cistern
