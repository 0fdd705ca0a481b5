// Aggregates of one column of one entity over many buckets, and scans, beside an iterator over a
// row-per-key store.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_util.h"
#include "bench/raw_rocksdb.h"
#include "bench/workload.h"

namespace cistern::bench {
namespace {

constexpr size_t kBatchRows = 1000;
constexpr size_t kMemoryBytes = 64 * 1024 * 1024;
constexpr int64_t kEndMs = kFirstTimeMs + 400ll * 86'400'000;
constexpr uint32_t kSensors = 4;

// By rows of a bucket. Emptied before the program ends, as RocksDB's own statics go then.
std::map<uint32_t, std::unique_ptr<Engine>>& Engines() {
  static std::map<uint32_t, std::unique_ptr<Engine>> engines;
  return engines;
}

// Sealed, in buckets of so many rows; filled once and kept for every repetition.
Engine* FilledEngine(uint32_t bucket_rows) {
  std::unique_ptr<Engine>& engine = Engines()[bucket_rows];
  if (engine != nullptr) return engine.get();
  EngineOptions options;
  options.memory_budget_bytes = kMemoryBytes;
  options.keep_confirmed_s = limits::kKeepSecondsMax;
  auto opened = Engine::Open(FreshDirectory("aggregate-" + std::to_string(bucket_rows)), options);
  if (!opened.ok() || !(*opened)->CreateTable(GatewayTableOf(bucket_rows)).ok()) return nullptr;
  GatewayWorkload workload(1, kSensors);
  RowBatch batch((*opened)->ListTables().front());
  while (workload.rows_made() < RowsFromEnv(2'000'000)) {
    if (!workload.Fill(kBatchRows, &batch).ok()) return nullptr;
    if (!(*opened)->Append(batch, {Durability::kLog, BackPressure::kWait}).ok()) return nullptr;
  }
  if (!(*opened)->Seal({.due_only = false}).ok()) return nullptr;
  engine = *std::move(opened);
  return engine.get();
}

RawRocksDb* FilledRawRocksDb() {
  static const std::unique_ptr<RawRocksDb> db = [] {
    auto opened = RawRocksDb::Open(FreshDirectory("aggregate-raw"), kMemoryBytes);
    if (!opened.ok()) return std::unique_ptr<RawRocksDb>();
    GatewayWorkload workload(1, kSensors);
    if (!(*opened)->AppendAll(&workload, RowsFromEnv(2'000'000), kBatchRows).ok() ||
        !(*opened)->Settle().ok()) {
      return std::unique_ptr<RawRocksDb>();
    }
    return std::move(opened).value();
  }();
  return db.get();
}

void Report(benchmark::State& state, uint64_t rows, double cpu_s) {
  state.SetIterationTime(cpu_s);
  state.counters["rows"] = static_cast<double>(rows);
  state.counters["cpu_ns_row"] = cpu_s * 1e9 / static_cast<double>(rows);
}

EntityKey Sensor(const TableSchema& schema, uint32_t sensor) {
  const std::string name = std::to_string(sensor);
  const std::string_view parts[] = {name};
  return *EntityFromText(schema, parts);
}

// `step_s` as wide as the buckets: statistics answer. Otherwise pages are decoded.
void Aggregate(benchmark::State& state, uint32_t bucket_rows, int64_t step_s) {
  Engine* engine = FilledEngine(bucket_rows);
  if (engine == nullptr) return state.SkipWithError("the store could not be filled");
  AggregateRequest request;
  request.table = engine->ListTables().front()->QualifiedName();
  request.step = step_s * 1000;
  request.of = {{"temperature", AggregateFunction::kMin},
                {"temperature", AggregateFunction::kMax},
                {"temperature", AggregateFunction::kAvg}};
  for (uint32_t s = 0; s < kSensors; ++s) {
    request.entities.push_back(Sensor(*engine->ListTables().front(), s));
  }
  for (auto _ : state) {
    const double start = ProcessCpuSeconds();
    const auto cursor = engine->Aggregate(request);
    if (!cursor.ok()) return state.SkipWithError(cursor.status().ToString().c_str());
    AggregateBatch batch;
    double sum = 0;
    while ((*cursor)->Next(&batch)) sum += batch.columns[2].AsDouble(0);
    if (!(*cursor)->status().ok()) return state.SkipWithError("aggregate");
    benchmark::DoNotOptimize(sum);
    const double cpu_s = ProcessCpuSeconds() - start;
    const AggregateWork work = (*cursor)->work();
    state.counters["decoded"] = static_cast<double>(work.rows_decoded);
    Report(state, work.rows_by_manifest + work.rows_by_page + work.rows_decoded + work.rows_merged,
           cpu_s);
  }
}

void Scan(benchmark::State& state, uint32_t bucket_rows, std::vector<std::string> columns) {
  Engine* engine = FilledEngine(bucket_rows);
  if (engine == nullptr) return state.SkipWithError("the store could not be filled");
  const auto schema = engine->ListTables().front();
  for (auto _ : state) {
    const double start = ProcessCpuSeconds();
    uint64_t rows = 0;
    double sum = 0;
    for (uint32_t s = 0; s < kSensors; ++s) {
      ScanRequest request;
      request.table = schema->QualifiedName();
      request.entity = Sensor(*schema, s);
      request.from = kFirstTimeMs;
      request.to = kEndMs;
      request.columns = columns;
      request.batch_rows_max = limits::kPageRowsMax;
      auto cursor = engine->Scan(request);
      if (!cursor.ok()) return state.SkipWithError(cursor.status().ToString().c_str());
      ResultBatch batch;
      while ((*cursor)->Next(&batch)) {
        rows += batch.row_count;
        sum += batch.columns[1].AsDouble(batch.row_count - 1);
      }
      if (!(*cursor)->status().ok()) return state.SkipWithError("scan");
    }
    benchmark::DoNotOptimize(sum);
    Report(state, rows, ProcessCpuSeconds() - start);
  }
}

void BM_AggregateFromStatistics360(benchmark::State& state) { Aggregate(state, 360, 360); }
void BM_AggregateFromStatistics1800(benchmark::State& state) { Aggregate(state, 1800, 1800); }
void BM_AggregateDecoded360(benchmark::State& state) { Aggregate(state, 360, 250); }
void BM_AggregateDecoded1800(benchmark::State& state) { Aggregate(state, 1800, 1100); }
void BM_AggregateDecodedDay(benchmark::State& state) { Aggregate(state, 86'400, 1100); }
void BM_ScanTwoColumns1800(benchmark::State& state) { Scan(state, 1800, {"ts", "temperature"}); }
void BM_ScanTwoColumnsDay(benchmark::State& state) { Scan(state, 86'400, {"ts", "temperature"}); }
void ScanAll(benchmark::State& state, uint32_t bucket_rows) {
  Scan(state, bucket_rows,
       {"ts", "temperature", "humidity", "pressure", "voltage", "status", "ok", "mode"});
}
void BM_ScanAllColumns360(benchmark::State& state) { ScanAll(state, 360); }
void BM_ScanAllColumns1800(benchmark::State& state) { ScanAll(state, 1800); }
void BM_ScanAllColumnsDay(benchmark::State& state) { ScanAll(state, 86'400); }

void BM_RawRocksDb(benchmark::State& state) {
  RawRocksDb* db = FilledRawRocksDb();
  if (db == nullptr) return state.SkipWithError("the store could not be filled");
  for (auto _ : state) {
    const double start = ProcessCpuSeconds();
    uint64_t rows = 0;
    double sum = 0;
    for (uint32_t s = 0; s < kSensors; ++s) rows += db->Scan(s, kFirstTimeMs, kEndMs, &sum);
    benchmark::DoNotOptimize(sum);
    Report(state, rows, ProcessCpuSeconds() - start);
  }
}

const char* const kNames[] = {
    "BM_AggregateFromStatistics360", "BM_AggregateFromStatistics1800", "BM_AggregateDecoded360",
    "BM_AggregateDecoded1800",       "BM_AggregateDecodedDay",         "BM_ScanTwoColumns1800",
    "BM_ScanTwoColumnsDay",          "BM_ScanAllColumns360",           "BM_ScanAllColumns1800",
    "BM_ScanAllColumnsDay"};

#define CISTERN_BENCH_AGGREGATE(name) \
  BENCHMARK(name)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond)
CISTERN_BENCH_AGGREGATE(BM_AggregateFromStatistics360);
CISTERN_BENCH_AGGREGATE(BM_AggregateFromStatistics1800);
CISTERN_BENCH_AGGREGATE(BM_AggregateDecoded360);
CISTERN_BENCH_AGGREGATE(BM_AggregateDecoded1800);
CISTERN_BENCH_AGGREGATE(BM_AggregateDecodedDay);
CISTERN_BENCH_AGGREGATE(BM_ScanTwoColumns1800);
CISTERN_BENCH_AGGREGATE(BM_ScanTwoColumnsDay);
CISTERN_BENCH_AGGREGATE(BM_ScanAllColumns360);
CISTERN_BENCH_AGGREGATE(BM_ScanAllColumns1800);
CISTERN_BENCH_AGGREGATE(BM_ScanAllColumnsDay);
CISTERN_BENCH_AGGREGATE(BM_RawRocksDb);

}  // namespace
}  // namespace cistern::bench

int main(int argc, char** argv) {
  cistern::bench::MedianReporter reporter;
  if (!cistern::bench::RunInterleaved(argc, argv, &reporter)) return 1;
  cistern::bench::Engines().clear();
  const double raw = reporter.Median("BM_RawRocksDb", "cpu_ns_row");
  if (raw <= 0) return 0;
  std::printf("\nmedians, CPU a row; row per key %.0f ns\n", raw);
  for (const char* name : cistern::bench::kNames) {
    const double ns = reporter.Median(name, "cpu_ns_row");
    if (ns > 0) std::printf("%-32s %8.2f ns, %.0f times\n", name, ns, raw / ns);
  }
  return 0;
}
