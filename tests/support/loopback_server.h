// A server on 127.0.0.1 for tests of the network: a thread for each connection, plain or TLS.
#ifndef CISTERN_TESTS_SUPPORT_LOOPBACK_SERVER_H_
#define CISTERN_TESTS_SUPPORT_LOOPBACK_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "tests/support/certificates.h"

struct ssl_ctx_st;
struct ssl_st;

namespace cistern::testing {

struct ServerTls {
  CertificatePair own;
  std::string client_authority = {};  // PEM; clients need a certificate that it signed
  int version_max = 0;                // of TLS, as OpenSSL counts them; 0: the newest
};

// The server's end of one connection. Reads and writes block; all are for the connection's own
// thread but Shut.
class ServerStream {
 public:
  ServerStream(int socket, ssl_ctx_st* tls);
  ~ServerStream();
  // Some bytes; nullopt: the client is gone, or Shut was called.
  [[nodiscard]] std::optional<std::string> Read();
  // False: the client is gone.
  bool Write(std::string_view bytes);
  // Ends the connection with a reset instead of an orderly end.
  void Reset();
  // Lets a blocked Read or Write return. Any thread.
  void Shut();
  // Sleeps until Shut: a server that is there and says nothing.
  void Hang();

 private:
  friend class LoopbackServer;
  [[nodiscard]] bool Accept();
  const int socket_;
  ssl_st* ssl_ = nullptr;
  std::atomic<bool> is_shut_ = false;
};

class LoopbackServer {
 public:
  // Runs on the thread of its connection; the connection ends with it.
  using Handler = std::function<void(ServerStream&)>;

  explicit LoopbackServer(Handler handler, std::optional<ServerTls> tls = std::nullopt,
                          uint16_t port = 0);
  ~LoopbackServer();  // Shuts all connections and waits for their handlers

  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] int accepted_count() const { return accepted_count_; }
  // Shuts the connections that are open now.
  void ShutAll();

 private:
  struct Connection {
    std::unique_ptr<ServerStream> stream;
    std::thread thread;
  };
  void AcceptAll();

  Handler handler_;
  ssl_ctx_st* tls_ = nullptr;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<int> accepted_count_ = 0;
  std::mutex mutex_;
  std::list<Connection> connections_;
  bool is_stopped_ = false;
  std::thread acceptor_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_LOOPBACK_SERVER_H_
