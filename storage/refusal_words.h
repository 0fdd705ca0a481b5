// RocksDB's words of a call that the system refused, and what they tell: it keeps no more of it.
#ifndef CISTERN_STORAGE_REFUSAL_WORDS_H_
#define CISTERN_STORAGE_REFUSAL_WORDS_H_

#include <string>
#include <string_view>

namespace cistern {

// The path between the last two ": ", as in "While open a file for appending: /data/S/000012.log:
// No space left on device"; empty: there is none.
[[nodiscard]] inline std::string PathIn(std::string_view words) {
  constexpr std::string_view kMark = ": ";
  const size_t end = words.rfind(kMark);
  if (end == std::string_view::npos || end == 0) return {};
  const size_t before = words.rfind(kMark, end - 1);
  const size_t begin = before == std::string_view::npos ? 0 : before + kMark.size();
  return std::string(words.substr(begin, end - begin));
}

// The directory of a path; empty: the path is.
[[nodiscard]] inline std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return path.empty() ? "" : ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_REFUSAL_WORDS_H_
