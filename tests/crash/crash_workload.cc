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
// Three entities, a row each 10 minutes: a bucket of a day fills with 432 rows of a writer.
constexpr int64_t kStepMs = 600'000;
constexpr uint64_t kValueSalt = 0x5eed'7011;

constexpr const char* kTable =
    "CREATE TABLE crash.rows (sensor text, day date, ts timestamp, number bigint, a double,"
    " b int, c text, PRIMARY KEY ((sensor, day), ts))";

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

// A writer's thread. Fills *problem and ends on the first error.
void RunWriter(Engine* engine, const std::shared_ptr<const TableSchema>& schema,
               const CrashWorkload& workload, size_t index, ExpectedState* state,
               std::string* problem) {
  ExpectedWriter& writer = state->writers[index];
  Rng rng(Mix(workload.seed) + index);
  auto producer = engine->NewProducer();
  if (!producer.ok()) {
    *problem = "NewProducer: " + producer.status().ToString();
    return;
  }
  RowBatch batch(schema);
  uint64_t first = writer.attempted.load();
  for (uint64_t i = 0; i < workload.batches_max; ++i) {
    const uint64_t end = BatchEnd(index, first);
    if (const Status s = FillBatch(index, first, end, &batch); !s.ok()) {
      *problem = "FillBatch: " + s.ToString();
      return;
    }
    writer.attempted = end;
    if (workload.acknowledge_early) NoteAcknowledged(&writer, end, i + 1, true);
    const auto answer = (*producer)->Append(batch, {workload.durability, BackPressure::kWait});
    if (!answer.ok()) {
      *problem = "Append: " + answer.status().ToString();
      return;
    }
    if (answer->durability < workload.durability) {
      *problem = "Append answered a weaker durability than was asked";
      return;
    }
    if (!workload.acknowledge_early) {
      NoteAcknowledged(&writer, end, answer->sequence,
                       answer->durability == Durability::kSynced);
    }
    first = end;
    Status s;
    if (workload.rotate_one_in != 0 && rng.OneIn(workload.rotate_one_in)) s = engine->Rotate();
    if (s.ok() && workload.sync_one_in != 0 && rng.OneIn(workload.sync_one_in)) {
      const uint64_t acknowledged = writer.acknowledged.load();
      s = engine->Sync();
      if (s.ok()) writer.durable = acknowledged;
    }
    if (s.ok() && rng.OneIn(20)) s = engine->Tick().status();
    if (!s.ok()) {
      *problem = "maintenance: " + s.ToString();
      return;
    }
  }
}

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

std::string CheckCounters(Engine* engine, uint64_t rows) {
  const Metrics metrics = engine->GetMetrics();
  const auto text = [](const char* name, uint64_t value) {
    return std::string(" ") + name + "=" + std::to_string(value);
  };
  if (metrics.versions_written != rows ||
      metrics.versions_written != metrics.versions_open + metrics.versions_superseded) {
    return "counters do not reconcile:" + text("rows", rows) +
           text("written", metrics.versions_written) + text("open", metrics.versions_open) +
           text("superseded", metrics.versions_superseded);
  }
  uint64_t listed = 0;
  const Status s = engine->ListBuckets([&](const BucketInfo& bucket) {
    listed += bucket.versions;
    return true;
  });
  if (!s.ok()) return "ListBuckets: " + s.ToString();
  if (listed != metrics.versions_open) {
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
  if (problem.empty()) problem = CheckCounters(engine, rows);
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
  auto opened = open(options);
  if (!opened.ok()) return "Open: " + opened.status().ToString();
  const std::unique_ptr<Engine> engine = std::move(opened).value();
  if (const Status s = engine->CreateTable(kTable); !s.ok()) return "CreateTable: " + s.ToString();
  const auto schema = engine->FindTable("crash.rows");
  if (!schema.ok()) return "FindTable: " + schema.status().ToString();
  state->opened = true;

  std::vector<std::string> problems(workload.writer_count);
  if (workload.writer_count == 1) {
    RunWriter(engine.get(), *schema, workload, 0, state, &problems[0]);
  } else {
    std::vector<std::thread> threads;
    for (size_t w = 0; w < workload.writer_count; ++w) {
      threads.emplace_back(RunWriter, engine.get(), *schema, std::cref(workload), w, state,
                           &problems[w]);
    }
    for (std::thread& t : threads) t.join();
  }
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  if (workload.close_at_end) {
    if (const Status s = engine->Close(); !s.ok()) return "Close: " + s.ToString();
  }
  state->finished = true;
  return "";
}

std::string CheckSurvivors(const OpenStore& open, const SurvivalCheck& check,
                           ExpectedState* state) {
  EngineOptions options;
  options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  options.background_threads = false;
  auto opened = open(options);
  if (!opened.ok()) return "the store does not open: " + opened.status().ToString();
  const std::unique_ptr<Engine> engine = std::move(opened).value();
  const std::string problem = CheckOpenStore(engine.get(), check, state);
  const Status closed = engine->Close();
  if (!problem.empty()) return problem;
  return closed.ok() ? "" : "Close: " + closed.ToString();
}

}  // namespace cistern::testing
