// TLS for the transport: contexts, verification, and words for what failed.
// Included by transport*.cc alone.
#ifndef CISTERN_CQL_TRANSPORT_TLS_H_
#define CISTERN_CQL_TRANSPORT_TLS_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "cistern/result.h"
#include "engine/cql/transport.h"

namespace cistern::cql {

struct TlsContextDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, TlsContextDeleter>;

// Reads the files of `options`. kInvalidArgument names the file that cannot be used and why.
[[nodiscard]] Result<TlsContext> MakeTlsContext(const TlsOptions& options);

// The first thing that was wrong with the server's certificates.
struct CertificateFault {
  int error = X509_V_OK;   // X509_V_ERR_*
  std::string subject;     // of the certificate that is wrong
  std::string names;       // its subject alternative names
  std::string not_before;  // "2026-11-22 08:00:00"
  std::string not_after;
};

// Asks `ssl` to verify that the peer is `server_name`, a name or an address, at `wall_us` since
// 1970. A fault is written to `fault`, which must live as long as `ssl`.
Status RequireServerName(SSL* ssl, const std::string& server_name, int64_t wall_us,
                         CertificateFault* fault);

// Why the handshake with `where` failed, or the stream after it: from the fault, and otherwise
// from the code that OpenSSL gave (0: none). `text` is the error in the system's words.
[[nodiscard]] Status TlsFailure(const std::string& where, const std::string& server_name,
                                int64_t wall_us, const CertificateFault& fault,
                                unsigned long code, const std::string& text);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_TRANSPORT_TLS_H_
