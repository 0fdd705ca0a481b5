#include "storage/full_disk_advice.h"

#include <string>

namespace cistern {
namespace {

constexpr std::string_view kFreeSpace = "free disk space, then try again";

// The directory of the path between the last two ": "; empty: there is none.
std::string DirectoryIn(std::string_view words) {
  constexpr std::string_view kMark = ": ";
  const size_t end = words.rfind(kMark);
  if (end == std::string_view::npos || end == 0) return {};
  const size_t before = words.rfind(kMark, end - 1);
  const size_t begin = before == std::string_view::npos ? 0 : before + kMark.size();
  const std::string_view path = words.substr(begin, end - begin);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return path.empty() ? "" : ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

}  // namespace

std::string_view FullDiskAdvice(const struct statvfs& file_system) {
  // A file system that makes inodes as it needs them counts none.
  const bool lacks_inodes = file_system.f_files > 0 && file_system.f_favail == 0;
  return lacks_inodes ? "the file system has no inode left, whatever its free space: remove files, "
                        "be they empty (`df -i` counts them), then try again"
                      : kFreeSpace;
}

std::string_view FullDiskAdvice(std::string_view words) {
  struct statvfs file_system {};
  const std::string directory = DirectoryIn(words);
  if (directory.empty() || ::statvfs(directory.c_str(), &file_system) != 0) return kFreeSpace;
  return FullDiskAdvice(file_system);
}

}  // namespace cistern
