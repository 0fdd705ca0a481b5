// window_files [MINUTES]: how many files the sealed windows of small buckets are in, and what the
// merging of files costs.
//
// Ten sensors report once a minute in buckets of a minute, each sealed when it is due. The host
// drives and the clock is the rows' own, so that nothing depends on the speed of the machine.
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "bench/bench_util.h"
#include "bench/workload.h"
#include "cistern/cistern.h"
#include "tests/support/fake_clock.h"

namespace {

using cistern::Engine;
using cistern::Status;

constexpr int kSensors = 10;
constexpr const char* kTable =
    "CREATE TABLE c.minutes (sensor text, m timestamp, ts timestamp, flow double,"
    " PRIMARY KEY ((sensor, m), ts)) WITH comment = 'cistern: bucket m = 1 minute'";

struct Use {
  uint64_t descriptors = 0;
  uint64_t heap_bytes = 0;
};

Use UseOfProcess() {
  Use use;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    use.descriptors += entry.is_symlink() ? 1 : 0;
  }
  use.heap_bytes = mallinfo2().uordblks;
  return use;
}

uint64_t TableFiles(const std::string& directory) {
  uint64_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    files += entry.path().extension() == ".sst" ? 1 : 0;
  }
  return files;
}

Status TickAll(Engine* engine) {
  for (bool more = true; more;) {
    CISTERN_ASSIGN_OR_RETURN(const cistern::TickReport report, engine->Tick());
    more = report.more_due;
  }
  return Status::Ok();
}

Status AppendMinute(Engine* engine, int64_t now_ms, int minute) {
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("c.minutes"));
  cistern::RowBatch batch(schema);
  for (int sensor = 0; sensor < kSensors; ++sensor) {
    batch.BeginRow();
    CISTERN_RETURN_IF_ERROR(batch.SetBytes(0, "sensor-" + std::to_string(sensor)));
    CISTERN_RETURN_IF_ERROR(batch.SetInt(2, now_ms));
    CISTERN_RETURN_IF_ERROR(batch.SetDouble(3, sensor + 0.25 * (minute % 7)));
    CISTERN_RETURN_IF_ERROR(batch.EndRow());
  }
  return engine->Append(batch, {cistern::Durability::kLog}).status();
}

void Report(int minute, const std::string& directory, const cistern::Metrics& metrics,
            const Use& first) {
  const Use use = UseOfProcess();
  std::printf("%6d minutes: %5llu table files, %5lld descriptors and %8.1f KiB of heap more than"
              " at first; %8.1f KiB sealed, %8.1f KiB of table files written, MANIFEST %.1f,"
              " other %.1f\n",
              minute, static_cast<unsigned long long>(TableFiles(directory)),
              static_cast<long long>(use.descriptors) - static_cast<long long>(first.descriptors),
              (static_cast<double>(use.heap_bytes) - static_cast<double>(first.heap_bytes)) / 1024,
              static_cast<double>(metrics.seal_bytes) / 1024,
              static_cast<double>(metrics.sst_bytes_written) / 1024,
              static_cast<double>(metrics.manifest_bytes_written) / 1024,
              static_cast<double>(metrics.other_bytes_written) / 1024);
  std::fflush(stdout);
}

Status Run(const std::string& directory, int minutes) {
  const int64_t start_ms = cistern::bench::kFirstTimeMs;
  auto clock = std::make_shared<cistern::FakeClock>(start_ms * 1000);
  cistern::EngineOptions options;
  options.clock = clock;
  options.clock_floor_s = start_ms / 1000 - 1;
  options.background_threads = false;
  CISTERN_ASSIGN_OR_RETURN(const auto engine, Engine::Open(directory, options));
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(kTable));
  const Use first = UseOfProcess();
  const int step = std::max(minutes / 6, 1);
  for (int minute = 1; minute <= minutes; ++minute) {
    CISTERN_RETURN_IF_ERROR(AppendMinute(engine.get(), clock->WallMicros() / 1000, minute));
    clock->AdvanceMicros(60'000'000);
    CISTERN_RETURN_IF_ERROR(TickAll(engine.get()));
    if (minute % step == 0) Report(minute, directory, engine->GetMetrics(), first);
  }
  return engine->Close();
}

}  // namespace

int main(int argc, char** argv) {
  const int minutes = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 1440;
  const Status s = Run(cistern::bench::FreshDirectory("window-files"), minutes);
  if (!s.ok()) std::fprintf(stderr, "window_files: %s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
