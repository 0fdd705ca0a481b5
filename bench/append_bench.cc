// Append: CPU and bytes a row, beside a row-per-key writer on the same RocksDB.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "bench/bench_util.h"
#include "bench/raw_rocksdb.h"
#include "bench/workload.h"

namespace cistern::bench {
namespace {

// Half an hour of the gateway: long enough that the row-per-key store has to compact.
constexpr uint64_t kRows = 2'000'000;
constexpr size_t kBatchRows = 100;
constexpr size_t kMemoryBytes = 32 * 1024 * 1024;
constexpr uint64_t kSyncedRows = 500;  // of each thread

void Report(benchmark::State& state, uint64_t rows, double cpu_s, uint64_t bytes) {
  state.SetIterationTime(cpu_s);
  state.counters["cpu_ns_row"] = cpu_s * 1e9 / static_cast<double>(rows);
  state.counters["bytes_row"] = static_cast<double>(bytes) / static_cast<double>(rows);
}

// The rows alone, in the shape that each writer takes them.
void BM_GenerateBatches(benchmark::State& state) {
  const uint64_t rows = RowsFromEnv(kRows);
  const auto schema = ParseCreateTable(kGatewayTable);
  for (auto _ : state) {
    GatewayWorkload workload;
    RowBatch batch(*schema);
    const double start = ProcessCpuSeconds();
    while (workload.rows_made() < rows) {
      if (!workload.Fill(kBatchRows, &batch).ok()) return state.SkipWithError("Fill");
      benchmark::DoNotOptimize(batch);
    }
    Report(state, rows, ProcessCpuSeconds() - start, 0);
  }
}

void BM_GenerateRows(benchmark::State& state) {
  const uint64_t rows = RowsFromEnv(kRows);
  for (auto _ : state) {
    GatewayWorkload workload;
    const double start = ProcessCpuSeconds();
    while (workload.rows_made() < rows) benchmark::DoNotOptimize(workload.Next());
    Report(state, rows, ProcessCpuSeconds() - start, 0);
  }
}

// Until every row is in segments.
void BM_AppendCistern(benchmark::State& state) {
  const uint64_t rows = RowsFromEnv(kRows);
  for (auto _ : state) {
    EngineOptions options;
    options.memory_budget_bytes = kMemoryBytes;
    auto engine = Engine::Open(FreshDirectory("append"), options);
    if (!engine.ok()) return state.SkipWithError(engine.status().ToString().c_str());
    const Status created = (*engine)->CreateTable(kGatewayTable);
    auto producer = (*engine)->NewProducer();
    if (!created.ok() || !producer.ok()) return state.SkipWithError("CreateTable, NewProducer");
    GatewayWorkload workload;
    RowBatch batch(*(*engine)->FindTable("gateway.readings"));
    const double start = ProcessCpuSeconds();
    while (workload.rows_made() < rows) {
      Status s = workload.Fill(kBatchRows, &batch);
      if (s.ok()) s = (*producer)->Append(batch, {Durability::kLog, BackPressure::kWait}).status();
      if (!s.ok()) return state.SkipWithError(s.ToString().c_str());
    }
    if (const Status s = (*engine)->Rotate(); !s.ok()) {
      return state.SkipWithError(s.ToString().c_str());
    }
    const double cpu_s = ProcessCpuSeconds() - start;
    const Metrics m = (*engine)->GetMetrics();
    Report(state, rows, cpu_s,
           m.wal_bytes_written + m.sst_bytes_written + m.manifest_bytes_written +
               m.other_bytes_written);
    producer->reset();
    (*engine)->Close().IgnoreError();  // nothing is measured any more
  }
}

// Until every row is in SST files and compaction rests.
void BM_AppendRawRocksDb(benchmark::State& state) {
  const uint64_t rows = RowsFromEnv(kRows);
  for (auto _ : state) {
    auto db = RawRocksDb::Open(FreshDirectory("append-raw"), kMemoryBytes);
    if (!db.ok()) return state.SkipWithError(db.status().ToString().c_str());
    GatewayWorkload workload;
    const double start = ProcessCpuSeconds();
    Status s = (*db)->AppendAll(&workload, rows, kBatchRows);
    if (s.ok()) s = (*db)->Settle();
    if (!s.ok()) return state.SkipWithError(s.ToString().c_str());
    Report(state, rows, ProcessCpuSeconds() - start, (*db)->bytes_written());
  }
}

// One row for each append, synced, by as many threads as the argument says, over Engine::Append.
// They share commit groups: the more they are the fewer syncs an append takes.
void BM_AppendSynced(benchmark::State& state) {
  const auto thread_count = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    auto engine = Engine::Open(FreshDirectory("append-synced"));
    if (!engine.ok()) return state.SkipWithError(engine.status().ToString().c_str());
    if (!(*engine)->CreateTable(kGatewayTable).ok()) return state.SkipWithError("CreateTable");
    const auto schema = *(*engine)->FindTable("gateway.readings");
    std::atomic<uint64_t> appended{0};
    const uint64_t syncs_before = (*engine)->GetMetrics().journal_syncs;
    const double start = ProcessCpuSeconds();
    std::vector<std::thread> threads;
    for (size_t n = 0; n < thread_count; ++n) {
      threads.emplace_back([&] {
        GatewayWorkload workload;
        RowBatch batch(schema);
        for (uint64_t row = 0; row < kSyncedRows; ++row) {
          if (!workload.Fill(1, &batch).ok() || !(*engine)->Append(batch).ok()) return;
          ++appended;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (appended != thread_count * kSyncedRows) return state.SkipWithError("Append");
    Report(state, appended, ProcessCpuSeconds() - start, 0);
    state.counters["syncs_row"] =
        static_cast<double>((*engine)->GetMetrics().journal_syncs - syncs_before) /
        static_cast<double>(appended);
    (*engine)->Close().IgnoreError();  // nothing is measured any more
  }
}

BENCHMARK(BM_GenerateRows)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_GenerateBatches)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AppendCistern)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AppendRawRocksDb)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AppendSynced)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16);

void PrintRatios(const MedianReporter& reporter) {
  const double cistern = reporter.Median("BM_AppendCistern", "cpu_ns_row");
  const double raw = reporter.Median("BM_AppendRawRocksDb", "cpu_ns_row");
  const double cistern_bytes = reporter.Median("BM_AppendCistern", "bytes_row");
  const double raw_bytes = reporter.Median("BM_AppendRawRocksDb", "bytes_row");
  if (cistern <= 0 || raw <= 0 || raw_bytes <= 0) return;
  const double cistern_net = cistern - reporter.Median("BM_GenerateRows", "cpu_ns_row");
  const double raw_net = raw - reporter.Median("BM_GenerateRows", "cpu_ns_row");
  std::printf("\nmedians, 1,000 entities, batches of %zu rows of %zu bytes\n", kBatchRows,
              kLogicalRowBytes);
  std::printf("CPU a row       Cistern %7.0f ns   row per key %7.0f ns   ratio %5.2f\n", cistern,
              raw, raw / cistern);
  std::printf("  less the rows Cistern %7.0f ns   row per key %7.0f ns   ratio %5.2f (goal 8)\n",
              cistern_net, raw_net, raw_net / cistern_net);
  std::printf("bytes a row     Cistern %7.1f      row per key %7.1f      ratio %5.3f (goal 0.25)\n",
              cistern_bytes, raw_bytes, cistern_bytes / raw_bytes);
}

}  // namespace
}  // namespace cistern::bench

int main(int argc, char** argv) {
  cistern::bench::MedianReporter reporter;
  if (!cistern::bench::RunInterleaved(argc, argv, &reporter)) return 1;
  cistern::bench::PrintRatios(reporter);
  return 0;
}
