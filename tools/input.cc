#include "tools/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/interrupt.h"

namespace cistern::tool {
namespace {

constexpr size_t kChunkBytes = 128 * 1024;
constexpr int kIdleMillis = 250;

}  // namespace

Result<std::unique_ptr<Input>> Input::Open(const std::string& path, TextEncoding encoding) {
  std::unique_ptr<Input> input(new Input());
  input->encoding_ = encoding;
  if (path == "-") {
    input->path_ = "standard input";
    input->fd_ = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  } else {
    input->path_ = path;
    input->fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  const int error = errno;
  struct stat info = {};
  if (input->fd_ < 0 || fstat(input->fd_, &info) != 0) {
    const std::string what = fmt::format("cannot open {}: {}", input->path_, std::strerror(error));
    return error == ENOENT ? Status::NotFound(what) : Status::IoError(what);
  }
  if (S_ISDIR(info.st_mode)) {
    return Status::InvalidArgument(fmt::format("cannot read {}: it is a directory", path));
  }
  input->regular_ = S_ISREG(info.st_mode);
  if (input->regular_) input->size_ = static_cast<uint64_t>(info.st_size);
  return input;
}

std::unique_ptr<Input> Input::FromText(std::string text, TextEncoding encoding) {
  std::unique_ptr<Input> input(new Input());
  input->buffer_ = std::move(text);
  input->bytes_read_ = input->size_ = input->buffer_.size();
  input->path_ = "the text";
  input->encoding_ = encoding;
  input->Decode(0, true);
  return input;
}

// Turns what was read into buffer_ from `from` on into UTF-8. True if text was added to it.
bool Input::Decode(size_t from, bool ended) {
  constexpr size_t kMarkBytesMax = 3;
  if (!knows_encoding_) {
    if (!ended && buffer_.size() < kMarkBytesMax) return true;  // no reader takes so few bytes
    from = 0;
    const TextEncoding by_mark = EncodingByMark(buffer_, encoding_);
    knows_encoding_ = true;
    if (by_mark != encoding_ && encoding_ != TextEncoding::kUtf8) {
      status_ = Status::InvalidArgument(
          fmt::format("{} begins with the byte order mark of {}: leave --encoding out", path_,
                      by_mark == TextEncoding::kUtf8 ? "UTF-8" : "UTF-16"));
      return false;
    }
    encoding_ = by_mark;
    if (encoding_ != TextEncoding::kUtf8) decoder_.emplace(encoding_);
  }
  if (!decoder_) return !ended;
  const std::string bytes = buffer_.substr(from);
  buffer_.resize(from);
  decoder_->Decode(bytes, &buffer_);
  if (ended) decoder_->Finish(&buffer_);
  return buffer_.size() > from;
}

Input::~Input() {
  if (fd_ >= 0) close(fd_);
}

Fill Input::Grow() {
  if (InterruptSignal() != 0) return Fill::kInterrupted;
  if (fd_ < 0) return status_.ok() ? Fill::kEnd : Fill::kError;
  if (!regular_) {
    struct pollfd fds[2] = {{fd_, POLLIN, 0}, {InterruptFd(), POLLIN, 0}};
    const int ready = poll(fds, 2, kIdleMillis);
    if (InterruptSignal() != 0) return Fill::kInterrupted;
    if (ready == 0 || (ready < 0 && errno == EINTR)) return Fill::kIdle;
  }
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t old_size = buffer_.size();
  buffer_.resize(old_size + kChunkBytes);
  const ssize_t count = read(fd_, buffer_.data() + old_size, kChunkBytes);
  const int error = errno;
  buffer_.resize(old_size + static_cast<size_t>(count > 0 ? count : 0));
  if (count >= 0) {
    bytes_read_ += static_cast<uint64_t>(count);
    const bool grew = Decode(old_size, count == 0);
    if (!status_.ok()) return Fill::kError;
    return grew || count > 0 ? Fill::kData : Fill::kEnd;
  }
  if (error == EINTR || error == EAGAIN) return Fill::kIdle;
  status_ = Status::IoError(fmt::format("cannot read {}: {}", path_, std::strerror(error)));
  return Fill::kError;
}

}  // namespace cistern::tool
