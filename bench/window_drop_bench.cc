// The end of a window: how long it takes and how much it writes to give back the space of
// expired rows, beside DeleteRange and CompactRange on a row-per-key store.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "bench/bench_util.h"
#include "bench/raw_rocksdb.h"
#include "bench/workload.h"
#include "tests/support/fake_clock.h"

namespace cistern::bench {
namespace {

constexpr size_t kBatchRows = 100;
constexpr size_t kMemoryBytes = 32 * 1024 * 1024;
constexpr int64_t kDayS = 86'400;

uint64_t BytesWritten(const Metrics& m) {
  return m.wal_bytes_written + m.sst_bytes_written + m.manifest_bytes_written +
         m.other_bytes_written;
}

template <typename Drop>
double SecondsOf(const Drop& drop) {
  const auto start = std::chrono::steady_clock::now();
  drop();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Report(benchmark::State& state, double seconds, uint64_t bytes, uint64_t before,
            uint64_t after) {
  state.SetIterationTime(seconds);
  state.counters["ms"] = seconds * 1e3;
  state.counters["KiB_written"] = static_cast<double>(bytes) / 1024;
  state.counters["MB_before"] = static_cast<double>(before) / 1e6;
  state.counters["MB_after"] = static_cast<double>(after) / 1e6;
}

// Appends the rows, which live a day, seals all and lets what is left of the spills go.
Status FillWindow(Engine* engine, uint64_t rows) {
  const std::string cql =
      std::string(kGatewayTable) + " WITH default_time_to_live = " + std::to_string(kDayS);
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(cql));
  CISTERN_ASSIGN_OR_RETURN(const auto producer, engine->NewProducer());
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("gateway.readings"));
  GatewayWorkload workload;
  RowBatch batch(schema);
  while (workload.rows_made() < rows) {
    CISTERN_RETURN_IF_ERROR(workload.Fill(kBatchRows, &batch));
    CISTERN_RETURN_IF_ERROR(
        producer->Append(batch, {Durability::kLog, BackPressure::kWait}).status());
    CISTERN_RETURN_IF_ERROR(engine->Tick().status());
  }
  SealRequest all;
  all.due_only = false;
  CISTERN_RETURN_IF_ERROR(engine->Seal(all).status());
  for (bool more = true; more;) {
    CISTERN_ASSIGN_OR_RETURN(const TickReport report, engine->Tick());
    more = report.more_due;
  }
  return Status::Ok();
}

void DropInCistern(benchmark::State& state, uint64_t rows) {
  for (auto _ : state) {
    auto clock = std::make_shared<FakeClock>((kFirstTimeMs / 1000 + kDayS) * 1'000'000);
    EngineOptions options;
    options.memory_budget_bytes = kMemoryBytes;
    options.background_threads = false;
    options.clock = clock;
    options.clock_floor_s = kFirstTimeMs / 1000;
    auto engine = Engine::Open(FreshDirectory("window-drop"), options);
    if (!engine.ok()) return state.SkipWithError(engine.status().ToString().c_str());
    if (const Status s = FillWindow(engine->get(), rows); !s.ok()) {
      return state.SkipWithError(s.ToString().c_str());
    }
    clock->AdvanceSeconds(kDayS);
    const Metrics before = (*engine)->GetMetrics();
    Result<ExpireReport> report = Status::Internal("not called");
    const double seconds = SecondsOf([&] { report = (*engine)->Expire(); });
    const Metrics after = (*engine)->GetMetrics();
    if (!report.ok() || report->versions != rows || before.window_families == 0) {
      return state.SkipWithError("the window did not end");
    }
    Report(state, seconds, BytesWritten(after) - BytesWritten(before), before.disk_bytes_used,
           after.disk_bytes_used);
    (*engine)->Close().IgnoreError();  // nothing is measured any more
  }
}

void DropInRawRocksDb(benchmark::State& state, uint64_t rows) {
  for (auto _ : state) {
    auto db = RawRocksDb::Open(FreshDirectory("window-drop-raw"), kMemoryBytes);
    if (!db.ok()) return state.SkipWithError(db.status().ToString().c_str());
    GatewayWorkload workload;
    Status s = (*db)->AppendAll(&workload, rows, kBatchRows);
    if (s.ok()) s = (*db)->Settle();
    if (!s.ok()) return state.SkipWithError(s.ToString().c_str());
    const uint64_t bytes = (*db)->bytes_written();
    const uint64_t before = (*db)->disk_bytes();
    Status dropped;
    const double seconds = SecondsOf([&] {
      dropped = (*db)->Drop(workload.sensor_count(), 0, kFirstTimeMs * 2);
    });
    if (!dropped.ok()) return state.SkipWithError(dropped.ToString().c_str());
    Report(state, seconds, (*db)->bytes_written() - bytes, before, (*db)->disk_bytes());
  }
}

void PrintTable(const MedianReporter& reporter) {
  std::printf("\nmedians; goals: at most 50 ms and 64 KiB written, space back at once\n");
  for (const char* rows : {"1M", "10M"}) {
    for (const char* store : {"Cistern", "RowPerKey"}) {
      const std::string name = std::string(store) + "/" + rows;
      if (reporter.Median(name, "ms") <= 0) continue;
      std::printf("%-14s %9.1f ms %9.1f KiB written, from %7.1f MB to %5.1f MB\n", name.c_str(),
                  reporter.Median(name, "ms"), reporter.Median(name, "KiB_written"),
                  reporter.Median(name, "MB_before"), reporter.Median(name, "MB_after"));
    }
  }
}

}  // namespace
}  // namespace cistern::bench

int main(int argc, char** argv) {
  using cistern::bench::DropInCistern;
  using cistern::bench::DropInRawRocksDb;
  const std::pair<const char*, uint64_t> sizes[] = {{"1M", 1'000'000}, {"10M", 10'000'000}};
  for (const auto& [name, rows] : sizes) {
    for (const bool raw : {false, true}) {
      const std::string title = std::string(raw ? "RowPerKey/" : "Cistern/") + name;
      benchmark::RegisterBenchmark(title.c_str(), raw ? DropInRawRocksDb : DropInCistern, rows)
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    }
  }
  cistern::bench::MedianReporter reporter;
  if (!cistern::bench::RunInterleaved(argc, argv, &reporter)) return 1;
  cistern::bench::PrintTable(reporter);
  return 0;
}
