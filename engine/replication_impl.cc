#include "engine/replication_impl.h"

#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "engine/cluster_access.h"
#include "engine/engine_impl.h"
#include "engine/option_range.h"
#include "engine/replication_plan.h"
#include "lib/base/concat.h"
#include "lib/base/entered.h"

namespace cistern {

namespace {

// Of the thread: how old a status may be, and how soon new seals are found.
constexpr int64_t kTurnWaitUs = 250'000;
// While the store cannot be worked with. The engine opens it anew by itself.
constexpr std::chrono::seconds kStorePause(1);

struct Claims {
  std::mutex mutex;
  std::set<const Engine*> engines;
};
Claims& AllClaims() {
  static Claims claims;
  return claims;
}

}  // namespace

Result<std::unique_ptr<ReplicationClaim>> ReplicationClaim::Take(const Engine* engine) {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  if (!claims.engines.insert(engine).second) {
    return Status::AlreadyExists("this engine has a replication: stop that one first");
  }
  return std::unique_ptr<ReplicationClaim>(new ReplicationClaim(engine));
}

ReplicationClaim::~ReplicationClaim() {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  claims.engines.erase(engine_);
}

Result<std::unique_ptr<Replication>> Replication::Start(Engine* engine, const ClusterAccess& access,
                                                        const ReplicationOptions& options) {
  return Entered([&]() -> Result<std::unique_ptr<Replication>> {
    if (engine == nullptr) {
      return Status::InvalidArgument("Replication::Start is given no engine: open one before");
    }
    CISTERN_RETURN_IF_ERROR(EngineImpl::Of(engine)->keeper().home().Check());
    Clock* const clock = EngineImpl::Of(engine)->options().clock.get();
    CISTERN_ASSIGN_OR_RETURN(AccessPlan plan, PlanAccess(access, {}, clock));
    CISTERN_ASSIGN_OR_RETURN(replicate::ReplicatorOptions replicator,
                             PlanReplicator(options, SeedOf(clock)));
    CISTERN_ASSIGN_OR_RETURN(auto claim, ReplicationClaim::Take(engine));
    CISTERN_ASSIGN_OR_RETURN(
        std::unique_ptr<ReplicationService> service,
        ReplicationService::Start(engine, {std::move(plan.session), std::move(replicator)}));
    auto started = std::make_unique<ReplicationImpl>(engine, std::move(claim), std::move(service),
                                                     std::move(plan.warnings));
    if (options.background_thread) CISTERN_RETURN_IF_ERROR(started->StartThread());
    return std::unique_ptr<Replication>(std::move(started));
  });
}

ReplicationImpl::ReplicationImpl(Engine* engine, std::unique_ptr<ReplicationClaim> claim,
                                 std::unique_ptr<ReplicationService> service,
                                 std::vector<std::string> warnings)
    : engine_(engine),
      warnings_(std::move(warnings)),
      claim_(std::move(claim)),
      service_(std::move(service)) {
  status_.warnings = warnings_;
}

ReplicationImpl::~ReplicationImpl() {
  if (home_.is_here()) {
    ReplicationImpl::Stop();
    return;
  }
  // In a child of fork: the parent's sockets, threads and locks go with the process.
  (void)thread_.release();
  (void)service_.release();
  (void)claim_.release();
  (void)stopping_.release();
}

Status ReplicationImpl::StartThread() {
  has_thread_ = true;
  thread_ = std::make_unique<WorkerThread>();
  const Status started = thread_->Start("the replication", [this] { RunThread(); });
  if (started.code() != StatusCode::kIoError) return started;
  return Status::IoError(Concat({started.message(), "; let the host drive it "
      "(ReplicationOptions::background_thread)"}));
}

void ReplicationImpl::RunThread() {
  while (CheckOpen().ok()) {
    if (Turn(kTurnWaitUs).ok()) continue;
    std::unique_lock lock(mutex_);
    stopping_->wait_for(lock, kStorePause, [this] { return is_stopping_; });
  }
}

Result<ReplicationStatus> ReplicationImpl::Run(int64_t wait_us) {
  return Guarded([&]() -> Result<ReplicationStatus> {
    CISTERN_RETURN_IF_ERROR(CheckRange<int64_t>(
        {"the wait of Replication::Run", wait_us, 0, limits::kReplicationWaitUsMax}));
    if (has_thread_) {
      return Status::InvalidArgument(
          "this replication has a thread of its own (ReplicationOptions::background_thread): "
          "GetStatus tells how it is");
    }
    return Turn(wait_us);
  });
}

Result<ReplicationStatus> ReplicationImpl::Turn(int64_t wait_us) {
  CISTERN_RETURN_IF_ERROR(CheckOpen());
  const std::lock_guard turn(turn_mutex_);
  Result<ReplicationStatus> told = Entered([&] { return TurnLocked(wait_us); });
  const std::lock_guard lock(mutex_);
  health_ = told.status();
  return told;
}

// REQUIRES: turn_mutex_.
Result<ReplicationStatus> ReplicationImpl::TurnLocked(int64_t wait_us) {
  CISTERN_RETURN_IF_ERROR(CheckOpen());
  bool looks_again = false;
  {
    const std::lock_guard lock(mutex_);
    looks_again = std::exchange(looks_again_, false);
  }
  if (looks_again) service_->LookAgain();
  Result<ReplicationStatus> told = service_->Run(wait_us);
  if (told.ok()) {
    told->warnings.insert(told->warnings.begin(), warnings_.begin(), warnings_.end());
  }
  const std::lock_guard lock(mutex_);
  if (told.ok()) status_ = *told;
  return told;
}

ReplicationStatus ReplicationImpl::GetStatus() const {
  return GuardedOr(ReplicationStatus{}, [&]() -> ReplicationStatus {
    if (!home_.is_here()) {
      ReplicationStatus elsewhere;
      elsewhere.store = home_.Check();
      return elsewhere;
    }
    const std::lock_guard lock(mutex_);
    return status_;
  });
}

Status ReplicationImpl::Health() const {
  CISTERN_RETURN_IF_ERROR(home_.Check());
  const std::lock_guard lock(mutex_);
  return health_;
}

Status ReplicationImpl::CheckOpen() const {
  CISTERN_RETURN_IF_ERROR(home_.Check());
  const std::lock_guard lock(mutex_);
  return is_stopping_ ? Status::Closed("the replication was stopped") : Status::Ok();
}

Result<std::vector<ParkedSeal>> ReplicationImpl::ListParked() {
  return Entered([&]() -> Result<std::vector<ParkedSeal>> {
    CISTERN_RETURN_IF_ERROR(CheckOpen());
    return cistern::ListParked(engine_);
  });
}

Result<uint64_t> ReplicationImpl::RetryParked(const std::string& table) {
  return Entered([&]() -> Result<uint64_t> {
    CISTERN_RETURN_IF_ERROR(CheckOpen());
    std::optional<std::string> named;
    if (!table.empty()) named = table;
    Result<uint64_t> seals = cistern::RetryParked(engine_, named);
    if (seals.ok()) LookAgain();
    return seals;
  });
}

Result<uint64_t> ReplicationImpl::Resend(const std::string& table, TimeRange range) {
  return Entered([&]() -> Result<uint64_t> {
    CISTERN_RETURN_IF_ERROR(CheckOpen());
    // Between two turns: what is confirmed in one would not be sent once more.
    {
      const std::lock_guard lock(mutex_);
      if (service_) service_->Wake();
    }
    const std::lock_guard turn(turn_mutex_);
    CISTERN_RETURN_IF_ERROR(CheckOpen());
    return service_->ResendRange(table, range);
  });
}

Result<OutboxStatus> ReplicationImpl::GetOutbox() {
  return Entered([&]() -> Result<OutboxStatus> {
    CISTERN_RETURN_IF_ERROR(CheckOpen());
    return GetOutboxStatus(engine_);
  });
}

void ReplicationImpl::LookAgain() {
  const std::lock_guard lock(mutex_);
  looks_again_ = true;
  if (service_) service_->Wake();
}

void ReplicationImpl::Stop() {
  if (!home_.is_here()) return;
  const std::lock_guard stop(stop_mutex_);
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (service_) service_->Wake();
  }
  stopping_->notify_all();
  if (thread_) thread_->Join().IgnoreError();  // no turn can end it
  const std::lock_guard turn(turn_mutex_);
  std::unique_ptr<ReplicationService> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = std::move(service_);
  }
  ended.reset();
  claim_.reset();
}

}  // namespace cistern
