// What somebody who mistyped a name may have meant.
#ifndef CISTERN_BASE_NEAREST_NAME_H_
#define CISTERN_BASE_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace cistern {

// The name that takes the fewest changes to become `typed`, a change being a letter too many, too
// few, wrong, or two in the wrong order. Empty if it takes more than two, or more than a third of
// its letters.
[[nodiscard]] std::string NearestName(std::string_view typed,
                                      const std::vector<std::string>& names);

}  // namespace cistern

#endif  // CISTERN_BASE_NEAREST_NAME_H_
