// PeersReport: the figures of all rounds, their medians as tables, and the bars beside them.
#ifndef CISTERN_BENCH_PEERS_PEERS_REPORT_H_
#define CISTERN_BENCH_PEERS_PEERS_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include "bench/peers/peer_life.h"

namespace cistern::bench {

// Of one workload.
class PeersReport {
 public:
  void Add(const std::string& engine, const Figures& figures);

  // Everything that was measured, an engine a line.
  void PrintTables() const;

  // 0: never measured. CPU of appending and resting is without that of making the rows.
  [[nodiscard]] double Median(const std::string& engine, const std::string& name) const;

 private:
  using Samples = std::map<std::string, std::vector<double>>;

  [[nodiscard]] std::vector<double> ValuesOf(const std::string& engine,
                                             const std::string& name) const;
  // A table with those figures; without engines that have none of them, nothing without any.
  void PrintTable(const std::string& title, const std::vector<const char*>& names) const;
  void PrintCpuSpread() const;
  void PrintOwnFigures() const;

  std::vector<std::string> order_;  // of the engines, as they are printed
  std::map<std::string, Samples> engines_;
};

// What is promised, as far as the workloads that it is measured on were run: by their names.
void PrintBars(const std::map<std::string, PeersReport>& reports);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_PEERS_REPORT_H_
