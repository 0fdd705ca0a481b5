// What a file of the store is, told by its name.
#ifndef CISTERN_STORAGE_FILE_KIND_H_
#define CISTERN_STORAGE_FILE_KIND_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace cistern {

enum class FileKind : uint8_t {
  kWal = 0,       // NNNNNN.log
  kSst = 1,       // NNNNNN.sst
  kManifest = 2,  // MANIFEST-NNNNNN
  kOptions = 3,   // OPTIONS-NNNNNN[.dbtmp]: refused, see StoreFileSystem
  kOther = 4,     // CURRENT, IDENTITY, LOCK, LOG, and the files of ours
};
inline constexpr size_t kFileKindCount = 5;

// `path` may be a bare name.
[[nodiscard]] inline FileKind FileKindOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name.starts_with("MANIFEST-")) return FileKind::kManifest;
  if (name.starts_with("OPTIONS-")) return FileKind::kOptions;
  if (name.empty() || name[0] < '0' || name[0] > '9') return FileKind::kOther;
  if (name.ends_with(".log")) return FileKind::kWal;
  if (name.ends_with(".sst")) return FileKind::kSst;
  return FileKind::kOther;
}

// The number in the name of a MANIFEST, a log or an SST; 0: it has none. `path` may be a bare name.
[[nodiscard]] inline uint64_t FileNumberOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const size_t digit = name.find_first_of("0123456789");
  uint64_t number = 0;
  if (digit == std::string_view::npos) return 0;
  const auto parsed = std::from_chars(name.data() + digit, name.data() + name.size(), number);
  return parsed.ec == std::errc() ? number : 0;
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_FILE_KIND_H_
