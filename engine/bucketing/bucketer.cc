#include "engine/bucketing/bucketer.h"

#include <algorithm>
#include <limits>
#include <string>

#include "cistern/limits.h"
#include "lib/base/civil_time.h"
#include "lib/base/concat.h"
#include "lib/cql/bucket_rule.h"

namespace cistern {
namespace {

constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
constexpr int64_t kIsoWeekAnchorS = -3 * kSecondsPerDay;  // Monday 1969-12-29

int64_t MonthsSince1970(int64_t start_s) {
  const CivilDate date = CivilFromDays(FloorDiv(start_s, kSecondsPerDay));
  return (date.year - 1970) * 12 + date.month - 1;
}

int64_t MonthStart(int64_t months_since_1970) {
  const int64_t year = 1970 + FloorDiv(months_since_1970, 12);
  const auto month = static_cast<uint32_t>(FloorMod(months_since_1970, 12) + 1);
  return DaysFromCivil(year, month, 1) * kSecondsPerDay;
}

int64_t YearStart(int64_t year) {
  return DaysFromCivil(year, 1, 1) * kSecondsPerDay;
}

// Calendar numbers have years of four digits, so that each width's have a length of their own:
// else 100101 would be a day of the year 10 and a month of 1001.
int64_t CalendarMinS() {
  return YearStart(1000);
}

}  // namespace

struct Bucketer::Era {
  Bucketer bucketer;
  int64_t until_s = kInt64Max;
  int64_t until_ticks = kInt64Max;
};

Bucketer::Bucketer(const TableSchema& schema) : Bucketer(schema, schema.bucket) {
  if (!schema.former_buckets.empty()) TakeFormerRules(schema);
}

void Bucketer::TakeFormerRules(const TableSchema& schema) {
  auto eras = std::make_shared<std::vector<Era>>();
  for (const FormerBucketRule& former : schema.former_buckets) {
    eras->push_back({Bucketer(schema, former.rule), former.until_s,
                     TicksFromSeconds(schema.time_unit, former.until_s)});
  }
  from_ticks_ = eras->back().until_ticks;
  eras->push_back({Bucketer(schema, schema.bucket)});
  // The first that has a bucket of times that the unit reaches.
  int64_t since_s = kInt64Min;
  for (const Era& era : *eras) {
    min_s_ = std::max(era.bucketer.min_s_, since_s);
    if (min_s_ < era.until_s) break;
    since_s = era.until_s;
  }
  min_ticks_ = min_s_ * TicksPerSecond(schema.time_unit);
  eras_ = std::move(eras);
}

const Bucketer& Bucketer::Former(int64_t ticks) const {
  return std::find_if(eras_->begin(), eras_->end(), [ticks](const Era& era) {
           return ticks < era.until_ticks;
         })->bucketer;
}

const Bucketer& Bucketer::At(int64_t s) const {
  if (!eras_) return *this;
  return std::find_if(eras_->begin(), eras_->end() - 1, [s](const Era& era) {
           return s < era.until_s;
         })->bucketer;
}

Bucketer::Bucketer(const TableSchema& schema, const BucketRule& rule)
    : unit_(rule.unit), fixed_width_(FixedUnitSeconds(unit_) != 0) {
  width_s_ = FixedUnitSeconds(unit_) * rule.count;
  anchor_s_ = unit_ == BucketUnit::kIsoWeek ? kIsoWeekAnchorS : 0;
  step_s_ = fixed_width_ ? width_s_ : kSecondsPerDay;

  const int64_t ticks_per_s = TicksPerSecond(schema.time_unit);
  min_s_ = std::max(limits::kEventSecondsMin, kInt64Min / ticks_per_s);
  max_s_ = std::min(limits::kEventSecondsMax, kInt64Max / ticks_per_s - 1);
  if (rule.encoding == BucketEncoding::kCalendarNumber) min_s_ = std::max(min_s_, CalendarMinS());
  const bool int_count = schema.columns[schema.bucket_column].type.kind == CqlType::kInt &&
                         rule.encoding == BucketEncoding::kSinceEpoch;
  if (int_count && fixed_width_) {  // months and years of all times fit an int
    constexpr int64_t kIntMax = std::numeric_limits<int32_t>::max();
    constexpr int64_t kIntMin = std::numeric_limits<int32_t>::min();
    min_s_ = std::max(min_s_, kIntMin * width_s_ + anchor_s_);
    max_s_ = std::min(max_s_, (kIntMax + 1) * width_s_ + anchor_s_ - 1);
  }

  const auto floor_step = [this](int64_t s) {
    return FloorDiv(s - anchor_s_, step_s_) * step_s_ + anchor_s_;
  };
  base_s_ = floor_step(min_s_);
  if (base_s_ <
      kInt64Min / ticks_per_s) {  // the unit's first bucket is not whole: begin with the next
    base_s_ += step_s_;
    min_s_ = base_s_;
  }
  min_ticks_ = min_s_ * ticks_per_s;
  max_ticks_ = max_s_ * ticks_per_s + (ticks_per_s - 1);
  base_ticks_ = static_cast<uint64_t>(base_s_ * ticks_per_s);
  step_ticks_ = static_cast<uint64_t>(step_s_) * static_cast<uint64_t>(ticks_per_s);
  reciprocal_ = std::numeric_limits<uint64_t>::max() / step_ticks_;
}

int64_t Bucketer::CalendarStart(int64_t s) const {
  const int64_t days = FloorDiv(s, kSecondsPerDay);
  const CivilDate date = CivilFromDays(days);
  if (unit_ == BucketUnit::kYear) return YearStart(date.year);
  return (days - date.day + 1) * kSecondsPerDay;
}

bool Bucketer::IsStart(int64_t s) const {
  return s >= StartOfSecond(min_s_) && s <= max_s_ && StartOfSecond(s) == s;
}

int64_t Bucketer::StartOfSecond(int64_t s) const {
  if (eras_) return At(s).StartOfSecond(s);
  if (!fixed_width_) return CalendarStart(s);
  return FloorDiv(s - anchor_s_, width_s_) * width_s_ + anchor_s_;
}

int64_t Bucketer::Next(int64_t start_s) const {
  if (eras_) return At(start_s).Next(start_s);
  return fixed_width_ ? start_s + width_s_ : StartOfIndex(IndexOf(start_s) + 1);
}

int64_t Bucketer::Previous(int64_t start_s) const {
  if (eras_) return At(start_s - 1).StartOfSecond(start_s - 1);
  return fixed_width_ ? start_s - width_s_ : StartOfIndex(IndexOf(start_s) - 1);
}

int64_t Bucketer::IndexOf(int64_t start_s) const {
  if (fixed_width_) return FloorDiv(start_s - anchor_s_, width_s_);
  const int64_t months = MonthsSince1970(start_s);
  return unit_ == BucketUnit::kMonth ? months : FloorDiv(months, 12);
}

int64_t Bucketer::StartOfIndex(int64_t index) const {
  if (fixed_width_) return index * width_s_ + anchor_s_;
  return unit_ == BucketUnit::kMonth ? MonthStart(index) : YearStart(1970 + index);
}

std::string_view TimeUnitWord(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return "seconds";
    case TimeUnit::kMillis: return "milliseconds";
    case TimeUnit::kMicros: return "microseconds";
    case TimeUnit::kTicks100ns: return "steps of 100 nanoseconds";
    case TimeUnit::kNanos: return "nanoseconds";
  }
  return "ticks";
}

Status EventTimeOutOfRange(const TableSchema& schema, int64_t ticks) {
  const Bucketer bucketer(schema);
  std::string message = Concat({"the event time ", ticks, " is outside what column '",
      schema.columns[schema.time_column()].name, "' takes: ", TimeUnitWord(schema.time_unit),
      " since 1970 from ", bucketer.min_ticks(), " to ", bucketer.max_ticks()});
  // The unit in which the value falls into the years 1990 to 2100, if there is one.
  for (const TimeUnit unit :
       {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros, TimeUnit::kNanos}) {
    const int64_t seconds = FloorDiv(ticks, TicksPerSecond(unit));
    const int64_t year = seconds / 31'556'952 + 1970;
    if (unit != schema.time_unit && year >= 1990 && year <= 2100) {
      message += "; it looks like " + std::string(TimeUnitWord(unit));
    }
  }
  return Status::OutOfRange(std::move(message));
}

Result<BucketSpan> BucketOf(const TableSchema& schema, int64_t ticks) {
  const Bucketer bucketer(schema);
  if (!bucketer.InRange(ticks)) return EventTimeOutOfRange(schema, ticks);
  return bucketer.SpanOf(ticks);
}

int64_t NextBucketStart(const TableSchema& schema, int64_t start_s) {
  return Bucketer(schema).Next(start_s);
}

int64_t PreviousBucketStart(const TableSchema& schema, int64_t start_s) {
  return Bucketer(schema).Previous(start_s);
}

int64_t TicksFromSeconds(TimeUnit unit, int64_t seconds) {
  const int64_t ticks_per_s = TicksPerSecond(unit);
  if (seconds > kInt64Max / ticks_per_s) return kInt64Max;
  if (seconds < kInt64Min / ticks_per_s) return kInt64Min;
  return seconds * ticks_per_s;
}

}  // namespace cistern
