#include "engine/replicate/verdict.h"

namespace cistern::replicate {
namespace {

using cql::ErrorCode;

Verdict JudgeStatus(StatusCode status) {
  switch (status) {
    case StatusCode::kIoError:     // the connection ended, or no answer came in time
    case StatusCode::kClosed:
    case StatusCode::kBusy:        // every connection has all the requests that it may have
    case StatusCode::kCorruption:  // bytes that are no frame: the connection is ended too
      return Verdict::kSendAgain;
    case StatusCode::kNotFound:        // no host answers
    case StatusCode::kLocked:          // the password is refused, or the certificate
    case StatusCode::kInvalidArgument:
      return Verdict::kAwaitCluster;
    // It names its now, and the hosts with v5 are gone; or its table was made anew meanwhile.
    case StatusCode::kNotSupported:
      return Verdict::kBindAnew;
    default: break;
  }
  return Verdict::kPark;
}

// Believes that the trouble is the server's for as long as that may be.
Verdict WhileServersTrouble(const Refusal& refusal, Verdict verdict) {
  if (refusal.attempts < kTroubleAttemptsMax) return verdict;
  return refusal.others_went ? Verdict::kPark : Verdict::kAwaitCluster;
}

}  // namespace

Verdict Judge(const Refusal& refusal) {
  if (!refusal.error_code) return JudgeStatus(refusal.status);
  switch (*refusal.error_code) {
    case ErrorCode::kServerError:
    case ErrorCode::kProtocolError:  // perhaps of one broken host
    case ErrorCode::kBootstrapping:  // another host may do
    case ErrorCode::kTruncateError:
    case ErrorCode::kReadFailure:
    case ErrorCode::kWriteFailure:
    case ErrorCode::kUnprepared:  // though it was prepared again
      return WhileServersTrouble(refusal, Verdict::kSendAgain);
    case ErrorCode::kOverloaded: return Verdict::kSlowDown;
    case ErrorCode::kWriteTimeout:  // perhaps of one partition alone, which is too large by now
    case ErrorCode::kReadTimeout:   // of a proof: perhaps too many rows to be counted in time
      return WhileServersTrouble(refusal, Verdict::kSlowDown);
    case ErrorCode::kBadCredentials:
    case ErrorCode::kUnavailable:      // too few replicas are alive
    case ErrorCode::kCdcWriteFailure:  // its space is used up
      return Verdict::kAwaitCluster;
    case ErrorCode::kUnauthorized: return Verdict::kHoldTable;
    case ErrorCode::kSyntaxError:
    case ErrorCode::kInvalid:  // the table or a column may be gone, or it is the values
      return refusal.saw_equal_schema ? Verdict::kPark : Verdict::kAskSchema;
    case ErrorCode::kFunctionFailure:
    case ErrorCode::kCasWriteUnknown:
    case ErrorCode::kConfigError:
    case ErrorCode::kAlreadyExists: break;  // of no statement of ours
  }
  return Verdict::kPark;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSendAgain: return "send again";
    case Verdict::kSlowDown: return "send again, slower";
    case Verdict::kAwaitCluster: return "wait for the cluster";
    case Verdict::kHoldTable: return "hold the table";
    case Verdict::kAskSchema: return "compare the schema";
    case Verdict::kBindAnew: return "bind anew";
    case Verdict::kPark: return "park";
  }
  return "park";
}

}  // namespace cistern::replicate
