// Reopen: how long a store takes to open with a backlog behind it. The time must not
// grow with the backlog: only the journal is replayed.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <string>

#include "bench/bench_util.h"
#include "bench/workload.h"

namespace cistern::bench {
namespace {

constexpr size_t kBatchRows = 1000;

// Fills a store once for each backlog; the last tenth of a head stays in the journal.
Status FillStore(const std::string& directory, const EngineOptions& options, uint64_t rows) {
  CISTERN_ASSIGN_OR_RETURN(const auto engine, Engine::Open(directory, options));
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(kGatewayTable));
  GatewayWorkload workload;
  RowBatch batch(*engine->FindTable("gateway.readings"));
  while (workload.rows_made() < rows) {
    CISTERN_RETURN_IF_ERROR(workload.Fill(kBatchRows, &batch));
    CISTERN_RETURN_IF_ERROR(
        engine->Append(batch, {Durability::kLog, BackPressure::kWait}).status());
  }
  return engine->Close();
}

void BM_Reopen(benchmark::State& state) {
  const auto rows = static_cast<uint64_t>(state.range(0));
  EngineOptions options;
  options.memory_budget_bytes = 32 * 1024 * 1024;
  const std::string directory = FreshDirectory("reopen-" + std::to_string(rows));
  if (const Status s = FillStore(directory, options, rows); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  for (auto _ : state) {
    auto engine = Engine::Open(directory, options);
    if (!engine.ok()) return state.SkipWithError(engine.status().ToString().c_str());
    state.PauseTiming();
    const Metrics metrics = (*engine)->GetMetrics();
    state.counters["replayed"] = static_cast<double>(metrics.records_replayed_at_open);
    state.counters["open_ms"] = static_cast<double>((*engine)->GetMetrics().open_micros) / 1000.0;
    if (!(*engine)->Close().ok()) return state.SkipWithError("Close");
    engine->reset();
    state.ResumeTiming();
  }
}

BENCHMARK(BM_Reopen)
    ->Arg(100'000)->Arg(1'000'000)->Arg(5'000'000)
    ->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cistern::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
