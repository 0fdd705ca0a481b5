#include "tools/table_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/cql/bucket_rule.h"
#include "lib/cql/comment_rule.h"
#include "lib/cql/ddl_print.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr int64_t kMinuteS = 60;
constexpr int64_t kHourS = 3'600;
constexpr int64_t kDayS = 86'400;

// Compaction windows within a time to live.
constexpr int64_t kWindowsSought = 30;
constexpr int64_t kWindowsMin = 10;
constexpr int64_t kWindowsMax = 50;
// Rows that live for ever leave a file for each window.
constexpr int64_t kEndlessWindowS = 30 * kDayS;
constexpr int64_t kEndlessWindowMinS = 7 * kDayS;
// A shorter life is not judged: no window of a minute divides it into ten parts.
constexpr int64_t kShortTtlS = kWindowsMin * kMinuteS;
constexpr int64_t kBucketsOfTtlMin = 4;
constexpr double kPartitionBytesMax = 100e6;
constexpr double kPartitionRowsMin = 100;

constexpr std::string_view kTimeWindow = "TimeWindowCompactionStrategy";
constexpr char kUnit[] = "compaction_window_unit";
constexpr char kSize[] = "compaction_window_size";

// Months and years have several lengths.
struct Width {
  int64_t min_s = 0;
  int64_t max_s = 0;
  [[nodiscard]] bool is_fixed() const { return min_s == max_s; }
  [[nodiscard]] double mean_s() const { return static_cast<double>(min_s + max_s) / 2; }
};

Width WidthOf(const BucketRule& rule) {
  const int64_t fixed_s = FixedUnitSeconds(rule.unit) * rule.count;
  if (fixed_s > 0) return {fixed_s, fixed_s};
  return rule.unit == BucketUnit::kMonth ? Width{28 * kDayS, 31 * kDayS}
                                         : Width{365 * kDayS, 366 * kDayS};
}

// Some that a column of the bucket's type and form can hold, the narrowest first.
std::vector<BucketRule> WidthsFor(const TableSchema& table) {
  const CqlType type = table.columns[table.bucket_column].type.kind;
  const bool is_number = type == CqlType::kInt || type == CqlType::kBigint;
  const auto form = is_number ? std::optional(table.bucket.encoding) : std::nullopt;
  std::vector<BucketRule> widths;
  for (const auto& [unit, count] :
       {std::pair(BucketUnit::kMinute, 1u), std::pair(BucketUnit::kMinute, 10u),
        std::pair(BucketUnit::kHour, 1u), std::pair(BucketUnit::kHour, 6u),
        std::pair(BucketUnit::kDay, 1u), std::pair(BucketUnit::kIsoWeek, 1u),
        std::pair(BucketUnit::kMonth, 1u), std::pair(BucketUnit::kYear, 1u)}) {
    const Result<BucketRule> rule = MakeBucketRule(type, unit, count, form);
    if (rule.ok()) widths.push_back(*rule);
  }
  return widths;
}

double FieldBytes(const ColumnType& type);

// The size of a value in a partition, about. A text is taken for some words, as is a collection.
double CellBytes(const ColumnType& type) {
  switch (type.kind) {
    case CqlType::kBoolean:
    case CqlType::kTinyint: return 1;
    case CqlType::kSmallint: return 2;
    case CqlType::kInt:
    case CqlType::kFloat:
    case CqlType::kDate: return 4;
    case CqlType::kBigint:
    case CqlType::kDouble:
    case CqlType::kTimestamp:
    case CqlType::kTime: return 8;
    case CqlType::kUuid:
    case CqlType::kTimeuuid:
    case CqlType::kInet:
    case CqlType::kDecimal:
    case CqlType::kVarint: return 16;
    case CqlType::kVector: return type.dimension * CellBytes(type.arguments.front());
    case CqlType::kTuple:
    case CqlType::kUserType: return FieldBytes(type);
    default: return 32;
  }
}

// Of a tuple or user-defined type, whose fields have their sizes before them.
double FieldBytes(const ColumnType& type) {
  constexpr double kSizeBytes = 4;
  double bytes = 0;
  for (const ColumnType& field : type.arguments) bytes += kSizeBytes + CellBytes(field);
  return bytes;
}

double RowBytes(const TableSchema& table) {
  constexpr double kRowBytes = 10;  // flags, sizes, timestamp
  constexpr double kCellBytes = 2;
  double bytes = kRowBytes;
  for (const auto* columns : {&table.clustering_columns, &table.regular_columns}) {
    for (const size_t c : *columns) bytes += kCellBytes + CellBytes(table.columns[c].type);
  }
  return bytes;
}

// The shortest that is wide enough and holds whole buckets.
int64_t FittingWindow(const Width& bucket, int64_t ttl_s) {
  const int64_t share_s =
      ttl_s == 0 ? kEndlessWindowS : (ttl_s + kWindowsSought - 1) / kWindowsSought;
  const int64_t need_s = std::max(share_s, bucket.max_s);
  const int64_t unit_s = need_s >= kDayS ? kDayS : need_s >= kHourS ? kHourS : kMinuteS;
  const int64_t least_s = (need_s + unit_s - 1) / unit_s * unit_s;
  if (!bucket.is_fixed()) return least_s;
  for (int64_t window_s = least_s; window_s <= 2 * least_s; window_s += unit_s) {
    if (window_s % bucket.min_s == 0) return window_s;
  }
  return least_s;  // of an odd width
}

std::string ShortClass(const CompactionMap& compaction) {
  const auto found = compaction.find("class");
  if (found == compaction.end()) return {};
  return found->second.substr(found->second.rfind('.') + 1);
}

// The window of TimeWindowCompactionStrategy: a day where the map says nothing.
int64_t WindowOf(const CompactionMap& compaction) {
  const auto unit = compaction.find(kUnit);
  const auto size = compaction.find(kSize);
  int64_t unit_s = kDayS;
  if (unit != compaction.end() && unit->second == "HOURS") unit_s = kHourS;
  if (unit != compaction.end() && unit->second == "MINUTES") unit_s = kMinuteS;
  int32_t count = 1;
  if (size != compaction.end()) {
    const std::string& text = size->second;
    std::from_chars(text.data(), text.data() + text.size(), count);
  }
  return unit_s * std::max(count, 1);
}

std::string ClauseOf(CompactionMap compaction, int64_t window_s) {
  const auto [word, unit_s] = window_s % kDayS == 0    ? std::pair("DAYS", kDayS)
                              : window_s % kHourS == 0 ? std::pair("HOURS", kHourS)
                                                       : std::pair("MINUTES", kMinuteS);
  compaction[kUnit] = word;
  compaction[kSize] = std::to_string(window_s / unit_s);
  std::string text;
  for (const auto& [key, value] : compaction) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", QuoteString(key), QuoteString(value));
  }
  return fmt::format("compaction = {{{}}}", text);
}

class Adviser {
 public:
  Adviser(const TableSchema& table, const CompactionMap& compaction,
          const TableExpectation& expected)
      : table_(table),
        compaction_(compaction),
        expected_(expected),
        ttl_s_(table.default_ttl_s),
        bucket_(table.bucket) {}

  std::vector<TableAdvice> Advise() {
    AdviseBucket();
    AdviseCompaction();
    AdviseGrace();
    return std::move(advice_);
  }

 private:
  // --- the width of the buckets
  [[nodiscard]] bool SuitsTtl(const BucketRule& rule) const {
    return ttl_s_ < kShortTtlS || WidthOf(rule).max_s * kBucketsOfTtlMin <= ttl_s_;
  }
  [[nodiscard]] double RowsOf(const BucketRule& rule) const {
    return static_cast<double>(expected_.rows_per_day) * WidthOf(rule).mean_s() /
           static_cast<double>(kDayS) / table_.split.count;
  }
  [[nodiscard]] bool IsSmallEnough(const BucketRule& rule) const {
    return RowsOf(rule) * RowBytes(table_) <= kPartitionBytesMax;
  }
  [[nodiscard]] bool IsLargeEnough(const BucketRule& rule) const {
    return expected_.rows_per_day == 0 || RowsOf(rule) >= kPartitionRowsMin;
  }

  // The one that is nearest to the declared one: narrower, or wider where that has too few rows.
  [[nodiscard]] std::optional<BucketRule> BetterBucket() const {
    const bool is_too_large = !SuitsTtl(table_.bucket) || !IsSmallEnough(table_.bucket);
    const int64_t declared_s = WidthOf(table_.bucket).max_s;
    std::optional<BucketRule> better;
    for (const BucketRule& rule : WidthsFor(table_)) {
      const int64_t width_s = WidthOf(rule).max_s;
      const bool is_meant = is_too_large ? width_s < declared_s : width_s > declared_s;
      if (!is_meant || !SuitsTtl(rule) || !IsSmallEnough(rule)) continue;
      if (!is_too_large && !IsLargeEnough(rule)) continue;
      better = rule;
      if (!is_too_large) break;
    }
    return better;
  }

  void AdviseBucket() {
    const std::string width = WidthText(table_.bucket);
    const double rows = RowsOf(table_.bucket);
    const std::optional<BucketRule> better = BetterBucket();
    std::string what;
    if (!SuitsTtl(table_.bucket)) {
      what = fmt::format("its buckets of {} are wider than a quarter of its time to live of {}, so "
                         "that what has expired stays with what has not",
                         width, FormatSpan(static_cast<uint64_t>(ttl_s_)));
      if (!better) what += "; a timestamp as bucket column has narrower ones";
    } else if (!IsSmallEnough(table_.bucket)) {
      what = fmt::format("a bucket of {} would have about {:.0f} rows and {:.0f} MB, where a "
                         "partition should stay below {:.0f} MB",
                         width, rows, rows * RowBytes(table_) / 1e6, kPartitionBytesMax / 1e6);
      if (!better) what += "; a split column would divide it";
    } else if (!IsLargeEnough(table_.bucket) && better) {
      what = fmt::format("a bucket of {} would have about {:.1f} rows, and a partition of so few "
                         "costs more than they do", width, rows);
    } else {
      return;
    }
    // Which of several widths is to be another one, and from when on, no clause can say.
    if (!better || !table_.former_buckets.empty()) return advice_.push_back({what, {}});
    bucket_ = *better;
    TableSchema altered = table_;
    altered.bucket = *better;
    altered.former_buckets.clear();
    altered.comment = WordsBeforeRule(table_.comment);
    advice_.push_back({what, "comment = " + QuoteString(CommentWithRule(altered))});
  }

  // --- compaction, for the buckets that are advised
  void AdviseCompaction() {
    const Width bucket = WidthOf(bucket_);
    const int64_t fitting_s = FittingWindow(bucket, ttl_s_);
    const bool is_declared = ShortClass(table_.compaction) == kTimeWindow;
    const CompactionMap kept =
        is_declared ? table_.compaction : CompactionMap{{"class", std::string(kTimeWindow)}};
    const std::string what = WrongCompaction(bucket, fitting_s);
    if (!what.empty()) advice_.push_back({what, ClauseOf(kept, fitting_s)});
  }

  [[nodiscard]] std::string WrongCompaction(const Width& bucket, int64_t fitting_s) const {
    const std::string name = ShortClass(compaction_);
    constexpr std::string_view kWhy =
        "rows of all times are written again and again, and what has expired leaves late";
    if (name.empty()) {
      return fmt::format("it says no compaction, and a cluster takes "
                         "SizeTieredCompactionStrategy as a rule: {}", kWhy);
    }
    if (name != kTimeWindow) {
      return fmt::format("its compaction is {}, not {}: {}", name, kTimeWindow, kWhy);
    }
    const int64_t window_s = WindowOf(compaction_);
    if (window_s == fitting_s) return {};
    const std::string window = FormatSpan(static_cast<uint64_t>(window_s));
    const bool holds_buckets =
        bucket.is_fixed() ? window_s % bucket.min_s == 0 : window_s >= bucket.min_s;
    if (!holds_buckets) {
      return fmt::format("its compaction window of {} holds no whole number of buckets of {}, so "
                         "that one bucket lies in the files of several windows",
                         window, WidthText(bucket_));
    }
    if (ttl_s_ == 0) {
      if (window_s >= kEndlessWindowMinS) return {};
      return fmt::format("its rows live for ever, and each compaction window of {} leaves a file "
                         "of its own", window);
    }
    const std::string ttl = FormatSpan(static_cast<uint64_t>(ttl_s_));
    const int64_t windows = ttl_s_ / window_s;
    if (windows > kWindowsMax) {
      return fmt::format("its time to live of {} is {} compaction windows of {}, each with a file "
                         "of its own", ttl, windows, window);
    }
    if (windows >= kWindowsMin) return {};
    return fmt::format("its compaction window of {} is a large part of its time to live of {}: "
                       "what has expired stays for as long", window, ttl);
  }

  // --- tombstones
  void AdviseGrace() {
    const int64_t interval_s = expected_.repair_interval_s;
    if (interval_s <= int64_t{table_.gc_grace_s}) return;
    // As Cassandra's default of ten days goes with a repair each week.
    const int64_t days = (interval_s * 10 + 7 * kDayS - 1) / (7 * kDayS);
    advice_.push_back(
        {fmt::format("its gc_grace_seconds are {}, shorter than the {} between two repairs: a node "
                     "that missed a delete may bring back what was deleted",
                     table_.gc_grace_s, FormatSpan(static_cast<uint64_t>(interval_s))),
         fmt::format("gc_grace_seconds = {}", days * kDayS)});
  }

  const TableSchema& table_;
  const CompactionMap& compaction_;
  const TableExpectation& expected_;
  const int64_t ttl_s_;
  BucketRule bucket_;  // as it is advised
  std::vector<TableAdvice> advice_;
};

}  // namespace

std::vector<TableAdvice> AdviseTable(const TableSchema& table, const CompactionMap& compaction,
                                     const TableExpectation& expected) {
  return Adviser(table, compaction, expected).Advise();
}

std::string AdviceText(const std::string& table, const TableAdvice& advice) {
  const std::string clause =
      advice.clause.empty() ? ""
                            : "; put this into its CREATE TABLE text: " + advice.clause;
  return fmt::format("table {}: {}{}", table, advice.what, clause);
}

}  // namespace cistern::tool
