// RawClient: one connection to a node on the test's own thread, nothing done for it.
#ifndef CISTERN_TESTS_ENGINE_CQL_FAKE_CASSANDRA_RAW_CLIENT_H_
#define CISTERN_TESTS_ENGINE_CQL_FAKE_CASSANDRA_RAW_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/cql/envelope_stream.h"
#include "engine/cql/request.h"
#include "engine/cql/response.h"
#include "tests/support/fake_cassandra/fake_cluster.h"

namespace cistern::fake_cassandra {

// One thread.
class RawClient {
 public:
  enum class End { kOpen, kClosed, kReset };

  // Of a fake cluster, which is polled while the client waits.
  RawClient(FakeCluster* cluster, size_t node,
            cql::ProtocolVersion version = cql::ProtocolVersion::kV5,
            cql::Compression compression = cql::Compression::kNone)
      : RawClient(cluster->host(node), cluster->port(), [cluster] { return cluster->Poll(1); },
                  10'000, version, compression) {}

  // Of any server. Where no answer came it waits by `pump`, which tells whether something was to
  // do, and gives up after `quiet_rounds_max` calls in a row that did nothing.
  RawClient(const std::string& host, uint16_t port, std::function<bool()> pump,
            int quiet_rounds_max, cql::ProtocolVersion version, cql::Compression compression)
      : pump_(std::move(pump)), quiet_rounds_max_(quiet_rounds_max), version_(version),
        compression_(compression) {
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    address.sin_port = htons(port);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      end_ = End::kReset;
    }
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { close(socket_); }

  // For where no answer is expected: it is waited for, but not for long.
  void ExpectNothing() { quiet_rounds_max_ = 100; }
  void ExpectAnswers() { quiet_rounds_max_ = 10'000; }
  [[nodiscard]] cql::RequestHead head() const { return {version_, 0}; }
  [[nodiscard]] End end() const { return end_; }
  // Of the last bytes that came: whether they were the protocol's.
  [[nodiscard]] const Status& status() const { return status_; }

  void Send(std::string_view envelope) {
    std::string bytes;
    encoder_.Encode(envelope, &bytes);
    send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // The next response; nullopt: none came, the connection is over, or it was garbage.
  std::optional<cql::Response> Receive() {
    for (int quiet = 0; quiet < quiet_rounds_max_;) {
      Result<std::optional<cql::Envelope>> next = decoder_.Next();
      if (!next.ok()) {
        status_ = next.status();
        return std::nullopt;
      }
      if (next->has_value()) {
        Result<cql::Response> response = cql::DecodeResponse(version_, **next);
        if (response.ok()) return *std::move(response);
        status_ = response.status();
        return std::nullopt;
      }
      if (end_ != End::kOpen) return std::nullopt;
      const bool was_busy = pump_();
      const bool has_come = Take();
      quiet = was_busy || has_come ? 0 : quiet + 1;
    }
    return std::nullopt;
  }
  std::optional<cql::Response> Ask(std::string_view envelope) {
    Send(envelope);
    return Receive();
  }

  // STARTUP and, where asked for, the password. True: requests may follow.
  bool Handshake(std::string_view user = "", std::string_view password = "") {
    cql::StartupOptions options;
    options.compression = compression_;
    std::string out;
    if (!cql::AppendStartup(head(), options, &out).ok()) return false;
    std::optional<cql::Response> response = Ask(out);
    if (!response.has_value()) return false;
    const bool asks = std::holds_alternative<cql::AuthenticateResponse>(response->message);
    if (!asks && !std::holds_alternative<cql::ReadyResponse>(response->message)) return false;
    encoder_.Establish(version_, compression_);
    decoder_.Establish(version_, compression_);
    if (!asks) return true;
    out.clear();
    if (!cql::AppendPlainAuthResponse(head(), user, password, &out).ok()) return false;
    response = Ask(out);
    return response.has_value() &&
           std::holds_alternative<cql::AuthSuccessResponse>(response->message);
  }

  std::optional<cql::Response> Query(std::string_view cql,
                                     cql::Consistency consistency = cql::Consistency::kOne,
                                     std::optional<uint32_t> now_in_seconds = std::nullopt) {
    std::string out;
    cql::QueryOptions options;
    options.consistency = consistency;
    options.now_in_seconds = now_in_seconds;
    if (!cql::AppendQuery(head(), cql, options, {}, &out).ok()) return std::nullopt;
    return Ask(out);
  }
  // "void", "rows 3", "error 0x2200", "nothing": what a query came to.
  std::string Word(std::string_view cql, cql::Consistency consistency = cql::Consistency::kOne) {
    return WordOf(Query(cql, consistency));
  }
  static std::string WordOf(const std::optional<cql::Response>& response) {
    if (!response.has_value()) return "nothing";
    if (const auto* error = std::get_if<cql::ErrorResponse>(&response->message)) {
      return std::string(cql::ErrorCodeName(error->code));
    }
    if (const auto* rows = std::get_if<cql::RowsResult>(&response->message)) {
      return "rows " + std::to_string(rows->rows.row_count());
    }
    return std::holds_alternative<cql::VoidResult>(response->message) ? "void" : "other";
  }

  // True: bytes came, or the end.
  bool Take() {
    std::array<char, 64 * 1024> buffer;
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count > 0) {
      decoder_.Feed({buffer.data(), static_cast<size_t>(count)});
    } else {
      end_ = count == 0 ? End::kClosed : End::kReset;
    }
    return true;
  }

 private:
  std::function<bool()> pump_;
  int quiet_rounds_max_;
  cql::ProtocolVersion version_;
  cql::Compression compression_;
  int socket_ = -1;
  cql::EnvelopeEncoder encoder_;
  cql::EnvelopeDecoder decoder_{cql::Direction::kResponse};
  End end_ = End::kOpen;
  Status status_;
};

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_ENGINE_CQL_FAKE_CASSANDRA_RAW_CLIENT_H_
