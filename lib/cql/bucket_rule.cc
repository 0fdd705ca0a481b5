#include "lib/cql/bucket_rule.h"

#include <array>

#include "lib/base/civil_time.h"
#include "lib/base/concat.h"
#include "lib/cql/comment_rule.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/time_text.h"

namespace cistern {
namespace {

constexpr int64_t kDaySeconds = 86'400;
constexpr int64_t kWidthSecondsMax = 366 * kDaySeconds;
// An int counting n seconds since 1970 reaches the year 2200 from this n on.
constexpr uint32_t kIntEpochSecondsMin = 4;

bool IsBelowDay(BucketUnit unit) {
  return unit == BucketUnit::kSecond || unit == BucketUnit::kMinute || unit == BucketUnit::kHour;
}

std::string WidthText(BucketUnit unit, uint32_t count) {
  return Concat({count, " ", BucketUnitWord(unit), (count == 1 ? "" : "s")});
}

std::string_view FormWord(BucketEncoding form) {
  switch (form) {
    case BucketEncoding::kDate: return "date";
    case BucketEncoding::kTimestamp: return "timestamp";
    case BucketEncoding::kText: return "text";
    case BucketEncoding::kCalendarNumber: return "calendar";
    case BucketEncoding::kSinceEpoch: return "epoch";
  }
  return "";
}

Status CheckWidth(BucketUnit unit, uint32_t count) {
  if (!IsBelowDay(unit)) {
    if (count == 1) return Status::Ok();
    return Status::InvalidArgument(Concat({"a bucket is one ", BucketUnitWord(unit), ", not ",
        count, "; only seconds, minutes and hours are counted"}));
  }
  if (count > kWidthSecondsMax / FixedUnitSeconds(unit)) {
    return Status::InvalidArgument(Concat({"a bucket of ", WidthText(unit, count),
        " is wider than 366 days"}));
  }
  return Status::Ok();
}

// Forms that write a date and a time of day number their buckets within the day.
Status CheckDividesDay(BucketUnit unit, uint32_t count, std::string_view form) {
  if (!IsBelowDay(unit) || kDaySeconds % (FixedUnitSeconds(unit) * count) == 0) return Status::Ok();
  return Status::InvalidArgument(Concat({WidthText(unit, count), " do not divide a day, so a "
      "bucket written ", "as ", form, " has no fixed start in it; use a width ",
      "that does, or a timestamp or 'as epoch'"}));
}

Result<BucketEncoding> NumberForm(CqlType type, BucketUnit unit, uint32_t count,
                                  std::optional<BucketEncoding> form) {
  const bool below_day = IsBelowDay(unit);
  if (!form.has_value()) {
    if (unit == BucketUnit::kYear) return BucketEncoding::kCalendarNumber;
    const bool calendar_fits =
        !below_day || (type == CqlType::kBigint && CheckDividesDay(unit, count, "calendar").ok());
    if (!calendar_fits) {
      form = BucketEncoding::kSinceEpoch;
    } else {
      return Status::InvalidArgument(Concat({"a number can hold the ", BucketUnitWord(unit),
          " in two ways; add 'as calendar' (digits of the date, such as 20240115) or 'as epoch' "
          "(count since 1970)"}));
    }
  }
  if (form == BucketEncoding::kCalendarNumber) {
    if (below_day && type == CqlType::kInt) {
      return Status::InvalidArgument(Concat({BucketUnitWord(unit), "s written as calendar (such "
          "as 2024011514) do not fit an int; use a bigint or 'as epoch'"}));
    }
    CISTERN_RETURN_IF_ERROR(CheckDividesDay(unit, count, "calendar"));
  } else if (type == CqlType::kInt && unit == BucketUnit::kSecond && count < kIntEpochSecondsMin) {
    return Status::InvalidArgument(Concat({"an int cannot count ", WidthText(unit, count),
        " since 1970 up to the year 2200; use a bigint"}));
  }
  return *form;
}

// A width that a name tells of.
struct NamedWidth {
  BucketUnit unit = BucketUnit::kDay;
  uint32_t count = 1;
};

std::optional<BucketUnit> UnitOfWord(std::string_view word, bool is_counted) {
  struct Known {
    std::string_view word;
    BucketUnit unit;
  };
  // One letter alone is a unit behind a number only: a column `s` counts no seconds.
  constexpr std::array<Known, 3> kLetters = {
      {{"s", BucketUnit::kSecond}, {"h", BucketUnit::kHour}, {"d", BucketUnit::kDay}}};
  constexpr std::array<Known, 21> kWords = {{
      {"sec", BucketUnit::kSecond},   {"second", BucketUnit::kSecond},
      {"min", BucketUnit::kMinute},   {"minute", BucketUnit::kMinute},
      {"hr", BucketUnit::kHour},      {"hour", BucketUnit::kHour},
      {"hourly", BucketUnit::kHour},  {"day", BucketUnit::kDay},
      {"date", BucketUnit::kDay},     {"daily", BucketUnit::kDay},
      {"week", BucketUnit::kIsoWeek}, {"weekly", BucketUnit::kIsoWeek},
      {"wk", BucketUnit::kIsoWeek},   {"month", BucketUnit::kMonth},
      {"monthly", BucketUnit::kMonth}, {"mon", BucketUnit::kMonth},
      {"yyyymm", BucketUnit::kMonth}, {"yearmonth", BucketUnit::kMonth},
      {"year", BucketUnit::kYear},    {"yearly", BucketUnit::kYear},
      {"yr", BucketUnit::kYear},
  }};
  for (const Known& known : kLetters) {
    if (is_counted && known.word == word) return known.unit;
  }
  for (const Known& known : kWords) {
    if (known.word == word) return known.unit;
    if (word.ends_with('s') && known.word == word.substr(0, word.size() - 1)) return known.unit;
  }
  return std::nullopt;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "10min" of bucket_10min, "month" of event_month: the last that is one.
std::optional<NamedWidth> WidthInName(std::string_view name) {
  std::optional<NamedWidth> found;
  uint32_t count = 0;  // of digits before the word at hand; 0: there are none
  for (size_t at = 0; at < name.size();) {
    const size_t begin = at;
    if (IsDigit(name[at])) {
      uint32_t number = 0;
      for (; at < name.size() && IsDigit(name[at]); ++at) {
        number = number > 100'000 ? number : number * 10 + static_cast<uint32_t>(name[at] - '0');
      }
      count = number;
      continue;
    }
    std::string word;
    for (; at < name.size() && !IsDigit(name[at]) && name[at] != '_'; ++at) {
      const bool is_upper = name[at] >= 'A' && name[at] <= 'Z';
      word += is_upper ? static_cast<char>(name[at] - 'A' + 'a') : name[at];
    }
    if (at == begin) {
      ++at;  // the '_'
      continue;
    }
    const auto unit = UnitOfWord(word, count > 0);
    if (unit) found = NamedWidth{*unit, count == 0 ? 1 : count};
    count = 0;
  }
  return found;
}

// What has to stand behind the width for a column of the type; nothing: the type cannot hold it.
std::optional<std::string> FormThatFits(CqlType type, const NamedWidth& width) {
  if (MakeBucketRule(type, width.unit, width.count, std::nullopt).ok()) return std::string();
  for (const BucketEncoding form : {BucketEncoding::kCalendarNumber, BucketEncoding::kSinceEpoch}) {
    if (!MakeBucketRule(type, width.unit, width.count, form).ok()) continue;
    return " as " + std::string(FormWord(form));
  }
  return std::nullopt;
}

}  // namespace

bool IsBucketType(CqlType type) {
  return type == CqlType::kDate || type == CqlType::kTimestamp || type == CqlType::kText ||
         type == CqlType::kAscii || type == CqlType::kInt || type == CqlType::kBigint;
}

int64_t FixedUnitSeconds(BucketUnit unit) {
  switch (unit) {
    case BucketUnit::kSecond: return 1;
    case BucketUnit::kMinute: return 60;
    case BucketUnit::kHour: return 3'600;
    case BucketUnit::kDay: return kDaySeconds;
    case BucketUnit::kIsoWeek: return 7 * kDaySeconds;
    case BucketUnit::kMonth:
    case BucketUnit::kYear: return 0;
  }
  return 0;
}

bool IsBucketStart(const BucketRule& rule, int64_t s) {
  constexpr int64_t kMondayS = -3 * kSecondsPerDay;  // 1969-12-29
  if (const int64_t unit_s = FixedUnitSeconds(rule.unit); unit_s != 0) {
    const int64_t anchor_s = rule.unit == BucketUnit::kIsoWeek ? kMondayS : 0;
    return FloorMod(s - anchor_s, unit_s * rule.count) == 0;
  }
  if (FloorMod(s, kSecondsPerDay) != 0) return false;
  const CivilDate date = CivilFromDays(FloorDiv(s, kSecondsPerDay));
  return date.day == 1 && (rule.unit == BucketUnit::kMonth || date.month == 1);
}

std::string WidthText(const BucketRule& rule) {
  return WidthText(rule.unit, rule.count);
}

std::string BucketRuleText(const TableSchema& schema) {
  const ColumnSpec& column = schema.columns[schema.bucket_column];
  const bool is_number = column.type.kind == CqlType::kInt || column.type.kind == CqlType::kBigint;
  const auto width = [is_number](const BucketRule& rule) {
    return WidthText(rule) + (is_number ? " as " + std::string(FormWord(rule.encoding)) : "");
  };
  std::string text = QuoteName(column.name) + " = ";
  for (const FormerBucketRule& former : schema.former_buckets) {
    text += width(former.rule) + " until ";
    FormatDateText(FloorDiv(former.until_s, kDaySeconds), &text);
    text += ", ";
  }
  return text + width(schema.bucket);
}

Result<BucketRule> MakeBucketRule(CqlType type, BucketUnit unit, uint32_t count,
                                  std::optional<BucketEncoding> form) {
  const std::string type_name(CqlTypeName(type));
  if (!IsBucketType(type)) {
    return Status::InvalidArgument(Concat({"a bucket column is a date, timestamp, text, int or "
        "bigint, not a ", type_name}));
  }
  CISTERN_RETURN_IF_ERROR(CheckWidth(unit, count));
  if (type == CqlType::kInt || type == CqlType::kBigint) {
    if (form.has_value() && form != BucketEncoding::kCalendarNumber &&
        form != BucketEncoding::kSinceEpoch) {
      return Status::InvalidArgument(Concat({"'as ", FormWord(*form), "' does not suit a ",
          type_name, "; write 'as calendar' or 'as epoch'"}));
    }
    CISTERN_ASSIGN_OR_RETURN(const BucketEncoding chosen, NumberForm(type, unit, count, form));
    return BucketRule{unit, count, chosen};
  }
  BucketEncoding own = BucketEncoding::kText;
  if (type == CqlType::kDate) own = BucketEncoding::kDate;
  if (type == CqlType::kTimestamp) own = BucketEncoding::kTimestamp;
  if (form.has_value() && *form != own) {
    return Status::InvalidArgument(Concat({"'as ", FormWord(*form), "' does not suit a ",
        type_name}));
  }
  if (own == BucketEncoding::kDate && IsBelowDay(unit)) {
    return Status::InvalidArgument(Concat({"a date cannot hold the start of a bucket of ",
        WidthText(unit, count), "; use a timestamp"}));
  }
  if (own == BucketEncoding::kText) CISTERN_RETURN_IF_ERROR(CheckDividesDay(unit, count, "text"));
  return BucketRule{unit, count, own};
}

std::optional<BucketRule> InferBucketRule(CqlType type, std::string_view column_name) {
  const size_t cut = column_name.rfind('_');
  const std::string_view word =
      cut == std::string_view::npos ? column_name : column_name.substr(cut + 1);
  struct Known {
    CqlType type;
    std::string_view word;
    BucketRule rule;
  };
  // No week: weeks that begin on a Sunday are kept in dates too. No text: it has many spellings.
  constexpr std::array<Known, 11> kKnown = {{
      {CqlType::kDate, "day", {BucketUnit::kDay, 1, BucketEncoding::kDate}},
      {CqlType::kDate, "date", {BucketUnit::kDay, 1, BucketEncoding::kDate}},
      {CqlType::kDate, "month", {BucketUnit::kMonth, 1, BucketEncoding::kDate}},
      {CqlType::kDate, "year", {BucketUnit::kYear, 1, BucketEncoding::kDate}},
      {CqlType::kTimestamp, "minute", {BucketUnit::kMinute, 1, BucketEncoding::kTimestamp}},
      {CqlType::kTimestamp, "hour", {BucketUnit::kHour, 1, BucketEncoding::kTimestamp}},
      {CqlType::kTimestamp, "day", {BucketUnit::kDay, 1, BucketEncoding::kTimestamp}},
      {CqlType::kTimestamp, "month", {BucketUnit::kMonth, 1, BucketEncoding::kTimestamp}},
      {CqlType::kTimestamp, "year", {BucketUnit::kYear, 1, BucketEncoding::kTimestamp}},
      {CqlType::kInt, "year", {BucketUnit::kYear, 1, BucketEncoding::kCalendarNumber}},
      {CqlType::kBigint, "year", {BucketUnit::kYear, 1, BucketEncoding::kCalendarNumber}},
  }};
  for (const Known& known : kKnown) {
    if (known.type == type && known.word == word) return known.rule;
  }
  return std::nullopt;
}

std::string ExampleClause(CqlType type, std::string_view column_name) {
  std::optional<NamedWidth> width = WidthInName(column_name);
  std::string form;
  if (width) {
    const std::optional<std::string> fitting = FormThatFits(type, *width);
    if (!fitting) width.reset();
    form = fitting.value_or("");
  }
  if (!width) {
    width = {type == CqlType::kTimestamp ? BucketUnit::kHour : BucketUnit::kDay, 1};
    form = FormThatFits(type, *width).value_or("");
  }
  return Concat({"bucket ", QuoteName(column_name), " = ", WidthText(width->unit, width->count),
      form});
}

}  // namespace cistern
