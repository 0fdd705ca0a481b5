#include "tools/rule_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>

#include "engine/bucketing/bucket_value.h"
#include "engine/bucketing/bucketer.h"
#include "lib/cql/bucket_rule.h"
#include "lib/cql/comment_rule.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/value_text.h"
#include "lib/row/row_order.h"
#include "tools/table_import.h"

namespace cistern::tool {
namespace {

using replicate::ClusterColumn;
using replicate::ClusterSchema;

struct Width {
  BucketUnit unit;
  uint32_t count;
};

// Those that are in use, from narrow to wide.
constexpr Width kWidths[] = {
    {BucketUnit::kSecond, 1},  {BucketUnit::kSecond, 5},  {BucketUnit::kSecond, 10},
    {BucketUnit::kSecond, 15}, {BucketUnit::kSecond, 30}, {BucketUnit::kMinute, 1},
    {BucketUnit::kMinute, 2},  {BucketUnit::kMinute, 5},  {BucketUnit::kMinute, 10},
    {BucketUnit::kMinute, 15}, {BucketUnit::kMinute, 20}, {BucketUnit::kMinute, 30},
    {BucketUnit::kHour, 1},    {BucketUnit::kHour, 2},    {BucketUnit::kHour, 3},
    {BucketUnit::kHour, 4},    {BucketUnit::kHour, 6},    {BucketUnit::kHour, 8},
    {BucketUnit::kHour, 12},   {BucketUnit::kDay, 1},     {BucketUnit::kIsoWeek, 1},
    {BucketUnit::kMonth, 1},   {BucketUnit::kYear, 1},
};

// A rule that fits, with what makes it likely.
struct Candidate {
  std::string rule;
  bool is_named = false;  // by the column
  bool is_one = false;    // of its unit
  size_t place = 0;       // among the widths
};

int64_t TicksOf(const TableSchema& schema, const CellValue& time) {
  const CqlType kind = schema.columns[schema.time_column()].type.kind;
  return kind == CqlType::kTimeuuid ? TimeuuidTicks(time.bytes) : time.fixed;
}

// "hour" of event_hour; the whole of a name without a '_'.
std::string_view LastWord(std::string_view name) {
  const size_t cut = name.rfind('_');
  return cut == std::string_view::npos ? name : name.substr(cut + 1);
}

bool IsNamedBy(std::string_view column, BucketUnit unit) {
  const std::string_view word = LastWord(column);
  return word == BucketUnitWord(unit) || (unit == BucketUnit::kDay && word == "date");
}

// "time ts = us" for each unit that a bigint may count; one empty clause for other types.
std::vector<std::string> TimeClauses(const ClusterColumn& time) {
  if (time.type->kind != CqlType::kBigint) return {""};
  std::vector<std::string> clauses;
  for (const char* unit : {"ms", "us", "s", "ns"}) {
    clauses.push_back(fmt::format("; time {} = {}", QuoteName(time.name), unit));
  }
  return clauses;
}

// What may stand after the width of a bucket in such a column.
std::vector<std::string> Forms(CqlType kind) {
  if (kind == CqlType::kInt || kind == CqlType::kBigint) return {" as calendar", " as epoch"};
  return {""};
}

std::optional<BucketEncoding> EncodingOf(std::string_view form) {
  if (form.empty()) return std::nullopt;
  return form == " as epoch" ? BucketEncoding::kSinceEpoch : BucketEncoding::kCalendarNumber;
}

void AddFitting(const ClusterSchema& cluster, const ClusterColumn& column,
                const std::vector<PartitionSample>& samples, std::vector<Candidate>* found) {
  const CqlType kind = column.type->kind;
  for (size_t place = 0; place < std::size(kWidths); ++place) {
    const Width& width = kWidths[place];
    for (const std::string& form : Forms(kind)) {
      if (!MakeBucketRule(kind, width.unit, width.count, EncodingOf(form)).ok()) continue;
      for (const std::string& time : TimeClauses(cluster.table->clustering.front())) {
        const std::string rule =
            fmt::format("bucket {} = {} {}{}{}{}", QuoteName(column.name), width.count,
                        BucketUnitWord(width.unit), width.count == 1 ? "" : "s", form, time);
        const auto schema = DeclareWith(cluster, "cistern: " + rule);
        if (!schema.ok() || !Fits(**schema, samples)) continue;
        found->push_back({rule, IsNamedBy(column.name, width.unit), width.count == 1, place});
      }
    }
  }
}

}  // namespace

SampleQueries MakeSampleQueries(const ClusterSchema& cluster, uint32_t partitions_max) {
  const replicate::ClusterTable& table = *cluster.table;
  const std::string time = QuoteName(table.clustering.front().name);
  std::string columns;
  std::string key;
  for (const ClusterColumn& column : table.partition_key) {
    columns += QuoteName(column.name) + ", ";
    key += fmt::format("{}{} = ?", key.empty() ? "" : " AND ", QuoteName(column.name));
  }
  return {fmt::format("SELECT {}{} FROM {} PER PARTITION LIMIT 1 LIMIT {}", columns, time,
                      cluster.CqlName(), partitions_max),
          fmt::format("SELECT {} FROM {} WHERE {} ORDER BY {} {} LIMIT 1", time, cluster.CqlName(),
                      key, time, table.clustering.front().descending ? "ASC" : "DESC")};
}

std::optional<PartitionSample> TakeSample(const replicate::ClusterTable& table,
                                          const SampleRow& row) {
  const size_t width = table.partition_key.size();
  if (row.size() != width + 1) return std::nullopt;
  PartitionSample sample;
  for (size_t i = 0; i < width; ++i) {
    CellValue& value = sample.key.emplace_back();
    if (!row[i] || !ParseWireValue(*table.partition_key[i].type, *row[i], &value).ok()) {
      return std::nullopt;
    }
  }
  AddTime(table, {row.back()}, &sample);
  if (sample.times.empty()) return std::nullopt;
  return sample;
}

void AddTime(const replicate::ClusterTable& table, const SampleRow& row, PartitionSample* sample) {
  CellValue time;
  if (row.size() != 1 || !row[0]) return;
  if (!ParseWireValue(*table.clustering.front().type, *row[0], &time).ok()) return;
  std::vector<CellValue>& times = sample->times;
  if (std::find(times.begin(), times.end(), time) == times.end()) times.push_back(std::move(time));
}

bool Fits(const TableSchema& schema, const std::vector<PartitionSample>& samples) {
  const Bucketer bucketer(schema);
  const auto found = std::find(schema.partition_key.begin(), schema.partition_key.end(),
                               schema.bucket_column);
  const auto place = static_cast<size_t>(found - schema.partition_key.begin());
  for (const PartitionSample& sample : samples) {
    for (const CellValue& time : sample.times) {
      const int64_t ticks = TicksOf(schema, time);
      if (!bucketer.InRange(ticks)) return false;
      if (BucketValue(schema, bucketer.StartOf(ticks)) != sample.key[place]) return false;
    }
  }
  return true;
}

std::vector<std::string> FittingRules(const ClusterSchema& cluster,
                                      const std::vector<PartitionSample>& samples) {
  std::vector<Candidate> found;
  const std::vector<ClusterColumn>& key = cluster.table->partition_key;
  if (cluster.table->clustering.empty()) return {};
  // The bucket stands last in most keys.
  for (auto column = key.rbegin(); column != key.rend(); ++column) {
    if (IsBucketType(column->type->kind)) AddFitting(cluster, *column, samples, &found);
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(!a.is_named, !a.is_one, a.place) <
           std::tuple(!b.is_named, !b.is_one, b.place);
  });
  std::vector<std::string> rules;
  for (Candidate& one : found) rules.push_back(std::move(one.rule));
  return rules;
}

std::string Shown(const replicate::ClusterTable& table, const PartitionSample& sample) {
  std::string text;
  const auto add = [&text](const ClusterColumn& column, const CellValue& value) {
    std::string literal;
    FormatValueText(*column.type, value.fixed, value.bytes, &literal);
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", replicate::Printable(column.name),
                        replicate::Printable(literal.substr(0, 80)));
  };
  for (size_t i = 0; i < sample.key.size(); ++i) add(table.partition_key[i], sample.key[i]);
  add(table.clustering.front(), sample.times.front());
  return text;
}

}  // namespace cistern::tool
