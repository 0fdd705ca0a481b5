// PushReport: the figures of all repetitions, and their medians beside each other.
#ifndef CISTERN_BENCH_PUSH_PUSH_REPORT_H_
#define CISTERN_BENCH_PUSH_PUSH_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/push/measure.h"

namespace cistern::bench {

class PushReport {
 public:
  // One push of so many rows, in `seconds` of its time.
  void Add(const std::string& method, double seconds, const PushCost& cost, uint64_t rows);
  // A figure of its own, printed with its median.
  void AddFigure(const std::string& name, double value);

  // Of each method rows/s, median, lowest and highest, the CPU of both ends and loopback bytes.
  void Print() const;
  // 0: it never ran.
  [[nodiscard]] double MedianRate(const std::string& method) const;
  // "a beside b: 3.21 (goal: at least 3)"; nothing where one of them never ran.
  void PrintRatio(const std::string& of, const std::string& beside, double goal) const;

 private:
  struct Samples {
    std::vector<double> rows_per_s;
    std::vector<double> cpu_ns_per_row;
    std::vector<double> server_cpu_ns_per_row;
    std::vector<double> loopback_bytes_per_row;
  };
  std::vector<std::string> order_;  // of the methods, as they came
  std::map<std::string, Samples> methods_;
  std::map<std::string, std::vector<double>> figures_;
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PUSH_PUSH_REPORT_H_
