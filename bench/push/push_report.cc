#include "bench/push/push_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace cistern::bench {
namespace {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

void PushReport::Add(const std::string& method, double seconds, const PushCost& cost,
                     uint64_t rows) {
  const auto [at, is_new] = methods_.try_emplace(method);
  if (is_new) order_.push_back(method);
  const auto count = static_cast<double>(rows);
  at->second.rows_per_s.push_back(count / seconds);
  at->second.cpu_ns_per_row.push_back(cost.cpu_s * 1e9 / count);
  at->second.server_cpu_ns_per_row.push_back(cost.server_cpu_s * 1e9 / count);
  at->second.loopback_bytes_per_row.push_back(static_cast<double>(cost.loopback_bytes) / count);
  fmt::print("  {:<28} {:>7.2f} s {:>9.0f} rows/s {:>9.0f} ns/row of the server\n", method, seconds,
             count / seconds, cost.server_cpu_s * 1e9 / count);
  std::fflush(stdout);
}

void PushReport::AddFigure(const std::string& name, double value) {
  figures_[name].push_back(value);
}

void PushReport::Print() const {
  fmt::print("\n{:<28} {:>9}   {:>9} .. {:>8} {:>13} {:>13} {:>15}\n", "medians", "rows/s",
             "lowest", "highest", "client ns/row", "server ns/row", "loopback B/row");
  for (const std::string& method : order_) {
    const Samples& samples = methods_.at(method);
    const auto [low, high] =
        std::minmax_element(samples.rows_per_s.begin(), samples.rows_per_s.end());
    fmt::print("{:<28} {:>9.0f}   {:>9.0f} .. {:>8.0f} {:>13.0f} {:>13.0f} {:>15.1f}\n", method,
               Median(samples.rows_per_s), *low, *high, Median(samples.cpu_ns_per_row),
               Median(samples.server_cpu_ns_per_row), Median(samples.loopback_bytes_per_row));
  }
  for (const auto& [name, values] : figures_) {
    fmt::print("{:<44} {:>10.2f}\n", name, Median(values));
  }
}

double PushReport::MedianRate(const std::string& method) const {
  const auto found = methods_.find(method);
  return found == methods_.end() ? 0 : Median(found->second.rows_per_s);
}

void PushReport::PrintRatio(const std::string& of, const std::string& beside, double goal) const {
  if (MedianRate(of) == 0 || MedianRate(beside) == 0) return;
  fmt::print("{} beside {}: {:.2f} (goal: at least {})\n", of, beside,
             MedianRate(of) / MedianRate(beside), goal);
}

}  // namespace cistern::bench
