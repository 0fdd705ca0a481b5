#include "engine/query/stretches.h"

#include <algorithm>
#include <limits>

namespace cistern {

std::vector<Stretch> StretchesOf(std::span<const SegmentHeader* const> headers,
                                 std::span<const TimeExtent> heads) {
  std::vector<Stretch> pieces;
  for (const TimeExtent& head : heads) pieces.push_back({head, false, 0, 0});
  for (uint32_t s = 0; s < headers.size(); ++s) {
    const std::vector<PageInfo>& pages = headers[s]->pages;
    for (uint32_t p = 0; p < pages.size(); ++p) {
      pieces.push_back({{pages[p].first_time, pages[p].last_time}, true, s, p});
    }
  }
  const auto begins_before = [](const Stretch& a, const Stretch& b) {
    return a.times.first < b.times.first;
  };
  // Pages of one segment stand in order.
  if (!std::is_sorted(pieces.begin(), pieces.end(), begins_before)) {
    std::stable_sort(pieces.begin(), pieces.end(), begins_before);
  }
  size_t count = 0;
  for (const Stretch& piece : pieces) {
    if (count > 0 && pieces[count - 1].times.last >= piece.times.first) {
      Stretch& joined = pieces[count - 1];
      joined.times.last = std::max(joined.times.last, piece.times.last);
      joined.is_page = false;
    } else {
      pieces[count++] = piece;
    }
  }
  pieces.resize(count);
  return pieces;
}

bool AnyMeets(std::span<const RangeDelete> deletes, const TimeExtent& times) {
  return std::any_of(deletes.begin(), deletes.end(), [&times](const RangeDelete& d) {
    const bool ends_behind = d.to > times.first || d.to == std::numeric_limits<int64_t>::max();
    return d.from <= times.last && ends_behind;
  });
}

}  // namespace cistern
