// What one push cost: seconds, the CPU of client and server, bytes over the loopback.
#ifndef CISTERN_BENCH_PUSH_MEASURE_H_
#define CISTERN_BENCH_PUSH_MEASURE_H_

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "engine/cql/transport.h"

namespace cistern::bench {

inline double CpuSeconds(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Of all that this machine sent to itself, headers of TCP and IP included: a check from outside,
// exact only while nobody else uses the loopback. 0: there is no such interface.
inline uint64_t LoopbackBytes() {
  std::ifstream file("/sys/class/net/lo/statistics/tx_bytes");
  uint64_t bytes = 0;
  file >> bytes;
  return bytes;
}

struct PushServer {
  cql::Endpoint endpoint;
  pid_t pid = 0;  // 0: not known, or on another machine
};

// Of a process and all threads that it had; 0: there is none.
inline double ProcessCpuSeconds(pid_t pid) {
  constexpr int kFieldsBetween = 11;  // from the name, which ends with ')', to utime and stime
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (pid == 0 || name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string passed;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> passed;
  double user_ticks = 0;
  double system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  return (user_ticks + system_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct PushCost {
  double wall_s = 0;
  double cpu_s = 0;         // of the client
  double server_cpu_s = 0;  // 0: not known
  uint64_t loopback_bytes = 0;
};

// Begins when it is made.
class PushMeter {
 public:
  explicit PushMeter(const PushServer& server)
      : server_pid_(server.pid), server_cpu_s_(ProcessCpuSeconds(server.pid)) {}

  [[nodiscard]] PushCost Cost() const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began_;
    return {wall.count(), OwnCpuSeconds() - cpu_s_, ProcessCpuSeconds(server_pid_) - server_cpu_s_,
            LoopbackBytes() - loopback_bytes_};
  }

 private:
  static double OwnCpuSeconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return CpuSeconds(usage);
  }
  const pid_t server_pid_;
  const double server_cpu_s_;
  const uint64_t loopback_bytes_ = LoopbackBytes();
  const double cpu_s_ = OwnCpuSeconds();
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PUSH_MEASURE_H_
