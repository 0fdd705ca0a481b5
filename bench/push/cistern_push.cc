#include "bench/push/cistern_push.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "bench/push/cluster_client.h"
#include "engine/replication_service.h"

namespace cistern::bench {
namespace {

constexpr int64_t kWaitUs = 100'000;
constexpr int64_t kConnectWaitUs = 1'000;
constexpr int kConnectTurnsMax = 20'000;

Status Explain(const ReplicationStatus& status) {
  std::string words = fmt::format("the push stopped after {} versions: {}",
                                  status.counters.versions_sent, status.away.ToString());
  for (const auto& held : status.held) words += "\n  " + held.table + ": " + held.why.ToString();
  for (const std::string& damaged : status.damaged) words += "\n  " + damaged;
  return Status::Internal(words);
}

// Turns the service until a host is there; what it sends within the last turn is a few packets.
Status AwaitHost(ReplicationService* service) {
  for (int turn = 0; turn < kConnectTurnsMax; ++turn) {
    CISTERN_ASSIGN_OR_RETURN(const ReplicationStatus status, service->Run(kConnectWaitUs));
    if (status.away.ok()) return Status::Ok();
  }
  return Status::IoError("the cluster does not answer");
}

}  // namespace

replicate::ReplicatorOptions PushOptionsOf(ProofLevel proof) {
  replicate::ReplicatorOptions options;
  options.hold_us = 0;
  options.proof = proof;
  return options;
}

Status SendAgain(Engine* engine, const std::string& table) {
  constexpr TimeRange kAlways = {std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int64_t>::max()};
  return Resend(engine, table, kAlways).status();
}

Result<CisternPush> PushByCistern(Engine* engine, const PushServer& server,
                                  ProofLevel proof, uint64_t versions) {
  CISTERN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ReplicationService> service,
      ReplicationService::Start(engine, {SessionOptionsOf(server.endpoint), PushOptionsOf(proof)}));
  CISTERN_RETURN_IF_ERROR(AwaitHost(service.get()));
  CisternPush push;
  const PushMeter meter(server);
  ReplicationStatus status;
  while (status.phase != ReplicationPhase::kIdle &&
         status.phase != ReplicationPhase::kCollecting) {
    CISTERN_ASSIGN_OR_RETURN(status, service->Run(kWaitUs));
    if (status.phase == ReplicationPhase::kStuck) return Explain(status);
    const bool is_sent = status.counters.versions_sent >= versions;
    if (is_sent && push.acknowledged_s == 0) push.acknowledged_s = meter.Cost().wall_s;
  }
  push.cost = meter.Cost();
  push.versions_sent = status.counters.versions_sent;
  push.batches_sent = status.counters.batches_sent;
  push.bytes_read_back = status.counters.bytes_read_back;
  push.window_bytes = status.window_bytes;
  const bool is_whole = push.versions_sent == versions && status.counters.batches_refused == 0;
  if (!is_whole) return Explain(status);
  return push;
}

}  // namespace cistern::bench
