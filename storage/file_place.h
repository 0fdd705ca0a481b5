// FilePlace: which file or directory a path leads to, whatever it is called.
#ifndef CISTERN_STORAGE_FILE_PLACE_H_
#define CISTERN_STORAGE_FILE_PLACE_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace cistern {

// Device and inode. Unknown where nothing is there: a file system below that keeps its files
// elsewhere (a test's) has none at the path.
struct FilePlace {
  uint64_t device = 0;
  uint64_t inode = 0;

  [[nodiscard]] static FilePlace Of(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return {};
    return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino)};
  }
  [[nodiscard]] bool is_known() const { return inode != 0; }
  friend auto operator<=>(const FilePlace&, const FilePlace&) = default;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_FILE_PLACE_H_
