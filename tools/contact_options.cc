#include "tools/contact_options.h"

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "cistern/clock.h"
#include "tools/name_list.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr size_t kPasswordBytesMax = 4096;  // longer is no password but the wrong file
constexpr char kCredentialName[] = "cistern-password";
constexpr int64_t kConnectTimeoutS = 10;
constexpr int64_t kConnectTimeoutSMax = 3600;

Status Wrong(std::string what) { return Status::InvalidArgument(std::move(what)); }

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  const int fd_;
};

// The first line of the file.
Result<cql::Secret> ReadPassword(const std::string& path) {
  const auto failed = [&path] {
    return Wrong(fmt::format("the password file {} cannot be read: {}", path,
                             std::strerror(errno)));
  };
  const File file(path);
  if (file.fd() < 0) return failed();
  std::string text(kPasswordBytesMax + 2, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t count = read(file.fd(), text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed();
    if (count == 0) break;
    length += static_cast<size_t>(count);
  }
  const std::string_view all = std::string_view(text).substr(0, length);
  std::string_view line = all.substr(0, all.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  Result<cql::Secret> password = cql::Secret(std::string(line));
  cql::Wipe(&text);
  if (password->empty()) {
    return Wrong(fmt::format("the password file {} has nothing in its first line", path));
  }
  if (password->text().size() > kPasswordBytesMax) {
    return Wrong(fmt::format("the first line of the password file {} is longer than {} bytes: "
                             "name the file that has the password alone", path,
                             kPasswordBytesMax));
  }
  return password;
}

// Where secrets are: the directory that was given, or the service manager's; empty: neither.
std::string CredentialsDirOf(const ContactOptions& options) {
  if (!options.credentials_dir.empty()) return options.credentials_dir;
  const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
  return directory == nullptr ? std::string() : directory;
}

// The path of the secret of this name. Empty stays empty.
std::string SecretPath(const ContactOptions& options, const std::string& name) {
  const std::string directory = CredentialsDirOf(options);
  const bool is_path = name.empty() || name.front() == '/' || directory.empty();
  return is_path ? name : fmt::format("{}/{}", directory, name);
}

// Whose name was given, or that of the credential; empty: neither.
std::string PasswordFileOf(const ContactOptions& options) {
  if (!options.password_file.empty()) return SecretPath(options, options.password_file);
  const std::string path = SecretPath(options, kCredentialName);
  return path == kCredentialName ? std::string() : path;
}

Status CheckReadable(const char* option, const std::string& path) {
  if (path.empty()) return Status::Ok();
  const File file(path);
  struct stat facts = {};
  if (file.fd() < 0 || fstat(file.fd(), &facts) != 0) {
    return Wrong(fmt::format("{} '{}' cannot be read: {}", option, path, std::strerror(errno)));
  }
  if (S_ISDIR(facts.st_mode)) {
    return Wrong(fmt::format("{} '{}' is a directory: name a file in PEM", option, path));
  }
  return Status::Ok();
}

std::string WarningOf(const char* what, const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0 || (facts.st_mode & S_IROTH) == 0) return {};
  return fmt::format("everybody on this machine can read {} {}: chmod 600 {}", what, path, path);
}

Status TakeTls(const ContactOptions& options, ContactPlan* plan) {
  if (!options.tls) {
    for (const auto& [name, value] : {std::pair("--ca", &options.ca),
                                      std::pair("--client-cert", &options.client_cert),
                                      std::pair("--client-key", &options.client_key)}) {
      if (!value->empty()) return Wrong(fmt::format("{} is of --tls: add that", name));
    }
    return Status::Ok();
  }
  if (options.client_cert.empty() != options.client_key.empty()) {
    const bool has_key = options.client_cert.empty();
    return Wrong(fmt::format("{} goes with {}: give both files",
                             has_key ? "--client-key" : "--client-cert",
                             has_key ? "--client-cert" : "--client-key"));
  }
  CISTERN_RETURN_IF_ERROR(CheckReadable("--ca", options.ca));
  CISTERN_RETURN_IF_ERROR(CheckReadable("--client-cert", options.client_cert));
  const std::string key_path = SecretPath(options, options.client_key);
  CISTERN_RETURN_IF_ERROR(CheckReadable("--client-key", key_path));
  cql::TlsOptions& tls = plan->session.cluster.connection.transport.tls.emplace();
  tls.ca_file = options.ca;
  tls.certificate_file = options.client_cert;
  tls.key_file = key_path;
  if (key_path.empty()) return Status::Ok();
  std::string warning = WarningOf("the key", key_path);
  if (!warning.empty()) plan->warnings.push_back(std::move(warning));
  return Status::Ok();
}

Status TakePassword(const ContactOptions& options, ContactPlan* plan) {
  if (options.user.empty()) {
    if (!options.credentials_dir.empty() && options.client_key.empty()) {
      return Wrong("--credentials-dir goes with --user or --client-key; leave it out");
    }
    if (!options.password_file.empty()) return Wrong("--password-file goes with --user NAME");
    if (options.allow_cleartext_password) {
      return Wrong("--allow-cleartext-password goes with --user; leave it out");
    }
    return Status::Ok();
  }
  if (options.tls && options.allow_cleartext_password) {
    return Wrong("--allow-cleartext-password does nothing beside --tls; leave it out");
  }
  if (!options.tls && !options.allow_cleartext_password) {
    return Wrong("the password of --user would go over the network in clear: add --tls, or, in a "
                 "network that you trust, --allow-cleartext-password");
  }
  const std::string path = PasswordFileOf(options);
  if (path.empty()) {
    return Wrong(fmt::format("--user needs a password: name its file by --password-file, or let "
                             "the service manager give it as the credential {}", kCredentialName));
  }
  CISTERN_RETURN_IF_ERROR(ReadPassword(path).status());
  std::string warning = WarningOf("the password file", path);
  if (!warning.empty()) plan->warnings.push_back(std::move(warning));
  cql::ConnectionOptions& connection = plan->session.cluster.connection;
  connection.allow_cleartext_password = options.allow_cleartext_password;
  connection.credentials = [user = options.user, path]() -> Result<cql::Credentials> {
    Result<cql::Secret> password = ReadPassword(path);
    if (!password.ok()) return password.status();
    return cql::Credentials{user, *std::move(password)};
  };
  return Status::Ok();
}

Status TakeContacts(const ContactOptions& options, cql::HostPoolOptions* hosts) {
  for (const std::string& list : options.contacts) {
    for (const std::string& text : SplitNames(list)) {
      CISTERN_ASSIGN_OR_RETURN(cql::Endpoint contact, ParseContact("--contact", text));
      const auto& all = hosts->contacts;
      if (std::find(all.begin(), all.end(), contact) != all.end()) {
        return Wrong(fmt::format("--contact: {} is given twice", cql::EndpointText(contact)));
      }
      hosts->contacts.push_back(std::move(contact));
    }
  }
  hosts->data_center = options.local_dc;
  hosts->seed = static_cast<uint64_t>(SystemClock()->WallMicros());
  return Status::Ok();
}

}  // namespace

void AddContactOptions(CLI::App* command, ContactOptions* options) {
  command->add_option("--contact", options->contacts,
                      "HOST[:PORT] of a node of the cluster, 9042 unless said; repeatable, or "
                      "several with commas between. An IPv6 address stands in brackets")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--user", options->user, "Name to log in with");
  command->add_option("--password-file", options->password_file,
                      "File whose first line is the password; without it cistern-password in "
                      "the directory of credentials");
  command->add_option("--credentials-dir", options->credentials_dir,
                      "Directory in which relative names of --password-file and --client-key "
                      "are; $CREDENTIALS_DIRECTORY otherwise, if that is set");
  command->add_flag("--tls", options->tls,
                    "Over TLS; the server's certificate must name the host");
  command->add_option("--ca", options->ca,
                      "PEM file of the authorities to trust; the system's otherwise");
  command->add_option("--client-cert", options->client_cert, "PEM file of our own certificate");
  command->add_option("--client-key", options->client_key, "PEM file of its key");
  command->add_flag("--allow-cleartext-password", options->allow_cleartext_password,
                    "Send the password without TLS");
  command->add_option("--local-dc", options->local_dc,
                      "Data center whose nodes are asked; that of the first one that answers "
                      "otherwise");
  command->add_option("--connect-timeout", options->connect_timeout,
                      "How long to wait for a node that answers: 10s (default), 5m");
  command->add_option("--protocol", options->protocol,
                      "v5 or v4: this version of the native protocol alone; v5 otherwise, and v4 "
                      "with nodes that have no v5");
  command->add_option("--compression", options->compression,
                      "lz4 (default), where a node has it, or none");
}

void AddConsistencyOption(CLI::App* command, std::string* text) {
  command->add_option("--consistency", *text,
                      "Replicas that must confirm: ONE, LOCAL_QUORUM (default), QUORUM, ALL, ...");
}

Result<ContactPlan> PlanContact(const ContactOptions& options) {
  const auto plan = std::make_unique<ContactPlan>();
  CISTERN_RETURN_IF_ERROR(TakeContacts(options, &plan->session.cluster.hosts));
  int64_t timeout_s = kConnectTimeoutS;
  if (!options.connect_timeout.empty()) {
    CISTERN_ASSIGN_OR_RETURN(timeout_s,
                             ParseConnectTimeout("--connect-timeout", options.connect_timeout));
  }
  plan->connect_timeout_us = timeout_s * 1'000'000;
  cql::ConnectionOptions& connection = plan->session.cluster.connection;
  if (!options.protocol.empty()) {
    CISTERN_ASSIGN_OR_RETURN(connection.version, ParseProtocol("--protocol", options.protocol));
    connection.allow_v4 = connection.version == cql::ProtocolVersion::kV4;
  }
  if (!options.compression.empty()) {
    CISTERN_ASSIGN_OR_RETURN(connection.use_lz4,
                             ParseCompression("--compression", options.compression));
  }
  cql::TransportOptions& transport = connection.transport;
  transport.connect_timeout_us = std::min(transport.connect_timeout_us, plan->connect_timeout_us);
  CISTERN_RETURN_IF_ERROR(TakeTls(options, plan.get()));
  CISTERN_RETURN_IF_ERROR(TakePassword(options, plan.get()));
  return std::move(*plan);
}

Result<cql::Endpoint> ParseContact(std::string_view option, std::string_view text) {
  const auto wrong = [option, text](std::string_view why) {
    return Wrong(fmt::format("{} '{}' {}", option, text, why));
  };
  cql::Endpoint contact;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong("has no ] behind its address");
    contact.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    has_port = !port.empty();
    if (has_port && port.front() != ':') return wrong("is not [ADDRESS]:PORT");
    if (has_port) port.remove_prefix(1);
    if (contact.host.find(':') == std::string::npos) return wrong("has no IPv6 address in its []");
  } else {
    const size_t colon = text.find(':');
    has_port = colon != std::string_view::npos;
    contact.host = text.substr(0, colon);
    if (has_port) port = text.substr(colon + 1);
    if (port.find(':') != std::string_view::npos) {
      return wrong("has several colons: an IPv6 address stands in brackets, [fd00::1]:9042");
    }
  }
  const bool is_name = std::none_of(contact.host.begin(), contact.host.end(), [](char c) {
    return c <= ' ' || c == '/' || c == '@' || c == '[' || c == ']' || c == '\x7f';
  });
  if (contact.host.empty() || !is_name) return wrong("is not HOST or HOST:PORT");
  if (!has_port) return contact;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), contact.port);
  if (error != std::errc() || end != port.data() + port.size() || contact.port == 0) {
    return wrong("has a port that is no number from 1 to 65535");
  }
  return contact;
}

Result<int64_t> ParseConnectTimeout(std::string_view option, std::string_view text) {
  return ParseSpan(option, text, 1, kConnectTimeoutSMax);
}

Result<cql::ProtocolVersion> ParseProtocol(std::string_view option, std::string_view text) {
  if (text == "v5") return cql::ProtocolVersion::kV5;
  if (text == "v4") return cql::ProtocolVersion::kV4;
  return Wrong(fmt::format("{} '{}' is not one of v5, v4", option, text));
}

Result<bool> ParseCompression(std::string_view option, std::string_view text) {
  if (text == "lz4") return true;
  if (text == "none") return false;
  return Wrong(fmt::format("{} '{}' is not one of lz4, none", option, text));
}

Result<cql::Consistency> ParseConsistency(std::string_view option, std::string_view text) {
  using cql::Consistency;
  std::string name(text);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  std::string known;
  for (const Consistency level :
       {Consistency::kAny, Consistency::kOne, Consistency::kTwo, Consistency::kThree,
        Consistency::kLocalOne, Consistency::kLocalQuorum, Consistency::kQuorum,
        Consistency::kEachQuorum, Consistency::kAll}) {
    if (name == cql::ConsistencyName(level)) return level;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", cql::ConsistencyName(level));
  }
  return Wrong(fmt::format("{} '{}' is not one of {}", option, text, known));
}

}  // namespace cistern::tool
