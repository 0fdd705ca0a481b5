// Output: standard output in large pieces; knows when nobody reads on.
#ifndef CISTERN_TOOLS_OUTPUT_H_
#define CISTERN_TOOLS_OUTPUT_H_

#include <string>
#include <string_view>

#include "cistern/status.h"

namespace cistern::tool {

// Buffers writes to a descriptor that it does not own. REQUIRES: SIGPIPE is ignored.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}

  void Write(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kFlushBytes) Flush();
  }
  void Flush();

  // Nothing more can be written: the reader is gone or the disk is full.
  [[nodiscard]] bool closed() const { return closed_; }
  // kIoError or kNoSpace with the system's reason. A reader that had enough is no error.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  static constexpr size_t kFlushBytes = 64 * 1024;
  int fd_;
  bool closed_ = false;
  Status status_;
  std::string buffer_;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_OUTPUT_H_
