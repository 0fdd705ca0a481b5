// Transport: a stream of bytes to one server, over TCP or TLS. The only door to sockets and TLS.
#ifndef CISTERN_CQL_TRANSPORT_H_
#define CISTERN_CQL_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/status.h"
#include "engine/cql/event_loop.h"

namespace cistern::cql {

// A server as it was named: a name, an IPv4 or an IPv6 address (without brackets), and a port.
struct Endpoint {
  std::string host;
  uint16_t port = 9042;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

// "host:port", with brackets around an IPv6 address.
[[nodiscard]] std::string EndpointText(const Endpoint& endpoint);

// An address of 4 or 16 bytes in text; empty for other lengths.
[[nodiscard]] std::string AddressText(std::string_view bytes);

// TLS 1.2 or newer. The server's certificate is always verified: its chain up to a known
// authority, its dates against the loop's clock, its usage, and that it names the server in its
// subject alternative names. The files are read at each connect, so that a renewed one counts.
struct TlsOptions {
  std::string ca_file;           // PEM; empty: the authorities that the system trusts
  std::string certificate_file;  // PEM, the client's own with its chain; empty: none
  std::string key_file;          // PEM, without a pass phrase; goes with certificate_file
  std::string server_name;       // what the certificate must name; empty: the endpoint's host
};

// Reads the files of `options` as a connect does, to tell early what no waiting mends.
// kInvalidArgument names the file that cannot be used and why.
[[nodiscard]] Status CheckTlsFiles(const TlsOptions& options);

struct TransportOptions {
  Endpoint endpoint = {};
  std::optional<TlsOptions> tls = {};           // none: plain TCP
  int64_t connect_timeout_us = 5'000'000;       // of the resolution, and of each address
  int64_t handshake_timeout_us = 10'000'000;    // of TLS
  int64_t write_timeout_us = 10'000'000;        // in which no byte was taken
  int64_t read_timeout_us = 0;                  // in which no byte came; 0: for ever
  size_t queued_bytes_max = 4 * 1024 * 1024;    // of Send that the system has not taken
  size_t read_bytes_max = 64 * 1024;            // handed over at once
};

// What a transport tells. Called from the loop, never from inside a call of Transport, and none
// after Close. Each may close or destroy the transport.
struct TransportEvents {
  std::function<void()> connected;                 // once: the handshake is done
  std::function<void(std::string_view)> received;  // the bytes are valid during the call
  std::function<void()> drained;                   // the last queued byte was taken
  // Once, unless Close was called. The status says what failed, where and what to do:
  // kIoError for the network, kInvalidArgument for what stays wrong until somebody changes it
  // (a certificate, a file, a server without TLS).
  std::function<void(const Status&)> closed;
};

// Begins to connect when made: resolves the name, tries its addresses one after another, then
// shakes hands. The loop's thread only; must not outlive the loop.
class Transport {
 public:
  Transport(EventLoop& loop, TransportOptions options, TransportEvents events);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  ~Transport();  // closes

  // Queues a copy of `bytes`; what is queued in one turn leaves together. kBusy, and nothing is
  // queued, when that passes queued_bytes_max; kClosed after the end.
  Status Send(std::string_view bytes);
  // As Send, and the copies are wiped once they have left. For a password.
  Status SendSecret(std::string_view bytes);
  [[nodiscard]] size_t queued_bytes() const;
  // Of all bytes sent, the first so many may have left this machine; the others have not.
  [[nodiscard]] uint64_t begun_bytes() const;

  // Drops what is queued and ends the stream. From any state, any number of times.
  void Close();

  // The address that answered, "10.1.2.3:9042"; empty before `connected`.
  [[nodiscard]] const std::string& peer_address() const;

  class Stream;

 private:
  std::shared_ptr<Stream> stream_;  // shared with the handlers that are under way
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_TRANSPORT_H_
