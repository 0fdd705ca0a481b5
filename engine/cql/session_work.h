// Work: a request of a session from its call to its completion. For session*.cc alone.
#ifndef CISTERN_CQL_SESSION_WORK_H_
#define CISTERN_CQL_SESSION_WORK_H_

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/cql/session.h"

namespace cistern::cql {

struct Session::Work {
  // Appends the request with a host's ids of the prepared statements.
  using Encoder =
      std::function<Status(const RequestHead&, std::span<const PreparedIds>, std::string*)>;

  Work(Encoder encoder, Completion completion, int64_t retry_first_us, int64_t retry_max_us,
       uint64_t seed)
      : encode(std::move(encoder)), done(std::move(completion)),
        backoff(retry_first_us, retry_max_us, seed) {}

  Encoder encode;
  AnswerKind asked = AnswerKind::kVoid;
  Completion done;
  PrepareCompletion prepared;            // instead of `done`, of PREPARE
  std::string cql;                       // of PREPARE
  std::vector<uint32_t> statements;      // that it needs, each once
  std::vector<uint32_t> revisions;       // of those, when its values were bound
  std::optional<int64_t> token;          // of its partition
  std::string keyspace;
  int64_t timeout_us = 0;
  size_t bytes = 0;

  uint64_t number = 0;
  std::vector<HostId> plan;              // hosts of this round, and
  size_t plan_next = 0;                  // the next one of it
  Backoff backoff;                       // between rounds
  uint32_t attempts = 0;
  // Its values do not hold any more then, by the loop's clock.
  int64_t fresh_until_us = std::numeric_limits<int64_t>::max();
  bool asks_control = false;             // it goes to the host that tells of the schema
  uint32_t prepare_again_count = 0;
  HostStatements::Asking asking;         // of PREPARE, while it is under way
  std::optional<OutcomeKind> kind;       // of the attempts so far
  Outcome outcome;                       // the same, in words
  TimerId retry_timer = 0;
  bool is_ended = false;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_SESSION_WORK_H_
