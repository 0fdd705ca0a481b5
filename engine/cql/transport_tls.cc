#include "engine/cql/transport_tls.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

constexpr size_t kNamesShownMax = 8;
constexpr size_t kTextBytesMax = 256;

// What OpenSSL said last, for people. Empties its queue, which is one per thread.
std::string LastTlsError() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

// A key with a pass phrase would make OpenSSL ask for it on the terminal.
int RefusePassPhrase(char*, int, int, void*) { return -1; }

Status UseClientCertificate(SSL_CTX* context, const TlsOptions& options) {
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return Status::InvalidArgument(
        "TLS: certificate_file and key_file go together; one of them is missing");
  }
  if (options.certificate_file.empty()) return Status::Ok();
  if (SSL_CTX_use_certificate_chain_file(context, options.certificate_file.c_str()) != 1) {
    return Status::InvalidArgument(Concat({"TLS: cannot use the client certificate ",
        options.certificate_file, ": ", LastTlsError(), "; a PEM file with the certificate first "
        "is needed"}));
  }
  // A key of another type than the certificate's is taken without a look at the latter.
  if (SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return Status::InvalidArgument(Concat({"TLS: cannot use the key ", options.key_file, ": ",
        LastTlsError(), "; a PEM file without a pass phrase is needed, and it must belong to ",
        options.certificate_file}));
  }
  return Status::Ok();
}

std::string NameText(const GENERAL_NAME* name) {
  if (name->type == GEN_DNS) {
    const ASN1_STRING* text = name->d.dNSName;
    const auto bytes = static_cast<size_t>(ASN1_STRING_length(text));
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), bytes};
  }
  if (name->type != GEN_IPADD) return {};
  const ASN1_OCTET_STRING* address = name->d.iPAddress;
  const unsigned char* at = ASN1_STRING_get0_data(address);
  std::string text;
  if (ASN1_STRING_length(address) == 4) {
    for (int i = 0; i < 4; ++i) text.append(i == 0 ? "" : ".").append(std::to_string(at[i]));
  } else if (ASN1_STRING_length(address) == 16) {
    std::array<char, 8> group{};
    for (int i = 0; i < 16; i += 2) {
      BIO_snprintf(group.data(), group.size(), "%s%x", i == 0 ? "" : ":", at[i] << 8 | at[i + 1]);
      text += group.data();
    }
  }
  return text;
}

// Control characters of a hostile certificate do not reach a terminal or a log.
std::string Shown(std::string text) {
  text.resize(std::min(text.size(), kTextBytesMax));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

std::string AlternativeNames(X509* certificate) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string text;
  const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names);
  size_t shown = 0;
  for (int i = 0; i < count && shown < kNamesShownMax; ++i) {
    const std::string name = NameText(sk_GENERAL_NAME_value(names, i));
    if (name.empty()) continue;
    text.append(shown++ == 0 ? "" : ", ").append(Shown(name));
  }
  GENERAL_NAMES_free(names);
  return text;
}

std::string TimeText(const std::tm& t) {
  std::array<char, 64> text{};
  BIO_snprintf(text.data(), text.size(), "%04d-%02d-%02d %02d:%02d:%02d", t.tm_year + 1900,
               t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
  return text.data();
}

std::string TimeText(const ASN1_TIME* time) {
  std::tm t{};
  return time != nullptr && ASN1_TIME_to_tm(time, &t) == 1 ? TimeText(t) : "an unreadable time";
}

std::string TimeText(int64_t wall_us) {
  const time_t seconds = static_cast<time_t>(wall_us / 1'000'000);
  std::tm t{};
  return gmtime_r(&seconds, &t) != nullptr ? TimeText(t) : "an impossible time";
}

// Where the callback below finds its fault. Index 0 belongs to Boost.Asio.
int FaultIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

int NoteFault(int is_ok, X509_STORE_CTX* context) {
  if (is_ok == 1) return 1;
  const int ssl_index = SSL_get_ex_data_X509_STORE_CTX_idx();
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(context, ssl_index));
  auto* fault = static_cast<CertificateFault*>(SSL_get_ex_data(ssl, FaultIndex()));
  if (fault == nullptr || fault->error != X509_V_OK) return 0;
  fault->error = X509_STORE_CTX_get_error(context);
  X509* certificate = X509_STORE_CTX_get_current_cert(context);
  if (certificate == nullptr) return 0;
  std::array<char, kTextBytesMax> subject{};
  X509_NAME_oneline(X509_get_subject_name(certificate), subject.data(), kTextBytesMax);
  fault->subject = Shown(subject.data());
  fault->names = AlternativeNames(certificate);
  fault->not_before = TimeText(X509_get0_notBefore(certificate));
  fault->not_after = TimeText(X509_get0_notAfter(certificate));
  return 0;
}

// What to say of a certificate that did not pass.
std::string FaultText(const CertificateFault& fault, const std::string& server_name,
                      int64_t wall_us) {
  switch (fault.error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Concat({"wrong host: the certificate does not name ", server_name, ", it names ",
          (fault.names.empty() ? "nothing in its subject alternative names" : fault.names),
          "; connect by a name that it carries, or renew it"});
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
      return Concat({"unknown authority: no trusted certificate has signed ", fault.subject,
          "; name a file with the cluster's authority (ca_file, cistern --ca)"});
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Concat({"expired: the certificate ", fault.subject, " was good until ",
          fault.not_after, " UTC and this machine's clock says ", TimeText(wall_us),
          "; renew it, or set the clock"});
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Concat({"not yet valid: the certificate ", fault.subject, " is good from ",
          fault.not_before, " UTC and this machine's clock says ", TimeText(wall_us),
          "; set the clock, or wait"});
    case X509_V_ERR_INVALID_PURPOSE:
    case X509_V_ERR_INVALID_CA:
      return Concat({"wrong usage: the certificate ", fault.subject,
          " is not made for this; a server needs one with the usage serverAuth, its issuer one of "
          "an authority"});
    default:
      return Concat({"the certificate ", fault.subject, " was not accepted: ",
          X509_verify_cert_error_string(fault.error)});
  }
}

// What the codes of OpenSSL mean here; nothing for those that are the network's.
const char* Advice(unsigned long code) {
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return nullptr;
  switch (ERR_GET_REASON(code)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_UNKNOWN_PROTOCOL:
      return "the server does not speak TLS on this port; check the port, or turn TLS off";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return "no common version of TLS; the server must allow TLS 1.2 or 1.3";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "the server may ask for a client certificate; give certificate_file and key_file "
             "(cistern --client-cert, --client-key)";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return "the server does not accept the client certificate; check certificate_file "
             "(cistern --client-cert)";
    case SSL_R_EE_KEY_TOO_SMALL:
    case SSL_R_CA_KEY_TOO_SMALL:
    case SSL_R_CA_MD_TOO_WEAK:
    case SSL_R_DH_KEY_TOO_SMALL:
      return "the server's key or signature is too weak; renew its certificate";
    default:
      return nullptr;
  }
}

}  // namespace

Result<TlsContext> MakeTlsContext(const TlsOptions& options) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return Status::Internal(Concat({"TLS cannot begin: ", LastTlsError()}));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, NoteFault);
  SSL_CTX_set_default_passwd_cb(context.get(), RefusePassPhrase);
  if (options.ca_file.empty()) {
    if (SSL_CTX_set_default_verify_paths(context.get()) != 1) {
      return Status::InvalidArgument(Concat({"TLS: the system's authorities cannot be read: ",
          LastTlsError(), "; name a file of them (ca_file, --ca)"}));
    }
  } else if (SSL_CTX_load_verify_file(context.get(), options.ca_file.c_str()) != 1) {
    return Status::InvalidArgument(Concat({"TLS: cannot use the authorities in ", options.ca_file,
        ": ", LastTlsError(), "; a PEM file with certificates is needed"}));
  }
  CISTERN_RETURN_IF_ERROR(UseClientCertificate(context.get(), options));
  ERR_clear_error();
  return context;
}

Status CheckTlsFiles(const TlsOptions& options) { return MakeTlsContext(options).status(); }

Status RequireServerName(SSL* ssl, const std::string& server_name, int64_t wall_us,
                         CertificateFault* fault) {
  SSL_set_ex_data(ssl, FaultIndex(), fault);
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_time(wanted, static_cast<time_t>(wall_us / 1'000'000));
  X509_VERIFY_PARAM_set_purpose(wanted, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set_hostflags(
      wanted, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(wanted, server_name.c_str()) == 1;
  // Servers with several names choose their certificate by this one.
  const bool is_set = is_address || (!server_name.empty() &&
      X509_VERIFY_PARAM_set1_host(wanted, server_name.data(), server_name.size()) == 1 &&
      SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(server_name.c_str())) == 1);
  ERR_clear_error();
  if (is_set) return Status::Ok();
  return Status::InvalidArgument(Concat({"TLS: \"", Shown(server_name),
      "\" is no name that a certificate could carry; check server_name and the contact"}));
}

Status TlsFailure(const std::string& where, const std::string& server_name, int64_t wall_us,
                  const CertificateFault& fault, unsigned long code, const std::string& text) {
  if (fault.error != X509_V_OK) {
    return Status::InvalidArgument(Concat({"TLS with ", where, ": ",
        FaultText(fault, server_name, wall_us)}));
  }
  const std::string what = Concat({"TLS with ", where, " failed: ", text});
  const char* advice = Advice(code);
  if (advice != nullptr) return Status::InvalidArgument(Concat({what, "; ", advice}));
  return Status::IoError(Concat({what, "; it is tried again"}));
}

}  // namespace cistern::cql
