#include "engine/seal/seal_policy.h"

#include <algorithm>

#include "lib/base/civil_time.h"
#include "lib/cql/bucket_rule.h"

namespace cistern {

namespace {

constexpr int64_t kWindowsOfLife = 24;
constexpr int64_t kLocalLifeDefaultS = 30 * kSecondsPerDay;
constexpr int64_t kMonthS = 2'629'746;  // a twelfth of the Gregorian year
constexpr int64_t kYearS = 31'556'952;

// Seconds of a bucket, on average.
int64_t WidthOf(const BucketRule& rule) {
  if (rule.unit == BucketUnit::kMonth) return kMonthS;
  if (rule.unit == BucketUnit::kYear) return kYearS;
  return FixedUnitSeconds(rule.unit) * rule.count;
}

}  // namespace

WindowSpan WindowOf(const TableSchema& schema, const Bucketer& bucketer, int64_t start_s) {
  const int64_t life_s =
      schema.default_ttl_s != 0 ? int64_t{schema.default_ttl_s} : kLocalLifeDefaultS;
  const int64_t width_s = WidthOf(schema.bucket);
  const int64_t buckets =
      std::max<int64_t>(1, (life_s / kWindowsOfLife + width_s - 1) / width_s);
  const int64_t index = FloorDiv(bucketer.IndexOf(start_s), buckets);
  WindowSpan span;
  span.class_width_s = static_cast<uint64_t>(buckets * width_s);
  span.start_s = bucketer.StartOfIndex(index * buckets);
  span.end_s = bucketer.StartOfIndex((index + 1) * buckets);
  return span;
}

std::shared_ptr<const WindowFamily> ChooseWindow(
    const std::vector<std::shared_ptr<const WindowFamily>>& windows, size_t window_count_max,
    WindowSpan* span) {
  const auto find = [&] {
    const auto at = std::find_if(windows.begin(), windows.end(),
                                 [&](const auto& w) { return w->record.span == *span; });
    return at == windows.end() ? nullptr : *at;
  };
  if (auto window = find()) return window;
  if (windows.size() + 1 < window_count_max) return nullptr;  // one is kept for all times
  *span = WindowSpan{};
  return find();
}

}  // namespace cistern
