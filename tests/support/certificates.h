// Certificates for tests of TLS, made on the spot: an authority, and what it signs.
#ifndef CISTERN_TESTS_SUPPORT_CERTIFICATES_H_
#define CISTERN_TESTS_SUPPORT_CERTIFICATES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cistern::testing {

// PEM texts.
struct CertificatePair {
  std::string certificate;
  std::string key;
};

// What a certificate says. The defaults are those of a server named localhost.
struct CertificateSpec {
  std::string common_name = "server";
  std::vector<std::string> names = {"DNS:localhost"};  // "DNS:...", "IP:..."
  std::string usage = "serverAuth";                    // extended key usage; empty: none
  int64_t begins_s = -3600;                            // from now on
  int64_t ends_s = 24 * 3600;
};

// A certificate authority with a key of its own.
class CertificateAuthority {
 public:
  explicit CertificateAuthority(const std::string& common_name);
  ~CertificateAuthority();
  [[nodiscard]] std::string certificate() const;  // PEM
  [[nodiscard]] CertificatePair Issue(const CertificateSpec& spec) const;

 private:
  struct Keys;
  std::unique_ptr<Keys> keys_;
};

// The keys of certificates are of P-256. PEM, as that of CertificatePair.
[[nodiscard]] std::string MakeRsaKey();

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_CERTIFICATES_H_
