// Where one directory lies in respect of another.
#ifndef CISTERN_STORAGE_PATH_CHECK_H_
#define CISTERN_STORAGE_PATH_CHECK_H_

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

namespace cistern {

// Whether `inner` is `outer` or below it, whatever links lead there. `outer` that is not there has
// nothing below it.
[[nodiscard]] inline bool IsWithin(const std::string& inner, const std::string& outer) {
  std::error_code failed;
  const auto at = std::filesystem::weakly_canonical(std::filesystem::absolute(inner), failed);
  if (failed) return false;
  const auto root = std::filesystem::canonical(outer, failed);
  if (failed) return false;
  return std::mismatch(root.begin(), root.end(), at.begin(), at.end()).first == root.end();
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_PATH_CHECK_H_
