#include "tools/reject_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cistern::tool {

RejectFile::~RejectFile() {
  if (file_ != nullptr) std::fclose(file_);
}

Status RejectFile::CheckPath(const std::string& path) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  const std::string written = exists ? path : directory.empty() ? "." : directory.string();
  int error = access(written.c_str(), exists ? W_OK : W_OK | X_OK) == 0 ? 0 : errno;
  if (exists && std::filesystem::is_directory(path, ignored)) error = EISDIR;
  if (error == 0) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "--reject '{}' cannot be written: {}; name another file", path, std::strerror(error)));
}

Status RejectFile::Failure(int error) const {
  std::string what = fmt::format("cannot write rejected lines to {}: {}; name another file with "
                                 "--reject", path_, std::strerror(error));
  return error == ENOSPC ? Status::NoSpace(std::move(what)) : Status::IoError(std::move(what));
}

Status RejectFile::Open() {
  file_ = std::fopen(path_.c_str(), "ae");
  if (file_ == nullptr) return Failure(errno);
  std::fseek(file_, 0, SEEK_END);
  if (std::ftell(file_) > 0 || header_.empty()) return Status::Ok();
  if (std::fwrite(header_.data(), 1, header_.size(), file_) != header_.size()) {
    return Failure(errno);
  }
  return Status::Ok();
}

Status RejectFile::Add(std::string_view raw) {
  if (file_ == nullptr) CISTERN_RETURN_IF_ERROR(Open());
  if (std::fwrite(raw.data(), 1, raw.size(), file_) != raw.size()) return Failure(errno);
  return Status::Ok();
}

Status RejectFile::Flush() {
  if (file_ != nullptr && std::fflush(file_) != 0) return Failure(errno);
  return Status::Ok();
}

}  // namespace cistern::tool
