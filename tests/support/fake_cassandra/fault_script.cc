#include "tests/support/fake_cassandra/fault_script.h"

#include <array>

namespace cistern::fake_cassandra {
namespace {

constexpr std::array<std::string_view, kFaultCount> kNames = {
    "none", "close before", "close after", "reset before", "reset after", "swallow before",
    "swallow after", "black hole", "delay", "split reply", "cut reply", "garbage", "overloaded",
    "unavailable", "bootstrapping", "unauthorized", "invalid", "server error", "unprepared",
    "write timeout", "write timeout, applied", "write timeout, partly applied", "write failure",
    "write failure, applied", "node down before", "node down after", "node loses unsynced",
    "node loses power",
};

}  // namespace

std::string_view FaultName(Fault fault) { return kNames[static_cast<size_t>(fault)]; }

FaultStep PlannedFaults::Next(const RequestFacts& request) {
  if (const auto at = at_request_.find(request.number); at != at_request_.end()) return at->second;
  if (!request.is_write) return {};
  const auto at = at_write_.find(request.write_number);
  return at == at_write_.end() ? FaultStep{} : at->second;
}

SeededFaults::SeededFaults(uint64_t seed, Mix mix) : rng_(seed), mix_(std::move(mix)) {
  if (!mix_.faults.empty()) return;
  for (size_t i = 1; i < kFaultCount; ++i) mix_.faults.push_back(static_cast<Fault>(i));
}

FaultStep SeededFaults::Next(const RequestFacts& request) {
  const bool is_handshake =
      request.opcode != cql::Opcode::kQuery && request.opcode != cql::Opcode::kPrepare &&
      request.opcode != cql::Opcode::kExecute && request.opcode != cql::Opcode::kBatch;
  if (is_handshake && !mix_.with_handshakes) return {};
  if (mix_.one_in == 0 || fault_count_ >= mix_.fault_count_max) return {};
  if (!rng_.OneIn(mix_.one_in)) return {};
  ++fault_count_;
  FaultStep step;
  const uint64_t drawn = rng_.Below(mix_.faults.size() + mix_.events.size());
  if (drawn < mix_.faults.size()) {
    step.fault = mix_.faults[drawn];
  } else {
    step.event = mix_.events[drawn - mix_.faults.size()];
  }
  step.delay_us = rng_.Between(1, mix_.delay_us_max);
  return step;
}

}  // namespace cistern::fake_cassandra
