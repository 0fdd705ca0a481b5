#include "engine/seal/seal_policy.h"

#include <algorithm>

#include "lib/base/civil_time.h"
#include "lib/cql/bucket_rule.h"

namespace cistern {

namespace {

constexpr int64_t kAgeSlackPart = 8;
constexpr int64_t kWindowsOfLife = 24;
constexpr int64_t kFarPart = 4;  // of its distance from now a window is at most as wide
constexpr int64_t kLocalLifeDefaultS = 30 * kSecondsPerDay;
constexpr int64_t kMonthS = 2'629'746;  // a twelfth of the Gregorian year
constexpr int64_t kYearS = 31'556'952;

// Seconds of a bucket, on average.
int64_t WidthOf(const BucketRule& rule) {
  if (rule.unit == BucketUnit::kMonth) return kMonthS;
  if (rule.unit == BucketUnit::kYear) return kYearS;
  return FixedUnitSeconds(rule.unit) * rule.count;
}

// Of any two times.
uint64_t WidthOf(const WindowSpan& span) {
  return static_cast<uint64_t>(span.end_s) - static_cast<uint64_t>(span.start_s);
}

// Seconds behind a time; the last one of all where there is none.
int64_t Behind(int64_t time_us, int64_t s) {
  int64_t later_us = 0;
  const bool overflows = __builtin_mul_overflow(s, 1'000'000, &later_us) ||
                         __builtin_add_overflow(time_us, later_us, &later_us);
  return overflows ? INT64_MAX : later_us;
}

}  // namespace

int64_t DueAt(int64_t end_s, int64_t last_row_us, const SealLimits& limits) {
  return std::max(Behind(Behind(0, end_s), limits.grace_s), Behind(last_row_us, limits.idle_s));
}

int64_t DueByAgeAt(int64_t due_at_us, int64_t oldest_us, const SealLimits& limits) {
  if (limits.age_s_max == 0) return INT64_MAX;
  const int64_t at_us = Behind(oldest_us, limits.age_s_max);
  const bool is_due_soon = due_at_us <= Behind(at_us, limits.age_s_max / kAgeSlackPart);
  return is_due_soon ? due_at_us : at_us;
}

WindowSpan WindowOf(const TableSchema& schema, const Bucketer& bucketer, int64_t start_s,
                    int64_t now_s) {
  const int64_t life_s =
      schema.default_ttl_s != 0 ? int64_t{schema.default_ttl_s} : kLocalLifeDefaultS;
  const int64_t width_s = WidthOf(schema.BucketRuleAt(start_s));
  int64_t buckets = std::max<int64_t>(1, (life_s / kWindowsOfLife + width_s - 1) / width_s);
  const auto class_width_s = static_cast<uint64_t>(buckets * width_s);
  const int64_t distance_s = start_s > now_s ? start_s - now_s : now_s - start_s;
  while (buckets * width_s <= distance_s / (2 * kFarPart)) buckets *= 2;
  const Bucketer& by_rule = bucketer.At(start_s);
  const int64_t index = FloorDiv(by_rule.IndexOf(start_s), buckets);
  WindowSpan span;
  span.class_width_s = class_width_s;
  span.start_s = by_rule.StartOfIndex(index * buckets);
  span.end_s = by_rule.StartOfIndex((index + 1) * buckets);
  return span;
}

std::shared_ptr<const WindowFamily> ChooseWindow(
    const std::vector<std::shared_ptr<const WindowFamily>>& windows, size_t window_count_max,
    int64_t start_s, WindowSpan* span) {
  const auto narrowest = [&](uint64_t class_width_s) {
    std::shared_ptr<const WindowFamily> best;
    for (const auto& window : windows) {
      const WindowSpan& held = window->record.span;
      if (held.class_width_s != class_width_s || !held.Holds(start_s)) continue;
      if (!best || WidthOf(held) < WidthOf(best->record.span)) best = window;
    }
    if (best) *span = best->record.span;
    return best;
  };
  if (auto window = narrowest(span->class_width_s)) return window;
  if (windows.size() + 1 < window_count_max) return nullptr;  // one is kept for all times
  *span = WindowSpan{};
  return narrowest(span->class_width_s);
}

}  // namespace cistern
