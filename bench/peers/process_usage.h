// ProcessUsage: what this process has used, by the kernel's books; and children to use it in.
#ifndef CISTERN_BENCH_PEERS_PROCESS_USAGE_H_
#define CISTERN_BENCH_PEERS_PROCESS_USAGE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "cistern/result.h"

namespace cistern::bench {

struct ProcessUsage {
  double wall_s = 0;   // since some moment
  double cpu_s = 0;    // user and system, all threads
  uint64_t kernel_bytes = 0;  // handed to write() and its like
  uint64_t device_bytes = 0;  // pages of files made dirty, also by memory mapping

  [[nodiscard]] static ProcessUsage Now();
};
[[nodiscard]] ProcessUsage operator-(const ProcessUsage& end, const ProcessUsage& start);

// Kilobytes of a line of /proc/self/status: "VmHWM", "RssAnon".
[[nodiscard]] uint64_t StatusKib(const std::string& name);
// The peak that VmHWM shows begins anew.
void ForgetPeakMemory();

// Bytes of all files below a directory; of holes none.
[[nodiscard]] uint64_t BytesOnDisk(const std::string& directory);

// How a child ended, and all that it had to say.
struct ChildAnswer {
  std::string text;
  bool was_killed = false;  // by SIGKILL
};

// Runs `work` in a forked process and returns what it wrote to the descriptor that it is given.
// kInternal: the child failed otherwise than by SIGKILL; its last words are in the message.
[[nodiscard]] Result<ChildAnswer> RunChild(const std::function<Status(int answer_fd)>& work);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_PROCESS_USAGE_H_
