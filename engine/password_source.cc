#include "engine/password_source.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "cistern/limits.h"
#include "engine/readable_file.h"
#include "lib/base/concat.h"

namespace cistern {

namespace {

Status Wrong(std::string what) { return Status::InvalidArgument(std::move(what)); }

// It would end the password where it is sent (RFC 4616).
bool HasZeroByte(const cql::Secret& password) {
  return password.text().find('\0') != std::string_view::npos;
}

}  // namespace

Result<cql::Secret> ReadPassword(const std::string& path) {
  const auto failed = [&path] {
    return Wrong(Concat({"the password file ", path, " cannot be read: ", std::strerror(errno)}));
  };
  const ReadableFile file(path);
  if (file.fd() < 0) return failed();
  if (!file.is_regular()) {
    return Wrong(Concat({"the password file ", path, " is no regular file: it is read at each "
        "connect, so name one that can be read again, no pipe and no directory"}));
  }
  std::string text(limits::kPasswordBytesMax + 2, '\0');
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
    return Wrong(Concat({"the password file ", path, " has nothing in its first line"}));
  }
  if (password->text().size() > limits::kPasswordBytesMax) {
    return Wrong(Concat({"the first line of the password file ", path, " is longer than ",
        limits::kPasswordBytesMax, " bytes: name the file that has the password alone"}));
  }
  if (HasZeroByte(*password)) {
    return Wrong(Concat({"the password file ", path, " has a zero byte in its first line, which "
        "no password may have"}));
  }
  return password;
}

Result<cql::Secret> AskPassword(const PasswordSource& source) {
  Result<std::string> given = source();
  if (!given.ok()) return given.status();
  Result<cql::Secret> password = cql::Secret(std::string(*given));
  cql::Wipe(&*given);
  if (password->empty()) return Wrong("ClusterAccess::password gave an empty password");
  if (password->text().size() > limits::kPasswordBytesMax) {
    return Wrong(Concat({"ClusterAccess::password gave more than ", limits::kPasswordBytesMax,
        " bytes"}));
  }
  if (HasZeroByte(*password)) {
    return Wrong("ClusterAccess::password gave a zero byte, which no password may have");
  }
  return password;
}

}  // namespace cistern
