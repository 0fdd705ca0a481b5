// A gateway that lives through a recording: rows go in while a fake clock follows their event
// time, and what is due is sealed after every batch, as `cistern seal --due` does it.
//
// Usage: event_clock_ingest STORE TABLE FILE.csv BATCH_ROWS FLOOR_SECONDS
// Prints one JSON object of counters. datasets_test.py says what they must be.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/cistern.h"
#include "engine/bucketing/bucketer.h"
#include "tests/support/fake_clock.h"
#include "tools/ingest_run.h"
#include "tools/input.h"
#include "tools/record_reader.h"
#include "tools/reject_file.h"
#include "tools/row_mapper.h"

namespace cistern::tool {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kRestSeconds = 400ll * 86'400;  // after the last row, until all is due

// Microseconds since 1970 of the row's event time.
int64_t EventMicros(const RowBatch& batch, size_t row) {
  const TableSchema& schema = *batch.schema();
  const int64_t ticks = batch.fixed(row, schema.time_column());
  const int64_t a_second = TicksPerSecond(schema.time_unit);
  return a_second >= kSecond ? ticks / (a_second / kSecond) : ticks * (kSecond / a_second);
}

class EventClockIngest {
 public:
  EventClockIngest(std::string directory, std::string table, int64_t floor_s)
      : directory_(std::move(directory)),
        table_(std::move(table)),
        clock_(std::make_shared<FakeClock>(floor_s * kSecond)) {}

  Status Run(const std::string& file, size_t batch_rows) {
    EngineOptions options;
    options.clock = clock_;
    options.clock_floor_s = clock_->WallMicros() / kSecond;
    options.background_threads = false;
    CISTERN_ASSIGN_OR_RETURN(engine_, Engine::Open(directory_, options));
    // The store was made today, years after most recordings.
    CISTERN_RETURN_IF_ERROR(engine_->ConfirmClock().status());
    CISTERN_ASSIGN_OR_RETURN(const auto schema, engine_->FindTable(table_));
    CISTERN_RETURN_IF_ERROR(ReadAll(schema, file, batch_rows));
    during_ = engine_->GetMetrics();
    clock_->AdvanceSeconds(kRestSeconds);
    CISTERN_RETURN_IF_ERROR(SealDue());
    CISTERN_RETURN_IF_ERROR(SealDue());  // what was spilled before has rested by now
    Print(engine_->GetMetrics());
    return engine_->Close();
  }

 private:
  Status ReadAll(const std::shared_ptr<const TableSchema>& schema, const std::string& file,
                 size_t batch_rows) {
    CISTERN_ASSIGN_OR_RETURN(const auto input, Input::Open(file));
    CISTERN_ASSIGN_OR_RETURN(RowMapper mapper, RowMapper::Make(schema, {}, std::nullopt));
    const auto reader = NewCsvReader(input.get(), {});
    Record header;
    if (reader->Next(&header) != ReadOutcome::kRecord) return Status::InvalidArgument("no header");
    std::vector<std::string> names;
    for (const Cell& cell : header.cells) names.emplace_back(cell.text);
    CISTERN_RETURN_IF_ERROR(mapper.BindHeader(names));
    IngestSettings settings;
    settings.batch_rows_max = batch_rows;
    // Rows alone, or nobody could say what went together.
    settings.batch_bytes_max = SIZE_MAX;
    settings.batch_age_us_max = INT64_MAX;
    settings.rejected_max = 0;
    settings.append = [this](const RowBatch& batch) { return Append(batch); };
    settings.complain = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    Progress progress(false);
    IngestRun run(schema, std::move(settings), &progress);
    RejectFile rejects(file + ".reject");
    return run.Read(file, input.get(), reader.get(), &mapper, &rejects);
  }

  // The rows have just happened: the clock is at the newest of them, or stays.
  Status Append(const RowBatch& batch) {
    int64_t newest_us = clock_->WallMicros();
    for (size_t row = 0; row < batch.row_count(); ++row) {
      newest_us = std::max(newest_us, EventMicros(batch, row));
    }
    clock_->AdvanceMicros(newest_us - clock_->WallMicros());
    CISTERN_RETURN_IF_ERROR(
        engine_->Append(batch, {Durability::kLog, BackPressure::kWait}).status());
    return SealDue();
  }

  Status SealDue() {
    SealRequest request;
    request.due_only = true;
    CISTERN_ASSIGN_OR_RETURN(const SealReport report, engine_->Seal(request));
    if (!report.problems.empty()) return Status::Internal(report.problems.front());
    return Status::Ok();
  }

  void Print(const Metrics& m) const {
    const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
    std::printf(
        "{\"rows\": %llu, \"sealed\": %llu, \"open\": %llu, \"superseded\": %llu,"
        " \"buckets_sealed\": %llu, \"buckets_sealed_during\": %llu, \"amendments\": %llu}\n",
        number(m.versions_written), number(m.versions_sealed), number(m.versions_open),
        number(m.versions_superseded), number(m.buckets_sealed), number(during_.buckets_sealed),
        number(m.amendments));
  }

  const std::string directory_;
  const std::string table_;
  const std::shared_ptr<FakeClock> clock_;
  std::unique_ptr<Engine> engine_;
  Metrics during_;
};

}  // namespace
}  // namespace cistern::tool

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: event_clock_ingest STORE TABLE FILE.csv BATCH_ROWS FLOOR\n");
    return 2;
  }
  cistern::tool::EventClockIngest ingest(argv[1], argv[2], std::strtoll(argv[5], nullptr, 10));
  const cistern::Status s = ingest.Run(argv[3], std::strtoull(argv[4], nullptr, 10));
  if (!s.ok()) std::fprintf(stderr, "%s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
