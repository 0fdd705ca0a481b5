// MemoryFixture: work in a process of its own, and the most anonymous memory that it had.
#ifndef CISTERN_TESTS_LIMITS_MEMORY_FIXTURE_H_
#define CISTERN_TESTS_LIMITS_MEMORY_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "cistern/status.h"
#include "tests/crash/crash_cycle.h"

namespace cistern::testing {

// Of this process, as the kernel counts it.
inline uint64_t AnonymousBytes() {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("RssAnon:", 0) == 0) return std::stoull(line.substr(8)) * 1024;
  }
  return UINT64_MAX;  // unknown is never within a limit
}

// Samples this process until it is destroyed. The kernel keeps no peak of RssAnon.
class PeakSampler {
 public:
  explicit PeakSampler(std::atomic<uint64_t>* peak) : peak_(peak), thread_([this] { Run(); }) {}
  PeakSampler(const PeakSampler&) = delete;
  PeakSampler& operator=(const PeakSampler&) = delete;
  ~PeakSampler() {
    stop_ = true;
    thread_.join();
    Sample();
  }

 private:
  void Sample() { *peak_ = std::max(peak_->load(), AnonymousBytes()); }
  void Run() {
    while (!stop_) {
      Sample();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::atomic<uint64_t>* const peak_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class MemoryFixture : public ::testing::Test {
 protected:
  // Runs `body` in a child and returns its peak; fails the test if the child failed.
  uint64_t PeakOf(const std::function<Status()>& body) {
    ExpectedState& state = *shared_.get();
    state.BeginLife();
    const ChildEnd end = RunChild([&] {
      Status s;
      {
        const PeakSampler sampler(&state.io_operations);
        s = body();
      }
      if (!s.ok()) state.SetProblem(s.ToString());
      return s.ok() ? 0 : 1;
    }, -1, 15 * 60);
    EXPECT_EQ(Complaint(end, state), "");
    return state.io_operations.load();
  }
  void ExpectPeakWithin(const char* what, uint64_t peak, uint64_t allowed) {
    std::printf("%s: peak %.1f MiB of anonymous memory, allowed %.1f\n", what,
                static_cast<double>(peak) / 1048576.0,
                static_cast<double>(allowed) / 1048576.0);
    EXPECT_LE(peak, allowed) << what;
    EXPECT_GT(peak, 1024u * 1024u) << "the sampler saw nothing";
  }

  SharedExpectedState shared_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_LIMITS_MEMORY_FIXTURE_H_
