// What is promised beside other engines, judged by the medians of one run.
#include <fmt/format.h>

#include "bench/peers/peers_report.h"

namespace cistern::bench {

namespace {

constexpr const char* kCistern = "cistern";
constexpr const char* kRocksDb = "rocksdb";

const char* Verdict(bool is_met) { return is_met ? "met" : "MISSED"; }

// At least so many times less than the peer; a goal of 0: it is only printed.
void PrintTimesLess(const PeersReport& report, const char* peer, const char* name, double goal) {
  const double ours = report.Median(kCistern, name);
  const double theirs = report.Median(peer, name);
  if (ours <= 0 || theirs <= 0) return;
  const double ratio = theirs / ours;
  fmt::print("  {:<30} {:<22} {:>8.2f} times less", name, peer, ratio);
  if (goal > 0) fmt::print(", goal {}: {}", goal, Verdict(ratio >= goal));
  fmt::print("\n");
}

void PrintAtMost(const std::string& what, double value, double goal) {
  if (value <= 0) return;
  fmt::print("  {:<53} {:>8.3f}, goal at most {}: {}\n", what, value, goal, Verdict(value <= goal));
}

void PrintCpuBars(const PeersReport& report) {
  for (const char* name : {figure::kAppendCpu, figure::kRestCpu}) {
    PrintTimesLess(report, kRocksDb, name, 10);
    PrintTimesLess(report, "rocksdb vector+fifo", name, 3.5);
    PrintTimesLess(report, "sqlite rowid", name, 4);
    PrintTimesLess(report, "leveldb", name, 3);
    PrintTimesLess(report, "lmdb (entity, ts)", name, 3);
    PrintTimesLess(report, "lmdb (ts, entity)", name, 0);
    PrintTimesLess(report, "duckdb", name, 0);
  }
}

void PrintByteBars(const PeersReport& report, double part_goal) {
  const double kernel = report.Median(kCistern, figure::kKernelBytes);
  const double logical = report.Median(kCistern, figure::kLogicalBytes);
  if (logical <= 0) return;
  PrintAtMost("kernel bytes until all is sealed, part of the logical", kernel / logical, part_goal);
  PrintTimesLess(report, kRocksDb, figure::kKernelBytes, 8);
}

void PrintReadRatios(const PeersReport& report) {
  PrintTimesLess(report, kRocksDb, figure::kScanRows, 5);
  PrintTimesLess(report, "lmdb (entity, ts)", figure::kScanColumns, 0);
  for (const char* peer : {kRocksDb, "sqlite (entity, ts)", "sqlite rowid", "duckdb"}) {
    PrintTimesLess(report, peer, figure::kAggregate, 0);
  }
}

// Wall time of an appended row, without the making of it.
double AppendNs(const PeersReport& report) {
  const double rate = report.Median(kCistern, figure::kAppendRate);
  const double making = report.Median(kGenerator, figure::kAppendRate);
  return rate <= 0 || making <= 0 ? 0 : 1e9 / rate - 1e9 / making;
}

void PrintDisorder(const PeersReport& late, const PeersReport& sorted) {
  const auto ratio = [&](const char* name) {
    const double beside = sorted.Median(kCistern, name);
    return beside <= 0 ? 0 : late.Median(kCistern, name) / beside;
  };
  if (AppendNs(late) <= 0 || AppendNs(sorted) <= 0) return;
  const double rate = AppendNs(sorted) / AppendNs(late);
  fmt::print("  {:<53} {:>8.3f}, goal at least 0.7: {}\n",
             "disorder: part of the sorted ingest rate", rate, Verdict(rate >= 0.7));
  PrintAtMost("disorder: kernel bytes beside sorted", ratio(figure::kKernelBytes), 1.1);
  PrintAtMost("disorder: disk bytes beside sorted", ratio(figure::kDiskBytes), 1.1);
}

}  // namespace

void PrintBars(const std::map<std::string, PeersReport>& reports) {
  fmt::print("\n## Bars\n");
  for (const auto& [workload, report] : reports) {
    fmt::print("\n{}\n", workload);
    if (workload == "gateway") PrintCpuBars(report);
    if (workload == "gateway") PrintByteBars(report, 0.32);
    if (workload == "gateway-360") PrintByteBars(report, 0.36);
    if (workload == "tsbs-readings" || workload == "tsbs-readings-sorted") {
      PrintAtMost("files of sealed windows, B/row",
                  report.Median(kCistern, "files of window, B/row"), 7.5);
    }
    PrintReadRatios(report);
    const auto sorted = reports.find(workload + "-sorted");
    if (sorted != reports.end()) PrintDisorder(report, sorted->second);
  }
}

}  // namespace cistern::bench
