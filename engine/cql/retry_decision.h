// What becomes of a request, by what one host made of it. Pure.
//
// Every request of a session is idempotent: a write carries its own timestamp and, on v5, its own
// now. So whatever may succeed elsewhere or later is tried again.
//
// Source of the codes: native_protocol_v5.spec section 8.
#ifndef CISTERN_CQL_RETRY_DECISION_H_
#define CISTERN_CQL_RETRY_DECISION_H_

#include <cstdint>
#include <optional>

#include "engine/cql/connection.h"

namespace cistern::cql {

enum class OutcomeKind : uint8_t {
  kDone,     // the server did it
  kRefused,  // the server said no, and would say so again: syntax, invalid, unauthorised, config
  kAway,     // certainly not executed: no host took it, or each one was overloaded or short of
             // replicas
  kUnknown,  // perhaps executed: an answer is missing, or not enough replicas answered in time
};

struct RetryDecision {
  OutcomeKind kind = OutcomeKind::kDone;  // if it is the last word
  bool is_retried = false;                // elsewhere or later, while attempts are left
  bool is_prepared_again = false;         // the host has forgotten the statement
};

// `error` is the code of an ERROR answer, where there was one.
[[nodiscard]] RetryDecision DecideRetry(RequestFate fate, std::optional<ErrorCode> error);

// The kind of a request whose attempts before the last one had `earlier`: what is perhaps executed
// stays so, until it is certainly done or refused.
[[nodiscard]] OutcomeKind MergeKinds(std::optional<OutcomeKind> earlier, OutcomeKind last);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_RETRY_DECISION_H_
