// Small questions: the newest row of an entity, its time, and the row of a time, with many rows
// behind them, beside other engines. docs/performance.md tells how to run it and what it gave.
#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bench/bench_util.h"
#include "bench/peers/peer.h"
#include "bench/peers/peer_workload.h"
#include "bench/workload.h"
#include "tests/support/rng.h"

namespace cistern::bench {
namespace {

struct SmallOptions {
  uint64_t rows = 10'000'000;
  uint32_t sensors = 1000;
  uint32_t bucket_seconds = 360;
  size_t memory_mib = 64;
  int rounds = 9;
  uint32_t questions = 4000;  // of each kind and engine in a round
  std::vector<std::string> engines = {"cistern", "rocksdb", "sqlite (entity, ts)",
                                      "lmdb (entity, ts)"};
};

// The rows of every sensor are made by themselves, so that they are the same in either order.
class SensorRows {
 public:
  explicit SensorRows(uint32_t sensor_count) {
    for (uint32_t i = 0; i < sensor_count; ++i) sensors_.emplace_back(i + 1, 1);
  }
  void Next(uint32_t sensor, RowBlock* block) {
    const GatewayRow row = sensors_[sensor].Next();
    block->BeginRow(sensor, row.time_ms);
    for (size_t i = 0; i < row.values.size(); ++i) block->SetDouble(i, row.values[i]);
    block->SetInt(4, row.status);
    block->SetInt(5, row.ok ? 1 : 0);
    block->SetText(6, row.mode);
  }

 private:
  std::vector<GatewayWorkload> sensors_;
};

class SumVisitor : public RowVisitor {
 public:
  explicit SumVisitor(const PeerTable& table) : table_(table) {}
  void Visit(const RowView& row) override { sums.Add(table_, row); }
  RowSums sums;

 private:
  const PeerTable& table_;
};

enum class Question { kNewestTime, kNewestRow, kRowAt };
constexpr std::pair<Question, const char*> kQuestions[] = {
    {Question::kNewestTime, "time of the newest row"},
    {Question::kNewestRow, "newest row"},
    {Question::kRowAt, "row by its key"}};

double ThreadCpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

class SmallRun {
 public:
  explicit SmallRun(const SmallOptions& options)
      : options_(options), table_(GatewayRows("small", options.bucket_seconds).table) {
    table_.entity_count = options.sensors;
    rows_each_ = std::max<uint64_t>(options.rows / table_.entity_count, 1);
  }

  Status Run(const std::vector<PeerKind>& kinds) {
    for (const PeerKind& kind : kinds) CISTERN_RETURN_IF_ERROR(Fill(kind));
    for (int round = 0; round < options_.rounds; ++round) {
      std::vector<size_t> order(peers_.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(round)));
      for (const auto& [question, name] : kQuestions) {
        RowSums expected;
        for (size_t i = 0; i < order.size(); ++i) {
          CISTERN_ASSIGN_OR_RETURN(const RowSums sums, Ask(order[i], question, round));
          if (i == 0) expected = sums;
          if (!(sums == expected)) {
            return Status::Internal(kinds[order[i]].name + ": " + name + " differs");
          }
        }
      }
    }
    Print(kinds);
    return Status::Ok();
  }

 private:
  // In order of time, as rows come; those that keep them by entity in that order, as one batch
  // would else rewrite hundreds of their pages.
  Status Fill(const PeerKind& kind) {
    const PeerSetup setup{table_, FreshDirectory("small-" + kind.name.substr(0, 4)),
                          options_.memory_mib << 20};
    std::filesystem::create_directories(setup.directory);
    CISTERN_ASSIGN_OR_RETURN(std::unique_ptr<Peer> peer, kind.open(setup));
    SensorRows rows(table_.entity_count);
    RowBlock block(table_.columns.size());
    const bool by_entity = kind.name.find("(entity") != std::string::npos;
    const uint64_t total = rows_each_ * table_.entity_count;
    for (uint64_t i = 0; i < total; ++i) {
      rows.Next(static_cast<uint32_t>(by_entity ? i / rows_each_ : i % table_.entity_count),
                &block);
      if (block.size() < 1000 && i + 1 < total) continue;
      CISTERN_RETURN_IF_ERROR(peer->Append(block));
      block.Clear();
    }
    CISTERN_RETURN_IF_ERROR(peer->Settle());
    std::fprintf(stderr, "  %s is filled\n", kind.name.c_str());
    peers_.push_back(std::move(peer));
    return Status::Ok();
  }

  Result<RowSums> Ask(size_t engine, Question question, int round) {
    Peer& peer = *peers_[engine];
    testing::Rng rng(static_cast<uint64_t>(round) + 17);
    SumVisitor visitor(table_);
    const double start = ThreadCpuSeconds();
    for (uint32_t i = 0; i < options_.questions; ++i) {
      const auto entity = static_cast<uint32_t>(rng.Below(table_.entity_count));
      if (question == Question::kNewestTime) {
        CISTERN_ASSIGN_OR_RETURN(const int64_t time_ms, peer.NewestTime(entity));
        visitor.sums.times += static_cast<uint64_t>(time_ms);
      } else if (question == Question::kNewestRow) {
        CISTERN_RETURN_IF_ERROR(peer.NewestRow(entity, &visitor));
      } else {
        const auto at = static_cast<int64_t>(rng.Below(rows_each_));
        CISTERN_RETURN_IF_ERROR(peer.RowAt(entity, table_.first_time_ms + at * 1000, &visitor));
      }
    }
    const double ns = (ThreadCpuSeconds() - start) * 1e9 / options_.questions;
    if (round > 0) figures_[{question, engine}].push_back(ns);  // the first warms up
    return visitor.sums;
  }

  void Print(const std::vector<PeerKind>& kinds) {
    fmt::print("{} rows of {} sensors in buckets of {}, {} MiB for each engine; CPU of the asking"
               " thread, ns a question: median of {} rounds (lowest to highest)\n\n| engine |",
               rows_each_ * table_.entity_count, table_.entity_count, table_.bucket_seconds,
               options_.memory_mib, options_.rounds - 1);
    for (const auto& [question, name] : kQuestions) fmt::print(" {} |", name);
    fmt::print("\n|---|---:|---:|---:|\n");
    for (size_t engine = 0; engine < kinds.size(); ++engine) {
      fmt::print("| {} |", kinds[engine].name);
      for (const auto& [question, name] : kQuestions) {
        std::vector<double> all = figures_[{question, engine}];
        std::sort(all.begin(), all.end());
        if (all.empty()) continue;
        fmt::print(" {:.0f} ({:.0f} to {:.0f}) |", all[all.size() / 2], all.front(), all.back());
      }
      fmt::print("\n");
    }
  }

  const SmallOptions& options_;
  PeerTable table_;
  uint64_t rows_each_ = 0;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::map<std::pair<Question, size_t>, std::vector<double>> figures_;
};

int Main(int argc, char** argv) {
  SmallOptions options;
  CLI::App app("Measures small questions, beside other engines on the same rows");
  app.add_option("--rows", options.rows, "Rows of all sensors")->capture_default_str();
  app.add_option("--sensors", options.sensors, "Each once a second")
      ->check(CLI::Range(1u, 1'000'000u))
      ->capture_default_str();
  app.add_option("--bucket-seconds", options.bucket_seconds, "Of Cistern's buckets: rows of each")
      ->capture_default_str();
  app.add_option("--memory-mib", options.memory_mib, "Of each engine")->capture_default_str();
  app.add_option("--rounds", options.rounds, "Of which the first does not count")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("--questions", options.questions, "Of each kind and engine in a round")
      ->capture_default_str();
  app.add_option("--engines", options.engines, "Some of them, with semicolons between")
      ->delimiter(';')
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::vector<PeerKind> kinds;
  for (const auto& some : {CisternPeers(), RocksDbPeers(), SqlitePeers(), LmdbPeers()}) {
    for (const PeerKind& kind : some) {
      if (std::count(options.engines.begin(), options.engines.end(), kind.name) > 0) {
        kinds.push_back(kind);
      }
    }
  }
  const Status status = SmallRun(options).Run(kinds);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace cistern::bench

int main(int argc, char** argv) { return cistern::bench::Main(argc, argv); }
