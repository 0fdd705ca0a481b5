#include "engine/retain/window_outlook.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

#include "lib/base/concat.h"
#include "lib/cql/time_text.h"

namespace cistern {

namespace {

bool IsOfAllTimes(const WindowSpan& span) { return span == WindowSpan{}; }

std::string TimeText(int64_t s) {
  std::string text;
  FormatTimeText(s, TimeUnit::kSeconds, &text);
  return text;
}

// "2 of 5 segments"
std::string PartText(uint64_t part, const WindowRecord& record) {
  return Concat({part, " of ", record.seal_count, " segments"});
}

// What keeps it from expiring.
std::string ExpiryText(const WindowRecord& record) {
  if (const auto expiry_s = ExpiryOf(record)) return "rows live until " + TimeText(*expiry_s);
  std::string text = "holds ";
  if (record.endless_row_seals > 0) {
    text += "rows without TTL in " + PartText(record.endless_row_seals, record);
  }
  if (record.delete_seals > 0) {
    text += record.endless_row_seals > 0
                ? Concat({" and deletes in ", record.delete_seals})
                : "deletes in " + PartText(record.delete_seals, record);
  }
  return text;
}

// What keeps it by its local retention.
std::string RetentionText(const WindowRecord& record, const RetentionLimits& limits) {
  const std::optional<int64_t> until_s = RetainedUntil(record, limits);
  if (!IsConfirmed(record)) {
    return Concat({"upstream has not confirmed ",
        PartText(record.seal_count - record.confirmed_count, record),
        (until_s ? ", given up at " + TimeText(*until_s) : "")});
  }
  if (until_s) return "confirmed, kept until " + TimeText(*until_s);
  return IsOfAllTimes(record.span) ? "confirmed, which does not end a window of all times"
                                   : "confirmed, kept for ever";
}

}  // namespace

std::string_view WhyItEnds(WindowFate fate) {
  switch (fate) {
    case WindowFate::kStays: break;
    case WindowFate::kExpired: return "its rows have expired";
    case WindowFate::kOver: return "it is confirmed and its local retention is over";
    case WindowFate::kShed: return "it was not confirmed within keep_unconfirmed_s";
  }
  return "";
}

WindowOutlook OutlookOf(const WindowFamily& window, const RetentionTime& time,
                        const RetentionLimits& limits, bool awaits_files) {
  const WindowRecord& record = window.record;
  WindowOutlook outlook;
  outlook.window = window.Name();
  if (!IsOfAllTimes(record.span)) {
    outlook.from_s = record.span.start_s;
    outlook.to_s = record.span.end_s;
  }
  outlook.versions = record.version_count;
  for (const auto end_s : {ExpiryOf(record), RetainedUntil(record, limits)}) {
    if (!end_s || awaits_files) continue;
    outlook.ends_at_s = std::min(outlook.ends_at_s.value_or(*end_s), *end_s);
  }
  const WindowFate fate = FateOf(record, time, limits);
  outlook.why = fate == WindowFate::kStays
                    ? Concat({ExpiryText(record), "; ", RetentionText(record, limits)})
                    : "due to go: " + std::string(WhyItEnds(fate));
  if (awaits_files) {
    outlook.why = "stays until files are back that could not be read when it was sealed, as they "
                  "may have rows that it shadows (Recovery and verify name them; salvage to a new "
                  "store gives them up)";
  }
  const RetentionTime believed{time.now_s, time.now_s, time.settled};
  if (fate == WindowFate::kStays && FateOf(record, believed, limits) != fate) {
    outlook.why += "; it is over by a clock that nobody has confirmed, so it goes when room is "
                   "short (cistern clock)";
  }
  if (!time.settled) outlook.why += "; nothing goes while the clock is not trusted";
  return outlook;
}

WindowOutlook OutlookOf(const SpillFamily& family) {
  WindowOutlook outlook;
  outlook.window = family.Name();
  outlook.versions = family.record.version_count - family.record.sealed_count;
  outlook.why = outlook.versions > 0
                    ? Concat({"holds rows of buckets that are not sealed: ", outlook.versions,
                        " of ", family.record.version_count, " row versions"})
                    : "due to go: everything in it is sealed";
  return outlook;
}

std::vector<std::shared_ptr<const WindowFamily>> WindowsInOrder(const SpillView& view) {
  auto windows = view.windows;
  std::sort(windows.begin(), windows.end(), [](const auto& a, const auto& b) {
    const auto place = [](const WindowFamily& window) {
      const WindowSpan& span = window.record.span;
      return std::tuple(IsOfAllTimes(span), span.class_width_s, span.start_s, window.id);
    };
    return place(*a) < place(*b);
  });
  return windows;
}

}  // namespace cistern
