// Lists of names: a,b as the command line has them, and as people read them.
#ifndef CISTERN_TOOLS_NAME_LIST_H_
#define CISTERN_TOOLS_NAME_LIST_H_

#include <string>
#include <string_view>
#include <vector>

namespace cistern::tool {

// At least one name, which may be empty.
[[nodiscard]] inline std::vector<std::string> SplitNames(std::string_view text) {
  std::vector<std::string> names;
  for (;;) {
    const size_t end = text.find(',');
    names.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return names;
    text.remove_prefix(end + 1);
  }
}

// "a, b", for people.
template <typename Names>
[[nodiscard]] std::string JoinNames(const Names& names) {
  std::string joined;
  for (const auto& name : names) {
    if (!joined.empty()) joined += ", ";
    joined += name;
  }
  return joined;
}

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_NAME_LIST_H_
