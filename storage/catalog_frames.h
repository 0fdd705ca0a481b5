// The frames of the files that keep the catalog a second time. Bytes: KEYSPACE.md.
#ifndef CISTERN_STORAGE_CATALOG_FRAMES_H_
#define CISTERN_STORAGE_CATALOG_FRAMES_H_

#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cistern/limits.h"
#include "cistern/result.h"

namespace cistern {

// A frame is begun anew behind so much, so that damage of one costs little.
inline constexpr size_t kFramePayloadBytes = 64 * 1024;

// length u32 | payload | XXH3 u64 over both
[[nodiscard]] std::string MakeFrame(std::string_view payload);

// Reads the frames of a file from its beginning, one at a time, and holds no more than one of them.
// No length in the file makes it allocate more than the file has. One thread.
class FrameReader {
 public:
  // kNotFound: there is no such file. kCorruption: it is larger than any is.
  [[nodiscard]] static Result<FrameReader> Open(rocksdb::FileSystem* fs, const std::string& path);

  // The next payload, which is valid until the next call. Nothing: the file ends here, or what
  // follows is not a whole frame of at most `payload_bytes_max`.
  [[nodiscard]] Result<std::optional<std::string_view>> Next(
      size_t payload_bytes_max = limits::kCatalogFrameBytesMax);
  // Whether every byte of the file was in a frame that Next() gave.
  [[nodiscard]] bool is_at_end() const { return left_bytes_ == 0; }

 private:
  FrameReader(std::unique_ptr<rocksdb::FSSequentialFile> file, std::string path,
              uint64_t size_bytes)
      : file_(std::move(file)), path_(std::move(path)), left_bytes_(size_bytes) {}
  // Appends so many bytes of the file to frame_; fewer where the file ends.
  [[nodiscard]] Status ReadInto(size_t bytes);

  std::unique_ptr<rocksdb::FSSequentialFile> file_;
  std::string path_;
  uint64_t left_bytes_ = 0;  // behind the last frame that was whole
  std::string frame_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_CATALOG_FRAMES_H_
