#include "storage/full_disk_advice.h"

#include <string>

#include "storage/refusal_words.h"

namespace cistern {
namespace {

constexpr std::string_view kFreeSpace = "free disk space, then try again";

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
  const std::string directory = DirectoryOf(PathIn(words));
  if (directory.empty() || ::statvfs(directory.c_str(), &file_system) != 0) return kFreeSpace;
  return FullDiskAdvice(file_system);
}

}  // namespace cistern
