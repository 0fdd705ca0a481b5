#include "engine/retain/merge_policy.h"

#include <algorithm>
#include <limits>

#include "cistern/limits.h"

namespace cistern {

namespace {

constexpr size_t kRunMax = 8;
constexpr double kWidthPart = 0.5;  // of its distance from now a merged window is at most as wide

bool IsOfAllTimes(const WindowSpan& span) {
  return span.start_s == INT64_MIN || span.end_s == INT64_MAX;
}

// Neighbours stand side by side: by class, then by time.
std::vector<size_t> InOrder(std::span<const MergeCandidate> windows) {
  std::vector<size_t> order;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (!IsOfAllTimes(windows[i].span)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const WindowSpan& x = windows[a].span;
    const WindowSpan& y = windows[b].span;
    if (x.class_width_s != y.class_width_s) return x.class_width_s < y.class_width_s;
    return x.start_s != y.start_s ? x.start_s < y.start_s : x.end_s < y.end_s;
  });
  return order;
}

// A run of neighbours, made longer one by one.
struct Run {
  double start_s = std::numeric_limits<double>::infinity();
  double end_s = -std::numeric_limits<double>::infinity();
  double byte_count = 0;
  size_t dictionary_count = 0;
  void Add(const MergeCandidate& window) {
    start_s = std::min(start_s, static_cast<double>(window.span.start_s));
    end_s = std::max(end_s, static_cast<double>(window.span.end_s));
    byte_count += static_cast<double>(window.byte_count);
    dictionary_count += window.dictionary_count;
  }
  // Its width as a part of its distance from now and one regular width.
  [[nodiscard]] double WidthPart(double now_s, double class_width_s) const {
    const double distance_s = std::max({now_s - end_s, start_s - now_s, 0.0});
    return (end_s - start_s) / (distance_s + class_width_s + 1);
  }
};

}  // namespace

std::vector<size_t> NextToMerge(std::span<const MergeCandidate> windows, int64_t now_s) {
  const std::vector<size_t> order = InOrder(windows);
  // In the order of importance: by how often the limit was doubled, then by cost.
  std::pair<double, double> least{std::numeric_limits<double>::infinity(), 0};
  std::vector<size_t> best;
  for (size_t first = 0; first < order.size(); ++first) {
    const uint64_t class_width_s = windows[order[first]].span.class_width_s;
    Run run;
    for (size_t last = first; last < order.size() && last < first + kRunMax; ++last) {
      const MergeCandidate& window = windows[order[last]];
      if (window.span.class_width_s != class_width_s) break;
      run.Add(window);
      if (run.dictionary_count > limits::kMergedDictionariesMax) break;
      if (last == first) continue;
      double limit = kWidthPart;
      const double part =
          run.WidthPart(static_cast<double>(now_s), static_cast<double>(class_width_s));
      while (part > limit) limit *= 2;
      const std::pair cost{limit, run.byte_count / static_cast<double>(last - first)};
      if (cost >= least) continue;
      least = cost;
      best.assign(order.begin() + static_cast<ptrdiff_t>(first),
                  order.begin() + static_cast<ptrdiff_t>(last) + 1);
    }
  }
  return best;
}

}  // namespace cistern
