// Peak anonymous memory of a process that does nothing else: budget plus 8 MiB for code
// and stacks. CISTERN_MEMORY_ROWS says how many rows (default 10 million),
// CISTERN_DAILY_ENTITIES how many entities have fifty years of daily rows (default 20).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/workload.h"
#include "engine/seal/seal_policy.h"
#include "lib/base/malloc_thresholds.h"
#include "tests/limits/memory_fixture.h"
#include "tests/support/fake_clock.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

constexpr size_t kBudgetBytes = 32 * 1024 * 1024;
constexpr uint64_t kAllowedBytes = kBudgetBytes + 8 * 1024 * 1024;
constexpr size_t kBatchRows = 100;

EngineOptions Options() {
  EngineOptions options;
  options.memory_budget_bytes = kBudgetBytes;
  return options;
}

class MemoryTest : public MemoryFixture {
 protected:
  void ExpectWithin(const char* what, uint64_t peak, uint64_t allowed = kAllowedBytes) {
    ExpectPeakWithin(what, peak, allowed);
  }
  TempDir root_{"cistern-memory"};
};

Status Ingest(const std::string& directory, uint64_t rows) {
  CISTERN_ASSIGN_OR_RETURN(const auto engine, Engine::Open(directory, Options()));
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(bench::kGatewayTable));
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("gateway.readings"));
  CISTERN_ASSIGN_OR_RETURN(const auto producer, engine->NewProducer());
  bench::GatewayWorkload workload;
  RowBatch batch(schema);
  while (workload.rows_made() < rows) {
    CISTERN_RETURN_IF_ERROR(workload.Fill(kBatchRows, &batch));
    CISTERN_RETURN_IF_ERROR(
        producer->Append(batch, {Durability::kLog, BackPressure::kWait}).status());
  }
  const Metrics metrics = engine->GetMetrics();
  if (metrics.versions_written != workload.rows_made()) return Status::Internal("rows are missing");
  if (metrics.memory_bytes_peak > kBudgetBytes) {
    return Status::Internal("the engine itself charged " +
                            std::to_string(metrics.memory_bytes_peak) + " bytes");
  }
  return engine->Close();
}

// Opens, and reads one sensor from the first row to the last.
Status ReopenAndScan(const std::string& directory, uint64_t rows) {
  CISTERN_ASSIGN_OR_RETURN(const auto engine, Engine::Open(directory, Options()));
  if (engine->GetMetrics().versions_written != rows) return Status::Internal("rows are missing");
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("gateway.readings"));
  const std::string_view parts[] = {"7"};
  ScanRequest request;
  request.table = "gateway.readings";
  CISTERN_ASSIGN_OR_RETURN(request.entity, EntityFromText(*schema, parts));
  request.from = bench::kFirstTimeMs;
  request.to = bench::kFirstTimeMs * 2;
  CISTERN_ASSIGN_OR_RETURN(const auto cursor, engine->Scan(request));
  uint64_t seen = 0;
  ResultBatch batch;
  while (cursor->Next(&batch)) seen += batch.row_count;
  CISTERN_RETURN_IF_ERROR(cursor->status());
  if (seen != rows / 1000) return Status::Internal("a scan saw " + std::to_string(seen) + " rows");
  return engine->Close();
}

TEST_F(MemoryTest, TenMillionRowsStayUnderTheBudgetAndSoDoesReopening) {
  const uint64_t rows = EnvNumber("CISTERN_MEMORY_ROWS", 10'000'000) / 1000 * 1000;
  const std::string directory = root_.path() + "/store";
  ExpectWithin("appending", PeakOf([&] { return Ingest(directory, rows); }));
  ExpectWithin("reopening and a scan", PeakOf([&] { return ReopenAndScan(directory, rows); }));
}

// Appends rows of one wide text, one each time, and scans them, with the smallest budget.
Status AppendAndScanWide(const std::string& directory, uint64_t rows, size_t row_bytes) {
  EngineOptions options;
  options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  CISTERN_ASSIGN_OR_RETURN(const auto engine, Engine::Open(directory, options));
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(
      "CREATE TABLE m.wide (id text, hour timestamp, ts timestamp, note text,"
      " PRIMARY KEY ((id, hour), ts)) WITH comment = 'cistern: bucket hour = 1 hour'"));
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("m.wide"));
  Rng rng(3);
  RowBatch batch(schema);
  std::string note;
  for (uint64_t row = 0; row < rows; ++row) {
    note.clear();
    while (note.size() < row_bytes) note.push_back(static_cast<char>('!' + rng.Below(90)));
    batch.Clear();
    batch.BeginRow();
    CISTERN_RETURN_IF_ERROR(batch.SetBytes(0, "a"));
    CISTERN_RETURN_IF_ERROR(batch.SetInt(2, static_cast<int64_t>(row) * 1'200'000));
    CISTERN_RETURN_IF_ERROR(batch.SetBytes(3, note));
    CISTERN_RETURN_IF_ERROR(batch.EndRow());
    CISTERN_RETURN_IF_ERROR(engine->Append(batch).status());
  }
  const std::string_view parts[] = {"a"};
  ScanRequest request;
  request.table = "m.wide";
  CISTERN_ASSIGN_OR_RETURN(request.entity, EntityFromText(*schema, parts));
  request.from = 0;
  request.to = 4'000'000'000'000;
  CISTERN_ASSIGN_OR_RETURN(const auto cursor, engine->Scan(request));
  uint64_t seen = 0;
  ResultBatch read;
  while (cursor->Next(&read)) seen += read.row_count;
  CISTERN_RETURN_IF_ERROR(cursor->status());
  return seen == rows ? engine->Close() : Status::Internal("rows are missing");
}

TEST_F(MemoryTest, RowsOfEverySizeStayWithinTheSmallestBudget) {
  constexpr uint64_t kAllowed = limits::kMemoryBudgetBytesMin + 8 * 1024 * 1024;
  for (const size_t row_bytes : {30u, 300u, 3'000u, 30'000u, 100'000u, 300'000u, 900'000u}) {
    const uint64_t rows = std::min<uint64_t>(20'000, 60'000'000 / row_bytes);
    const std::string what = "rows of " + std::to_string(row_bytes) + " bytes";
    const std::string directory = root_.path() + "/wide" + std::to_string(row_bytes);
    ExpectWithin(what.c_str(),
                 PeakOf([&] {
                   FixMallocThresholds();  // as a program with large rows is told to
                   return AppendAndScanWide(directory, rows, row_bytes);
                 }),
                 kAllowed);
  }
}

enum class Came : uint8_t {
  kDayByDay,  // the clock goes with the rows
  kAtOnce,    // history, read from a file
};

// One row a day for each entity, sealed year by year, in a table without a TTL: its windows
// are months, and there are more of them than families may be.
Status SealFiftyYears(const std::string& directory, uint64_t entities, Came came) {
  constexpr int64_t kDayMs = 86'400'000;
  constexpr int64_t kDays = 50 * 365;
  EngineOptions options = Options();
  options.background_threads = false;
  const auto clock = std::make_shared<FakeClock>(1'000'000);
  if (came == Came::kDayByDay) {
    options.clock = clock;
    options.clock_floor_s = 1;
  }
  CISTERN_ASSIGN_OR_RETURN(const auto engine, Engine::Open(directory, options));
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(
      "CREATE TABLE m.daily (id int, month text, ts timestamp, a double,"
      " PRIMARY KEY ((id, month), ts)) WITH comment = 'cistern: bucket month = 1 month'"));
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("m.daily"));
  RowBatch batch(schema);
  SealRequest all;
  all.due_only = false;
  for (int64_t day = 0; day < kDays; ++day) {
    batch.Clear();
    for (uint64_t id = 0; id < entities; ++id) {
      batch.BeginRow();
      CISTERN_RETURN_IF_ERROR(batch.SetInt(0, static_cast<int64_t>(id)));
      CISTERN_RETURN_IF_ERROR(batch.SetInt(2, day * kDayMs));
      CISTERN_RETURN_IF_ERROR(batch.SetDouble(3, static_cast<double>(day)));
      CISTERN_RETURN_IF_ERROR(batch.EndRow());
    }
    CISTERN_RETURN_IF_ERROR(engine->Append(batch, {Durability::kLog}).status());
    clock->AdvanceSeconds(86'400);
    if (day % 365 != 364) continue;
    CISTERN_RETURN_IF_ERROR(engine->Seal(all).status());
    for (bool more = true; more;) {
      CISTERN_ASSIGN_OR_RETURN(const TickReport report, engine->Tick());
      more = report.more_due;
    }
    const Metrics m = engine->GetMetrics();
    if (m.window_families > WindowCountFor(kBudgetBytes) || m.spill_families > 1) {
      return Status::Internal(std::to_string(m.window_families) + " windows and " +
                              std::to_string(m.spill_families) + " spill families");
    }
  }
  const Metrics m = engine->GetMetrics();
  std::printf("  %llu windows, %llu merges, %.2f bytes copied by them for each byte sealed\n",
              static_cast<unsigned long long>(m.window_families),
              static_cast<unsigned long long>(m.window_merges),
              static_cast<double>(m.window_merge_bytes) / static_cast<double>(m.seal_bytes));
  std::fflush(stdout);
  if (m.versions_sealed != entities * kDays || m.memory_bytes_peak > kBudgetBytes) {
    return Status::Internal("sealed " + std::to_string(m.versions_sealed) + ", charged " +
                            std::to_string(m.memory_bytes_peak) + " bytes");
  }
  return engine->Close();
}

TEST_F(MemoryTest, FiftyYearsOfDailyRowsKeepFamiliesAndMemoryWithinTheirBounds) {
  const uint64_t entities = EnvNumber("CISTERN_DAILY_ENTITIES", 20);
  ExpectWithin("fifty years, day by day", PeakOf([&] {
                 return SealFiftyYears(root_.path() + "/lived", entities, Came::kDayByDay);
               }));
  ExpectWithin("fifty years at once", PeakOf([&] {
                 return SealFiftyYears(root_.path() + "/daily", entities, Came::kAtOnce);
               }));
}

// Producers that nobody waits for: the queues are full, are emptied, and are full again.
Status SubmitWideRows(const std::string& directory, size_t producer_count) {
  constexpr size_t kColumns = 200;
  EngineOptions options;
  options.memory_budget_bytes = size_t{64} << 20;
  options.background_threads = false;
  CISTERN_ASSIGN_OR_RETURN(const auto engine, Engine::Open(directory, options));
  std::string cql = "CREATE TABLE m.wide (id int, hour timestamp, ts timestamp";
  for (size_t c = 0; c < kColumns; ++c) cql += ", c" + std::to_string(c) + " double";
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(cql + ", PRIMARY KEY ((id, hour), ts))"));
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("m.wide"));
  std::vector<std::unique_ptr<Producer>> producers;
  for (size_t n = 0; n < producer_count; ++n) {
    CISTERN_ASSIGN_OR_RETURN(auto producer, engine->NewProducer());
    producers.push_back(std::move(producer));
  }
  uint64_t rows = 0;
  for (int round = 0; round < 5; ++round) {
    for (size_t full = 0; full < producer_count;) {
      full = 0;
      for (const auto& producer : producers) {
        RowBatch batch(schema);
        batch.BeginRow();
        CISTERN_RETURN_IF_ERROR(batch.SetInt(0, static_cast<int64_t>(rows % producer_count)));
        CISTERN_RETURN_IF_ERROR(batch.SetInt(2, static_cast<int64_t>(rows)));
        CISTERN_RETURN_IF_ERROR(batch.SetDouble(3, static_cast<double>(rows)));
        CISTERN_RETURN_IF_ERROR(batch.EndRow());
        const Status s = producer->Submit(std::move(batch), {Durability::kLog}).status();
        if (!s.ok() && s.code() != StatusCode::kBusy) return s;
        (s.ok() ? rows : full) += 1;
      }
    }
    for (bool more = true; more;) {
      CISTERN_ASSIGN_OR_RETURN(const TickReport report, engine->Tick());
      more = report.more_due;
    }
  }
  const Metrics m = engine->GetMetrics();
  if (m.versions_written != rows || rows < 5'000) return Status::Internal("rows are missing");
  if (m.memory_bytes_peak > m.memory_budget_bytes || m.queued_bytes != 0) {
    return Status::Internal("charged " + std::to_string(m.memory_bytes_peak) + " bytes, " +
                            std::to_string(m.queued_bytes) + " are queued");
  }
  return engine->Close();
}

TEST_F(MemoryTest, SixtyProducersOfBatchesOfOneWideRowStayWithinTheBudget) {
  ExpectWithin("60 producers of 203 columns",
               PeakOf([&] { return SubmitWideRows(root_.path() + "/submitted", 60); }),
               (64 + 8) << 20);
}

TEST_F(MemoryTest, SixteenTablesShareTheBudget) {
  constexpr size_t kTables = 16;
  constexpr uint64_t kRowsOfTable = 100'000;
  const uint64_t peak = PeakOf([&]() -> Status {
    CISTERN_ASSIGN_OR_RETURN(const auto engine,
                             Engine::Open(root_.path() + "/sixteen", Options()));
    std::vector<RowBatch> batches;
    for (size_t t = 0; t < kTables; ++t) {
      std::string cql = bench::kGatewayTable;
      const std::string name = "readings" + std::to_string(t);
      cql.replace(cql.find("readings"), 8, name);
      CISTERN_RETURN_IF_ERROR(engine->CreateTable(cql));
      CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("gateway." + name));
      batches.emplace_back(schema);
    }
    bench::GatewayWorkload workload;
    while (workload.rows_made() < kTables * kRowsOfTable) {
      for (RowBatch& batch : batches) {
        CISTERN_RETURN_IF_ERROR(workload.Fill(kBatchRows, &batch));
        CISTERN_RETURN_IF_ERROR(
            engine->Append(batch, {Durability::kLog, BackPressure::kWait}).status());
      }
    }
    if (engine->GetMetrics().versions_written != workload.rows_made()) {
      return Status::Internal("rows are missing");
    }
    return engine->Close();
  });
  ExpectWithin("sixteen tables", peak);
}

}  // namespace
}  // namespace cistern::testing
