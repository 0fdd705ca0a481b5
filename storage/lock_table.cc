#include "storage/lock_table.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace cistern {

int LockHolderOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  std::array<char, 64> place;
  std::snprintf(place.data(), place.size(), "%02x:%02x:%" PRIu64, major(info.st_dev),
                minor(info.st_dev), static_cast<uint64_t>(info.st_ino));
  std::ifstream table("/proc/locks");
  return LockHolderIn(table, place.data());
}

int LockHolderIn(std::istream& table, const std::string& place) {
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number;
    std::string kind;  // "->" of one that waits, whose kind is the next word
    std::string mode;
    std::string access;
    std::string at;
    int process = 0;
    const bool is_read = static_cast<bool>(words >> number >> kind >> mode >> access >> process >>
                                           at);
    if (is_read && kind == "POSIX" && at == place && process > 0) return process;
  }
  return 0;
}

}  // namespace cistern
