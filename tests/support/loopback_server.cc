#include "tests/support/loopback_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace cistern::testing {
namespace {

void Must(bool is_done) {
  if (!is_done) std::abort();
}

X509* ReadCertificate(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  Must(certificate != nullptr);
  return certificate;
}

SSL_CTX* MakeContext(const ServerTls& tls) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_security_level(context, 0);  // a server that would still speak TLS 1.1
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context, tls.version_max);
  X509* own = ReadCertificate(tls.own.certificate);
  Must(SSL_CTX_use_certificate(context, own) == 1);
  X509_free(own);
  BIO* bio = BIO_new_mem_buf(tls.own.key.data(), static_cast<int>(tls.own.key.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  Must(SSL_CTX_use_PrivateKey(context, key) == 1);
  EVP_PKEY_free(key);
  if (!tls.client_authority.empty()) {
    X509* authority = ReadCertificate(tls.client_authority);
    Must(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority) == 1);
    X509_free(authority);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

}  // namespace

ServerStream::ServerStream(int socket, SSL_CTX* tls) : socket_(socket) {
  if (tls == nullptr) return;
  ssl_ = SSL_new(tls);
  SSL_set_fd(ssl_, socket_);
}

ServerStream::~ServerStream() {
  SSL_free(ssl_);
  close(socket_);
}

bool ServerStream::Accept() { return ssl_ == nullptr || SSL_accept(ssl_) == 1; }

std::optional<std::string> ServerStream::Read() {
  std::string bytes(64 * 1024, '\0');
  const ssize_t count = ssl_ != nullptr
                            ? SSL_read(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                            : recv(socket_, bytes.data(), bytes.size(), 0);
  if (count <= 0) return std::nullopt;
  bytes.resize(static_cast<size_t>(count));
  return bytes;
}

bool ServerStream::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ssl_ != nullptr
                              ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                              : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void ServerStream::Reset() {
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  connect(socket_, &none, sizeof(none));  // on Linux: a reset, and the descriptor stays
}

void ServerStream::Shut() {
  is_shut_ = true;
  is_shut_.notify_all();
  shutdown(socket_, SHUT_RDWR);
}

void ServerStream::Hang() { is_shut_.wait(false); }

LoopbackServer::LoopbackServer(Handler handler, std::optional<ServerTls> tls, uint16_t port)
    : handler_(std::move(handler)), tls_(tls ? MakeContext(*tls) : nullptr) {
  signal(SIGPIPE, SIG_IGN);  // of SSL_write to a client that is gone
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  Must(bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0);
  Must(listen(listener_, 64) == 0);
  Must(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { AcceptAll(); });
}

void LoopbackServer::AcceptAll() {
  for (;;) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const std::lock_guard lock(mutex_);
    if (is_stopped_) {
      close(socket);
      return;
    }
    Connection& made = connections_.emplace_back();
    made.stream = std::make_unique<ServerStream>(socket, tls_);
    ++accepted_count_;
    made.thread = std::thread([this, stream = made.stream.get()] {
      if (stream->Accept()) handler_(*stream);
      // The client sees the end now; the socket itself lives as long as the list.
      const std::lock_guard shut_lock(mutex_);
      stream->Shut();
    });
  }
}

void LoopbackServer::ShutAll() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) connection.stream->Shut();
}

LoopbackServer::~LoopbackServer() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    for (Connection& connection : connections_) connection.stream->Shut();
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  for (Connection& connection : connections_) connection.thread.join();
  connections_.clear();
  SSL_CTX_free(tls_);
}

}  // namespace cistern::testing
