#include "tests/crash/crash_workload.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine_impl.h"
#include "storage/outbox.h"
#include "storage/push_records.h"
#include "tests/crash/crash_tables.h"
#include "tests/support/rng.h"

namespace cistern::testing {

namespace {

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
      NoteSettled();
    }
    if (workload_.expire_one_in != 0 && rng_.OneIn(workload_.expire_one_in)) {
      s = EndWindow();
      if (!s.ok() && !Failed("EndWindow", s)) return false;
    }
    if (index_ == 0 && workload_.alter_one_in != 0 && rng_.OneIn(workload_.alter_one_in)) {
      s = Alter();
      if (!s.ok() && !Failed("Alter", s)) return false;
    }
    if (index_ == 0 && workload_.spread_one_in != 0 && rng_.OneIn(workload_.spread_one_in)) {
      s = Spread();
      if (!s.ok() && !Failed("Spread", s)) return false;
    }
    if (workload_.confirm_one_in != 0 && rng_.OneIn(workload_.confirm_one_in)) {
      s = HearUpstream();
      if (!s.ok() && s.code() != StatusCode::kBusy && !Failed("HearUpstream", s)) return false;
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

  // What is sealed stays so until its window is over, and is then counted as expired.
  void NoteSettled() {
    const Metrics m = engine_->GetMetrics();
    const uint64_t settled = m.versions_sealed + m.versions_expired;
    uint64_t before = state_->settled_versions.load();
    while (before < settled && !state_->settled_versions.compare_exchange_weak(before, settled)) {
    }
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

  // Rows from a minute to a month ago, as many in the last hours as in the weeks before, and
  // seals them: more windows than there may be. What was refused is written again.
  Status Spread() {
    CISTERN_ASSIGN_OR_RETURN(const auto schema, engine_->FindTable("crash.spread"));
    const uint64_t first = state_->spread_acknowledged.load();
    const uint64_t end = std::min<uint64_t>(first + kSpreadRows, kSpreadRowsMax);
    const int64_t now_ms = ForwardClock(state_).WallMicros() / 1000;
    RowBatch batch(schema);
    for (uint64_t n = first; n < end; ++n) {
      if (n >= state_->spread_attempted.load()) {
        const int64_t age_ms = static_cast<int64_t>(rng_.Below(60'000 << rng_.Below(16)));
        state_->spread_times_ms[n] = now_ms - age_ms;
        state_->spread_attempted = n + 1;
      }
      batch.BeginRow();
      CISTERN_RETURN_IF_ERROR(batch.SetBytes(0, "s"));
      CISTERN_RETURN_IF_ERROR(batch.SetInt(2, state_->spread_times_ms[n].load()));
      CISTERN_RETURN_IF_ERROR(batch.SetInt(3, static_cast<int64_t>(n)));
      CISTERN_RETURN_IF_ERROR(batch.EndRow());
    }
    state_->repeated_rows += batch.row_count();
    CISTERN_RETURN_IF_ERROR(engine_->Append(batch, {Durability::kSynced}).status());
    state_->spread_acknowledged = end;
    SealRequest request;
    request.due_only = false;
    request.table = "crash.spread";
    return engine_->Seal(request).status();
  }

  // Upstream has every second seal of the outbox, or so; of others it refused some or has a part.
  // One that was refused is tried again, and what was confirmed of one bucket is sent once more.
  // kBusy: it is asked again later.
  Status HearUpstream() {
    CISTERN_ASSIGN_OR_RETURN(const auto core, EngineImpl::Of(engine_)->core());
    const auto view = core->store().spills().view();
    std::vector<ProvenSeal> seals;
    std::vector<std::pair<SealName, PushRecord>> pushes;
    for (const auto& window : view->windows) {
      OutboxWalker walker(view, window->id);
      while (true) {
        CISTERN_ASSIGN_OR_RETURN(const auto entry, walker.Next());
        if (!entry) break;
        if (rng_.OneIn(2)) seals.push_back({*entry, static_cast<ProofLevel>(rng_.Below(3))});
        if (pushes.empty() || rng_.OneIn(4)) pushes.emplace_back(*entry, RandomPush());
      }
    }
    Maintenance& maintenance = core->maintenance();
    CISTERN_RETURN_IF_ERROR(maintenance.NotePushes(pushes));
    CISTERN_RETURN_IF_ERROR(maintenance.Confirm(seals).status());
    if (!pushes.empty()) {
      const uint64_t again[] = {pushes[rng_.Below(pushes.size())].first.seal};
      CISTERN_RETURN_IF_ERROR(maintenance.ErasePushes(again));
    }
    if (seals.empty()) return Status::Ok();
    const BucketKey& bucket = seals[rng_.Below(seals.size())].name.bucket;
    SealResend resend{bucket.table_id, bucket.start_s, bucket.start_s + 1};
    for (bool more = true; more;) {
      CISTERN_ASSIGN_OR_RETURN(more, maintenance.Resend(&resend));
    }
    return Status::Ok();
  }

  PushRecord RandomPush() {
    PushRecord record;
    if (rng_.OneIn(2)) {
      record.position = std::string(1 + rng_.Below(20), 'p');
      return record;
    }
    record.state = PushState::kParked;
    record.attempts = 3;
    record.words = std::string(rng_.Below(600), 'w');
    return record;
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

}  // namespace

uint64_t BatchEnd(size_t writer, uint64_t first) {
  const uint64_t mixed = Mix(first * kExpectedWritersMax + writer);
  return first + 1 + (mixed % 4 == 0 ? mixed / 4 % 60 : mixed / 4 % 8);
}

EngineOptions SmallOptions() {
  EngineOptions options;
  options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  options.sync_interval_us = 2000;
  return options;
}

std::string ComeToRest(Engine* engine, ExpectedState* state) {
  constexpr size_t kTicksMax = 2'000;
  Status ticked;
  Status health;
  for (size_t tick = 0; tick < kTicksMax; ++tick) {
    const auto report = engine->Tick();
    ticked = report.status();
    health = engine->Health();
    if (report.ok() && !report->more_due && health.ok()) return "";
    if (!report.ok()) state->clock_ahead_us += 1'000'000;  // beyond the pause before a reopening
  }
  return "the engine has not come to rest: Tick: " + ticked.ToString() +
         ", Health: " + health.ToString();
}

std::string RunLife(const OpenStore& open, const CrashWorkload& workload, ExpectedState* state) {
  EngineOptions options = workload.options;
  options.background_threads = workload.background_threads;
  options.clock = std::make_shared<ForwardClock>(state);
  const auto fails = [&](const char* what, const Status& s) {
    return workload.tolerate_errors && Fits(s) ? "" : std::string(what) + ": " + s.ToString();
  };
  auto opened = open(options);
  if (!opened.ok()) return fails("Open", opened.status());
  const std::unique_ptr<Engine> engine = std::move(opened).value();
  for (const char* table : {kTable, kBriefTable, kSpreadTable}) {
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
  if (workload.must_heal) {
    if (std::string problem = ComeToRest(engine.get(), state); !problem.empty()) return problem;
  }
  if (workload.close_at_end) {
    if (const Status s = engine->Close(); !s.ok()) return fails("Close", s);
  }
  state->finished = true;
  return "";
}

}  // namespace cistern::testing
