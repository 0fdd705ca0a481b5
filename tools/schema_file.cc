#include "tools/schema_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cistern/limits.h"
#include "tools/cql_script.h"

namespace cistern::tool {
namespace {

constexpr size_t kSchemaFileBytesMax = 16 * limits::kDdlBytesMax;  // of several statements

Result<std::string> ReadText(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Status::InvalidArgument(fmt::format(
        "cannot read the schema {}: it is a directory; name a file of CREATE TABLE text", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status::InvalidArgument(fmt::format("cannot open the schema {}: {}", path,
                                               std::strerror(errno)));
  }
  std::string text(kSchemaFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.fail() && !file.eof())) {
    return Status::InvalidArgument(
        fmt::format("cannot read the schema {}: {}", path, std::strerror(errno)));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kSchemaFileBytesMax) {
    return Status::TooLarge(fmt::format("the schema {} is longer than {} bytes", path,
                                        kSchemaFileBytesMax));
  }
  return text;
}

}  // namespace

Result<Tables> ReadSchemaFile(const std::string& path) {
  CISTERN_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  Result<Tables> tables = ParseCqlScript(text);
  if (tables.ok()) return tables;
  return Status::InvalidArgument(fmt::format("{}: {}", path, tables.status().message()));
}

}  // namespace cistern::tool
