// Cistern beside what a gateway's engineer would use today: the same rows, in one run, interleaved.
// docs/performance.md tells how to run it and what it gave.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bench/bench_util.h"
#include "bench/peers/peer.h"
#include "bench/peers/peer_life.h"
#include "bench/peers/peer_workload.h"
#include "bench/peers/peers_report.h"
#include "bench/peers/recorded_workload.h"
#include "bench/peers/tsbs_workload.h"
#include "tests/support/recordings.h"

namespace cistern::bench {
namespace {

struct PeersOptions {
  std::vector<std::string> workloads = {"gateway"};
  std::vector<std::string> engines;  // empty: all
  uint64_t rows = 0;                 // 0: the workload's own number
  int rounds = 5;
  std::string duckdb;                // empty: left out
  std::string recordings;            // their directory
};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<PeerWorkload> MadeWorkloads() {
  std::vector<PeerWorkload> workloads = {
      GatewayRows("gateway", 3600), GatewayRows("gateway-360", 360), LongGatewayRows(),
      LateGatewayRows(),            EndingGatewayRows(),             AccelerometerRows()};
  for (PeerWorkload& workload : TsbsWorkloads()) workloads.push_back(std::move(workload));
  return workloads;
}

std::vector<std::string> WorkloadNames() {
  std::vector<std::string> names = RecordingNames();
  for (const PeerWorkload& workload : MadeWorkloads()) names.push_back(workload.name);
  return names;
}

Result<PeerWorkload> WorkloadOf(const std::string& name, const std::string& recordings) {
  for (const PeerWorkload& workload : MadeWorkloads()) {
    if (workload.name == name) return workload;
  }
  return RecordedRows(name, recordings);
}

std::vector<PeerKind> AllEngines(const std::string& duckdb) {
  std::vector<PeerKind> kinds = {GeneratorKind()};
  for (const auto& some : {CisternPeers(), RocksDbPeers(), SqlitePeers(), LevelDbPeers(),
                           LmdbPeers(), DuckDbPeers(duckdb)}) {
    kinds.insert(kinds.end(), some.begin(), some.end());
  }
  return kinds;
}

// All engines on one workload.
class WorkloadRun {
 public:
  WorkloadRun(const PeerWorkload& workload, const std::vector<PeerKind>& kinds,
              const PeersOptions& options)
      : workload_(workload), kinds_(kinds), options_(options) {}

  Status Run() {
    fmt::print("\n## {}: {}\n", workload_.name, workload_.what);
    // Engines are listed in this order, whatever order the rounds have.
    for (const PeerKind& kind : kinds_) report_.Add(kind.name, {});
    for (int round = 0; round < options_.rounds; ++round) {
      std::vector<PeerKind> order = kinds_;
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(round)));
      for (const PeerKind& kind : order) CISTERN_RETURN_IF_ERROR(RunOne(kind));
    }
    fmt::print("{} rows ({:.1f} logical bytes each), {} rounds; the rows and aggregates of all"
               " engines are equal\n",
               Rows(1).digest.rows, Rows(1).logical_bytes_per_row, options_.rounds);
    report_.PrintTables();
    return Status::Ok();
  }

  [[nodiscard]] const PeersReport& report() const { return report_; }

 private:
  Status RunOne(const PeerKind& kind) {
    const Truth& truth = Rows(kind.rows_share);
    LifeOptions options;
    options.directory = FreshDirectory("peers");
    options.rows = truth.digest.rows;
    CISTERN_ASSIGN_OR_RETURN(const Figures figures,
                             MeasureLife(kind, workload_, truth, options));
    report_.Add(kind.name, figures);
    std::fprintf(stderr, "  %-22s %9.0f rows/s\n", kind.name.c_str(),
                 figures.at(figure::kAppendRate));
    if (!workload_.is_killed || kind.name == kGenerator) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(const Figures reopen, MeasureReopen(kind, workload_, truth, options));
    report_.Add(kind.name, reopen);
    return Status::Ok();
  }

  // The truth about so much of the workload.
  const Truth& Rows(double share) {
    const auto [at, is_new] = truths_.try_emplace(share);
    if (is_new) {
      const uint64_t rows = options_.rows != 0 ? options_.rows : workload_.rows;
      at->second = TruthOf(workload_, static_cast<uint64_t>(static_cast<double>(rows) * share));
    }
    return at->second;
  }

  const PeerWorkload& workload_;
  const std::vector<PeerKind>& kinds_;
  const PeersOptions& options_;
  std::map<double, Truth> truths_;  // by share of the rows
  PeersReport report_;
};

Status CheckEngines(const std::vector<std::string>& asked, const std::vector<PeerKind>& kinds) {
  std::string known;
  for (const PeerKind& kind : kinds) {
    if (kind.name != kGenerator) known += (known.empty() ? "" : "; ") + kind.name;
  }
  for (const std::string& name : asked) {
    const bool is_known = std::any_of(kinds.begin(), kinds.end(),
                                      [&name](const PeerKind& kind) { return kind.name == name; });
    if (!is_known) {
      return Status::InvalidArgument(fmt::format(
          "--engines: there is no engine '{}' here; with semicolons between, there are {}", name,
          known));
    }
  }
  return Status::Ok();
}

Status RunAll(const PeersOptions& options) {
  std::vector<PeerKind> kinds = AllEngines(options.duckdb);
  CISTERN_RETURN_IF_ERROR(CheckEngines(options.engines, kinds));
  if (!options.engines.empty()) {
    std::erase_if(kinds, [&](const PeerKind& kind) {
      return kind.name != kGenerator && !Contains(options.engines, kind.name);
    });
  }
  fmt::print("Every engine: appends of 100 rows, each in the operating system when it is answered"
             " and none synced for it; 32 MiB for buffers and caches.\n");
  for (const PeerKind& kind : kinds) fmt::print("- {}: {}\n", kind.name, kind.settings);
  std::map<std::string, PeersReport> reports;
  for (const std::string& name : options.workloads) {
    CISTERN_ASSIGN_OR_RETURN(const PeerWorkload workload, WorkloadOf(name, options.recordings));
    WorkloadRun run(workload, kinds, options);
    CISTERN_RETURN_IF_ERROR(run.Run());
    reports.emplace(workload.name, run.report());
  }
  PrintBars(reports);
  return Status::Ok();
}

int Main(int argc, char** argv) {
  PeersOptions options;
  CLI::App app("Measures Cistern beside other engines on the same rows");
  app.add_option("--workloads", options.workloads, "Some of them, with commas between")
      ->delimiter(',')
      ->check(CLI::IsMember(WorkloadNames()))
      ->capture_default_str();
  app.add_option("--engines", options.engines,
                 "Some of them, by the names in the tables, with semicolons between")
      ->delimiter(';');
  app.add_option("--rows", options.rows, "Rows instead of the workload's own number")
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX));
  app.add_option("--recordings", options.recordings,
                 "Directory of the recorded sets of data (default: data in CISTERN_SHARED_DIR)");
  app.add_option("--rounds", options.rounds, "Rounds, each in an order of its own")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--duckdb", options.duckdb,
                 "libduckdb.so, as bench/peers/duckdb/fetch prints it");
  CLI11_PARSE(app, argc, argv);
  if (options.recordings.empty()) options.recordings = testing::RecordingsDir();
  if (options.duckdb.empty()) {
    std::fprintf(stderr, "NOT MEASURED: DuckDB. --duckdb \"$(bench/peers/duckdb/fetch)\" brings"
                         " it.\n");
  }
  const Status status = RunAll(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace cistern::bench

int main(int argc, char** argv) { return cistern::bench::Main(argc, argv); }
