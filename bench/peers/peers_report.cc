#include "bench/peers/peers_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace cistern::bench {

namespace {

const std::vector<const char*> kIngest = {figure::kAppendRate,  figure::kAppendCpu,
                                          figure::kRestCpu,     figure::kKernelBytes,
                                          figure::kDeviceBytes, figure::kDiskBytes,
                                          figure::kPeakRss,     figure::kPeakAnonymous};
const std::vector<const char*> kReads = {figure::kScanRows, figure::kScanColumns,
                                         figure::kAggregate};
const std::vector<const char*> kDrop = {figure::kDropMs, figure::kDropKib, figure::kDropReturned};
const std::vector<const char*> kReopen = {figure::kReopenMs, figure::kReopenCpu};

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string Number(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : 1);
}

}  // namespace

void PeersReport::Add(const std::string& engine, const Figures& figures) {
  if (std::find(order_.begin(), order_.end(), engine) == order_.end()) order_.push_back(engine);
  for (const auto& [name, value] : figures) engines_[engine][name].push_back(value);
}

std::vector<double> PeersReport::ValuesOf(const std::string& engine,
                                          const std::string& name) const {
  const auto found = engines_.find(engine);
  if (found == engines_.end()) return {};
  const auto samples = found->second.find(name);
  if (samples == found->second.end()) return {};
  std::vector<double> values = samples->second;
  const bool holds_making = name == figure::kAppendCpu || name == figure::kRestCpu;
  if (holds_making && engine != kGenerator) {
    const double making = Median(kGenerator, figure::kAppendCpu);
    for (double& value : values) value -= making;
  }
  return values;
}

double PeersReport::Median(const std::string& engine, const std::string& name) const {
  return MedianOf(ValuesOf(engine, name));
}

void PeersReport::PrintTables() const {
  PrintTable("appending, and until at rest (CPU without the making of the rows)", kIngest);
  PrintCpuSpread();
  PrintTable("reading, at rest", kReads);
  PrintTable("the end of a window", kDrop);
  PrintTable("opening after kill -9", kReopen);
  PrintOwnFigures();
}

void PeersReport::PrintTable(const std::string& title,
                             const std::vector<const char*>& names) const {
  std::string lines;
  for (const std::string& engine : order_) {
    std::string line;
    for (const char* name : names) {
      const std::vector<double> values = ValuesOf(engine, name);
      line += fmt::format(" {} |", values.empty() ? "" : Number(MedianOf(values)));
    }
    if (line.find_first_of("0123456789") == std::string::npos) continue;
    lines += fmt::format("| {} |{}\n", engine, line);
  }
  if (lines.empty()) return;
  std::string head = "| engine |";
  std::string rule = "|---|";
  for (const char* name : names) {
    head += fmt::format(" {} |", name);
    rule += "---:|";
  }
  fmt::print("\n{}; medians:\n\n{}\n{}\n{}", title, head, rule, lines);
}

void PeersReport::PrintCpuSpread() const {
  fmt::print("\nlowest to highest: append, CPU ns/row; append, rows/s\n");
  for (const std::string& engine : order_) {
    const std::vector<double> cpu = ValuesOf(engine, figure::kAppendCpu);
    const std::vector<double> rate = ValuesOf(engine, figure::kAppendRate);
    if (cpu.empty()) continue;
    const auto [cpu_low, cpu_high] = std::minmax_element(cpu.begin(), cpu.end());
    const auto [rate_low, rate_high] = std::minmax_element(rate.begin(), rate.end());
    fmt::print("  {:<22} {:>7.0f} to {:>7.0f} {:>11.0f} to {:>9.0f}\n", engine, *cpu_low, *cpu_high,
               *rate_low, *rate_high);
  }
}

void PeersReport::PrintOwnFigures() const {
  std::set<std::string> common = {figure::kLogicalBytes};
  for (const auto& names : {kIngest, kReads, kDrop, kReopen}) {
    common.insert(names.begin(), names.end());
  }
  for (const std::string& engine : order_) {
    std::string lines;
    for (const auto& [name, values] : engines_.at(engine)) {
      if (common.count(name) != 0) continue;
      lines += fmt::format("  {:<40} {:>10.3f}\n", name, MedianOf(values));
    }
    if (!lines.empty()) fmt::print("\n{}:\n{}", engine, lines);
  }
}

}  // namespace cistern::bench
