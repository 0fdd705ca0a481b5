#include "tools/reject_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/record_reader.h"

namespace cistern::tool {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;
constexpr int kNamesMax = 1000;  // of PATH, PATH.2, ...

// Bytes of the file from `offset` on; fewer at its end or by an error.
std::string BytesAt(int fd, off_t offset, size_t count) {
  std::string bytes(count, '\0');
  const ssize_t size = pread(fd, bytes.data(), count, offset);
  bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return bytes;
}

}  // namespace

RejectFile::RejectFile(std::string path, std::string_view header, std::vector<std::string> inputs)
    : asked_path_(std::move(path)),
      header_(WithoutLineEnd(header)),
      inputs_(std::move(inputs)),
      path_(asked_path_) {}

// A caller that wants to know of failures has called Flush().
RejectFile::~RejectFile() {
  if (fd_ < 0) return;
  [[maybe_unused]] const Status last = Flush();
  close(fd_);
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

Result<bool> RejectFile::TryOpen(const std::string& path) {
  const bool is_input = std::ranges::any_of(inputs_, [&](const std::string& input) {
    std::error_code none;  // standard input, or a file that is not there
    return std::filesystem::equivalent(path, input, none);
  });
  if (is_input) return false;
  path_ = path;
  // Reading is only for the first and the last line; a pipe or a device may not allow it.
  struct stat info = {};
  const bool exists = stat(path.c_str(), &info) == 0;
  regular_ = !exists || S_ISREG(info.st_mode);
  const int access_mode = regular_ ? O_RDWR : O_WRONLY;
  fd_ = open(path.c_str(), access_mode | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0 || fstat(fd_, &info) != 0) return Failure(errno);
  size_ = regular_ ? info.st_size : 0;
  if (size_ == 0) return true;
  if (!header_.empty()) {
    // What stood before the header may be several lines.
    const std::string head = BytesAt(fd_, 0, header_.size() + 2);
    const bool is_same =
        head.starts_with(header_) &&
        (head.size() == header_.size() || head[header_.size()] == '\n' ||
         head.substr(header_.size()) == "\r\n");
    if (!is_same) {
      close(fd_);
      fd_ = -1;
      return false;
    }
  }
  // A person's editor may have left the last line without its end.
  at_line_start_ = BytesAt(fd_, size_ - 1, 1) == "\n";
  return true;
}

Status RejectFile::Open() {
  bool opened = false;
  for (int number = 1; !opened && number <= kNamesMax; ++number) {
    const std::string path =
        number == 1 ? asked_path_ : fmt::format("{}.{}", asked_path_, number);
    CISTERN_ASSIGN_OR_RETURN(opened, TryOpen(path));
  }
  if (!opened) {
    return Status::IoError(fmt::format(
        "cannot write rejected lines to {}: {} files of that name have other headers; name "
        "another file with --reject", asked_path_, kNamesMax));
  }
  whole_size_ = size_;
  if (size_ == 0 && !header_.empty()) buffer_ = header_ + "\n";
  return Status::Ok();
}

Status RejectFile::Add(std::string_view raw, bool continues) {
  CISTERN_RETURN_IF_ERROR(failure_);
  if (fd_ < 0) {
    failure_ = Open();
    CISTERN_RETURN_IF_ERROR(failure_);
  }
  if (!in_line_) {
    if (!at_line_start_) buffer_ += '\n';
    line_begin_ = buffer_.size();
  }
  buffer_ += raw;
  if (!raw.empty()) at_line_start_ = raw.ends_with('\n');
  in_line_ = continues;
  if (!continues) ++buffered_;
  return buffer_.size() < kBufferBytes ? Status::Ok() : Flush();
}

Status RejectFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failure(errno);
    size_ += count;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return Status::Ok();
}

// A line that is cut off could be read again as another value.
void RejectFile::TakeBack() {
  struct stat info = {};
  const bool is_last = regular_ && fstat(fd_, &info) == 0 && info.st_size == size_;
  if (is_last && ftruncate(fd_, whole_size_) == 0) size_ = whole_size_;
}

Status RejectFile::Flush() {
  CISTERN_RETURN_IF_ERROR(failure_);
  const bool has_all = buffer_.empty() && buffered_ == 0;
  if (fd_ < 0 || has_all) return Status::Ok();
  const off_t begin = size_;
  failure_ = Write(buffer_);
  buffer_.clear();
  if (!failure_.ok()) {
    TakeBack();
    return failure_;
  }
  kept_ += buffered_;
  buffered_ = 0;
  if (!in_line_) {
    whole_size_ = size_;
  } else if (line_begin_ != kBefore) {
    whole_size_ = begin + static_cast<off_t>(line_begin_);
  }
  line_begin_ = kBefore;
  return Status::Ok();
}

Status RejectFile::Sync() {
  CISTERN_RETURN_IF_ERROR(Flush());
  if (fd_ < 0 || kept_ == synced_) return Status::Ok();
  // Pipes and devices have nothing to sync.
  if (fdatasync(fd_) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) {
    failure_ = Failure(errno);
    kept_ = synced_;
    return failure_;
  }
  synced_ = kept_;
  return Status::Ok();
}

}  // namespace cistern::tool
