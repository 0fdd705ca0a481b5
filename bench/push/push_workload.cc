#include "bench/push/push_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cistern/limits.h"
#include "tests/support/fake_clock.h"

namespace cistern::bench {
namespace {

// Ten years: the rows are some years old, and none may be over before it is sent.
constexpr const char* kTtlOption = " AND default_time_to_live = 315360000";
constexpr int64_t kTickS = 60;

EngineOptions StoreOptions() {
  EngineOptions options;
  options.background_threads = false;  // all CPU is of what is measured
  options.keep_confirmed_s = limits::kKeepSecondsMax;
  return options;
}

}  // namespace

Status FillStore(const std::string& directory, uint32_t sensor_count) {
  EngineOptions options = StoreOptions();
  const auto clock = std::make_shared<FakeClock>(kFirstTimeMs * 1000);
  options.clock = clock;
  options.clock_floor_s = kFirstTimeMs / 1000 - 1;
  CISTERN_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(directory, options));
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(GatewayTableOf(kBucketRows)));
  CISTERN_RETURN_IF_ERROR(
      engine->CreateTable(GatewayTableOf(kBucketRows, "readings_ttl", kTtlOption)));
  CISTERN_ASSIGN_OR_RETURN(const auto producer, engine->NewProducer());
  std::vector<RowBatch> batches;
  std::vector<GatewayWorkload> workloads(2, GatewayWorkload(1, sensor_count));
  for (const char* table : {kPlainTable, kTtlTable}) {
    CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable(table));
    batches.emplace_back(schema);
  }
  for (uint32_t second = 1; second <= kBucketRows; ++second) {
    for (size_t t = 0; t < batches.size(); ++t) {
      CISTERN_RETURN_IF_ERROR(workloads[t].Fill(sensor_count, &batches[t]));
      CISTERN_RETURN_IF_ERROR(
          producer->Append(batches[t], {Durability::kLog, BackPressure::kWait}).status());
    }
    clock->AdvanceSeconds(1);
    for (bool more = second % kTickS == 0; more;) {
      CISTERN_ASSIGN_OR_RETURN(const TickReport report, engine->Tick());
      more = report.more_due;
    }
  }
  SealRequest all;
  all.due_only = false;
  CISTERN_ASSIGN_OR_RETURN(const SealReport report, engine->Seal(all));
  if (!report.problems.empty()) return Status::Corruption(report.problems.front());
  return engine->Close();
}

Result<std::unique_ptr<Engine>> OpenStore(const std::string& directory) {
  return Engine::Open(directory, StoreOptions());
}

std::vector<GatewayRow> RowsByBucket(uint32_t sensor_count) {
  GatewayWorkload workload(1, sensor_count);
  std::vector<GatewayRow> rows(size_t{sensor_count} * kBucketRows);
  for (GatewayRow& row : rows) row = workload.Next();
  std::stable_sort(rows.begin(), rows.end(), [](const GatewayRow& a, const GatewayRow& b) {
    return a.sensor < b.sensor;
  });
  return rows;
}

Status WriteCsv(const std::vector<GatewayRow>& rows, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << "sensor,part,ts,temperature,humidity,pressure,voltage,status,ok,mode\n";
  for (const GatewayRow& row : rows) {
    file << fmt::format("{},{},{},{},{},{},{},{},{},{}\n", row.sensor, kPart, row.time_ms,
                        row.values[0], row.values[1], row.values[2], row.values[3], row.status,
                        row.ok, row.mode);
  }
  file.close();
  return file ? Status::Ok() : Status::IoError("cannot write " + path);
}

}  // namespace cistern::bench
