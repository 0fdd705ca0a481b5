#include "engine/replicate/verdict.h"

namespace cistern::replicate {
namespace {

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
    case 0x0000:  // server error
    case 0x000A:  // protocol error: perhaps of one broken host
    case 0x1002:  // bootstrapping: another host may do
    case 0x1003:  // truncate error
    case 0x1300:  // read failure
    case 0x1500:  // write failure
    case 0x2500:  // unprepared, though it was prepared again
      return WhileServersTrouble(refusal, Verdict::kSendAgain);
    case 0x1001:  // overloaded
    case 0x1100:  // write timeout
    case 0x1200:  // read timeout
      return Verdict::kSlowDown;
    case 0x0100:  // bad credentials
    case 0x1000:  // unavailable: too few replicas are alive
    case 0x1600:  // CDC write failure: its space is used up
      return Verdict::kAwaitCluster;
    case 0x2100:  // unauthorized: to this table, or to all
      return refusal.others_went ? Verdict::kPark : Verdict::kAwaitCluster;
    case 0x2000:  // syntax error
    case 0x2200:  // invalid: the table or a column may be gone, or it is the values
      return refusal.saw_equal_schema ? Verdict::kPark : Verdict::kAskSchema;
    default: break;
  }
  return Verdict::kPark;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSendAgain: return "send again";
    case Verdict::kSlowDown: return "send again, slower";
    case Verdict::kAwaitCluster: return "wait for the cluster";
    case Verdict::kAskSchema: return "compare the schema";
    case Verdict::kPark: return "park";
  }
  return "park";
}

}  // namespace cistern::replicate
