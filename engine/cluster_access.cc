#include "engine/cluster_access.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <utility>

#include "cistern/limits.h"
#include "engine/option_range.h"
#include "engine/password_source.h"
#include "engine/readable_file.h"
#include "lib/base/concat.h"
#include "lib/base/shell_text.h"

namespace cistern {

namespace {

// A sentence of its parts.
Status Wrong(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return Status::InvalidArgument(std::move(text));
}

Status CheckReadable(std::string_view name, const std::string& path) {
  if (path.empty()) return Status::Ok();
  const ReadableFile file(path);
  struct stat facts = {};
  if (file.fd() < 0 || fstat(file.fd(), &facts) != 0) {
    return Wrong({name, " '", path, "' cannot be read: ", std::strerror(errno)});
  }
  if (S_ISDIR(facts.st_mode)) {
    return Wrong({name, " '", path, "' is a directory: name a file in PEM"});
  }
  if (!file.is_regular()) {
    return Wrong({name, " '", path, "' is no regular file: it is read at each connect, so name "
                  "one that can be read again"});
  }
  return Status::Ok();
}

// One knob set after another, with what they mean to one another.
class AccessPlanner {
 public:
  AccessPlanner(const ClusterAccess& access, const AccessNames& names)
      : access_(access), names_(names) {}

  [[nodiscard]] Result<AccessPlan> Plan(Clock* clock) && {
    CISTERN_RETURN_IF_ERROR(TakeContacts());
    CISTERN_RETURN_IF_ERROR(TakeProtocol());
    CISTERN_RETURN_IF_ERROR(TakeTls());
    CISTERN_RETURN_IF_ERROR(TakePassword());
    plan_.session.cluster.hosts.seed = SeedOf(clock);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] cql::ConnectionOptions& connection() { return plan_.session.cluster.connection; }

  Status TakeContacts() {
    if (access_.contacts.empty()) {
      return Wrong({names_.contacts, " is empty: name a node of the cluster, HOST or HOST:PORT"});
    }
    cql::HostPoolOptions& hosts = plan_.session.cluster.hosts;
    for (const std::string& text : access_.contacts) {
      CISTERN_ASSIGN_OR_RETURN(cql::Endpoint contact, ParseContact(names_.contacts, text));
      const auto& all = hosts.contacts;
      if (std::find(all.begin(), all.end(), contact) != all.end()) {
        return Wrong({names_.contacts, ": ", cql::EndpointText(contact), " is given twice"});
      }
      hosts.contacts.push_back(std::move(contact));
    }
    hosts.data_center = access_.local_dc;
    CISTERN_RETURN_IF_ERROR(CheckRange<int64_t>(
        {names_.connect_timeout, access_.connect_timeout_us, limits::kConnectTimeoutUsMin,
         limits::kConnectTimeoutUsMax}));
    connection().transport.connect_timeout_us = access_.connect_timeout_us;
    return Status::Ok();
  }

  Status TakeProtocol() {
    CISTERN_RETURN_IF_ERROR(
        CheckRange<int>({names_.protocol, static_cast<int>(access_.protocol), 0,
                         static_cast<int>(ClusterProtocol::kV4)}));
    CISTERN_RETURN_IF_ERROR(
        CheckRange<int>({names_.compression, static_cast<int>(access_.compression), 0,
                         static_cast<int>(ClusterCompression::kLz4)}));
    const bool is_v4 = access_.protocol == ClusterProtocol::kV4;
    connection().version = is_v4 ? cql::ProtocolVersion::kV4 : cql::ProtocolVersion::kV5;
    connection().allow_v4 = access_.protocol != ClusterProtocol::kV5;
    connection().use_lz4 = access_.compression == ClusterCompression::kLz4;
    return Status::Ok();
  }

  Status TakeTls() {
    if (!access_.tls) {
      for (const auto& [name, value] : {std::pair(names_.ca_file, &access_.ca_file),
                                        std::pair(names_.certificate_file,
                                                  &access_.certificate_file),
                                        std::pair(names_.key_file, &access_.key_file)}) {
        if (!value->empty()) return Wrong({name, " is of ", names_.tls, ": add that"});
      }
      return Status::Ok();
    }
    const bool has_key = !access_.key_file.empty();
    if (access_.certificate_file.empty() == has_key) {
      return Wrong({has_key ? names_.key_file : names_.certificate_file, " goes with ",
                    has_key ? names_.certificate_file : names_.key_file, ": give both files"});
    }
    CISTERN_RETURN_IF_ERROR(CheckReadable(names_.ca_file, access_.ca_file));
    CISTERN_RETURN_IF_ERROR(CheckReadable(names_.certificate_file, access_.certificate_file));
    CISTERN_RETURN_IF_ERROR(CheckReadable(names_.key_file, access_.key_file));
    cql::TlsOptions& tls = connection().transport.tls.emplace();
    tls.ca_file = access_.ca_file;
    tls.certificate_file = access_.certificate_file;
    tls.key_file = access_.key_file;
    CISTERN_RETURN_IF_ERROR(cql::CheckTlsFiles(tls));
    WarnOfReaders("the key", access_.key_file);
    return Status::Ok();
  }

  // What a password that is there, or is not, means beside the others.
  [[nodiscard]] Status CheckPassword() const {
    const bool has_file = !access_.password_file.empty();
    if (access_.user.empty()) {
      if (has_file) return Wrong({names_.password_file, " goes with ", names_.user, " NAME"});
      if (access_.password) return Wrong({names_.password, " goes with ", names_.user});
      if (!access_.allow_cleartext_password) return Status::Ok();
      return Wrong(
          {names_.allow_cleartext_password, " goes with ", names_.user, "; leave it out"});
    }
    if (access_.tls && access_.allow_cleartext_password) {
      return Wrong({names_.allow_cleartext_password, " does nothing beside ", names_.tls,
                    "; leave it out"});
    }
    if (!access_.tls && !access_.allow_cleartext_password) {
      return Wrong({"the password of ", names_.user, " would go over the network in clear: add ",
                    names_.tls, ", or, in a network that you trust, ",
                    names_.allow_cleartext_password});
    }
    if (has_file && access_.password) {
      return Wrong({names_.password_file, " and ", names_.password, ": give one of them"});
    }
    if (has_file || access_.password) return Status::Ok();
    return Wrong({names_.user, " needs a password: name its file by ", names_.password_file,
                  ", or ", names_.other_password});
  }

  Status TakePassword() {
    CISTERN_RETURN_IF_ERROR(CheckPassword());
    if (access_.user.empty()) return Status::Ok();
    std::function<Result<cql::Secret>()> ask;
    if (access_.password) {
      ask = [source = access_.password] { return AskPassword(source); };
    } else {
      CISTERN_RETURN_IF_ERROR(ReadPassword(access_.password_file).status());
      WarnOfReaders("the password file", access_.password_file);
      ask = [path = access_.password_file] { return ReadPassword(path); };
    }
    connection().allow_cleartext_password = access_.allow_cleartext_password;
    connection().credentials = [user = access_.user, ask]() -> Result<cql::Credentials> {
      Result<cql::Secret> password = ask();
      if (!password.ok()) return password.status();
      return cql::Credentials{user, *std::move(password)};
    };
    return Status::Ok();
  }

  void WarnOfReaders(const std::string& what, const std::string& path) {
    struct stat facts = {};
    if (path.empty() || stat(path.c_str(), &facts) != 0 || (facts.st_mode & S_IROTH) == 0) return;
    plan_.warnings.push_back(Concat({"everybody on this machine can read ", what, " ", path,
        ": chmod 600 ", ShellWord(path)}));
  }

  const ClusterAccess& access_;
  const AccessNames& names_;
  AccessPlan plan_;
};

}  // namespace

Result<AccessPlan> PlanAccess(const ClusterAccess& access, const AccessNames& names,
                              Clock* clock) {
  return AccessPlanner(access, names).Plan(clock);
}

Result<cql::Endpoint> ParseContact(std::string_view name, std::string_view text) {
  const auto wrong = [name, text](std::string_view why) {
    return Wrong({name, " '", text, "' ", why});
  };
  if (text.find('@') != std::string_view::npos) {
    return Wrong({name, " has an '@' in it, and is not repeated here, as a password may stand "
                        "before that: HOST[:PORT] is wanted, and who logs in is said apart "
                        "from it"});
  }
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
      if (text.find("://") != std::string::npos) return wrong("is a URL: HOST[:PORT] is wanted");
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

uint64_t SeedOf(Clock* clock) {
  return std::hash<std::string>()(clock->BootId()) ^ static_cast<uint64_t>(clock->WallMicros());
}

}  // namespace cistern
