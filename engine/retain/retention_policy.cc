#include "engine/retain/retention_policy.h"

#include <algorithm>

namespace cistern {

std::optional<int64_t> RetainedUntil(const WindowRecord& window, const RetentionLimits& limits) {
  const bool confirmed = IsConfirmed(window);
  if (!confirmed && limits.keep_unconfirmed_s == 0) return std::nullopt;
  const int64_t end_s = window.span.end_s;
  const int64_t since_s =
      confirmed ? std::max(end_s, window.confirmed_us_last / 1'000'000) : end_s;
  const int64_t kept_s = confirmed ? limits.keep_confirmed_s : limits.keep_unconfirmed_s;
  int64_t until_s = 0;
  if (__builtin_add_overflow(since_s, kept_s, &until_s)) return std::nullopt;  // far ends
  return until_s;
}

WindowFate FateOf(const WindowRecord& window, const RetentionTime& time,
                  const RetentionLimits& limits) {
  const int64_t now_s = time.Of(window);
  if (HasExpired(window, now_s)) return WindowFate::kExpired;
  const std::optional<int64_t> until_s = RetainedUntil(window, limits);
  if (!until_s || *until_s > now_s) return WindowFate::kStays;
  return IsConfirmed(window) ? WindowFate::kOver : WindowFate::kShed;
}

std::optional<size_t> NextToShed(std::span<const WindowRecord> windows, DiskShed disk_shed) {
  if (disk_shed == DiskShed::kNothing) return std::nullopt;
  std::optional<size_t> best;
  const auto goes_before = [&](size_t a, size_t b) {
    const bool confirmed = IsConfirmed(windows[a]);
    if (confirmed != IsConfirmed(windows[b])) return confirmed;
    const WindowSpan& x = windows[a].span;
    const WindowSpan& y = windows[b].span;
    return x.end_s != y.end_s ? x.end_s < y.end_s : x.start_s < y.start_s;
  };
  for (size_t i = 0; i < windows.size(); ++i) {
    if (disk_shed == DiskShed::kConfirmed && !IsConfirmed(windows[i])) continue;
    if (!best || goes_before(i, *best)) best = i;
  }
  return best;
}

}  // namespace cistern
