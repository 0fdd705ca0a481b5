// A session to scripted servers, and the outcomes of its requests.
#ifndef CISTERN_TESTS_ENGINE_CQL_SESSION_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_CQL_SESSION_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cql/session.h"
#include "tests/engine/cql/net_fixture.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_cql_server.h"

namespace cistern::cql {

// An outcome without what lives only during the call.
struct Ending {
  OutcomeKind kind = OutcomeKind::kAway;
  Status status;
  std::optional<ErrorCode> error_code;
  uint32_t attempts = 0;
  Endpoint host;
  size_t row_count = 0;
  std::string paging_state;
};

// Ports with nobody behind them refuse at once: the waits between tries are short.
inline SessionOptions Options(const std::vector<uint16_t>& ports) {
  SessionOptions options;
  for (const uint16_t port : ports) {
    options.cluster.hosts.contacts.push_back({"127.0.0.1", port});
  }
  options.cluster.hosts.retry_first_us = 20'000;
  options.cluster.hosts.retry_max_us = 100'000;
  options.cluster.refresh_delay_us = 10'000;
  options.retry_first_us = 5'000;
  options.retry_max_us = 50'000;
  return options;
}

// A statement that gives no rows.
inline const SessionQuery kWrite{.answer = AnswerKind::kVoid};

inline constexpr char kInsert[] = "INSERT INTO ks.t (a) VALUES (?)";

// Of statements for table ks.t.
inline RowsMetadata MarkersOf(std::vector<ColumnMetadata> columns) {
  RowsMetadata markers;
  markers.keyspace = "ks";
  markers.table = "t";
  markers.column_count = columns.size();
  markers.columns = std::move(columns);
  return markers;
}

struct SessionClient {
  explicit SessionClient(SessionOptions options, std::shared_ptr<Clock> clock = SystemClock())
      : loop(MakeLoop(std::move(clock))),
        session(std::make_unique<Session>(*loop, std::move(options))) {}

  // OK, or why there is no session after so long.
  [[nodiscard]] Status WaitUntilReady(int64_t timeout_us = 50'000'000) {
    std::optional<Status> ready;
    session->WhenReady(timeout_us, [&](const Status& status) { ready = status; });
    if (!RunUntil(*loop, [&] { return ready.has_value(); })) return Status::Internal("no word");
    return *ready;
  }
  // Its number goes to *number.
  [[nodiscard]] Status TryPrepare(const std::string& cql, uint32_t* number) {
    std::optional<Status> ending;
    const Status begun = session->Prepare(cql, [&](const Outcome& outcome, uint32_t statement) {
      ending = outcome.status;
      *number = statement;
    });
    if (!begun.ok()) return begun;
    EXPECT_TRUE(RunUntil(*loop, [&] { return ending.has_value(); }));
    return ending.value_or(Status::Internal("it does not end"));
  }
  [[nodiscard]] uint32_t Prepare(const std::string& cql) {
    uint32_t number = 0;
    const Status prepared = TryPrepare(cql, &number);
    EXPECT_TRUE(prepared.ok()) << prepared.ToString();
    return number;
  }
  // Its ending goes to the end of `endings`.
  [[nodiscard]] Completion Keep() {
    const size_t at = endings.size();
    endings.emplace_back();
    return [this, at](const Outcome& outcome) {
      EXPECT_FALSE(endings[at]) << "an outcome was told twice";
      endings[at] = Ending{outcome.kind, outcome.status, outcome.error_code, outcome.attempts,
                           outcome.host, 0, {}};
      if (outcome.rows == nullptr) return;
      endings[at]->row_count = outcome.rows->rows.row_count();
      endings[at]->paging_state = outcome.rows->metadata.paging_state;
    };
  }
  // Executes `statement`, a write, with one value.
  Status Execute(uint32_t statement, const std::string& key) {
    BoundStatement bound{.statement = statement, .values = {}};
    ValueWriter(&bound.values).Value(key);
    const Status begun = session->Execute(std::move(bound), kWrite, Keep());
    if (!begun.ok()) endings.pop_back();
    return begun;
  }
  [[nodiscard]] bool WaitForAll() {
    return RunUntil(*loop, [this] {
      for (const auto& one : endings) {
        if (!one) return false;
      }
      return true;
    });
  }
  // Executes and waits.
  [[nodiscard]] Ending Run(uint32_t statement, const std::string& key = "key") {
    const Status begun = Execute(statement, key);
    EXPECT_TRUE(begun.ok()) << begun.ToString();
    EXPECT_TRUE(begun.ok() && WaitForAll());
    return endings.back().value_or(Ending());
  }

  std::unique_ptr<EventLoop> loop;
  std::vector<std::optional<Ending>> endings;
  std::unique_ptr<Session> session;
};

// An ERROR as the answer to a turn.
inline bool AnswerError(testing::ScriptedTurn& turn, ErrorCode code,
                        const std::string& message = "in the server's words") {
  ErrorResponse error;
  error.code = code;
  error.message = message;
  error.write_type = "SIMPLE";
  if (const auto* execute = std::get_if<testing::ExecuteRequest>(&turn.request)) {
    error.statement_id = execute->id;
  }
  AppendError(turn.head, error, &turn.out);
  return true;
}

// As the answer to a PREPARE: the table is another one now, whose column is a bigint.
inline bool AnswerPreparedAnew(testing::ScriptedTurn& turn,
                               const testing::PrepareRequest& prepare) {
  PreparedResult prepared;
  prepared.ids = {testing::ScriptedStatementId(prepare.cql), "metadata-2"};
  prepared.markers = MarkersOf({{"m", "bigint"}});
  prepared.key_markers = {0};
  AppendPrepared(turn.head, prepared, &turn.out);
  return true;
}

}  // namespace cistern::cql

#endif  // CISTERN_TESTS_ENGINE_CQL_SESSION_FIXTURE_H_
