// What servers tell of the statements that they prepare is bounded.
#include <atomic>
#include <string>

#include "tests/engine/cql/session_fixture.h"

namespace cistern::cql {
namespace {

using testing::ExecuteRequest;
using testing::PrepareRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedStatementId;
using testing::ScriptedTurn;

TEST(SessionMetadata, IdsOfStatementsAreBounded) {
  std::atomic<size_t> id_bytes = 0;
  std::atomic<size_t> metadata_id_bytes = 0;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      return AnswerError(turn, ErrorCode::kUnprepared);
    }
    if (!std::holds_alternative<PrepareRequest>(turn.request)) return false;
    PreparedResult prepared;
    prepared.ids = {std::string(id_bytes, 'i'), std::string(metadata_id_bytes, 'm')};
    AppendPrepared(turn.head, prepared, &turn.out);
    return true;
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const auto prepare = [&](size_t id, size_t metadata_id) {
    id_bytes = id;
    metadata_id_bytes = metadata_id;
    uint32_t number = 0;
    return client.TryPrepare("INSERT " + std::to_string(id * 1'000 + metadata_id), &number).code();
  };
  EXPECT_EQ(prepare(64, 64), StatusCode::kOk);
  EXPECT_EQ(prepare(65, 16), StatusCode::kTooLarge);
  EXPECT_EQ(prepare(16, 65), StatusCode::kTooLarge);
  EXPECT_EQ(client.Run(0).status.code(), StatusCode::kTooLarge) << "prepared again";
}

TEST(SessionMetadata, WhatServersTellOfStatementsIsBounded) {
  constexpr size_t kColumns = 1'000;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr) return false;
    PreparedResult prepared;
    prepared.ids = {ScriptedStatementId(prepare->cql), "m"};
    prepared.markers = MarkersOf({kColumns, {std::string(10'000, 'x'), "int"}});
    AppendPrepared(turn.head, prepared, &turn.out);
    return true;
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  for (int i = 0; i < 6; ++i) {  // 10 MB each
    uint32_t number = 0;
    const Status prepared = client.TryPrepare("INSERT INTO ks.t" + std::to_string(i), &number);
    EXPECT_EQ(prepared.code(), i < 3 ? StatusCode::kOk : StatusCode::kTooLarge) << i;
  }
}

// What is told anew stands instead of what was told before: a long life does not add up, and no
// server tells too much by telling it later.
TEST(SessionMetadata, WhatServersTellAgainIsBounded) {
  std::atomic<bool> is_known = true;
  std::atomic<size_t> column_count = 1;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      return !is_known && AnswerError(turn, ErrorCode::kUnprepared);
    }
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr) return false;
    is_known = true;
    PreparedResult prepared;
    prepared.ids = {ScriptedStatementId(prepare->cql), "m"};
    prepared.markers = MarkersOf({column_count, {std::string(60'000, 'x'), "blob"}});
    AppendPrepared(turn.head, prepared, &turn.out);
    return true;
  });
  SessionOptions options = Options({server.port()});
  options.metadata_bytes_max = 1'000'000;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  const size_t bytes = client.session->metadata_bytes();
  for (int i = 0; i < 20; ++i) {
    is_known = false;
    ASSERT_EQ(client.Run(insert).kind, OutcomeKind::kDone) << i;
  }
  EXPECT_EQ(client.session->metadata_bytes(), bytes);
  is_known = false;
  column_count = 20;
  EXPECT_EQ(client.Run(insert).status.code(), StatusCode::kTooLarge);
  EXPECT_EQ(client.session->metadata_bytes(), bytes);
  // The server has it for types that nobody here knows.
  EXPECT_NE(client.Run(insert).kind, OutcomeKind::kDone);
  column_count = 1;
  EXPECT_EQ(client.Run(insert).kind, OutcomeKind::kDone) << "it is in nobody's way";
}

TEST(SessionMetadata, WhatComesWithRowsIsBounded) {
  std::atomic<size_t> column_count = 20;
  std::atomic<size_t> id_bytes = 10;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (!std::holds_alternative<ExecuteRequest>(turn.request)) return false;
    testing::RowsAnswer answer;
    answer.metadata = MarkersOf({column_count, {std::string(60'000, 'x'), "int"}});
    answer.metadata.new_metadata_id = std::string(id_bytes, 'm');
    AppendRows(turn.head, answer, &turn.out);
    return true;
  });
  SessionOptions options = Options({server.port()});
  options.metadata_bytes_max = 1'000'000;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  BoundStatement bound{.statement = client.Prepare("SELECT a FROM ks.t"), .values = {}};
  const auto columns_kept = [&](size_t columns, size_t bytes_of_id) {
    column_count = columns;
    id_bytes = bytes_of_id;
    EXPECT_TRUE(client.session->Execute(bound, {}, client.Keep()).ok());
    EXPECT_TRUE(client.WaitForAll());
    EXPECT_EQ(client.endings.back()->kind, OutcomeKind::kDone);
    return client.session->statement(bound.statement).result.columns.size();
  };
  EXPECT_EQ(columns_kept(20, 10), 0u);
  EXPECT_EQ(columns_kept(1, 65), 0u);
  EXPECT_EQ(columns_kept(1, 64), 1u);
  EXPECT_LE(client.session->metadata_bytes(), options.metadata_bytes_max);
}

}  // namespace
}  // namespace cistern::cql
