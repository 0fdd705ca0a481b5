#include "bench/peers/process_usage.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace cistern::bench {

namespace {

constexpr uint64_t kBytesOfBlock = 512;  // of stat's blocks

double Seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

// The number behind "name:" in a file of /proc.
uint64_t ProcNumber(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::stoull(line.substr(name.size() + 1));
  }
  return 0;
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

ProcessUsage ProcessUsage::Now() {
  ProcessUsage usage;
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  usage.wall_s = std::chrono::duration<double>(wall).count();
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  usage.cpu_s = Seconds(used.ru_utime) + Seconds(used.ru_stime);
  usage.kernel_bytes = ProcNumber("/proc/self/io", "wchar");
  usage.device_bytes = ProcNumber("/proc/self/io", "write_bytes") -
                       ProcNumber("/proc/self/io", "cancelled_write_bytes");
  return usage;
}

ProcessUsage operator-(const ProcessUsage& end, const ProcessUsage& start) {
  return {end.wall_s - start.wall_s, end.cpu_s - start.cpu_s,
          end.kernel_bytes - start.kernel_bytes, end.device_bytes - start.device_bytes};
}

uint64_t StatusKib(const std::string& name) { return ProcNumber("/proc/self/status", name); }

void ForgetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5\n"; }

uint64_t BytesOnDisk(const std::string& directory) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat info {};
    if (stat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    bytes += std::min(static_cast<uint64_t>(info.st_size),
                      static_cast<uint64_t>(info.st_blocks) * kBytesOfBlock);
  }
  return bytes;
}

Result<ChildAnswer> RunChild(const std::function<Status(int answer_fd)>& work) {
  int ends[2];
  if (pipe(ends) != 0) return Status::IoError("pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return Status::IoError("fork");
  if (child == 0) {
    close(ends[0]);
    const Status status = work(ends[1]);
    if (status.ok()) _exit(0);
    const std::string words = status.ToString();
    _exit(write(ends[1], words.data(), words.size()) >= 0 ? 1 : 2);
  }
  close(ends[1]);
  ChildAnswer answer;
  answer.text = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  answer.was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (status == 0 || answer.was_killed) return answer;
  return Status::Internal("the measured process failed (" +
                          (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                               : "exit " + std::to_string(WEXITSTATUS(status))) +
                          "): " + answer.text);
}

}  // namespace cistern::bench
