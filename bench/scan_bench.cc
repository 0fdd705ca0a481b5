// Scan: rows a second of one entity, from segments, beside a row-per-key store.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench_util.h"
#include "bench/raw_rocksdb.h"
#include "bench/workload.h"

namespace cistern::bench {
namespace {

constexpr size_t kBatchRows = 1000;
constexpr size_t kMemoryBytes = 32 * 1024 * 1024;
constexpr int64_t kEndMs = kFirstTimeMs + 400ll * 86'400'000;
constexpr uint32_t kSensors = 100;

// The store is filled once and kept for every repetition.
Engine* FilledEngine() {
  static const std::unique_ptr<Engine> engine = [] {
    EngineOptions options;
    options.memory_budget_bytes = kMemoryBytes;
    auto opened = Engine::Open(FreshDirectory("scan"), options);
    if (!opened.ok() || !(*opened)->CreateTable(kGatewayTable).ok()) {
      return std::unique_ptr<Engine>();
    }
    GatewayWorkload workload(1, kSensors);
    RowBatch batch(*(*opened)->FindTable("gateway.readings"));
    while (workload.rows_made() < RowsFromEnv(1'000'000)) {
      if (!workload.Fill(kBatchRows, &batch).ok()) return std::unique_ptr<Engine>();
      if (!(*opened)->Append(batch, {Durability::kLog, BackPressure::kWait}).ok()) {
        return std::unique_ptr<Engine>();
      }
    }
    if (!(*opened)->Rotate().ok()) return std::unique_ptr<Engine>();
    return std::move(opened).value();
  }();
  return engine.get();
}

RawRocksDb* FilledRawRocksDb() {
  static const std::unique_ptr<RawRocksDb> db = [] {
    auto opened = RawRocksDb::Open(FreshDirectory("scan-raw"), kMemoryBytes);
    if (!opened.ok()) return std::unique_ptr<RawRocksDb>();
    GatewayWorkload workload(1, kSensors);
    std::vector<GatewayRow> batch(kBatchRows);
    while (workload.rows_made() < RowsFromEnv(1'000'000)) {
      for (GatewayRow& row : batch) row = workload.Next();
      if (!(*opened)->Append(batch).ok()) return std::unique_ptr<RawRocksDb>();
    }
    if (!(*opened)->Settle().ok()) return std::unique_ptr<RawRocksDb>();
    return std::move(opened).value();
  }();
  return db.get();
}

void Report(benchmark::State& state, uint64_t rows, double cpu_s) {
  state.SetIterationTime(cpu_s);
  state.counters["rows"] = static_cast<double>(rows);
  state.counters["cpu_ns_row"] = cpu_s * 1e9 / static_cast<double>(rows);
}

void ScanCistern(benchmark::State& state, const std::vector<std::string>& columns) {
  Engine* engine = FilledEngine();
  if (engine == nullptr) return state.SkipWithError("the store could not be filled");
  const auto schema = *engine->FindTable("gateway.readings");
  for (auto _ : state) {
    const double start = ProcessCpuSeconds();
    uint64_t rows = 0;
    double sum = 0;
    for (uint32_t sensor = 0; sensor < kSensors; sensor += 5) {
      const std::string name = std::to_string(sensor);
      const std::string_view parts[] = {name};
      ScanRequest request;
      request.table = "gateway.readings";
      request.entity = *EntityFromText(*schema, parts);
      request.from = kFirstTimeMs;
      request.to = kEndMs;
      request.columns = columns;
      auto cursor = engine->Scan(request);
      if (!cursor.ok()) return state.SkipWithError(cursor.status().ToString().c_str());
      ResultBatch batch;
      while ((*cursor)->Next(&batch)) {
        rows += batch.row_count;
        for (size_t i = 0; i < batch.row_count; ++i) sum += batch.columns[1].AsDouble(i);
      }
      if (!(*cursor)->status().ok()) return state.SkipWithError("scan");
    }
    benchmark::DoNotOptimize(sum);
    Report(state, rows, ProcessCpuSeconds() - start);
  }
}

void BM_ScanCisternAllColumns(benchmark::State& state) {
  ScanCistern(state, {"ts", "temperature", "humidity", "pressure", "voltage", "status", "ok",
                      "mode"});
}

void BM_ScanCisternOneColumn(benchmark::State& state) { ScanCistern(state, {"ts", "temperature"}); }

void BM_ScanRawRocksDb(benchmark::State& state) {
  RawRocksDb* db = FilledRawRocksDb();
  if (db == nullptr) return state.SkipWithError("the store could not be filled");
  for (auto _ : state) {
    const double start = ProcessCpuSeconds();
    uint64_t rows = 0;
    double sum = 0;
    for (uint32_t sensor = 0; sensor < kSensors; sensor += 5) {
      rows += db->Scan(sensor, kFirstTimeMs, kEndMs, &sum);
    }
    benchmark::DoNotOptimize(sum);
    Report(state, rows, ProcessCpuSeconds() - start);
  }
}

BENCHMARK(BM_ScanCisternAllColumns)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ScanCisternOneColumn)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ScanRawRocksDb)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cistern::bench

int main(int argc, char** argv) {
  cistern::bench::MedianReporter reporter;
  if (!cistern::bench::RunInterleaved(argc, argv, &reporter)) return 1;
  const double all = reporter.Median("BM_ScanCisternAllColumns", "cpu_ns_row");
  const double one = reporter.Median("BM_ScanCisternOneColumn", "cpu_ns_row");
  const double raw = reporter.Median("BM_ScanRawRocksDb", "cpu_ns_row");
  if (all <= 0 || one <= 0 || raw <= 0) return 0;
  std::printf("\nmedians, CPU a row: all columns %.0f ns, one column %.0f ns, row per key %.0f ns;"
              " ratios %.2f and %.2f\n", all, one, raw, raw / all, raw / one);
  return 0;
}
