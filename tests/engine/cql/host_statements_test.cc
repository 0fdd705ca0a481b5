#include "engine/cql/host_statements.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace cistern::cql {
namespace {

constexpr HostId kHost = 1;
constexpr HostId kOtherHost = 2;
constexpr std::array<uint32_t, 1> kOne = {7};
constexpr std::array<uint32_t, 2> kBoth = {7, 8};

TEST(HostStatements, AreToldOncePreparedUntilTheConnectionEnds) {
  HostStatements statements;
  EXPECT_TRUE(statements.IsTold(kHost, {}));
  EXPECT_FALSE(statements.IsTold(kHost, kOne));
  const auto first = statements.Begin(kHost, 7);
  EXPECT_TRUE(statements.IsAsked(kHost));
  EXPECT_FALSE(statements.IsAsked(kOtherHost));
  statements.End(first, PrepareWord::kSame);
  EXPECT_FALSE(statements.IsAsked(kHost));
  EXPECT_TRUE(statements.IsTold(kHost, kOne));
  EXPECT_FALSE(statements.IsTold(kHost, kBoth));
  EXPECT_FALSE(statements.IsTold(kOtherHost, kOne));
  statements.NoteTold(kHost, 8);
  EXPECT_TRUE(statements.IsTold(kHost, kBoth));
  statements.Forget(kHost);
  EXPECT_FALSE(statements.IsTold(kHost, kOne));
}

TEST(HostStatements, AreNotToldWhileAskedAgainNorByAnError) {
  HostStatements statements;
  statements.NoteTold(kHost, 7);
  const auto again = statements.Begin(kHost, 7);
  EXPECT_FALSE(statements.IsTold(kHost, kOne));
  statements.End(again, PrepareWord::kNone);
  EXPECT_FALSE(statements.IsTold(kHost, kOne));
  statements.End(statements.Begin(kHost, 7), PrepareWord::kOther);
  EXPECT_TRUE(statements.IsTold(kHost, kOne));
}

// What was under way when an answer was lost may have come before what is lost.
TEST(HostStatements, ALostAnswerPassesAllThatWereUnderWay) {
  HostStatements statements;
  const auto first = statements.Begin(kHost, 7);
  const auto second = statements.Begin(kHost, 7);
  statements.End(second, PrepareWord::kLost);
  statements.End(first, PrepareWord::kSame);
  EXPECT_FALSE(statements.IsTold(kHost, kOne));
  statements.End(statements.Begin(kHost, 7), PrepareWord::kSame);
  EXPECT_TRUE(statements.IsTold(kHost, kOne));
}

// Answers need not come in the order in which a server has worked.
TEST(HostStatements, OfTwoAnswersThatDifferNeitherCounts) {
  using enum PrepareWord;
  for (const auto& [word, last] : {std::pair(kSame, kOther), {kOther, kSame}, {kOther, kOther}}) {
    HostStatements statements;
    const auto first = statements.Begin(kHost, 7);
    const auto second = statements.Begin(kHost, 7);
    statements.End(second, word);
    statements.End(first, last);
    EXPECT_FALSE(statements.IsTold(kHost, kOne));
    statements.End(statements.Begin(kHost, 7), kOther);
    EXPECT_TRUE(statements.IsTold(kHost, kOne));
  }
}

// Types that another host told in between make two answers the same that are not.
TEST(HostStatements, OtherTypesPassWhatIsUnderWayToo) {
  HostStatements statements;
  const auto first = statements.Begin(kHost, 7);
  const auto second = statements.Begin(kHost, 7);
  statements.End(first, PrepareWord::kSame);
  statements.NoteOtherTypes(kOtherHost, 7);
  statements.End(second, PrepareWord::kSame);
  EXPECT_FALSE(statements.IsTold(kHost, kOne));
}

TEST(HostStatements, AreNotToldOnceTheHostHasForgottenThem) {
  HostStatements statements;
  for (const uint32_t statement : kBoth) statements.NoteTold(kHost, statement);
  statements.NoteForgotten(kHost, 8);
  statements.NoteForgotten(kOtherHost, 8);
  EXPECT_TRUE(statements.IsTold(kHost, kOne));
  EXPECT_FALSE(statements.IsTold(kHost, kBoth));
}

TEST(HostStatements, OtherTypesOfOneHostPassTheWordsOfOthers) {
  HostStatements statements;
  for (const HostId host : {kHost, kOtherHost}) {
    for (const uint32_t statement : kBoth) statements.NoteTold(host, statement);
  }
  statements.NoteOtherTypes(kHost, 7);
  EXPECT_TRUE(statements.IsTold(kHost, kBoth));
  EXPECT_FALSE(statements.IsTold(kOtherHost, kOne));
  EXPECT_TRUE(statements.IsTold(kOtherHost, std::array<uint32_t, 1>{8}));
}

// It comes again while the answer of before is on its way to whoever asked.
TEST(HostStatements, AnAnswerOfAConnectionThatHasEndedCountsForNothing) {
  HostStatements statements;
  const auto before = statements.Begin(kHost, 7);
  statements.Forget(kHost);
  EXPECT_FALSE(statements.IsAsked(kHost));
  const auto after = statements.Begin(kHost, 7);
  statements.End(before, PrepareWord::kSame);
  EXPECT_FALSE(statements.IsTold(kHost, kOne));
  EXPECT_TRUE(statements.IsAsked(kHost));
  statements.End(after, PrepareWord::kSame);
  EXPECT_TRUE(statements.IsTold(kHost, kOne));
}

}  // namespace
}  // namespace cistern::cql
