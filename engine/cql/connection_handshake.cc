// The handshake of a connection: OPTIONS, STARTUP, password; v5, then v4.
#include <algorithm>
#include <utility>

#include "engine/cql/connection.h"
#include "engine/cql/readable.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

constexpr size_t kNameShownBytesMax = 200;  // of a name that a server gives itself

}  // namespace

void Connection::Connect() {
  state_ = State::kConnecting;
  encoder_ = EnvelopeEncoder();
  decoder_ = EnvelopeDecoder(Direction::kResponse);
  compression_ = Compression::kNone;
  has_received_ = false;
  sent_bytes_ = 0;
  TransportOptions options = options_.transport;
  // Connection bounds what is in flight; the transport must hold all of it and what frames add.
  options.queued_bytes_max = options_.bytes_in_flight_max + 2 * limits::kCqlRequestBytesMax;
  transport_ = std::make_unique<Transport>(
      loop_, std::move(options),
      TransportEvents{.connected = [this] { OnConnected(); },
                      .received = [this](std::string_view bytes) { OnReceived(bytes); },
                      .drained = [] {},
                      .closed = [this](const Status& status) { Fail(status); }});
}

void Connection::OnConnected() {
  state_ = State::kOptions;
  handshake_timer_ = loop_.After(options_.handshake_timeout_us, [this] {
    handshake_timer_ = 0;
    Fail(Status::IoError(Concat({"no answer from ", where(), " while the connection was set up; "
        "check that the port is the one of the native protocol, and the load of the server"})));
  });
  SendAlone([](const RequestHead& head, std::string* out) {
    AppendOptions(head, out);
    return Status::Ok();
  });
}

void Connection::SendAlone(const RequestEncoder& encode) {
  std::string envelope;
  const Status encoded = encode({version_, 0}, &envelope);
  if (!encoded.ok()) return Fail(encoded);
  std::string bytes;
  encoder_.Encode(envelope, &bytes);
  sent_bytes_ += bytes.size();
  const Status sent = transport_->Send(bytes);
  if (!sent.ok()) Fail(sent);
}

void Connection::HandleHandshake(const Response& response) {
  if (const auto* error = std::get_if<ErrorResponse>(&response.message)) {
    return HandleRefusal(*error);
  }
  const auto* supported = std::get_if<SupportedResponse>(&response.message);
  if (state_ == State::kOptions && supported != nullptr) return HandleSupported(*supported);
  const auto* asked = std::get_if<AuthenticateResponse>(&response.message);
  if (state_ == State::kStartup && asked != nullptr) return HandleAuthenticate(*asked);
  if (state_ == State::kStartup && std::holds_alternative<ReadyResponse>(response.message)) {
    encoder_.Establish(version_, compression_);
    decoder_.Establish(version_, compression_);
    return BecomeReady();
  }
  if (state_ == State::kAuth) {
    if (std::holds_alternative<AuthSuccessResponse>(response.message)) return BecomeReady();
    if (std::holds_alternative<AuthChallengeResponse>(response.message)) {
      return Fail(Status::InvalidArgument(Concat({where(), " wants another method than a "
          "password; Cistern has PLAIN alone"})));
    }
  }
  Fail(Status::Corruption(Concat({where(), " answered out of turn while the connection was set "
      "up; check that the port is the one of the native protocol"})));
}

void Connection::HandleSupported(const SupportedResponse& supported) {
  const auto& offered = supported.compressions;
  const bool has_lz4 = std::find(offered.begin(), offered.end(), "lz4") != offered.end();
  compression_ = options_.use_lz4 && has_lz4 ? Compression::kLz4 : Compression::kNone;
  state_ = State::kStartup;
  // In v4 Cassandra packs the answer to STARTUP already; in v5 frames begin behind it.
  if (version_ == ProtocolVersion::kV4) decoder_.Establish(version_, compression_);
  SendAlone([this](const RequestHead& head, std::string* out) {
    return AppendStartup(head,
                         {.compression = compression_,
                          .driver_name = options_.driver_name,
                          .driver_version = options_.driver_version,
                          .throw_on_overload = options_.throw_on_overload},
                         out);
  });
}

void Connection::HandleAuthenticate(const AuthenticateResponse& asked) {
  encoder_.Establish(version_, compression_);
  decoder_.Establish(version_, compression_);
  if (!options_.credentials) {
    return Fail(Status::InvalidArgument(Concat({where(), " asks for a password (",
        Readable(asked.authenticator, kNameShownBytesMax), "), and no user is given"})));
  }
  if (!options_.transport.tls && !options_.allow_cleartext_password) {
    return Fail(Status::InvalidArgument(Concat({where(), " asks for a password, and without TLS "
        "it would be sent in clear; turn TLS on, or allow it in clear where the link is safe"})));
  }
  Result<Credentials> credentials = options_.credentials();
  if (!credentials.ok()) return Fail(credentials.status());
  password_ = std::move(credentials->password);
  std::string envelope;
  // Room beforehand: a text that grows leaves copies behind.
  envelope.reserve(kEnvelopeHeaderBytes + 16 + credentials->user.size() + password_.text().size());
  const Status encoded =
      AppendPlainAuthResponse({version_, 0}, credentials->user, password_.text(), &envelope);
  std::string bytes;
  bytes.reserve(envelope.size() * 2 + 64);
  encoder_.Encode(envelope, &bytes);
  state_ = State::kAuth;
  sent_bytes_ += bytes.size();
  const Status sent = encoded.ok() ? transport_->SendSecret(bytes) : encoded;
  Wipe(&envelope);
  Wipe(&bytes);
  if (!sent.ok()) Fail(sent);
}

// No server has a reason to send a password back. Should one do so, it goes no further.
std::string Connection::WithoutPassword(std::string text) const {
  const std::string_view password = password_.text();
  if (password.empty()) return text;
  for (size_t at = 0; (at = text.find(password, at)) != std::string::npos;) {
    text.replace(at, password.size(), "***");
    at += 3;
  }
  return text;
}

void Connection::HandleRefusal(const ErrorResponse& error) {
  const std::string words = WithoutPassword(DescribeError(error));
  const bool is_version = error.code == ErrorCode::kProtocolError && state_ != State::kAuth;
  if (is_version && version_ == ProtocolVersion::kV5 && options_.allow_v4) {
    version_ = ProtocolVersion::kV4;
    StopHandshake();
    transport_->Close();
    // Not from here: the decoder is still at work on what it was given.
    loop_.Post([this, alive = std::weak_ptr<int>(alive_)] {
      if (!alive.expired() && state_ != State::kClosed) Connect();
    });
    return;
  }
  if (is_version) {
    return Fail(Status::InvalidArgument(Concat({where(), " does not speak ",
        ProtocolVersionName(version_), ": ", words})));
  }
  if (error.code == ErrorCode::kBadCredentials) {
    return Fail(Status::InvalidArgument(Concat({where(), " refuses the password: ", words,
        "; check user and password"})));
  }
  if (error.code == ErrorCode::kUnauthorized) {
    return Fail(Status::InvalidArgument(Concat({where(), " does not let this user in: ", words,
        "; the role needs LOGIN and access to this data center"})));
  }
  Fail(Status::IoError(Concat({where(), " did not set up the connection: ", words})));
}

void Connection::StopHandshake() {
  if (handshake_timer_ != 0) loop_.Cancel(handshake_timer_);
  handshake_timer_ = 0;
}

void Connection::BecomeReady() {
  StopHandshake();
  password_ = Secret();
  state_ = State::kReady;
  received_last_us_ = loop_.NowUs();
  WatchIdle();
  events_.ready();
}

}  // namespace cistern::cql
