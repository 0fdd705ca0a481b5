// FaultScript: what goes wrong with which request. Deterministic: from a plan, or from a seed.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_FAULT_SCRIPT_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_FAULT_SCRIPT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/cql/protocol.h"
#include "tests/support/rng.h"

namespace cistern::fake_cassandra {

class FakeCluster;

// What happens to one request. "Before": it is not executed; "after": it was, and the client does
// not learn of it.
enum class Fault : uint8_t {
  kNone,
  // The connection.
  kCloseBefore, kCloseAfter,      // an orderly end
  kResetBefore, kResetAfter,      // RST
  kSwallowBefore, kSwallowAfter,  // no answer; the connection goes on
  kBlackHole,                     // nothing is read or answered any more
  kDelay,                         // the answer comes FaultStep::delay_us later
  kSplitReply,                    // the answer's first bytes come one by one
  kCutReply,                      // half of the answer, then RST
  kGarbage,                       // other bytes than an answer
  // The server's words. Only of QUERY, PREPARE, EXECUTE and BATCH; others are answered as usual.
  kOverloaded, kUnavailable, kBootstrapping, kUnauthorized, kInvalid, kServerError,
  kUnprepared,                    // the node forgets all prepared statements, then answers so
  kWriteTimeout, kWriteTimeoutApplied,
  kWriteTimeoutPartly,            // one replica took it
  kWriteFailure, kWriteFailureApplied,
  // The node. It comes back FaultStep::delay_us later by the cluster's clock.
  kNodeDownBefore, kNodeDownAfter,  // the commit log is replayed
  kNodeLosesUnsynced,               // after; what was not synced is lost
  kNodeLosesPower,                  // the same, and its connections stay as if nothing had been
};
inline constexpr size_t kFaultCount = static_cast<size_t>(Fault::kNodeLosesPower) + 1;

// "write timeout, applied".
[[nodiscard]] std::string_view FaultName(Fault fault);

struct FaultStep {
  Fault fault = Fault::kNone;
  int64_t delay_us = 0;
  // Done before the request: a table altered, the password changed, another node taken down.
  std::function<void(FakeCluster&)> event = {};
};

// The request that a step is asked for.
struct RequestFacts {
  uint64_t number = 0;        // of this cluster, from 0, handshakes included
  uint64_t write_number = 0;  // of requests that write, from 0: this one, or the next
  size_t node = 0;
  cql::Opcode opcode = cql::Opcode::kOptions;
  bool is_write = false;
  bool is_definition = false;  // CREATE, ALTER, DROP
  std::string_view body = {};  // its bytes; valid during the call
};

// Called under the cluster's lock.
class FaultScript {
 public:
  virtual ~FaultScript() = default;
  virtual FaultStep Next(const RequestFacts& request) = 0;
};

// The same fault or event at chosen writes.
class PlannedFaults : public FaultScript {
 public:
  // The n-th request that writes, from 0.
  void AtWrite(uint64_t n, FaultStep step) { at_write_[n] = std::move(step); }
  void AtRequest(uint64_t n, FaultStep step) { at_request_[n] = std::move(step); }
  FaultStep Next(const RequestFacts& request) override;

 private:
  std::map<uint64_t, FaultStep> at_write_;
  std::map<uint64_t, FaultStep> at_request_;
};

// Faults by chance, the same for the same seed and requests.
class SeededFaults : public FaultScript {
 public:
  struct Mix {
    uint64_t one_in = 20;             // requests that meet a fault; 0: none
    uint64_t fault_count_max = 1000;  // then the cluster is well: so a run can end
    bool with_handshakes = true;      // OPTIONS, STARTUP, AUTH_RESPONSE and REGISTER too
    int64_t delay_us_max = 3'000'000;
    std::vector<Fault> faults;        // from which it is drawn; empty: all
    std::vector<std::function<void(FakeCluster&)>> events;  // drawn beside the faults
  };
  SeededFaults(uint64_t seed, Mix mix);
  FaultStep Next(const RequestFacts& request) override;

 private:
  testing::Rng rng_;
  Mix mix_;
  uint64_t fault_count_ = 0;
};

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_FAULT_SCRIPT_H_
