// The machine's clocks: the only file that reads the wall clock.
#include <fcntl.h>
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
    if (fd < 0) return "unknown";
    const ssize_t n = read(fd, text, 36);
    close(fd);
    return n == 36 ? std::string(text, 36) : "unknown";
  }
};

}  // namespace

std::shared_ptr<Clock> SystemClock() {
  static const std::shared_ptr<Clock> clock = std::make_shared<MachineClock>();
  return clock;
}

}  // namespace cistern
