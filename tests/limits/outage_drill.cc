#include "tests/limits/outage_drill.h"

#include <algorithm>
#include <utility>

#include "cistern/entity.h"
#include "engine/engine_impl.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr uint32_t kReadingsCount = 100;
constexpr uint32_t kEventsCount = 20;
constexpr uint32_t kMetersCount = 50;
constexpr uint64_t kEventsEvery = 2;   // samples
constexpr uint64_t kMetersEvery = 10;
constexpr uint32_t kUpdateTtlS = 7 * 86'400;
constexpr int64_t kTickMs = 300'000;  // due buckets are looked for so often
constexpr int64_t kTurnUs = 20'000;

DrillWrite RowOf(DrillTable table, uint32_t entity, int64_t ts_ms) {
  DrillWrite write;
  write.table = table;
  write.entity = entity;
  write.ts_ms = ts_ms;
  const uint64_t random = Mix(static_cast<uint64_t>(ts_ms) * 1'000 + entity);
  write.value = static_cast<double>(2'000 + random % 500) / 100;
  write.load = static_cast<double>(random >> 10 & 1'023) / 10;
  write.state = random >> 20 % 16 == 0 ? 1 : 0;
  return write;
}

// A device's state is over sooner than its row, and is no insert.
DrillWrite UpdateOf(const DrillWrite& row) {
  DrillWrite update = row;
  update.kind = RowKind::kUpdate;
  update.has_values = false;
  update.ttl_s = kUpdateTtlS;
  update.state = row.state + 10;
  return update;
}

}  // namespace

Status OutageDrill::Open() {
  EngineOptions options;
  options.memory_budget_bytes = kDrillBudgetBytes;
  options.background_threads = false;
  options.clock = clock_;
  CISTERN_ASSIGN_OR_RETURN(engine_, Engine::Open(directory_, options));
  for (size_t t = 0; t < kDrillTableCount; ++t) {
    const auto table = static_cast<DrillTable>(t);
    CISTERN_RETURN_IF_ERROR(engine_->CreateTable(DrillCql(table)));
    CISTERN_ASSIGN_OR_RETURN(schemas_[t], engine_->FindTable(DrillTableName(table)));
  }
  return Status::Ok();
}

Status OutageDrill::CreateTablesUpstream() {
  CISTERN_RETURN_IF_ERROR(
      Tell("CREATE KEYSPACE gw WITH replication = {'class': 'SimpleStrategy',"
           " 'replication_factor': 1}"));
  for (const auto& schema : schemas_) CISTERN_RETURN_IF_ERROR(Tell(schema->ToCql()));
  return Status::Ok();
}

Status OutageDrill::StartService(replicate::ReplicatorOptions options) {
  ReplicationConfig config;
  config.session.cluster.hosts.contacts.push_back({"127.0.0.1", cluster_->port()});
  config.session.cluster.hosts.retry_max_us = 2'000'000;
  config.replicator = std::move(options);
  CISTERN_ASSIGN_OR_RETURN(service_, ReplicationService::Start(engine_.get(), std::move(config)));
  return Status::Ok();
}

Status OutageDrill::Close() {
  service_.reset();
  return engine_->Close();
}

Status OutageDrill::Tell(const std::string& command) {
  const std::string answer = Ask(command);
  return answer == "ok" ? Status::Ok() : Status::Internal("upstream: " + command + ": " + answer);
}

// --- the host's work

Status OutageDrill::Write(std::vector<DrillWrite> writes) {
  const DrillWrite& first = writes.front();
  const auto& schema = schemas_[static_cast<size_t>(first.table)];
  const int64_t wall_us = clock_->WallMicros();
  Result<WriteResult> written = WriteResult{};
  if (first.range_end_ms != 0) {
    const std::string entity = DrillEntityText(first.table, first.entity);
    const std::string_view parts[] = {entity};
    CISTERN_ASSIGN_OR_RETURN(const EntityKey key, EntityFromText(*schema, parts));
    written = engine_->DeleteRange(DrillTableName(first.table), key,
                                   {first.ts_ms, first.range_end_ms}, {Durability::kLog});
  } else {
    RowBatch batch(schema);
    for (const DrillWrite& write : writes) CISTERN_RETURN_IF_ERROR(AddDrillRow(write, &batch));
    // Whatever the replicator does, nobody waits: a full queue or head would be an error here.
    written = engine_->Append(batch, {Durability::kLog, BackPressure::kBusy});
  }
  CISTERN_RETURN_IF_ERROR(written.status());
  trace_.sequence = written->sequence;
  CISTERN_ASSIGN_OR_RETURN(const auto core, EngineImpl::Of(engine_.get())->core());
  stamps_.Begin(wall_us, core, core->heads().active.get());
  for (DrillWrite& write : writes) {
    const std::string entity =
        DrillTableName(write.table) + ("/" + DrillEntityText(write.table, write.entity));
    write.write_us = write.range_end_ms != 0 ? stamps_.OfDelete(entity)
                                             : stamps_.OfRow(entity, write.ts_ms);
    write.write_s = wall_us / 1'000'000;
    log_->Add(write);
  }
  return Status::Ok();
}

Status OutageDrill::Sample() {
  const int64_t ts_ms = now_ms() - now_ms() % (kDrillSampleS * 1000);
  std::vector<DrillWrite> rows;
  for (uint32_t i = 0; i < kReadingsCount; ++i) {
    rows.push_back(RowOf(DrillTable::kReadings, i, ts_ms + i));
  }
  CISTERN_RETURN_IF_ERROR(Write(std::move(rows)));
  rows = {};
  if (samples_ % kEventsEvery == 0) {
    for (uint32_t i = 0; i < kEventsCount; ++i) {
      rows.push_back(RowOf(DrillTable::kEvents, i, ts_ms + i));
      if ((samples_ / kEventsEvery + i) % 5 == 0) rows.push_back(UpdateOf(rows.back()));
    }
    CISTERN_RETURN_IF_ERROR(Write(std::move(rows)));
  }
  rows = {};
  if (samples_ % kMetersEvery == 0) {
    for (uint32_t i = 0; i < kMetersCount; ++i) {
      rows.push_back(RowOf(DrillTable::kMeters, i, ts_ms + i));
    }
    CISTERN_RETURN_IF_ERROR(Write(std::move(rows)));
  }
  trace_.steps = 0;
  ++samples_;
  return ts_ms % kTickMs == 0 ? Tick() : Status::Ok();
}

Status OutageDrill::Tick() {
  trace_.steps = 0;
  for (bool more = true; more;) {
    CISTERN_ASSIGN_OR_RETURN(const TickReport report, engine_->Tick());
    trace_.steps += report.steps_done;
    more = report.more_due;
  }
  trace_.sealed = engine_->GetMetrics().versions_sealed;
  return Status::Ok();
}

Status OutageDrill::SealAll() {
  SealRequest all;
  all.due_only = false;
  CISTERN_ASSIGN_OR_RETURN(const SealReport report, engine_->Seal(all));
  if (!report.problems.empty()) return Status::Internal(report.problems.front());
  return Status::Ok();
}

// --- replication

Status OutageDrill::RunAway() {
  const ReplicationCounters before = status_.counters;
  CISTERN_ASSIGN_OR_RETURN(status_, service_->Run(0));
  const ReplicationCounters& now = status_.counters;
  const bool did = now.batches_sent != before.batches_sent ||
                   now.seals_confirmed != before.seals_confirmed ||
                   now.seals_parked != before.seals_parked || status_.seals_pushing != 0 ||
                   status_.in_flight_bytes != 0;
  if (did) return Status::Internal("the service did something without a cluster: " + Explain());
  return Status::Ok();
}

Status OutageDrill::Turn(bool* was_quiet) {
  const bool was_busy = cluster_->Poll();
  CISTERN_ASSIGN_OR_RETURN(status_, service_->Run(0));
  *was_quiet = !was_busy;
  return Status::Ok();
}

Status OutageDrill::RunUntil(const char* what, const std::function<bool()>& is_done) {
  constexpr int kQuietTurns = 4;
  constexpr int kTurnsMax = 200'000;
  constexpr int kCheckTurns = 200;
  constexpr int64_t kSampleUs = kDrillSampleS * 1'000'000;
  int64_t sample_us = clock_->WallMicros() / kSampleUs * kSampleUs + kSampleUs;
  bool done = false;
  for (int turn = 0, quiet = 0; turn < kTurnsMax && !done; ++turn) {
    bool was_quiet = false;
    CISTERN_RETURN_IF_ERROR(Turn(&was_quiet));
    if (turn % kCheckTurns == 0) CISTERN_RETURN_IF_ERROR(CheckCounters());
    done = is_done();
    quiet = was_quiet ? quiet + 1 : 0;
    // What is sent takes time too, or nothing would be sampled while a backlog goes.
    clock_->AdvanceMicros(quiet < kQuietTurns ? kTurnUs / 20 : kTurnUs);
    if (quiet >= kQuietTurns) quiet = 0;
    if (clock_->WallMicros() < sample_us) continue;
    sample_us += kSampleUs;
    if (samples_meanwhile) CISTERN_RETURN_IF_ERROR(Sample());
  }
  if (!done) return Status::Internal(std::string(what) + " takes too long: " + Explain());
  // Samples go on at whole times.
  clock_->AdvanceMicros(sample_us - clock_->WallMicros());
  return CheckCounters();
}

Status OutageDrill::CheckCounters() {
  const Metrics m = engine_->GetMetrics();
  const auto complaint = [&](const char* what) {
    return Status::Internal(std::string(what) + " do not reconcile: " + Explain());
  };
  if (m.versions_written != log_->size()) return complaint("what was written and the log");
  const uint64_t all = m.versions_open + m.versions_sealed + m.versions_superseded +
                       m.versions_expired + m.versions_shed + m.versions_quarantined;
  if (m.versions_written != all) return complaint("row versions");
  const uint64_t sealed = m.versions_waiting + m.versions_parked + m.versions_confirmed;
  if (m.versions_sealed != sealed) return complaint("sealed row versions");
  const uint64_t proved = m.versions_confirmed_by_count + m.versions_confirmed_by_rows;
  if (proved > m.versions_confirmed) return complaint("proved row versions");
  if (status_.versions_holding > m.versions_waiting) return complaint("held row versions");
  if (m.versions_shed + m.versions_quarantined != 0) return complaint("losses");
  if (m.memory_bytes_peak > kDrillBudgetBytes) return complaint("memory and its budget");
  return Status::Ok();
}

std::string OutageDrill::Explain() const {
  const Metrics m = engine_->GetMetrics();
  std::string text = "log " + std::to_string(log_->size());
  const auto add = [&text](const char* name, uint64_t value) {
    text += std::string(", ") + name + " " + std::to_string(value);
  };
  add("written", m.versions_written);
  add("open", m.versions_open);
  add("sealed", m.versions_sealed);
  add("waiting", m.versions_waiting);
  add("parked", m.versions_parked);
  add("confirmed", m.versions_confirmed);
  add("by count", m.versions_confirmed_by_count);
  add("by rows", m.versions_confirmed_by_rows);
  add("superseded", m.versions_superseded);
  add("expired", m.versions_expired);
  add("shed", m.versions_shed);
  add("quarantined", m.versions_quarantined);
  add("memory peak", m.memory_bytes_peak);
  add("phase", static_cast<uint64_t>(status_.phase));
  add("pushing", status_.seals_pushing);
  add("holding", status_.seals_holding);
  add("batches", status_.counters.batches_sent);
  add("refused", status_.counters.batches_refused);
  add("confirmed seals", status_.counters.seals_confirmed);
  for (const auto& held : status_.held) text += ", held " + held.table + ": " + held.why.message();
  return text + ", away: " + status_.away.ToString();
}

}  // namespace cistern::testing
