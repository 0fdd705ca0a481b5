// What the benchmarks share: CPU time, directories, and the ratios at the end.
#ifndef CISTERN_BENCH_BENCH_UTIL_H_
#define CISTERN_BENCH_BENCH_UTIL_H_

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/rng.h"

namespace cistern::bench {

// User and system time of every thread of this process.
inline double ProcessCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// An empty directory for a store, on the disk that CISTERN_BENCH_DIR names. Ends the program
// where there is no such directory: figures of another disk would be taken for its own.
inline std::string FreshDirectory(const std::string& name) {
  const char* given = std::getenv("CISTERN_BENCH_DIR");
  const std::string parent = given == nullptr ? "/tmp" : given;
  if (!std::filesystem::is_directory(parent)) {
    std::fprintf(stderr, "CISTERN_BENCH_DIR: there is no directory %s\n", parent.c_str());
    std::exit(2);
  }
  const std::string path = parent + "/cistern-" + name;
  std::filesystem::remove_all(path);
  return path;
}

inline uint64_t RowsFromEnv(uint64_t fallback) {
  return testing::EnvNumber("CISTERN_BENCH_ROWS", fallback);
}

// Collects every repetition's counters, so that medians of two benchmarks can be divided.
class MedianReporter : public benchmark::ConsoleReporter {
 public:
  // Colours for a person alone.
  MedianReporter() : ConsoleReporter(isatty(STDOUT_FILENO) != 0 ? OO_Defaults : OO_Tabular) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      for (const auto& [name, counter] : run.counters) {
        values_[run.run_name.function_name + "." + name].push_back(counter.value);
      }
    }
    ConsoleReporter::ReportRuns(runs);
  }
  // Median of a counter over the repetitions; 0 if it never ran.
  [[nodiscard]] double Median(const std::string& benchmark, const std::string& counter) const {
    const auto found = values_.find(benchmark + "." + counter);
    if (found == values_.end()) return 0;
    std::vector<double> sorted = found->second;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

// Runs what was registered, five times each and interleaved so that a noisy moment hits all
// alike, unless the command line says otherwise. False for an unknown argument.
inline bool RunInterleaved(int argc, char** argv, MedianReporter* reporter) {
  std::vector<char*> arguments(argv, argv + argc);
  std::string repetitions = "--benchmark_repetitions=5";
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  arguments.insert(arguments.begin() + 1, {repetitions.data(), interleave.data()});
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return false;
  benchmark::RunSpecifiedBenchmarks(reporter);
  return true;
}

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_BENCH_UTIL_H_
