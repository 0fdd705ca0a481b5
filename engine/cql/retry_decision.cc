#include "engine/cql/retry_decision.h"

namespace cistern::cql {
namespace {

RetryDecision Again(OutcomeKind kind) { return {.kind = kind, .is_retried = true}; }

RetryDecision DecideError(ErrorCode error) {
  switch (error) {
    case ErrorCode::kUnavailable:    // fewer replicas are alive than the consistency asks for
    case ErrorCode::kOverloaded:
    case ErrorCode::kBootstrapping: return Again(OutcomeKind::kAway);
    case ErrorCode::kUnprepared:
      return {.kind = OutcomeKind::kAway, .is_retried = true, .is_prepared_again = true};
    case ErrorCode::kServerError:
    case ErrorCode::kTruncateError:
    case ErrorCode::kWriteTimeout:
    case ErrorCode::kReadTimeout:
    case ErrorCode::kReadFailure:
    case ErrorCode::kWriteFailure:
    case ErrorCode::kCdcWriteFailure:
    case ErrorCode::kCasWriteUnknown: return Again(OutcomeKind::kUnknown);
    case ErrorCode::kProtocolError:
    case ErrorCode::kBadCredentials:
    case ErrorCode::kFunctionFailure:
    case ErrorCode::kSyntaxError:
    case ErrorCode::kUnauthorized:
    case ErrorCode::kInvalid:
    case ErrorCode::kConfigError:
    case ErrorCode::kAlreadyExists: return {.kind = OutcomeKind::kRefused};
  }
  // A code that is newer than we are.
  return Again(OutcomeKind::kUnknown);
}

}  // namespace

RetryDecision DecideRetry(RequestFate fate, std::optional<ErrorCode> error) {
  switch (fate) {
    case RequestFate::kNotSent: return Again(OutcomeKind::kAway);
    case RequestFate::kUnknown: return Again(OutcomeKind::kUnknown);
    case RequestFate::kAnswered: break;
  }
  return error ? DecideError(*error) : RetryDecision{};
}

OutcomeKind MergeKinds(std::optional<OutcomeKind> earlier, OutcomeKind last) {
  const bool was_unknown = earlier == OutcomeKind::kUnknown;
  return was_unknown && last == OutcomeKind::kAway ? OutcomeKind::kUnknown : last;
}

}  // namespace cistern::cql
