#include "bench/write_bytes.h"

#include <rocksdb/db.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "bench/workload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/rng.h"

namespace cistern::bench {

namespace {

constexpr size_t kBatchRows = 100;
constexpr size_t kBatchesOfSecond = 10;
constexpr int64_t kBatchUs = 1'000'000 / kBatchesOfSecond;

Status TickAll(Engine* engine) {
  for (bool more = true; more;) {
    CISTERN_ASSIGN_OR_RETURN(const TickReport report, engine->Tick());
    more = report.more_due;
  }
  return Status::Ok();
}

Status SealAll(Engine* engine) {
  SealRequest all;
  all.due_only = false;
  CISTERN_ASSIGN_OR_RETURN(const SealReport report, engine->Seal(all));
  if (report.problems.empty()) return Status::Ok();
  return Status::Corruption(report.problems.front());
}

// The SST files of the families of sealed pages, in a store that is closed.
Result<uint64_t> WindowFileBytes(const std::string& directory) {
  std::vector<std::string> names;
  rocksdb::Status status =
      rocksdb::DB::ListColumnFamilies(rocksdb::Options(), directory, &names);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::Options());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  if (status.ok()) {
    status = rocksdb::DB::OpenForReadOnly(rocksdb::Options(), directory, families, &handles,
                                          &opened);
  }
  if (!status.ok()) return Status::IoError("measuring window files: " + status.ToString());
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  uint64_t bytes = 0;
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name.starts_with("window-")) bytes += file.size;
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) delete handle;
  return bytes;
}

}  // namespace

double WriteBytes::PerRow() const {
  const uint64_t bytes = metrics.wal_bytes_written + metrics.sst_bytes_written +
                         metrics.manifest_bytes_written + metrics.other_bytes_written;
  return static_cast<double>(bytes) / static_cast<double>(rows);
}

double WriteBytes::UntilSpilledPerRow() const { return PerRow() - RewrittenPerRow(); }

double WriteBytes::RewrittenPerRow() const {
  return static_cast<double>(metrics.respill_bytes) / static_cast<double>(rows);
}

double WriteBytes::SealedPerRow() const {
  return static_cast<double>(metrics.seal_bytes) / static_cast<double>(rows);
}

double WriteBytes::WindowFilesPerRow() const {
  return static_cast<double>(window_file_bytes) / static_cast<double>(rows);
}

std::string WriteBytes::ToString() const {
  const auto per_row = [&](uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(rows);
  };
  char text[768];
  int length = 0;
  if (metrics.buckets_sealed == 0) {
    length = std::snprintf(text, sizeof text,
                           "%.2f bytes a row handed to the kernel until spilled, and %.2f"
                           " rewritten when spill families roll\n",
                           UntilSpilledPerRow(), RewrittenPerRow());
  } else {
    length = std::snprintf(
        text, sizeof text,
        "%.2f bytes a row handed to the kernel until all is sealed: %.3f of the %zu logical ones;"
        " sealed pages take %.2f, their files %.2f\n"
        "  spilled %.2f, rewritten when spill families roll %.2f;"
        " %llu buckets sealed, %llu amendments\n",
        PerRow(), PerRow() / kLogicalRowBytes, kLogicalRowBytes, SealedPerRow(),
        WindowFilesPerRow(), per_row(metrics.spill_bytes), RewrittenPerRow(),
        static_cast<unsigned long long>(metrics.buckets_sealed),
        static_cast<unsigned long long>(metrics.amendments));
  }
  std::snprintf(text + length, sizeof text - static_cast<size_t>(length),
                "  journal records %.2f, WAL files %.2f, SST files %.2f,"
                " MANIFEST %.3f, other %.3f; %llu rotations, %llu syncs, %llu rows",
                per_row(metrics.journal_bytes), per_row(metrics.wal_bytes_written),
                per_row(metrics.sst_bytes_written), per_row(metrics.manifest_bytes_written),
                per_row(metrics.other_bytes_written),
                static_cast<unsigned long long>(metrics.rotations),
                static_cast<unsigned long long>(metrics.journal_syncs),
                static_cast<unsigned long long>(rows));
  return text;
}

Result<WriteBytes> MeasureWriteBytes(const std::string& directory, const WriteBytesRun& run) {
  auto clock = std::make_shared<FakeClock>(kFirstTimeMs * 1000);
  EngineOptions options;
  options.clock = clock;
  options.clock_floor_s = kFirstTimeMs / 1000 - 1;
  options.background_threads = false;
  options.memory_budget_bytes = run.memory_budget_bytes;
  options.seal_when_due = run.rows_of_sealed_bucket != 0;
  CISTERN_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(directory, options));
  const uint32_t bucket_seconds = run.rows_of_sealed_bucket;
  CISTERN_RETURN_IF_ERROR(
      engine->CreateTable(bucket_seconds == 0 ? kGatewayTable : GatewayTableOf(bucket_seconds)));
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("gateway.readings"));
  CISTERN_ASSIGN_OR_RETURN(const auto producer, engine->NewProducer());
  GatewayWorkload workload;
  testing::Rng random(17);
  RowBatch batch(schema);
  while (workload.rows_made() < run.rows) {
    const int64_t second_us = clock->WallMicros();
    for (size_t i = 0; i < kBatchesOfSecond; ++i) {
      if (run.jitter_us != 0) {
        const int64_t late_us = static_cast<int64_t>(random.Below(run.jitter_us));
        clock->AdvanceMicros(second_us + static_cast<int64_t>(i) * kBatchUs + late_us -
                             clock->WallMicros());
      }
      CISTERN_RETURN_IF_ERROR(workload.Fill(kBatchRows, &batch));
      CISTERN_RETURN_IF_ERROR(
          producer->Append(batch, {Durability::kLog, BackPressure::kWait}).status());
    }
    clock->AdvanceMicros(second_us + 1'000'000 - clock->WallMicros());
    CISTERN_RETURN_IF_ERROR(engine->Sync());
    CISTERN_RETURN_IF_ERROR(TickAll(engine.get()));
  }
  CISTERN_RETURN_IF_ERROR(run.rows_of_sealed_bucket == 0 ? engine->Rotate()
                                                         : SealAll(engine.get()));
  WriteBytes result;
  result.rows = workload.rows_made();
  result.metrics = engine->GetMetrics();
  CISTERN_RETURN_IF_ERROR(engine->Close());
  CISTERN_ASSIGN_OR_RETURN(result.window_file_bytes, WindowFileBytes(directory));
  return result;
}

}  // namespace cistern::bench
