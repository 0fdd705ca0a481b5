#include "tools/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cistern::tool {

void Output::Flush() {
  size_t written = 0;
  while (!closed_ && written < buffer_.size()) {
    const ssize_t count = write(fd_, buffer_.data() + written, buffer_.size() - written);
    if (count >= 0) {
      written += static_cast<size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    closed_ = true;
    if (errno == EPIPE) break;
    std::string what = fmt::format("cannot write the output: {}", std::strerror(errno));
    status_ = errno == ENOSPC ? Status::NoSpace(std::move(what)) : Status::IoError(std::move(what));
  }
  buffer_.clear();
}

}  // namespace cistern::tool
