#include "tests/crash/crash_workload.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/rng.h"

namespace cistern::testing {

namespace {

constexpr uint64_t kEntitiesOfWriter = 3;
constexpr int64_t kFirstTimeMs = 1'704'067'200'000;  // 2024-01-01
// Three entities, a row a minute each: a bucket of a day is 1,440 rows.
constexpr int64_t kStepMs = 60'000;
constexpr uint64_t kValueSalt = 0x5eed'7011;

constexpr const char* kTable =
    "CREATE TABLE crash.rows (sensor text, day date, ts timestamp, number bigint, a double,"
    " b int, c text, PRIMARY KEY ((sensor, day), ts))";

// Its rows expire while the life goes on; only that they are counted is looked at.
constexpr const char* kBriefTable =
    "CREATE TABLE crash.brief (sensor text, slot timestamp, ts timestamp, a double,"
    " PRIMARY KEY ((sensor, slot), ts)) WITH comment = 'cistern: bucket slot = 1 minute'"
    " AND default_time_to_live = 1";
constexpr uint64_t kBriefRows = 5;

// Two declarations that take turns: each row says in every one of its columns which it is.
constexpr const char* kChangingTables[] = {
    "CREATE TABLE crash.changing (sensor text, day date, ts timestamp, a int, b text,"
    " PRIMARY KEY ((sensor, day), ts))",
    "CREATE TABLE crash.changing (sensor text, day date, ts timestamp, c text, d int, a int,"
    " PRIMARY KEY ((sensor, day), ts))"};
constexpr int64_t kChangingRows = 50;  // by time; written over and over

// The machine's clock, put forward by what the store's lives have asked for.
class ForwardClock final : public Clock {
 public:
  explicit ForwardClock(const ExpectedState* state) : state_(state) {}
  int64_t WallMicros() override { return system_->WallMicros() + state_->clock_ahead_us.load(); }
  int64_t MonotonicMicros() override {
    return system_->MonotonicMicros() + state_->clock_ahead_us.load();
  }
  std::string BootId() override { return system_->BootId(); }

 private:
  const std::shared_ptr<Clock> system_ = SystemClock();
  const ExpectedState* const state_;
};

std::string EntityName(size_t writer, uint64_t which) {
  std::string name(1, 'w');
  name.append(std::to_string(writer)).append("-").append(std::to_string(which));
  return name;
}

// Neighbours swap places, so that rows come late as well as in order.
int64_t TimeOfRow(uint64_t n) {
  const uint64_t slot = n / kEntitiesOfWriter;
  const uint64_t shuffled = Mix(slot / 4) % 3 == 0 ? slot ^ 3 : slot;
  return kFirstTimeMs + static_cast<int64_t>(shuffled) * kStepMs;
}

struct RowValues {
  double a;
  int32_t b;
  std::string c;
};

RowValues ValuesOfRow(size_t writer, uint64_t n) {
  const uint64_t mixed = Mix(n * kExpectedWritersMax + writer + kValueSalt);
  RowValues v;
  v.a = static_cast<double>(mixed % 100000) / 100.0;
  v.b = static_cast<int32_t>(mixed >> 32);
  v.c = std::string(mixed % 23, static_cast<char>('a' + mixed % 26));
  return v;
}

Status FillBatch(size_t writer, uint64_t first, uint64_t end, RowBatch* batch) {
  const TableSchema& schema = *batch->schema();
  const auto column = [&](std::string_view name) { return *schema.FindColumn(name); };
  batch->Clear();
  for (uint64_t n = first; n < end; ++n) {
    const RowValues v = ValuesOfRow(writer, n);
    batch->BeginRow();
    CISTERN_RETURN_IF_ERROR(
        batch->SetBytes(column("sensor"), EntityName(writer, n % kEntitiesOfWriter)));
    CISTERN_RETURN_IF_ERROR(batch->SetInt(column("ts"), TimeOfRow(n)));
    CISTERN_RETURN_IF_ERROR(batch->SetInt(column("number"), static_cast<int64_t>(n)));
    CISTERN_RETURN_IF_ERROR(batch->SetDouble(column("a"), v.a));
    CISTERN_RETURN_IF_ERROR(batch->SetInt(column("b"), v.b));
    CISTERN_RETURN_IF_ERROR(batch->SetBytes(column("c"), v.c));
    CISTERN_RETURN_IF_ERROR(batch->EndRow());
  }
  return Status::Ok();
}

void NoteAcknowledged(ExpectedWriter* writer, uint64_t end, uint64_t sequence, bool durable) {
  const uint64_t index = writer->batch_count.load();
  if (index < kExpectedBatchesMax) {
    writer->batches[index] = {end, sequence};
    writer->batch_count = index + 1;
  }
  writer->acknowledged = end;
  if (durable) writer->durable = end;
}

// A failing device may be the reason of these, and they must say something.
bool Fits(const Status& s) {
  if (s.message().empty()) return false;
  switch (s.code()) {
    case StatusCode::kIoError: case StatusCode::kNoSpace: case StatusCode::kReadOnly:
    case StatusCode::kBusy: case StatusCode::kClosed: return true;
    default: return false;
  }
}

// One writer. Each step fills *problem_ and returns false when the life must end.
class Writer {
 public:
  Writer(Engine* engine, std::shared_ptr<const TableSchema> schema, const CrashWorkload& workload,
         size_t index, ExpectedState* state, std::string* problem)
      : engine_(engine), schema_(std::move(schema)), workload_(workload), index_(index),
        state_(state), own_(state->writers[index]), rng_(Mix(workload.seed) + index),
        problem_(problem) {}

  void Run() {
    auto producer = engine_->NewProducer();
    if (!producer.ok()) return static_cast<void>(Failed("NewProducer", producer.status()));
    RowBatch batch(schema_);
    uint64_t first = own_.attempted.load();
    for (uint64_t i = 0; i < workload_.batches_max; ++i) {
      const uint64_t end = BatchEnd(index_, first);
      if (const Status s = FillBatch(index_, first, end, &batch); !s.ok()) {
        *problem_ = "FillBatch: " + s.ToString();
        return;
      }
      own_.attempted = end;
      if (workload_.acknowledge_early) NoteAcknowledged(&own_, end, i + 1, true);
      if (!Append(producer->get(), batch, end) || !Maintain()) return;
      first = end;
    }
  }

 private:
  // Whether to go on after a failure.
  bool Failed(const char* what, const Status& s) {
    if (workload_.tolerate_errors && Fits(s)) return true;
    *problem_ = std::string(what) + ": " + s.ToString();
    return false;
  }

  bool Append(Producer* producer, const RowBatch& batch, uint64_t end) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const auto answer = producer->Append(batch, {workload_.durability, BackPressure::kWait});
      if (!answer.ok()) {
        if (!Failed("Append", answer.status())) return false;
        // What a refused batch left is unknown: it may be counted twice.
        state_->repeated_rows += batch.row_count();
        const Status ticked = engine_->Tick().status();
        if (!ticked.ok() && !Failed("Tick", ticked)) return false;
        continue;
      }
      if (answer->durability < workload_.durability) {
        *problem_ = "Append answered a weaker durability than was asked";
        return false;
      }
      if (!workload_.acknowledge_early) {
        NoteAcknowledged(&own_, end, answer->sequence, answer->durability == Durability::kSynced);
      }
      return true;
    }
    return false;
  }

  bool Maintain() {
    Status s;
    if (workload_.rotate_one_in != 0 && rng_.OneIn(workload_.rotate_one_in)) {
      s = engine_->Rotate();
      if (!s.ok() && !Failed("Rotate", s)) return false;
    }
    if (workload_.seal_one_in != 0 && rng_.OneIn(workload_.seal_one_in)) {
      SealRequest request;
      request.due_only = false;
      s = engine_->Seal(request).status();
      if (!s.ok() && !Failed("Seal", s)) return false;
    }
    if (workload_.expire_one_in != 0 && rng_.OneIn(workload_.expire_one_in)) {
      s = EndWindow();
      if (!s.ok() && !Failed("EndWindow", s)) return false;
    }
    if (index_ == 0 && workload_.alter_one_in != 0 && rng_.OneIn(workload_.alter_one_in)) {
      s = Alter();
      if (!s.ok() && !Failed("Alter", s)) return false;
    }
    if (workload_.sync_one_in != 0 && rng_.OneIn(workload_.sync_one_in)) {
      const uint64_t acknowledged = own_.acknowledged.load();
      s = engine_->Sync();
      if (s.ok()) own_.durable = acknowledged;
      else if (!Failed("Sync", s)) return false;
    }
    if (rng_.OneIn(20)) {
      s = engine_->Tick().status();
      if (!s.ok() && !Failed("Tick", s)) return false;
    }
    return true;
  }

  // Rows that are sealed, expire and go with their window, while the spill family that they
  // came from stays for the others' sake.
  Status EndWindow() {
    CISTERN_ASSIGN_OR_RETURN(const auto schema, engine_->FindTable("crash.brief"));
    RowBatch batch(schema);
    for (uint64_t i = 0; i < kBriefRows; ++i) {
      batch.BeginRow();
      CISTERN_RETURN_IF_ERROR(batch.SetBytes(0, EntityName(index_, 0)));
      CISTERN_RETURN_IF_ERROR(batch.SetInt(2, kFirstTimeMs + static_cast<int64_t>(i)));
      CISTERN_RETURN_IF_ERROR(batch.SetDouble(3, 1.5));
      CISTERN_RETURN_IF_ERROR(batch.EndRow());
    }
    state_->repeated_rows += kBriefRows;  // counted or not, as if they were repeated ones
    CISTERN_RETURN_IF_ERROR(engine_->Append(batch, {workload_.durability}).status());
    SealRequest request;
    request.due_only = false;
    request.table = "crash.brief";
    CISTERN_RETURN_IF_ERROR(engine_->Seal(request).status());
    state_->clock_ahead_us += 2'000'000;
    return engine_->Expire().status();
  }

  // Writes a few rows, and changes their table to its other declaration.
  Status Alter() {
    CISTERN_ASSIGN_OR_RETURN(const auto schema, engine_->FindTable("crash.changing"));
    const bool second = schema->FindColumn("d").has_value();
    RowBatch batch(schema);
    for (uint64_t i = 0; i < 4; ++i) {
      const auto n = static_cast<int64_t>(rng_.Below(kChangingRows));
      batch.BeginRow();
      CISTERN_RETURN_IF_ERROR(batch.SetBytes(*schema->FindColumn("sensor"), "x"));
      CISTERN_RETURN_IF_ERROR(batch.SetInt(*schema->FindColumn("ts"), kFirstTimeMs + n));
      CISTERN_RETURN_IF_ERROR(batch.SetInt(*schema->FindColumn("a"), n));
      CISTERN_RETURN_IF_ERROR(
          batch.SetBytes(*schema->FindColumn(second ? "c" : "b"), std::to_string(n)));
      if (second) CISTERN_RETURN_IF_ERROR(batch.SetInt(*schema->FindColumn("d"), n));
      CISTERN_RETURN_IF_ERROR(batch.EndRow());
    }
    state_->repeated_rows += batch.row_count();
    CISTERN_RETURN_IF_ERROR(engine_->Append(batch, {workload_.durability}).status());
    return engine_->AlterTable(kChangingTables[second ? 0 : 1]);
  }

  Engine* const engine_;
  const std::shared_ptr<const TableSchema> schema_;
  const CrashWorkload& workload_;
  const size_t index_;
  ExpectedState* const state_;
  ExpectedWriter& own_;
  Rng rng_;
  std::string* const problem_;
};

// Rows of one writer as the store holds them, every value compared.
std::string ReadWriter(Engine* engine, const TableSchema& schema, size_t writer,
                       std::vector<uint64_t>* numbers) {
  for (uint64_t which = 0; which < kEntitiesOfWriter; ++which) {
    const std::string name = EntityName(writer, which);
    const std::string_view parts[] = {name};
    auto entity = EntityFromText(schema, parts);
    if (!entity.ok()) return "EntityFromText: " + entity.status().ToString();
    ScanRequest request;
    request.table = "crash.rows";
    request.entity = *entity;
    request.from = 0;
    request.to = kFirstTimeMs * 4;
    request.columns = {"ts", "number", "a", "b", "c"};
    auto cursor = engine->Scan(request);
    if (!cursor.ok()) return "Scan: " + cursor.status().ToString();
    ResultBatch batch;
    while ((*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        const auto n = static_cast<uint64_t>(batch.columns[1].fixed[i]);
        const RowValues v = ValuesOfRow(writer, n);
        if (n % kEntitiesOfWriter != which || batch.columns[0].fixed[i] != TimeOfRow(n) ||
            std::bit_cast<int64_t>(v.a) != batch.columns[2].fixed[i] ||
            v.b != batch.columns[3].fixed[i] || v.c != batch.columns[4].bytes(i)) {
          return "writer " + std::to_string(writer) + ": row " + std::to_string(n) +
                 " holds other values than were written";
        }
        numbers->push_back(n);
      }
    }
    if (!(*cursor)->status().ok()) return "scan: " + (*cursor)->status().ToString();
  }
  std::sort(numbers->begin(), numbers->end());
  return "";
}

// The table has one of its two declarations, and a row has of both what was written.
std::string CheckChanging(Engine* engine) {
  const auto schema = engine->FindTable("crash.changing");
  if (schema.status().code() == StatusCode::kNotFound) return "";
  if (!schema.ok()) return "FindTable: " + schema.status().ToString();
  const std::string_view parts[] = {"x"};
  ScanRequest request;
  request.table = "crash.changing";
  request.entity = *EntityFromText(**schema, parts);
  request.from = 0;
  request.to = kFirstTimeMs * 4;
  request.columns = {"ts", "a"};
  request.columns.emplace_back((*schema)->FindColumn("d") ? "c" : "b");
  auto cursor = engine->Scan(request);
  if (!cursor.ok()) return "Scan: " + cursor.status().ToString();
  ResultBatch batch;
  while ((*cursor)->Next(&batch)) {
    for (size_t i = 0; i < batch.row_count; ++i) {
      const int64_t n = batch.columns[0].fixed[i] - kFirstTimeMs;
      const bool has_text = batch.columns[2].state(i) == CellState::kValue;
      if (batch.columns[1].fixed[i] != n ||
          (has_text && batch.columns[2].bytes(i) != std::to_string(n))) {
        return "row " + std::to_string(n) + " of the table that changes holds other values";
      }
    }
  }
  return (*cursor)->status().ok() ? "" : "scan: " + (*cursor)->status().ToString();
}

std::string CheckCounters(Engine* engine, uint64_t rows, uint64_t repeated) {
  const Metrics metrics = engine->GetMetrics();
  const auto text = [](const char* name, uint64_t value) {
    return std::string(" ") + name + "=" + std::to_string(value);
  };
  if (metrics.versions_written < rows || metrics.versions_written > rows + repeated ||
      metrics.versions_written !=
          metrics.versions_open + metrics.versions_sealed + metrics.versions_superseded +
              metrics.versions_expired) {
    return "counters do not reconcile:" + text("rows", rows) + text("repeated", repeated) +
           text("written", metrics.versions_written) + text("open", metrics.versions_open) +
           text("sealed", metrics.versions_sealed) +
           text("superseded", metrics.versions_superseded) +
           text("expired", metrics.versions_expired);
  }
  uint64_t listed = 0;
  const Status s = engine->ListBuckets([&](const BucketInfo& bucket) {
    listed += bucket.versions;
    return true;
  });
  if (!s.ok()) return "ListBuckets: " + s.ToString();
  if (listed != metrics.versions_open + metrics.versions_sealed) {
    return "the inventory does not reconcile:" + text("listed", listed) +
           text("open", metrics.versions_open);
  }
  return "";
}

std::string CheckOpenStore(Engine* engine, const SurvivalCheck& check, ExpectedState* state) {
  const RecoveryReport recovery = engine->Recovery();
  if (recovery.recovered_with_loss && check.promise == Promise::kAcknowledged) {
    return "the store says that it lost acknowledged records";
  }
  SurvivingRows present(check.writer_count);
  const auto schema = engine->FindTable("crash.rows");
  if (schema.ok()) {
    for (size_t w = 0; w < check.writer_count; ++w) {
      const std::string problem = ReadWriter(engine, **schema, w, &present[w]);
      if (!problem.empty()) return problem;
    }
  } else if (schema.status().code() != StatusCode::kNotFound) {
    return "FindTable: " + schema.status().ToString();
  }
  std::string problem = CompareSurvivors(*state, present, check.promise, BatchEnd);
  uint64_t rows = 0;
  for (const auto& numbers : present) rows += numbers.size();
  if (problem.empty()) problem = CheckChanging(engine);
  if (problem.empty()) problem = CheckCounters(engine, rows, state->repeated_rows.load());
  if (problem.empty() && check.verify) {
    const auto report = engine->Verify();
    if (!report.ok()) return "Verify: " + report.status().ToString();
    if (!report->problems.empty()) return "Verify: " + report->problems.front();
  }
  if (!problem.empty()) return problem;
  for (size_t w = 0; w < present.size(); ++w) {
    ExpectedWriter& writer = state->writers[w];
    writer.attempted = writer.acknowledged = writer.durable = present[w].size();
  }
  return "";
}

}  // namespace

uint64_t BatchEnd(size_t writer, uint64_t first) {
  const uint64_t mixed = Mix(first * kExpectedWritersMax + writer);
  return first + 1 + (mixed % 4 == 0 ? mixed / 4 % 60 : mixed / 4 % 8);
}

std::string RunLife(const OpenStore& open, const CrashWorkload& workload, ExpectedState* state) {
  EngineOptions options;
  options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  options.background_threads = workload.background_threads;
  options.sync_interval_us = 2000;
  options.clock = std::make_shared<ForwardClock>(state);
  const auto fails = [&](const char* what, const Status& s) {
    return workload.tolerate_errors && Fits(s) ? "" : std::string(what) + ": " + s.ToString();
  };
  auto opened = open(options);
  if (!opened.ok()) return fails("Open", opened.status());
  const std::unique_ptr<Engine> engine = std::move(opened).value();
  for (const char* table : {kTable, kBriefTable}) {
    if (const Status s = engine->CreateTable(table); !s.ok()) return fails("CreateTable", s);
  }
  if (engine->FindTable("crash.changing").status().code() == StatusCode::kNotFound) {
    if (const Status s = engine->CreateTable(kChangingTables[0]); !s.ok()) {
      return fails("CreateTable", s);
    }
  }
  const auto schema = engine->FindTable("crash.rows");
  if (!schema.ok()) return fails("FindTable", schema.status());
  state->opened = true;

  std::vector<std::string> problems(workload.writer_count);
  const auto write = [&](size_t w) {
    Writer(engine.get(), *schema, workload, w, state, &problems[w]).Run();
  };
  std::vector<std::thread> threads;
  for (size_t w = 1; w < workload.writer_count; ++w) threads.emplace_back(write, w);
  write(0);
  for (std::thread& t : threads) t.join();
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  if (workload.close_at_end) {
    if (const Status s = engine->Close(); !s.ok()) return fails("Close", s);
  }
  state->finished = true;
  return "";
}

std::string CheckSurvivors(const OpenStore& open, const SurvivalCheck& check,
                           ExpectedState* state) {
  EngineOptions options;
  options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  options.background_threads = false;
  options.clock = std::make_shared<ForwardClock>(state);
  auto opened = open(options);
  if (!opened.ok()) return "the store does not open: " + opened.status().ToString();
  const std::unique_ptr<Engine> engine = std::move(opened).value();
  const std::string problem = CheckOpenStore(engine.get(), check, state);
  const Status closed = engine->Close();
  if (!problem.empty()) return problem;
  return closed.ok() ? "" : "Close: " + closed.ToString();
}

}  // namespace cistern::testing
