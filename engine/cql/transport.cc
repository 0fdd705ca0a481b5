#include "engine/cql/transport.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <openssl/crypto.h>
#include <utility>
#include <vector>

#include "cistern/limits.h"
#include "engine/cql/transport_core.h"
#include "engine/cql/transport_tls.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using asio::ip::tcp;

constexpr size_t kAddressesMax = 16;  // of one name; more are not tried

constexpr size_t kSecretRoomBytes = 4096;  // for what is sent behind a secret in the same turn

std::string SecondsText(int64_t us) {
  const int64_t tenths = us / 100'000;
  return Concat({tenths / 10, ".", tenths % 10, " s"});
}

}  // namespace

std::string EndpointText(const Endpoint& endpoint) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? Concat({"[", endpoint.host, "]"}) : endpoint.host;
  return Concat({host, ":", endpoint.port});
}

std::string AddressText(std::string_view bytes) {
  asio::ip::address_v4::bytes_type v4;
  asio::ip::address_v6::bytes_type v6;
  if (bytes.size() == v4.size()) {
    std::copy(bytes.begin(), bytes.end(), v4.begin());
    return asio::ip::make_address_v4(v4).to_string();
  }
  if (bytes.size() != v6.size()) return {};
  std::copy(bytes.begin(), bytes.end(), v6.begin());
  return asio::ip::make_address_v6(v6).to_string();
}

// What the handlers under way share. Resolve -> TryNext (per address) -> Shake -> Establish.
class Transport::Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(EventLoop& loop, TransportOptions options, TransportEvents events)
      : loop_(loop), options_(std::move(options)), events_(std::move(events)),
        where_(EndpointText(options_.endpoint)), resolver_(*loop.core().io),
        socket_(*loop.core().io) {
    const bool is_named = options_.tls && !options_.tls->server_name.empty();
    server_name_ = is_named ? options_.tls->server_name : options_.endpoint.host;
  }

  void Resolve();
  Status Send(std::string_view bytes);
  Status SendSecret(std::string_view bytes);
  void Close();
  [[nodiscard]] uint64_t begun_bytes() const { return begun_bytes_; }
  [[nodiscard]] size_t queued_bytes() const { return queued_.size() + writing_.size() - written_; }
  [[nodiscard]] const std::string& peer_address() const { return peer_address_; }

 private:
  using Tls = asio::ssl::stream<tcp::socket&>;

  void OnResolved(const error_code& error, const tcp::resolver::results_type& found);
  void TryNext();
  void OnTried(const error_code& error);
  void FailToConnect();
  void Shake();
  void OnShaken(const error_code& error);
  void Establish();
  void Read();
  void OnRead(const error_code& error, size_t count);
  void WipeSecret();
  void Flush();
  void Write();
  void OnWritten(const error_code& error, size_t count);
  void WatchReads();

  // Ends the stream and tells it. Called from handlers and timers alone.
  void Fail(const Status& status);
  void FailStream(const char* what, const error_code& error);
  // `late` runs when `timer` is not disarmed in time and the stream is still open.
  void Arm(TimerId* timer, int64_t delay_us, void (Stream::*late)());
  void Disarm(TimerId* timer);

  void OnResolveLate();
  void OnTryLate();
  void OnShakeLate();
  void OnWriteLate();
  [[nodiscard]] int64_t WallUs() { return loop_.core().clock->WallMicros(); }

  EventLoop& loop_;
  const TransportOptions options_;
  const TransportEvents events_;
  const std::string where_;
  std::string server_name_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  CertificateFault fault_;    // before tls_, which writes to it
  std::optional<asio::ssl::context> tls_context_;
  std::optional<Tls> tls_;
  std::vector<tcp::endpoint> addresses_;
  size_t address_next_ = 0;
  std::string attempts_text_;  // "10.0.0.1: Connection refused, 10.0.0.2: ..."
  std::string peer_address_;
  std::vector<char> read_buffer_;
  std::string queued_;         // not yet given to the system
  std::string writing_;        // being given to it, the first written_ bytes are
  size_t written_ = 0;
  uint64_t begun_bytes_ = 0;   // of all that was sent: given to the system, or being given
  bool has_secret_ = false;    // queued_ or writing_ are to be wiped
  TimerId phase_timer_ = 0;
  TimerId write_timer_ = 0;
  TimerId read_timer_ = 0;
  int64_t read_last_us_ = 0;
  bool is_open_ = true;
  bool is_established_ = false;
  bool has_received_ = false;
  bool is_late_ = false;       // the address being tried took too long
  bool is_flush_posted_ = false;
};

void Transport::Stream::Arm(TimerId* timer, int64_t delay_us, void (Stream::*late)()) {
  Disarm(timer);
  *timer = loop_.After(delay_us, [weak = weak_from_this(), timer, late] {
    const auto self = weak.lock();
    if (self == nullptr || !self->is_open_) return;
    *timer = 0;
    (self.get()->*late)();
  });
}

void Transport::Stream::Disarm(TimerId* timer) {
  if (*timer != 0) loop_.Cancel(*timer);
  *timer = 0;
}

void Transport::Stream::Resolve() {
  Arm(&phase_timer_, options_.connect_timeout_us, &Stream::OnResolveLate);
  error_code is_name;
  const auto address = asio::ip::make_address(options_.endpoint.host, is_name);
  if (!is_name) {
    addresses_.emplace_back(address, options_.endpoint.port);
    loop_.Post([self = shared_from_this()] {
      if (self->is_open_) self->TryNext();
    });
    return;
  }
  resolver_.async_resolve(
      options_.endpoint.host, std::to_string(options_.endpoint.port),
      tcp::resolver::numeric_service,
      [self = shared_from_this()](const error_code& error,
                                  const tcp::resolver::results_type& found) {
        self->OnResolved(error, found);
      });
}

void Transport::Stream::OnResolved(const error_code& error,
                                   const tcp::resolver::results_type& found) {
  if (!is_open_) return;
  if (error) {
    return Fail(Status::IoError(Concat({"cannot find the address of ", where_, ": ",
        error.message(), "; check the name, and the name server of this machine"})));
  }
  for (const auto& entry : found) {
    if (addresses_.size() < kAddressesMax) addresses_.push_back(entry.endpoint());
  }
  TryNext();
}

void Transport::Stream::OnResolveLate() {
  Fail(Status::IoError(Concat({"cannot find the address of ", where_, ": no answer in ",
      SecondsText(options_.connect_timeout_us), "; check the name server of this machine"})));
}

void Transport::Stream::TryNext() {
  if (address_next_ == addresses_.size()) return FailToConnect();
  error_code ignored;
  socket_.close(ignored);
  is_late_ = false;
  Arm(&phase_timer_, options_.connect_timeout_us, &Stream::OnTryLate);
  socket_.async_connect(addresses_[address_next_++],
                        [self = shared_from_this()](const error_code& error) {
                          self->OnTried(error);
                        });
}

void Transport::Stream::OnTryLate() {
  is_late_ = true;
  error_code ignored;
  socket_.close(ignored);  // OnTried comes with an error
}

void Transport::Stream::OnTried(const error_code& error) {
  if (!is_open_) return;
  Disarm(&phase_timer_);
  const tcp::endpoint& address = addresses_[address_next_ - 1];
  if (error || is_late_) {
    attempts_text_ += Concat({(attempts_text_.empty() ? "" : ", "), address.address().to_string(),
        ": ",
        (is_late_ ? "no answer in " + SecondsText(options_.connect_timeout_us) : error.message())});
    return TryNext();
  }
  peer_address_ = EndpointText({address.address().to_string(), address.port()});
  error_code ignored;  // a socket without these is slower, not wrong
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  if (options_.tls) return Shake();
  Establish();
}

void Transport::Stream::FailToConnect() {
  const std::string tried = attempts_text_.empty() ? "it has no address" : attempts_text_;
  Fail(Status::IoError(Concat({"cannot connect to ", where_, " (", tried,
      "); check that the server runs and listens there, and the firewall"})));
}

void Transport::Stream::Shake() {
  auto context = MakeTlsContext(*options_.tls);
  if (!context.ok()) return Fail(context.status());
  tls_context_.emplace(context->release());
  tls_.emplace(socket_, *tls_context_);
  const Status named = RequireServerName(tls_->native_handle(), server_name_, WallUs(), &fault_);
  if (!named.ok()) return Fail(named);
  Arm(&phase_timer_, options_.handshake_timeout_us, &Stream::OnShakeLate);
  tls_->async_handshake(Tls::client, [self = shared_from_this()](const error_code& error) {
    self->OnShaken(error);
  });
}

void Transport::Stream::OnShakeLate() {
  Fail(Status::IoError(Concat({"TLS with ", where_, ": no answer in ",
      SecondsText(options_.handshake_timeout_us), "; check that the port speaks TLS and that the "
      "link carries full packets"})));
}

void Transport::Stream::OnShaken(const error_code& error) {
  if (!is_open_) return;
  Disarm(&phase_timer_);
  if (error) return FailStream("ended the handshake", error);
  Establish();
}

void Transport::Stream::Establish() {
  is_established_ = true;
  read_buffer_.resize(options_.read_bytes_max);
  read_last_us_ = loop_.NowUs();
  WatchReads();
  Read();
  Flush();
  events_.connected();
}

// One timer that looks back, instead of one that is set anew at each read.
void Transport::Stream::WatchReads() {
  if (options_.read_timeout_us <= 0) return;
  const int64_t left_us = read_last_us_ + options_.read_timeout_us - loop_.NowUs();
  if (left_us > 0) return Arm(&read_timer_, left_us, &Stream::WatchReads);
  Fail(Status::IoError(Concat({"nothing came from ", where_, " in ",
      SecondsText(options_.read_timeout_us), "; the link is taken for broken"})));
}

void Transport::Stream::Read() {
  auto handler = [self = shared_from_this()](const error_code& error, size_t count) {
    self->OnRead(error, count);
  };
  const auto buffer = asio::buffer(read_buffer_);
  if (tls_) {
    tls_->async_read_some(buffer, std::move(handler));
  } else {
    socket_.async_read_some(buffer, std::move(handler));
  }
}

void Transport::Stream::OnRead(const error_code& error, size_t count) {
  if (!is_open_) return;
  if (count != 0) {
    read_last_us_ = loop_.NowUs();
    has_received_ = true;
    events_.received({read_buffer_.data(), count});
  }
  if (!is_open_) return;
  if (error && !has_received_ && !options_.tls) {
    return FailStream("closed the connection before a word (perhaps it takes TLS alone)", error);
  }
  if (error) return FailStream("closed the connection", error);
  Read();
}

Status Transport::Stream::Send(std::string_view bytes) {
  if (!is_open_) return Status::Closed(Concat({"the connection to ", where_, " is closed"}));
  if (bytes.size() > options_.queued_bytes_max ||
      queued_bytes() > options_.queued_bytes_max - bytes.size()) {
    return Status::Busy(Concat({queued_bytes(), " bytes already wait to be sent to ", where_,
        ", at most ", options_.queued_bytes_max, "; try again after a pause"}));
  }
  queued_.append(bytes);
  if (is_established_ && !is_flush_posted_ && writing_.empty()) {
    is_flush_posted_ = true;
    loop_.Post([self = shared_from_this()] {
      self->is_flush_posted_ = false;
      self->Flush();
    });
  }
  return Status::Ok();
}

Status Transport::Stream::SendSecret(std::string_view bytes) {
  // No growth moves it from here on, which would leave a copy behind.
  queued_.reserve(queued_.size() + bytes.size() + kSecretRoomBytes);
  CISTERN_RETURN_IF_ERROR(Send(bytes));
  has_secret_ = true;
  return Status::Ok();
}

void Transport::Stream::WipeSecret() {
  if (!has_secret_) return;
  OPENSSL_cleanse(writing_.data(), writing_.size());
  if (!is_open_) OPENSSL_cleanse(queued_.data(), queued_.size());
  has_secret_ = !queued_.empty();
}

void Transport::Stream::Flush() {
  if (!is_open_ || !writing_.empty() || queued_.empty()) return;
  writing_.swap(queued_);
  written_ = 0;
  begun_bytes_ += writing_.size();
  Write();
}

void Transport::Stream::Write() {
  Arm(&write_timer_, options_.write_timeout_us, &Stream::OnWriteLate);
  auto handler = [self = shared_from_this()](const error_code& error, size_t count) {
    self->OnWritten(error, count);
  };
  const auto rest = asio::buffer(writing_.data() + written_, writing_.size() - written_);
  if (tls_) {
    tls_->async_write_some(rest, std::move(handler));
  } else {
    socket_.async_write_some(rest, std::move(handler));
  }
}

void Transport::Stream::OnWriteLate() {
  Fail(Status::IoError(Concat({where_, " took no byte in ", SecondsText(options_.write_timeout_us),
      "; the link is taken for broken"})));
}

void Transport::Stream::OnWritten(const error_code& error, size_t count) {
  if (!is_open_) return;
  Disarm(&write_timer_);
  if (error) return FailStream("took no more bytes", error);
  written_ += count;
  if (written_ < writing_.size()) return Write();
  WipeSecret();
  writing_.clear();
  if (writing_.capacity() > limits::kCqlBufferKeptBytes) std::string().swap(writing_);
  written_ = 0;
  if (!queued_.empty()) return Flush();
  events_.drained();
}

void Transport::Stream::FailStream(const char* what, const error_code& error) {
  const bool is_tls = error.category() == asio::error::get_ssl_category();
  if (is_tls || fault_.error != X509_V_OK) {
    const auto code = static_cast<unsigned long>(static_cast<unsigned int>(error.value()));
    return Fail(TlsFailure(where_, server_name_, WallUs(), fault_, is_tls ? code : 0,
                           error.message()));
  }
  Fail(Status::IoError(Concat({where_, " ", what, ": ", error.message(),
      "; the server was stopped or the link is broken"})));
}

void Transport::Stream::Fail(const Status& status) {
  if (!is_open_) return;
  Close();
  events_.closed(status);
}

void Transport::Stream::Close() {
  if (!is_open_) return;
  is_open_ = false;
  Disarm(&phase_timer_);
  Disarm(&write_timer_);
  Disarm(&read_timer_);
  resolver_.cancel();
  error_code ignored;
  socket_.close(ignored);
  WipeSecret();
  queued_.clear();
}

Transport::Transport(EventLoop& loop, TransportOptions options, TransportEvents events)
    : stream_(std::make_shared<Stream>(loop, std::move(options), std::move(events))) {
  stream_->Resolve();
}

Transport::~Transport() { stream_->Close(); }
Status Transport::Send(std::string_view bytes) { return stream_->Send(bytes); }
Status Transport::SendSecret(std::string_view bytes) { return stream_->SendSecret(bytes); }
uint64_t Transport::begun_bytes() const { return stream_->begun_bytes(); }
size_t Transport::queued_bytes() const { return stream_->queued_bytes(); }
void Transport::Close() { stream_->Close(); }
const std::string& Transport::peer_address() const { return stream_->peer_address(); }

}  // namespace cistern::cql
