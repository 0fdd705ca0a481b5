#include "tests/support/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>

namespace cistern::testing {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

// These calls fail for want of memory alone.
template <typename T>
T Must(T value) {
  if (!value) std::abort();
  return value;
}

Key MakeKey() { return {Must(EVP_EC_gen("P-256")), EVP_PKEY_free}; }

template <typename Write>
std::string PemText(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(Must(BIO_new(BIO_s_mem())), BIO_free);
  Must(write(bio.get()) == 1);
  std::string text(BIO_ctrl_pending(bio.get()), '\0');
  BIO_read(bio.get(), text.data(), static_cast<int>(text.size()));
  return text;
}

std::string CertificateText(X509* certificate) {
  return PemText([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string KeyText(EVP_PKEY* key) {
  return PemText([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  if (value.empty()) return;
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = Must(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  Must(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

Certificate Begin(const std::string& common_name, EVP_PKEY* key, int64_t begins_s,
                  int64_t ends_s) {
  static long serial = 1;
  Certificate certificate(Must(X509_new()), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), begins_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), ends_s);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  return certificate;
}

}  // namespace

struct CertificateAuthority::Keys {
  Key key = MakeKey();
  Certificate certificate{nullptr, X509_free};
};

CertificateAuthority::CertificateAuthority(const std::string& common_name)
    : keys_(std::make_unique<Keys>()) {
  constexpr int64_t kYearS = 365 * 86'400;
  keys_->certificate = Begin(common_name, keys_->key.get(), -kYearS, kYearS);
  X509* own = keys_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  AddExtension(own, own, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(own, own, NID_key_usage, "critical,keyCertSign");
  Must(X509_sign(own, keys_->key.get(), EVP_sha256()) != 0);
}

CertificateAuthority::~CertificateAuthority() = default;

std::string CertificateAuthority::certificate() const {
  return CertificateText(keys_->certificate.get());
}

CertificatePair CertificateAuthority::Issue(const CertificateSpec& spec) const {
  const Key key = MakeKey();
  const Certificate made = Begin(spec.common_name, key.get(), spec.begins_s, spec.ends_s);
  X509* issuer = keys_->certificate.get();
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer));
  std::string names;
  for (const std::string& name : spec.names) names += (names.empty() ? "" : ",") + name;
  AddExtension(made.get(), issuer, NID_subject_alt_name, names);
  AddExtension(made.get(), issuer, NID_ext_key_usage, spec.usage);
  Must(X509_sign(made.get(), keys_->key.get(), EVP_sha256()) != 0);
  return {CertificateText(made.get()), KeyText(key.get())};
}

std::string MakeRsaKey() {
  const Key key(Must(EVP_RSA_gen(2048)), EVP_PKEY_free);
  return KeyText(key.get());
}

}  // namespace cistern::testing
