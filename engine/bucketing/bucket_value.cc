#include "engine/bucketing/bucket_value.h"

#include <array>
#include <optional>
#include <string>

#include "engine/bucketing/bucketer.h"
#include "lib/base/civil_time.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/value_text.h"

namespace cistern {
namespace {

// The parts of a bucket's start, as far as its unit goes. Text and calendar numbers write
// them one after the other: 2024-01-15-14 and 2024011514.
struct Parts {
  int64_t year = 1970;
  int64_t month = 1;
  int64_t week = 0;
  int64_t day = 1;
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
};

// Which two-digit parts follow the year, first to last.
using PartOf = int64_t Parts::*;
struct PartList {
  std::array<PartOf, 5> parts;
  size_t count;
};

PartList PartsAfterYear(BucketUnit unit) {
  constexpr std::array<PartOf, 5> kAll = {&Parts::month, &Parts::day, &Parts::hour, &Parts::minute,
                                          &Parts::second};
  switch (unit) {
    case BucketUnit::kYear: return {kAll, 0};
    case BucketUnit::kMonth: return {kAll, 1};
    case BucketUnit::kDay: return {kAll, 2};
    case BucketUnit::kHour: return {kAll, 3};
    case BucketUnit::kMinute: return {kAll, 4};
    case BucketUnit::kSecond: return {kAll, 5};
    case BucketUnit::kIsoWeek: return {{&Parts::week}, 1};
  }
  return {kAll, 0};
}

Parts PartsOf(BucketUnit unit, int64_t start_s) {
  const int64_t days = FloorDiv(start_s, kSecondsPerDay);
  const int64_t of_day = FloorMod(start_s, kSecondsPerDay);
  Parts parts;
  if (unit == BucketUnit::kIsoWeek) {
    const IsoWeek week = IsoWeekFromDays(days);
    parts.year = week.year;
    parts.week = week.week;
    return parts;
  }
  const CivilDate date = CivilFromDays(days);
  parts.year = date.year;
  parts.month = date.month;
  parts.day = date.day;
  parts.hour = of_day / 3600;
  parts.minute = of_day / 60 % 60;
  parts.second = of_day % 60;
  return parts;
}

// nullopt where the parts are no date or time of the calendar.
std::optional<int64_t> StartOfParts(BucketUnit unit, const Parts& parts) {
  if (parts.year < 1 || parts.year > 9999) return std::nullopt;
  if (unit == BucketUnit::kIsoWeek) {
    if (parts.week < 1 || parts.week > IsoWeeksInYear(parts.year)) return std::nullopt;
    return DaysFromIsoWeek(parts.year, static_cast<uint32_t>(parts.week)) * kSecondsPerDay;
  }
  if (!IsValidDate(parts.year, parts.month, parts.day)) return std::nullopt;
  if (parts.hour > 23 || parts.minute > 59 || parts.second > 59) return std::nullopt;
  const int64_t days = DaysFromCivil(parts.year, static_cast<uint32_t>(parts.month),
                                     static_cast<uint32_t>(parts.day));
  return days * kSecondsPerDay + parts.hour * 3600 + parts.minute * 60 + parts.second;
}

void AppendDigits(int64_t value, size_t digits, std::string* out) {
  const std::string text = std::to_string(value);
  if (text.size() < digits) out->append(digits - text.size(), '0');
  out->append(text);
}

std::string TextOf(BucketUnit unit, int64_t start_s) {
  const Parts parts = PartsOf(unit, start_s);
  const PartList list = PartsAfterYear(unit);
  std::string text;
  AppendDigits(parts.year, 4, &text);
  for (size_t i = 0; i < list.count; ++i) {
    text += unit == BucketUnit::kIsoWeek ? "-W" : "-";
    AppendDigits(parts.*list.parts[i], 2, &text);
  }
  return text;
}

std::optional<int64_t> TakeDigits(std::string_view* text, size_t digits) {
  if (text->size() < digits) return std::nullopt;
  int64_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char c = (*text)[i];
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text->remove_prefix(digits);
  return value;
}

std::optional<int64_t> StartOfText(BucketUnit unit, std::string_view text) {
  Parts parts;
  const auto year = TakeDigits(&text, 4);
  if (!year.has_value()) return std::nullopt;
  parts.year = *year;
  const std::string_view separator = unit == BucketUnit::kIsoWeek ? "-W" : "-";
  const PartList list = PartsAfterYear(unit);
  for (size_t i = 0; i < list.count; ++i) {
    if (!text.starts_with(separator)) return std::nullopt;
    text.remove_prefix(separator.size());
    const auto value = TakeDigits(&text, 2);
    if (!value.has_value()) return std::nullopt;
    parts.*list.parts[i] = *value;
  }
  return text.empty() ? StartOfParts(unit, parts) : std::nullopt;
}

int64_t CalendarNumberOf(BucketUnit unit, int64_t start_s) {
  const Parts parts = PartsOf(unit, start_s);
  const PartList list = PartsAfterYear(unit);
  int64_t number = parts.year;
  for (size_t i = 0; i < list.count; ++i) number = number * 100 + parts.*list.parts[i];
  return number;
}

std::optional<int64_t> StartOfCalendarNumber(BucketUnit unit, int64_t number) {
  if (number < 0) return std::nullopt;
  Parts parts;
  const PartList list = PartsAfterYear(unit);
  for (size_t i = list.count; i-- > 0;) {
    parts.*list.parts[i] = number % 100;
    number /= 100;
  }
  parts.year = number;
  return StartOfParts(unit, parts);
}

std::optional<int64_t> StartOf(const BucketRule& rule, const CellValue& value) {
  const BucketUnit unit = rule.unit;
  switch (rule.encoding) {
    case BucketEncoding::kDate:
      if (value.fixed < kDaysMin || value.fixed > kDaysMax) return std::nullopt;
      return value.fixed * kSecondsPerDay;
    case BucketEncoding::kTimestamp:
      if (value.fixed % 1000 != 0) return std::nullopt;
      return value.fixed / 1000;
    case BucketEncoding::kText: return StartOfText(unit, value.bytes);
    case BucketEncoding::kCalendarNumber: return StartOfCalendarNumber(unit, value.fixed);
    case BucketEncoding::kSinceEpoch: break;
  }
  return std::nullopt;
}

// By the rule that holds where the bucket then is; nothing: it is none of any rule.
std::optional<int64_t> StartOf(const TableSchema& schema, const CellValue& value) {
  for (const FormerBucketRule& former : schema.former_buckets) {
    const std::optional<int64_t> start_s = StartOf(former.rule, value);
    if (start_s && &schema.BucketRuleAt(*start_s) == &former.rule) return start_s;
  }
  const std::optional<int64_t> start_s = StartOf(schema.bucket, value);
  if (start_s && &schema.BucketRuleAt(*start_s) == &schema.bucket) return start_s;
  return std::nullopt;
}

std::string ValueText(const TableSchema& schema, const CellValue& value) {
  std::string text;
  FormatValueText(schema.columns[schema.bucket_column].type, value.fixed, value.bytes, &text);
  return ShowText(text);
}

Status NotInRange(const TableSchema& schema) {
  return Status::OutOfRange(Concat({"the bucket in column '",
      schema.columns[schema.bucket_column].name, "' lies outside the event times that the table "
      "takes"}));
}

}  // namespace

CellValue BucketValue(const TableSchema& schema, int64_t start_s) {
  CellValue value;
  const BucketRule& rule = schema.BucketRuleAt(start_s);
  switch (rule.encoding) {
    case BucketEncoding::kDate: value.fixed = FloorDiv(start_s, kSecondsPerDay); break;
    case BucketEncoding::kTimestamp: value.fixed = start_s * 1000; break;
    case BucketEncoding::kText: value.bytes = TextOf(rule.unit, start_s); break;
    case BucketEncoding::kCalendarNumber:
      value.fixed = CalendarNumberOf(rule.unit, start_s);
      break;
    case BucketEncoding::kSinceEpoch: value.fixed = Bucketer(schema).IndexOf(start_s); break;
  }
  return value;
}

Result<int64_t> BucketStartFromValue(const TableSchema& schema, const CellValue& value) {
  const Bucketer bucketer(schema);
  if (schema.bucket.encoding == BucketEncoding::kSinceEpoch) {
    const int64_t first = bucketer.IndexOf(bucketer.min_s());
    const int64_t last = bucketer.IndexOf(bucketer.max_s());
    if (value.fixed < first || value.fixed > last) return NotInRange(schema);
    return bucketer.StartOfIndex(value.fixed);
  }
  const std::optional<int64_t> start_s = StartOf(schema, value);
  if (!start_s.has_value()) {
    constexpr int64_t kExampleS = 1'704'067'200;  // 2024-01-01
    return Status::InvalidArgument(Concat({ValueText(schema, value), " in column '",
        schema.columns[schema.bucket_column].name, "' is not a bucket of the table; one is ",
        ValueText(schema, BucketValue(schema, bucketer.StartOfSecond(kExampleS)))}));
  }
  if (*start_s < bucketer.StartOfSecond(bucketer.min_s()) || *start_s > bucketer.max_s()) {
    return NotInRange(schema);
  }
  if (bucketer.StartOfSecond(*start_s) != *start_s) {
    return Status::InvalidArgument(Concat({ValueText(schema, value), " in column '",
        schema.columns[schema.bucket_column].name, "' is not the start of a bucket; that is ",
        ValueText(schema, BucketValue(schema, bucketer.StartOfSecond(*start_s)))}));
  }
  return *start_s;
}

Result<int64_t> BucketStartFromText(const TableSchema& schema, std::string_view text) {
  CellValue value;
  const Status parsed = ParseValueText(schema.columns[schema.bucket_column].type, text, &value);
  if (!parsed.ok()) {
    return Status(parsed.code(), Concat({"bucket column '",
        schema.columns[schema.bucket_column].name, "': ", parsed.message()}));
  }
  return BucketStartFromValue(schema, value);
}

}  // namespace cistern
