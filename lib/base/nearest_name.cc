#include "lib/base/nearest_name.h"

#include <algorithm>
#include <cstddef>

namespace cistern {
namespace {

constexpr size_t kChangesMax = 2;

// The optimal string alignment distance, by rows of its table.
size_t Changes(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::vector<size_t> next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + wrong});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = row;
    row = next;
  }
  return row[b.size()];
}

}  // namespace

std::string NearestName(std::string_view typed, const std::vector<std::string>& names) {
  std::string nearest;
  size_t fewest = kChangesMax + 1;
  for (const std::string& name : names) {
    if (typed.size() > name.size() + kChangesMax) continue;  // bounds the work on any input
    const size_t changes = Changes(typed, name);
    if (changes >= fewest || changes * 3 > name.size()) continue;
    fewest = changes;
    nearest = name;
  }
  return nearest;
}

}  // namespace cistern
