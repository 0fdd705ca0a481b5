// Input: a file or standard input as a growing window of bytes.
#ifndef CISTERN_TOOLS_INPUT_H_
#define CISTERN_TOOLS_INPUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern::tool {

enum class Fill {
  kData,         // the window grew
  kEnd,          // nothing more will come
  kIdle,         // nothing came for a while: a chance to store what is there
  kInterrupted,  // SIGINT or SIGTERM
  kError,        // see status()
};

// Reads a descriptor in chunks. The reader of records takes bytes from the front with Consume.
class Input {
 public:
  // Opens a file; "-" is standard input. kNotFound, or kIoError with the system's reason.
  [[nodiscard]] static Result<std::unique_ptr<Input>> Open(const std::string& path);
  // Over text in memory, for tests and small uses.
  [[nodiscard]] static std::unique_ptr<Input> FromText(std::string text);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  [[nodiscard]] Fill Grow();
  // Unconsumed bytes; valid until Grow or Consume.
  [[nodiscard]] std::string_view window() const {
    return std::string_view(buffer_).substr(begin_);
  }
  void Consume(size_t count) { begin_ += count; }

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] uint64_t bytes_read() const { return bytes_read_; }
  // Size of a regular file; 0 when it is not known.
  [[nodiscard]] uint64_t size() const { return size_; }

 private:
  Input() = default;
  int fd_ = -1;
  bool regular_ = false;
  std::string path_;
  std::string buffer_;
  size_t begin_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t size_ = 0;
  Status status_;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_INPUT_H_
