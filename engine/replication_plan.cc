#include "engine/replication_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/cql/protocol.h"
#include "engine/option_range.h"
#include "engine/replicate/accepted_drop.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_lexer.h"
#include "lib/cql/ddl_print.h"

namespace cistern {

namespace {

Status CheckAcceptedDrops(const std::vector<AcceptedDrop>& drops) {
  if (drops.size() > limits::kAcceptedDropsMax) {
    return Status::InvalidArgument(Concat({"ReplicationOptions::accepted_drops has ", drops.size(),
        " drops; at most ", limits::kAcceptedDropsMax}));
  }
  for (const AcceptedDrop& drop : drops) {
    const bool has_keyspace = drop.table.find('.') != std::string::npos;
    if (has_keyspace && !drop.column.empty()) continue;
    return Status::InvalidArgument(Concat({"ReplicationOptions::accepted_drops: ",
        ShowText(replicate::AcceptedDropText(drop)), " does not name keyspace, table and column"}));
  }
  return Status::Ok();
}

Status CheckReplicationOptions(const ReplicationOptions& options) {
  const OptionRange<uint64_t> sizes[] = {
      {"ReplicationOptions::consistency", static_cast<uint64_t>(options.consistency), 0,
       static_cast<uint64_t>(Consistency::kAll)},
      {"ReplicationOptions::drain", static_cast<uint64_t>(options.drain), 0,
       static_cast<uint64_t>(DrainMode::kLiveFirst)},
      {"ReplicationOptions::live_percent", options.live_percent, 1, 99},
      {"ReplicationOptions::bytes_per_s_max", options.bytes_per_s_max, limits::kBandwidthMin,
       limits::kBandwidthMax, true},
      {"ReplicationOptions::in_flight_bytes_max", options.in_flight_bytes_max,
       limits::kInFlightBytesMin, limits::kInFlightBytesMax},
      {"ReplicationOptions::batch_rows_max", options.batch_rows_max, 1,
       limits::kPushStatementsMax},
      {"ReplicationOptions::batch_bytes_max", options.batch_bytes_max, limits::kPushBatchBytesMin,
       limits::kPushBatchBytesMax},
      {"ReplicationOptions::pushing_seals_max", options.pushing_seals_max, 1,
       limits::kPushingSealsMax},
      {"ReplicationOptions::proof", static_cast<uint64_t>(options.proof), 0,
       static_cast<uint64_t>(ProofLevel::kRows)},
  };
  const OptionRange<int64_t> times[] = {
      {"ReplicationOptions::live_span_s", options.live_span_s, 1, limits::kLiveSpanSecondsMax},
      {"ReplicationOptions::hold_us", options.hold_us, 0, limits::kHoldUsMax},
  };
  for (const auto& range : sizes) CISTERN_RETURN_IF_ERROR(CheckRange(range));
  for (const auto& range : times) CISTERN_RETURN_IF_ERROR(CheckRange(range));
  CISTERN_RETURN_IF_ERROR(
      CheckKeyspaceName("ReplicationOptions::keyspace", options.keyspace));
  CISTERN_RETURN_IF_ERROR(CheckAcceptedDrops(options.accepted_drops));
  if (options.proof != ProofLevel::kAck && options.consistency == Consistency::kAny) {
    return Status::InvalidArgument(
        "ReplicationOptions::proof reads, and nothing can be read at Consistency::kAny: take "
        "kLocalQuorum or another one");
  }
  return Status::Ok();
}

cql::Consistency OnTheWire(Consistency level) {
  switch (level) {
    case Consistency::kAny: return cql::Consistency::kAny;
    case Consistency::kOne: return cql::Consistency::kOne;
    case Consistency::kTwo: return cql::Consistency::kTwo;
    case Consistency::kThree: return cql::Consistency::kThree;
    case Consistency::kLocalOne: return cql::Consistency::kLocalOne;
    case Consistency::kLocalQuorum: return cql::Consistency::kLocalQuorum;
    case Consistency::kQuorum: return cql::Consistency::kQuorum;
    case Consistency::kEachQuorum: return cql::Consistency::kEachQuorum;
    case Consistency::kAll: return cql::Consistency::kAll;
  }
  return cql::Consistency::kLocalQuorum;
}

}  // namespace

Status CheckKeyspaceName(std::string_view option, std::string_view name) {
  const bool is_word = std::ranges::all_of(name, IsNamePart);
  if (is_word && name.size() <= limits::kNameBytesMax) return Status::Ok();
  return Status::InvalidArgument(Concat({option, " ", ShowText(name),
      " is no name of a keyspace: at most ", limits::kNameBytesMax, " letters, digits and "
      "underscores"}));
}

Result<replicate::ReplicatorOptions> PlanReplicator(const ReplicationOptions& options,
                                                    uint64_t seed) {
  CISTERN_RETURN_IF_ERROR(CheckReplicationOptions(options));
  replicate::ReplicatorOptions plan;
  plan.keyspace = options.keyspace;
  plan.consistency = OnTheWire(options.consistency);
  plan.drain.mode = options.drain;
  plan.drain.live_span_s = options.live_span_s;
  plan.drain.live_percent = options.live_percent;
  plan.flow.ceiling_bytes = options.in_flight_bytes_max;
  plan.flow.start_bytes = std::min(plan.flow.start_bytes, plan.flow.ceiling_bytes);
  plan.bytes_per_s_max = options.bytes_per_s_max;
  plan.hold_us = options.hold_us;
  plan.proof = options.proof;
  plan.accepted_drops = options.accepted_drops;
  plan.statement_count_max = options.batch_rows_max;
  plan.byte_count_max = options.batch_bytes_max;
  plan.pushing_count_max = options.pushing_seals_max;
  plan.seed = seed;
  return plan;
}

}  // namespace cistern
