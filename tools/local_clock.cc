#include "tools/local_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tools/utc_offset.h"

namespace cistern::tool {
namespace {

constexpr size_t kZonesKeptMax = 64;

std::string Quoted(std::string_view text) { return fmt::format("'{}'", text.substr(0, 80)); }

char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Upper(x) == Upper(y); });
}

// The moments at which clocks that show `abbreviation` show the time.
TzTable::Moments OnlyThose(const TzTable::Moments& all, std::string_view abbreviation) {
  TzTable::Moments some = all;
  some.count = 0;
  for (size_t i = 0; i < all.count; ++i) {
    if (SameWord(all.at[i].kind->abbreviation, abbreviation)) some.at[some.count++] = all.at[i];
  }
  return some;
}

bool EverShows(const TzTable& table, std::string_view abbreviation) {
  return std::any_of(table.kinds.begin(), table.kinds.end(), [abbreviation](const TzKind& kind) {
    return SameWord(kind.abbreviation, abbreviation);
  });
}

// A zone that the times of an input name again and again is read once by each thread.
Result<LocalClock> ZoneNamed(std::string_view name) {
  thread_local std::map<std::string, Result<LocalClock>, std::less<>> kept;
  const auto found = kept.find(name);
  if (found != kept.end()) return found->second;
  if (kept.size() >= kZonesKeptMax) kept.clear();
  return kept.emplace(name, LocalClock::OfZone(name)).first->second;
}

}  // namespace

Result<LocalClock> LocalClock::OfZone(std::string_view name) {
  CISTERN_ASSIGN_OR_RETURN(TzTable table, ReadTzFile(name));
  LocalClock clock;
  clock.table_ = std::make_shared<const TzTable>(std::move(table));
  clock.name_ = name;
  return clock;
}

LocalClock LocalClock::ForBounds() const {
  LocalClock clock = *this;
  clock.is_for_bounds_ = true;
  return clock;
}

TzPeriod LocalClock::PeriodAt(int64_t utc_s) const {
  return table_ ? table_->PeriodAt(utc_s) : TzPeriod{offset_s_};
}

int64_t LocalClock::FirstFrom(int64_t local_s) const {
  TzPeriod period = PeriodAt(local_s - kTzOffsetMaxS);
  while (true) {
    const int64_t moment_s = std::max(period.from_s, local_s - period.offset_s);
    if (moment_s < period.to_s) return moment_s;
    period = PeriodAt(period.to_s);
  }
}

Result<int64_t> LocalClock::UtcOf(int64_t local_s, std::string_view text) const {
  if (is_for_bounds_) return FirstFrom(local_s);
  if (!table_) return local_s - offset_s_;
  return Choose(table_->MomentsOf(local_s), text);
}

Result<int64_t> LocalClock::Choose(const TzTable::Moments& moments, std::string_view text) const {
  if (moments.count == 1) return moments.at[0].utc_s;
  if (moments.count == 0) {
    return Status::OutOfRange(fmt::format(
        "{} does not exist in {}: clocks were put forward over it, from {} to {}; --utc-offset is "
        "for times by a clock that stays as it is", Quoted(text), name_,
        FormatUtcOffset(moments.before->offset_s), FormatUtcOffset(moments.after->offset_s)));
  }
  const TzTable::Moment& last = moments.at[moments.count - 1];
  switch (ambiguous_) {
    case AmbiguousTimes::kEarlier: return moments.at[0].utc_s;
    case AmbiguousTimes::kLater: return last.utc_s;
    case AmbiguousTimes::kRefuse: break;
  }
  return Status::OutOfRange(fmt::format(
      "{} is there twice in {}, at {} and at {}; --ambiguous-times earlier or later says which "
      "one is meant", Quoted(text), name_, FormatUtcOffset(moments.at[0].kind->offset_s),
      FormatUtcOffset(last.kind->offset_s)));
}

Result<int64_t> LocalClock::UtcOfNamed(int64_t local_s, std::string_view word,
                                       std::string_view text) const {
  for (const std::string_view utc : {"UTC", "GMT", "UT", "Z"}) {
    if (SameWord(word, utc)) return local_s;
  }
  if (table_) {
    const TzTable::Moments moments = OnlyThose(table_->MomentsOf(local_s), word);
    if (moments.count > 0) return Choose(moments, text);
  }
  const Result<LocalClock> zone = ZoneNamed(word);
  if (!zone.ok()) {
    return Status::InvalidArgument(fmt::format(
        "{}: '{}' is no zone of the tz database{}; a zone by --time-zone tells what its own "
        "abbreviations are, and %z reads an offset", Quoted(text), word.substr(0, 40),
        table_ ? fmt::format(" and not what clocks of {} show then", name_) : ""));
  }
  const TzTable::Moments moments = zone->table_->MomentsOf(local_s);
  LocalClock clock = *zone;
  clock.ambiguous_ = ambiguous_;
  // CET is a zone with summer time and an abbreviation: at 12:00 CET in July no clock shows that.
  if (!EverShows(*clock.table_, word)) return clock.Choose(moments, text);
  const TzTable::Moments shown = OnlyThose(moments, word);
  if (shown.count > 0 || moments.count == 0) return clock.Choose(shown, text);
  return Status::InvalidArgument(
      fmt::format("{}: clocks that show '{}' show '{}' at that time; write the offset, and read it "
                  "by %z", Quoted(text), word, moments.at[0].kind->abbreviation));
}

Result<AmbiguousTimes> ParseAmbiguousTimes(std::string_view text) {
  if (text == "refuse") return AmbiguousTimes::kRefuse;
  if (text == "earlier") return AmbiguousTimes::kEarlier;
  if (text == "later") return AmbiguousTimes::kLater;
  return Status::InvalidArgument(
      fmt::format("{} is not one of earlier, later, refuse", Quoted(text)));
}

}  // namespace cistern::tool
