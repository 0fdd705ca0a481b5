// Connection: requests and their answers over one transport, in whatever order these come.
#ifndef CISTERN_CQL_CONNECTION_H_
#define CISTERN_CQL_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cql/envelope_stream.h"
#include "engine/cql/request.h"
#include "engine/cql/response.h"
#include "engine/cql/secret.h"
#include "engine/cql/transport.h"

namespace cistern::cql {

struct ConnectionOptions {
  TransportOptions transport = {};
  // Asked for first; a server that has only v4 is asked again where `allow_v4` says so.
  ProtocolVersion version = ProtocolVersion::kV5;
  bool allow_v4 = true;
  bool use_lz4 = true;             // where the server has it
  bool throw_on_overload = true;   // an overloaded server says so instead of reading no more
  std::string driver_name = "Cistern";
  std::string driver_version = "0.1.0";
  CredentialSource credentials = {};  // none: a server that asks for a password is refused
  // Without it a password is sent over TLS alone.
  bool allow_cleartext_password = false;
  int64_t handshake_timeout_us = 10'000'000;  // of OPTIONS, STARTUP and AUTH_RESPONSE together
  int64_t request_timeout_us = 12'000'000;    // as long as Cassandra keeps a request in its queue
  // In which nothing came: the server is asked. It is asked sooner when a request times out and
  // nothing came since that was sent.
  int64_t heartbeat_interval_us = 30'000'000;
  int64_t heartbeat_timeout_us = 10'000'000;   // then it has so long to answer
  size_t requests_max = 512;                   // in flight, at most 16,384
  // Of their envelopes, and as many that wait to be sent; one alone may be longer.
  size_t bytes_in_flight_max = 4 * 1024 * 1024;
  size_t late_requests_max = 64;  // that timed out and were not answered since; then it closes
};

// What is known of a request that ended.
enum class RequestFate : uint8_t {
  kAnswered,  // the server answered with what was asked for, or with an ERROR
  kNotSent,   // no byte of it has left: certainly not executed
  kUnknown,   // sent, and no answer came: it may have been executed, or still be
};

struct Answer {
  RequestFate fate = RequestFate::kUnknown;
  Status status;                       // OK exactly when answered
  const Response* response = nullptr;  // when answered; valid during the call
};

using AnswerCallback = std::function<void(const Answer&)>;
// Appends one envelope with the head given, or leaves *out as it was and says why.
using RequestEncoder = std::function<Status(const RequestHead&, std::string*)>;

// Called from the loop, never from inside a call of Connection. Each may destroy the connection.
struct ConnectionEvents {
  std::function<void()> ready;                          // once: requests may be sent
  std::function<void(const ResponseMessage&)> pushed;   // an EVENT, after AppendRegister was sent
  // Once, unless Close was called. kInvalidArgument: it stays so until somebody changes the
  // options or the server (credentials, certificate, version); kCorruption: the server broke the
  // protocol; kIoError: network and server are in trouble.
  std::function<void(const Status&)> closed;
};

// Begins to connect when made. The loop's thread only; must not outlive the loop.
class Connection {
 public:
  Connection(EventLoop& loop, ConnectionOptions options, ConnectionEvents events);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();  // closes

  // Sends what `encode` appends; it is called at once, at most once. `done` is called once, later,
  // also when the connection ends first. Another answer than `asked` ends the connection
  // (kCorruption), and is none: the fate is unknown. `timeout_us` 0: request_timeout_us. Otherwise
  // `done` is never called:
  //   kBusy    too many requests or bytes are in flight
  //   kClosed  not ready, or closed
  //   what `encode` gave
  Status Send(const RequestEncoder& encode, AnswerKind asked, int64_t timeout_us,
              AnswerCallback done);
  // Asks the server for a sign of life (OPTIONS); `done` is called as by Send, with whether it gave
  // one. If not one byte came in request_timeout_us, the connection is taken for broken and ends.
  Status AskForLife(std::function<void(bool)> done);  // host_check.cc

  // Ends it: what is in flight gets its fate in the next turn. Any number of times.
  void Close();

  [[nodiscard]] bool is_ready() const { return state_ == State::kReady; }
  // Room for one more request, as far as can be told before it is encoded.
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] size_t requests_in_flight() const { return active_count_; }
  [[nodiscard]] size_t bytes_in_flight() const { return bytes_in_flight_; }
  // What was agreed on; meaningful once ready.
  [[nodiscard]] ProtocolVersion version() const { return version_; }
  [[nodiscard]] Compression compression() const { return compression_; }
  [[nodiscard]] const Endpoint& endpoint() const { return options_.transport.endpoint; }

 private:
  enum class State : uint8_t { kConnecting, kOptions, kStartup, kAuth, kReady, kClosed };

  struct Pending {
    AnswerCallback done;         // empty: timed out, its stream waits for the late answer
    AnswerKind asked = AnswerKind::kVoid;
    int64_t asked_us = 0;
    int64_t due_us = 0;
    size_t bytes = 0;
    uint64_t begin = 0;          // of all bytes sent: where what carries it begins
    bool is_flushed = false;
  };

  // --- connection.cc
  void OnReceived(std::string_view bytes);
  [[nodiscard]] bool HandleEnvelope(const Envelope& envelope);
  void HandleAnswer(const Response& response);
  void Flush();
  void WatchRequests();
  void ArmRequestTimer(int64_t due_us);
  void Expire(int16_t stream);
  void WatchIdle();
  void AskWhetherItLives();
  [[nodiscard]] Pending Release(int16_t stream);
  [[nodiscard]] std::vector<std::pair<AnswerCallback, Answer>> TakeAll(const Status& why);
  void Fail(const Status& status);
  [[nodiscard]] std::string where() const { return EndpointText(options_.transport.endpoint); }

  // --- connection_handshake.cc
  void Connect();
  void OnConnected();
  void HandleHandshake(const Response& response);
  void HandleSupported(const SupportedResponse& supported);
  void HandleAuthenticate(const AuthenticateResponse& asked);
  void HandleRefusal(const ErrorResponse& error);
  void SendAlone(const RequestEncoder& encode);
  void BecomeReady();
  void StopHandshake();
  [[nodiscard]] std::string WithoutPassword(std::string text) const;

  EventLoop& loop_;
  const ConnectionOptions options_;
  const ConnectionEvents events_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // posted tasks look whether it is

  State state_ = State::kConnecting;
  ProtocolVersion version_;
  Compression compression_ = Compression::kNone;
  Secret password_;              // while the server judges it
  std::unique_ptr<Transport> transport_;
  EnvelopeEncoder encoder_;
  EnvelopeDecoder decoder_{Direction::kResponse};
  bool has_received_ = false;    // a byte, over this transport
  int64_t received_last_us_ = 0;

  std::vector<Pending> pending_;          // by stream
  std::vector<bool> is_taken_;            // by stream
  std::vector<int16_t> free_streams_;
  size_t active_count_ = 0;               // in flight, those that are late not counted
  size_t late_count_ = 0;
  size_t bytes_in_flight_ = 0;
  std::string outbox_;                    // envelopes of this turn
  std::vector<int16_t> outbox_streams_;
  std::string sendable_;                  // of Flush; kept for its memory
  uint64_t sent_bytes_ = 0;               // handed to the transport
  bool is_flush_posted_ = false;
  bool is_heartbeat_sent_ = false;

  TimerId handshake_timer_ = 0;
  TimerId request_timer_ = 0;
  int64_t request_timer_due_us_ = 0;
  TimerId idle_timer_ = 0;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_CONNECTION_H_
