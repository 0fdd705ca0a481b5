#include "engine/cql/retry_decision.h"

#include <gtest/gtest.h>

namespace cistern::cql {
namespace {

TEST(RetryDecision, EveryCodeHasItsReaction) {
  struct Case {
    ErrorCode code;
    OutcomeKind kind;
    bool is_retried;
  };
  const Case cases[] = {
      {ErrorCode::kServerError, OutcomeKind::kUnknown, true},
      {ErrorCode::kProtocolError, OutcomeKind::kRefused, false},
      {ErrorCode::kBadCredentials, OutcomeKind::kRefused, false},
      {ErrorCode::kUnavailable, OutcomeKind::kAway, true},
      {ErrorCode::kOverloaded, OutcomeKind::kAway, true},
      {ErrorCode::kBootstrapping, OutcomeKind::kAway, true},
      {ErrorCode::kTruncateError, OutcomeKind::kUnknown, true},
      {ErrorCode::kWriteTimeout, OutcomeKind::kUnknown, true},
      {ErrorCode::kReadTimeout, OutcomeKind::kUnknown, true},
      {ErrorCode::kReadFailure, OutcomeKind::kUnknown, true},
      {ErrorCode::kFunctionFailure, OutcomeKind::kRefused, false},
      {ErrorCode::kWriteFailure, OutcomeKind::kUnknown, true},
      {ErrorCode::kCdcWriteFailure, OutcomeKind::kUnknown, true},
      {ErrorCode::kCasWriteUnknown, OutcomeKind::kUnknown, true},
      {ErrorCode::kSyntaxError, OutcomeKind::kRefused, false},
      {ErrorCode::kUnauthorized, OutcomeKind::kRefused, false},
      {ErrorCode::kInvalid, OutcomeKind::kRefused, false},
      {ErrorCode::kConfigError, OutcomeKind::kRefused, false},
      {ErrorCode::kAlreadyExists, OutcomeKind::kRefused, false},
      {ErrorCode::kUnprepared, OutcomeKind::kAway, true},
      {ErrorCode{0x7777}, OutcomeKind::kUnknown, true},
  };
  for (const Case& one : cases) {
    const RetryDecision decision = DecideRetry(RequestFate::kAnswered, one.code);
    EXPECT_EQ(decision.kind, one.kind) << ErrorCodeName(one.code);
    EXPECT_EQ(decision.is_retried, one.is_retried) << ErrorCodeName(one.code);
    EXPECT_EQ(decision.is_prepared_again, one.code == ErrorCode::kUnprepared);
  }
}

TEST(RetryDecision, ConnectionsThatEnd) {
  EXPECT_EQ(DecideRetry(RequestFate::kAnswered, std::nullopt).kind, OutcomeKind::kDone);
  EXPECT_FALSE(DecideRetry(RequestFate::kAnswered, std::nullopt).is_retried);
  EXPECT_EQ(DecideRetry(RequestFate::kNotSent, std::nullopt).kind, OutcomeKind::kAway);
  EXPECT_TRUE(DecideRetry(RequestFate::kNotSent, std::nullopt).is_retried);
  EXPECT_EQ(DecideRetry(RequestFate::kUnknown, std::nullopt).kind, OutcomeKind::kUnknown);
  EXPECT_TRUE(DecideRetry(RequestFate::kUnknown, std::nullopt).is_retried);
}

TEST(RetryDecision, WhatIsPerhapsExecutedStaysSo) {
  EXPECT_EQ(MergeKinds(OutcomeKind::kUnknown, OutcomeKind::kAway), OutcomeKind::kUnknown);
  EXPECT_EQ(MergeKinds(OutcomeKind::kUnknown, OutcomeKind::kDone), OutcomeKind::kDone);
  EXPECT_EQ(MergeKinds(OutcomeKind::kUnknown, OutcomeKind::kRefused), OutcomeKind::kRefused);
  EXPECT_EQ(MergeKinds(OutcomeKind::kAway, OutcomeKind::kUnknown), OutcomeKind::kUnknown);
  EXPECT_EQ(MergeKinds(std::nullopt, OutcomeKind::kAway), OutcomeKind::kAway);
}

}  // namespace
}  // namespace cistern::cql
