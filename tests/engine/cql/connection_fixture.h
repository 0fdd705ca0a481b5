// A connection to a scripted server, and what it told.
#ifndef CISTERN_TESTS_ENGINE_CQL_CONNECTION_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_CQL_CONNECTION_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cql/connection.h"
#include "tests/engine/cql/net_fixture.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_cql_server.h"

namespace cistern::cql {

// What became of one request.
struct Ended {
  RequestFate fate = RequestFate::kUnknown;
  Status status;
  std::optional<ErrorResponse> error;
  bool is_void = false;
};

struct Client {
  explicit Client(std::shared_ptr<Clock> clock = SystemClock())
      : loop(MakeLoop(std::move(clock))) {}

  void Connect(uint16_t port, ConnectionOptions options = {}) {
    options.transport.endpoint = {options.transport.tls ? "localhost" : "127.0.0.1", port};
    connection = std::make_unique<Connection>(
        *loop, std::move(options),
        ConnectionEvents{.ready = [this] { is_ready = true; },
                         .pushed = [this](const ResponseMessage& event) {
                           events.push_back(event);
                         },
                         .closed = [this](const Status& status) {
                           EXPECT_FALSE(closed) << "closed was told twice";
                           closed = status;
                         }});
  }
  // Connects and waits for either end.
  [[nodiscard]] bool ConnectAndWait(uint16_t port, ConnectionOptions options = {}) {
    Connect(port, std::move(options));
    return RunUntil(*loop, [this] { return is_ready || closed; }) && is_ready;
  }
  // Sends a query whose outcome goes to the end of `ended`.
  Status Query(const std::string& cql, int64_t timeout_us = 0,
               AnswerKind asked = AnswerKind::kVoid) {
    const size_t at = ended.size();
    ended.emplace_back();
    const Status sent = connection->Send(
        [&cql](const RequestHead& head, std::string* out) {
          return AppendQuery(head, cql, {}, {}, out);
        },
        asked, timeout_us, [this, at](const Answer& answer) {
          Ended& one = *(ended[at] = Ended());
          one.fate = answer.fate;
          one.status = answer.status;
          if (answer.response == nullptr) return;
          const auto* error = std::get_if<ErrorResponse>(&answer.response->message);
          if (error != nullptr) one.error = *error;
          one.is_void = std::holds_alternative<VoidResult>(answer.response->message);
        });
    if (!sent.ok()) ended.pop_back();
    return sent;
  }
  [[nodiscard]] bool WaitForAll() {
    return RunUntil(*loop, [this] {
      for (const auto& one : ended) {
        if (!one) return false;
      }
      return true;
    });
  }

  std::unique_ptr<EventLoop> loop;
  bool is_ready = false;
  std::optional<Status> closed;
  std::vector<ResponseMessage> events;
  std::vector<std::optional<Ended>> ended;
  std::unique_ptr<Connection> connection;  // last: it tells the others
};

}  // namespace cistern::cql

#endif  // CISTERN_TESTS_ENGINE_CQL_CONNECTION_FIXTURE_H_
