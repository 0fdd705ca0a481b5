#include "engine/replication_service.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "engine/engine_impl.h"
#include "engine/open_rows.h"
#include "engine/replicate/replicator.h"
#include "lib/base/guard.h"
#include "lib/base/unwind_guard.h"

namespace cistern {

namespace {

// Handlers of the loop between two looks at the outbox.
constexpr size_t kHandlersMax = 256;
// Steps between two looks at the network.
constexpr int kStepsMax = 16;

// Writes what the replicator asks for between the steps of maintenance.
class EngineLedger final : public replicate::PushLedger {
 public:
  explicit EngineLedger(Maintenance* maintenance) : maintenance_(maintenance) {}
  Result<std::set<uint64_t>> Confirm(std::span<const ProvenSeal> seals) override {
    return maintenance_->Confirm(seals);
  }
  Status Note(std::span<const std::pair<SealName, PushRecord>> records) override {
    return maintenance_->NotePushes(records);
  }

 private:
  Maintenance* const maintenance_;
};

void Add(const ReplicationCounters& more, ReplicationCounters* sum) {
  sum->seals_confirmed += more.seals_confirmed;
  sum->seals_parked += more.seals_parked;
  sum->seals_sent_again += more.seals_sent_again;
  sum->seals_counted += more.seals_counted;
  sum->seals_read_back += more.seals_read_back;
  sum->seals_mended += more.seals_mended;
  sum->seals_not_proven += more.seals_not_proven;
  sum->rows_read_back += more.rows_read_back;
  sum->rows_shadowed += more.rows_shadowed;
  sum->rows_overwritten += more.rows_overwritten;
  sum->rows_hidden += more.rows_hidden;
  sum->versions_sent += more.versions_sent;
  sum->versions_expired += more.versions_expired;
  sum->versions_shadowed += more.versions_shadowed;
  sum->versions_empty += more.versions_empty;
  sum->batches_sent += more.batches_sent;
  sum->batches_refused += more.batches_refused;
  sum->bytes_sent += more.bytes_sent;
  sum->bytes_read_back += more.bytes_read_back;
}

}  // namespace

// Destroyed in reverse: the replicator goes before the session, and that before its loop.
struct ReplicationService::Parts {
  Engine* host = nullptr;        // as it was given,
  EngineImpl* engine = nullptr;  // and its inside
  ReplicationConfig config;
  std::unique_ptr<cql::EventLoop> loop;
  std::atomic<bool> is_woken = false;  // since the last wait began
  std::unique_ptr<cql::Session> session;
  // A replicator works with one opening of the store. It does not keep it: the engine could not
  // open it anew.
  std::weak_ptr<EngineCore> core;
  std::unique_ptr<EngineLedger> ledger;
  std::unique_ptr<replicate::Replicator> replicator;
  ReplicationCounters before;  // of replicators that are gone
  std::optional<OpenRowsWatch> open_rows;
  bool is_broken = false;      // an exception left a turn half done

  // Begins anew as after a lost connection: what was sent and not confirmed is sent again.
  void Mend();

  void Drop();
  // Deals with what came from the network.
  void Poll();
  [[nodiscard]] Result<std::shared_ptr<EngineCore>> Attach();
  // False: nothing is to be done before something comes from the network, or NextUs has passed.
  [[nodiscard]] Result<bool> StepSome();
  void NoteOpen(EngineCore* core, ReplicationStatus* status);
};

void ReplicationService::Parts::Mend() {
  Drop();
  session.reset();
  session = std::make_unique<cql::Session>(*loop, config.session);
  is_broken = false;
}

void ReplicationService::Parts::Drop() {
  if (replicator) Add(replicator->GetStatus().counters, &before);
  replicator.reset();
  ledger.reset();
  core.reset();
  open_rows->Forget();
}

// An answer may be for a replicator whose opening of the store is gone: both go first, and as long
// as answers are dealt with it stays.
void ReplicationService::Parts::Poll() {
  const std::shared_ptr<EngineCore> held = core.lock();
  if (!held) Drop();
  loop->Poll(kHandlersMax);
}

// The engine's core, with a replicator for it.
Result<std::shared_ptr<EngineCore>> ReplicationService::Parts::Attach() {
  const Result<std::shared_ptr<EngineCore>> open = engine->writable_core();
  if (!open.ok() || core.lock() != *open) Drop();
  if (!open.ok()) return open.status();
  if (replicator) return open;
  EngineCore* const now = open->get();
  core = *open;
  ledger = std::make_unique<EngineLedger>(&now->maintenance());
  replicate::ReplicatorParts parts;
  parts.loop = loop.get();
  parts.session = session.get();
  parts.store = &now->store();
  parts.tables = &now->tables();
  parts.budget = now->query().budget;
  parts.ledger = ledger.get();
  parts.now_s = [clock = &now->clock()] { return clock->now_s(); };
  parts.certain_s = [clock = &now->clock()] { return clock->certain_s(); };
  parts.clock_settled = [clock = &now->clock()] { return clock->settled(); };
  replicator = std::make_unique<replicate::Replicator>(std::move(parts), config.replicator);
  return open;
}

Result<bool> ReplicationService::Parts::StepSome() {
  for (int step = 0; step < kStepsMax; ++step) {
    CISTERN_ASSIGN_OR_RETURN(const bool did, replicator->Step());
    if (!did) return false;
  }
  return true;
}

// Rows in open buckets are behind too, though nothing of them can be sent.
void ReplicationService::Parts::NoteOpen(EngineCore* now, ReplicationStatus* status) {
  open_rows->Turn(now);
  status->open = open_rows->rows();
  if (status->open.versions > 0 && status->phase == ReplicationPhase::kIdle) {
    status->phase = ReplicationPhase::kCollecting;
  }
}

ReplicationService::ReplicationService(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ReplicationService::~ReplicationService() = default;

Result<std::unique_ptr<ReplicationService>> ReplicationService::Start(Engine* engine,
                                                                      ReplicationConfig config) {
  auto parts = std::make_unique<Parts>();
  parts->host = engine;
  parts->engine = EngineImpl::Of(engine);
  parts->config = std::move(config);
  parts->open_rows.emplace(parts->engine->options());
  CISTERN_RETURN_IF_ERROR(parts->engine->writable_core().status());
  CISTERN_ASSIGN_OR_RETURN(parts->loop, cql::EventLoop::Create(parts->engine->options().clock));
  parts->session = std::make_unique<cql::Session>(*parts->loop, parts->config.session);
  return std::unique_ptr<ReplicationService>(new ReplicationService(std::move(parts)));
}

Result<ReplicationStatus> ReplicationService::Run(int64_t wait_us) {
  const UnwindGuard half_done([this] { parts_->is_broken = true; });
  if (parts_->is_broken) parts_->Mend();
  parts_->Poll();
  CISTERN_ASSIGN_OR_RETURN(const std::shared_ptr<EngineCore> core, parts_->Attach());
  CISTERN_ASSIGN_OR_RETURN(const bool more, parts_->StepSome());
  if (!more && wait_us > 0 && !parts_->is_woken.exchange(false)) {
    const int64_t next_us = parts_->replicator->NextUs();
    parts_->loop->Wait(std::min(wait_us, next_us), kHandlersMax);
    // What came meanwhile is looked at before the status is taken: a table that may be sent now
    // would look like one that nothing can be done about.
    CISTERN_RETURN_IF_ERROR(parts_->StepSome().status());
  }
  ReplicationStatus status = parts_->replicator->GetStatus();
  Add(parts_->before, &status.counters);
  parts_->NoteOpen(core.get(), &status);
  return status;
}

void ReplicationService::Wake() {
  parts_->is_woken = true;  // before the task, which may run in a turn that is going to wait
  // Without memory for it the wait ends a little later.
  (void)GuardedOr(false, [this] {
    parts_->loop->Post([] {});
    return true;
  });
}

Result<uint64_t> ReplicationService::ResendRange(const std::string& table, TimeRange range) {
  SealResend done;
  Result<uint64_t> seals = cistern::Resend(parts_->host, table, range, &done);
  // Also where it ended half way: the steps before are durable. Held, so that no other thread opens
  // the store anew meanwhile.
  const std::shared_ptr<EngineCore> core = parts_->core.lock();
  if (core && parts_->replicator) parts_->replicator->BeginAnew(done);
  return seals;
}

void ReplicationService::LookAgain() {
  const std::shared_ptr<EngineCore> core = parts_->core.lock();  // as above
  if (core && parts_->replicator) parts_->replicator->LookAgain();
}

}  // namespace cistern
