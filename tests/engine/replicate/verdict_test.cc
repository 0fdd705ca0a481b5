#include "engine/replicate/verdict.h"

#include <gtest/gtest.h>

#include <vector>

namespace cistern::replicate {
namespace {

using cql::ErrorCode;

Refusal Of(ErrorCode code, uint32_t attempts = 1) {
  Refusal refusal;
  refusal.error_code = code;
  refusal.attempts = attempts;
  return refusal;
}

struct Line {
  ErrorCode code;
  Verdict first;         // at the first attempt
  Verdict alone;         // after many, while nothing else goes either
  Verdict while_others;  // after many, while others go and the schema was found equal
};

TEST(Verdict, OfEveryErrorCode) {
  constexpr Verdict kAgain = Verdict::kSendAgain;
  constexpr Verdict kSlow = Verdict::kSlowDown;
  constexpr Verdict kAwait = Verdict::kAwaitCluster;
  constexpr Verdict kHold = Verdict::kHoldTable;
  constexpr Verdict kSchema = Verdict::kAskSchema;
  constexpr Verdict kPark = Verdict::kPark;
  const std::vector<Line> lines = {
      {ErrorCode::kServerError, kAgain, kAwait, kPark},
      {ErrorCode::kProtocolError, kAgain, kAwait, kPark},
      {ErrorCode::kBadCredentials, kAwait, kAwait, kAwait},
      {ErrorCode::kUnavailable, kAwait, kAwait, kAwait},
      {ErrorCode::kOverloaded, kSlow, kSlow, kSlow},
      {ErrorCode::kBootstrapping, kAgain, kAwait, kPark},
      {ErrorCode::kTruncateError, kAgain, kAwait, kPark},
      {ErrorCode::kWriteTimeout, kSlow, kAwait, kPark},
      {ErrorCode::kReadTimeout, kSlow, kAwait, kPark},
      {ErrorCode::kReadFailure, kAgain, kAwait, kPark},
      {ErrorCode::kFunctionFailure, kPark, kPark, kPark},
      {ErrorCode::kWriteFailure, kAgain, kAwait, kPark},
      {ErrorCode::kCdcWriteFailure, kAwait, kAwait, kAwait},
      {ErrorCode::kCasWriteUnknown, kPark, kPark, kPark},
      {ErrorCode::kSyntaxError, kSchema, kSchema, kPark},
      {ErrorCode::kUnauthorized, kHold, kHold, kHold},
      {ErrorCode::kInvalid, kSchema, kSchema, kPark},
      {ErrorCode::kConfigError, kPark, kPark, kPark},
      {ErrorCode::kAlreadyExists, kPark, kPark, kPark},
      {ErrorCode::kUnprepared, kAgain, kAwait, kPark},
      {static_cast<ErrorCode>(0x7777), kPark, kPark, kPark},
  };
  for (const Line& line : lines) {
    SCOPED_TRACE(static_cast<int>(line.code));
    EXPECT_EQ(Judge(Of(line.code)), line.first);
    EXPECT_EQ(Judge(Of(line.code, kTroubleAttemptsMax)), line.alone);
    Refusal later = Of(line.code, kTroubleAttemptsMax);
    later.others_went = true;
    later.saw_equal_schema = true;
    EXPECT_EQ(Judge(later), line.while_others);
  }
}

TEST(Verdict, TroubleIsBelievedForSomeAttempts) {
  Refusal refusal = Of(ErrorCode::kWriteFailure, kTroubleAttemptsMax - 1);
  refusal.others_went = true;
  EXPECT_EQ(Judge(refusal), Verdict::kSendAgain);
  ++refusal.attempts;
  EXPECT_EQ(Judge(refusal), Verdict::kPark);
}

TEST(Verdict, WithoutAnAnswer) {
  const auto of = [](StatusCode status) {
    Refusal refusal;
    refusal.status = status;
    refusal.attempts = 1'000;
    return Judge(refusal);
  };
  for (const StatusCode status : {StatusCode::kIoError, StatusCode::kClosed, StatusCode::kBusy,
                                  StatusCode::kCorruption}) {
    EXPECT_EQ(of(status), Verdict::kSendAgain) << StatusCodeName(status);
  }
  for (const StatusCode status : {StatusCode::kNotFound, StatusCode::kInvalidArgument}) {
    EXPECT_EQ(of(status), Verdict::kAwaitCluster) << StatusCodeName(status);
  }
  EXPECT_EQ(of(StatusCode::kNotSupported), Verdict::kBindAnew);
  EXPECT_EQ(of(StatusCode::kTooLarge), Verdict::kPark);
  EXPECT_EQ(of(StatusCode::kOutOfRange), Verdict::kPark);
}

TEST(Verdict, EachHasAName) {
  EXPECT_EQ(VerdictName(Verdict::kPark), "park");
  EXPECT_EQ(VerdictName(Verdict::kAskSchema), "compare the schema");
  EXPECT_EQ(VerdictName(Verdict::kBindAnew), "bind anew");
}

}  // namespace
}  // namespace cistern::replicate
