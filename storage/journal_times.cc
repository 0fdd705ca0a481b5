#include "storage/journal_times.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/version_source.h"

namespace cistern {

namespace {

constexpr size_t kTimesMax = 4096;
constexpr size_t kSeenMax = 256;
constexpr int64_t kSeenApartUs = 60'000'000;
// Two times are close that are so far apart, or by that part of their age.
constexpr int64_t kCloseUs = 60'000'000;
constexpr int64_t kClosePart = 16;

// Leaves every second one.
void Thin(std::map<uint64_t, int64_t>* times) {
  for (auto at = times->begin(); at != times->end();) {
    at = times->erase(at);
    if (at != times->end()) ++at;
  }
}

int64_t Less(int64_t a_us, int64_t b_us) {
  int64_t difference_us = 0;
  return __builtin_sub_overflow(a_us, b_us, &difference_us) ? INT64_MAX : difference_us;
}

}  // namespace

bool JournalTimes::Around::IsClose(int64_t now_us) const {
  if (!before_us || !behind_us) return false;
  const int64_t apart_us = Less(*behind_us, *before_us);
  return apart_us <= kCloseUs || apart_us <= Less(now_us, *behind_us) / kClosePart;
}

JournalTimes::Around JournalTimes::FindAround(uint64_t record) const {
  Around around;
  const auto behind = times_.lower_bound(record);
  if (behind != times_.end()) around.behind_us = behind->second;
  if (behind != times_.end() && behind->first == record) {
    around.before_us = behind->second;
  } else if (behind != times_.begin()) {
    around.before_us = std::prev(behind)->second;
  }
  return around;
}

// The rows that are left of the first record were written with it or later, and those of the last
// one with it or before: what contradicts that is told wrongly by other segments.
void JournalTimes::Note(uint64_t first, uint64_t last, const WriteTimes& times) {
  for (auto at = times_.upper_bound(first); at != times_.begin();) {
    --at;
    if (at->second <= times.first_us) break;
    at = times_.erase(at);
  }
  for (auto at = times_.lower_bound(last);
       at != times_.end() && at->second < times.last_us;) {
    at = times_.erase(at);
  }
  if (times_.size() >= kTimesMax) Thin(&times_);
  const Around of_first = FindAround(first);
  times_[first] = std::min(times.first_us, of_first.behind_us.value_or(INT64_MAX));
  const Around of_last = FindAround(last);
  times_[last] = std::max(times.last_us, of_last.before_us.value_or(INT64_MIN));
}

std::optional<WriteTimes> JournalTimes::Find(uint64_t first, uint64_t last, int64_t now_us) const {
  const Around of_first = FindAround(first);
  const Around of_last = FindAround(last);
  if (!of_first.IsClose(now_us) || !of_last.IsClose(now_us)) return std::nullopt;
  return WriteTimes{*of_first.before_us, *of_last.behind_us};
}

std::optional<WriteTimes> JournalTimes::Of(const SegmentRef& segment, const TablePtr& table,
                                           std::shared_ptr<const BootBases> bases,
                                           int64_t now_us) {
  if (bases != bases_) {  // rows that waited for their time have it
    bases_ = std::move(bases);
    times_.clear();
  }
  const uint64_t first = segment.header.journal_first;
  const uint64_t last = segment.header.journal_last;
  if (const auto known = Find(first, last, now_us)) return known;
  const std::optional<WriteTimes> read = Read(segment, table);
  if (!read) return GuessOf(segment);
  Note(first, last, *read);
  return read;
}

std::optional<WriteTimes> JournalTimes::GuessOf(const SegmentRef& segment) const {
  const Around of_first = FindAround(segment.header.journal_first);
  const Around of_last = FindAround(segment.header.journal_last);
  const auto first_us = of_first.before_us ? of_first.before_us : of_first.behind_us;
  const auto last_us = of_last.behind_us ? of_last.behind_us : of_last.before_us;
  if (!first_us || !last_us) return std::nullopt;
  return WriteTimes{*first_us, *last_us};
}

// Of its first and its last page, as rows mostly come in the order of their event times.
std::optional<WriteTimes> JournalTimes::Read(const SegmentRef& segment, const TablePtr& table) {
  std::optional<WriteTimes> times;
  const auto note = [&times](int64_t write_us) {
    if (!times) times = WriteTimes{write_us, write_us};
    times->first_us = std::min(times->first_us, write_us);
    times->last_us = std::max(times->last_us, write_us);
  };
  const auto is_told = [this](uint32_t boot) {  // not where its record is damaged
    return boot == 0 || (boot < bases_->size() && (*bases_)[boot] != 0);
  };
  std::vector<RangeDelete> deletes = segment.header.deletes;
  std::erase_if(deletes, [&](const RangeDelete& d) { return !is_told(d.boot); });
  ResolveBoots(*bases_, nullptr, deletes);
  for (const RangeDelete& d : deletes) note(d.write_us);
  const size_t page_count = segment.header.pages.size();
  if (page_count == 0) return times;
  const std::vector<bool> wanted(table->schema->columns.size(), false);
  const SegmentPages pages(table, table->schema_version,
                           std::make_shared<const SegmentRef>(segment), &wanted);
  for (size_t page = 0; page < page_count; page += std::max<size_t>(page_count - 1, 1)) {
    ++pages_read_;
    Result<VersionColumns> rows = pages.Read(static_cast<uint32_t>(page));
    if (!rows.ok()) return std::nullopt;
    const std::vector<uint32_t> boots = rows->boot;  // empty: all of them 0
    ResolveBoots(*bases_, &*rows, {});
    for (size_t i = 0; i < rows->row_count; ++i) {
      if (boots.empty() || is_told(boots[i])) note(rows->write_us[i]);
    }
  }
  return times;
}

void JournalTimes::NoteSeen(uint64_t last, int64_t now_us) {
  // A clock that was taken back was ahead before.
  for (auto at = seen_.rbegin(); at != seen_.rend() && at->second > now_us; ++at) {
    at->second = now_us;
  }
  const bool is_new = seen_.empty() || (last > seen_.rbegin()->first &&
                                        now_us - seen_.rbegin()->second >= kSeenApartUs);
  if (!is_new) return;
  if (seen_.size() >= kSeenMax) Thin(&seen_);
  seen_[last] = now_us;
}

std::optional<int64_t> JournalTimes::SeenAt(uint64_t record) const {
  const auto at = seen_.lower_bound(record);
  if (at == seen_.end()) return std::nullopt;
  return at->second;
}

}  // namespace cistern
