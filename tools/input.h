// Input: a file or standard input as a growing window of bytes.
#ifndef CISTERN_TOOLS_INPUT_H_
#define CISTERN_TOOLS_INPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "tools/text_encoding.h"

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
  // Opens a file; "-" is standard input. `encoding` is what its bytes are where no byte order mark
  // says otherwise. kNotFound, or kIoError with the system's reason.
  [[nodiscard]] static Result<std::unique_ptr<Input>> Open(
      const std::string& path, TextEncoding encoding = TextEncoding::kUtf8);
  // Over text in memory, for tests and small uses.
  [[nodiscard]] static std::unique_ptr<Input> FromText(
      std::string text, TextEncoding encoding = TextEncoding::kUtf8);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  [[nodiscard]] Fill Grow();
  // Unconsumed bytes, as UTF-8 where the encoding is another; valid until Grow or Consume.
  [[nodiscard]] std::string_view window() const {
    return std::string_view(buffer_).substr(begin_);
  }
  void Consume(size_t count) { begin_ += count; }
  // Text of the window as its bytes were, so that they read the same once more by the same options.
  // UTF-16, which needs its mark, stays UTF-8. Valid until the next call.
  [[nodiscard]] std::string_view Original(std::string_view text) {
    return EncodedAs(encoding_, text, &original_);
  }

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] uint64_t bytes_read() const { return bytes_read_; }
  // Size of a regular file; 0 when it is not known.
  [[nodiscard]] uint64_t size() const { return size_; }

 private:
  Input() = default;
  bool Decode(size_t from, bool ended);
  int fd_ = -1;
  bool regular_ = false;
  std::string path_;
  std::string buffer_;
  size_t begin_ = 0;
  TextEncoding encoding_ = TextEncoding::kUtf8;
  bool knows_encoding_ = false;  // the first bytes were looked at for a mark
  std::optional<TextDecoder> decoder_;  // none for UTF-8
  std::string original_;
  uint64_t bytes_read_ = 0;
  uint64_t size_ = 0;
  Status status_;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_INPUT_H_
