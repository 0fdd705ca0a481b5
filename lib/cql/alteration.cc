#include "lib/cql/alteration.h"

#include <algorithm>

#include "cistern/limits.h"
#include "lib/base/civil_time.h"
#include "lib/base/concat.h"
#include "lib/cql/bucket_rule.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/time_text.h"

namespace cistern {
namespace {

std::string Names(const TableSchema& table, const std::vector<size_t>& columns) {
  std::string names;
  for (const size_t c : columns) names += (names.empty() ? "" : ", ") + table.columns[c].name;
  return Concat({"(", names, ")"});
}

// One of the two parts of the primary key: names, their order, types and directions.
Status CheckKey(const TableSchema& was, const std::vector<size_t>& was_key,
                const TableSchema& next, const std::vector<size_t>& next_key,
                const std::string& part) {
  const std::string was_names = Names(was, was_key);
  const std::string next_names = Names(next, next_key);
  if (was_names != next_names) {
    return Impossible(was, Concat({"its ", part, " key is ", was_names, ", not ", next_names,
        "; key columns stay, with their names and their order, as rows are found by them. Create "
        "another table"}));
  }
  for (size_t i = 0; i < was_key.size(); ++i) {
    const ColumnSpec& old_column = was.columns[was_key[i]];
    const ColumnSpec& new_column = next.columns[next_key[i]];
    if (old_column.type != new_column.type) {
      return Impossible(was, Concat({"the key column '", old_column.name, "' is ",
          old_column.type.ToCql(), ", not ", new_column.type.ToCql()}));
    }
    if (old_column.role != new_column.role) {
      return Impossible(was, Concat({"the key column '", old_column.name,
          "' would become another part of the rule in the comment"}));
    }
    if (old_column.descending != new_column.descending) {
      return Impossible(was, Concat({"the clustering order of '", old_column.name,
          "' is kept on disk: it stays ", (old_column.descending ? "DESC" : "ASC")}));
    }
  }
  return Status::Ok();
}

Status CheckRule(const TableSchema& was, const TableSchema& next) {
  if (was.time_unit != next.time_unit) {
    return Impossible(was, Concat({"the unit of the event time '",
        was.columns[was.time_column()].name, "' would give its rows other times"}));
  }
  if (was.timestamps != next.timestamps) {
    return Impossible(was,
                      "which of two versions of a row wins is decided by their timestamps, and "
                      "those that were sent upstream stay as they are. Create another table");
  }
  if (was.split != next.split) {
    return Impossible(was, "the split rule says in which partition a row is, here and upstream; by "
                           "another one rows that are there would be looked for where they are "
                           "not. Create another table");
  }
  return Status::Ok();
}

// A column keeps the type that its name had last, as in Cassandra: cells of it may be anywhere.
Status CheckColumns(const std::vector<std::shared_ptr<const TableSchema>>& before,
                    const TableSchema& next) {
  const TableSchema& was = *before.back();
  for (const size_t c : next.regular_columns) {
    const ColumnSpec& column = next.columns[c];
    for (auto version = before.rbegin(); version != before.rend(); ++version) {
      const auto found = (*version)->FindColumn(column.name);
      if (!found) continue;
      const ColumnSpec& before_it = (*version)->columns[*found];
      if (before_it.is_static != column.is_static) {
        return Impossible(was, Concat({"the column '", column.name, "' ",
            (column.is_static ? "was not static, and cannot become it"
                              : "was static, and stays it under this name"),
            ": use another name"}));
      }
      const ColumnType& type = before_it.type;
      if (FitsInto(type, column.type)) break;
      if (version == before.rbegin()) {
        const bool is_user_type = type.ToCql() == column.type.ToCql();
        return Impossible(was, Concat({"the column '", column.name, "' is ", type.ToCql(),
            (is_user_type ? ", whose type may get fields behind those that it has, and no other"
                          : ", not "),
            (is_user_type ? std::string() : column.type.ToCql()),
            ": drop it, and add one of another name"}));
      }
      return Impossible(was, Concat({"the column '", column.name, "' was dropped, and it was ",
          type.ToCql(), ": added again it has that type, not ", column.type.ToCql(),
          "; use another name"}));
    }
  }
  return Status::Ok();
}

// `was` with the rules of `next` from `date_s` on. REQUIRES: another rule holds there.
TableSchema Spliced(const TableSchema& was, const TableSchema& next, int64_t date_s) {
  TableSchema out = was;
  std::erase_if(out.former_buckets,
                [date_s](const FormerBucketRule& f) { return f.until_s >= date_s; });
  out.former_buckets.push_back({was.BucketRuleAt(date_s - 1), date_s});
  for (const FormerBucketRule& f : next.former_buckets) {
    if (f.until_s > date_s) out.former_buckets.push_back(f);
  }
  out.bucket = next.bucket;
  return out;
}

}  // namespace

Status Impossible(const TableSchema& table, const std::string& what) {
  return Status::InvalidArgument(Concat({"table ", table.QualifiedName(),
      " cannot be altered so: ", what}));
}

Status CheckAlteration(const std::vector<std::shared_ptr<const TableSchema>>& before,
                       const TableSchema& next) {
  const TableSchema& was = *before.back();
  CISTERN_RETURN_IF_ERROR(
      CheckKey(was, was.partition_key, next, next.partition_key, "partition"));
  CISTERN_RETURN_IF_ERROR(
      CheckKey(was, was.clustering_columns, next, next.clustering_columns, "clustering"));
  CISTERN_RETURN_IF_ERROR(CheckRule(was, next));
  return CheckColumns(before, next);
}

std::optional<int64_t> BucketsChangeFrom(const TableSchema& was, const TableSchema& next) {
  std::vector<int64_t> begins = {INT64_MIN};  // of the rules of both
  for (const TableSchema* schema : {&was, &next}) {
    for (const FormerBucketRule& f : schema->former_buckets) begins.push_back(f.until_s);
  }
  std::sort(begins.begin(), begins.end());
  const auto differs = std::find_if(begins.begin(), begins.end(), [&](int64_t s) {
    return was.BucketRuleAt(s) != next.BucketRuleAt(s);
  });
  return differs == begins.end() ? std::nullopt : std::optional(*differs);
}

std::optional<LaterRules> FirstChangeFrom(const TableSchema& was, const TableSchema& next,
                                          int64_t from_s) {
  if (was.bucket.encoding == BucketEncoding::kSinceEpoch ||
      next.bucket.encoding == BucketEncoding::kSinceEpoch) {
    return std::nullopt;  // such a rule neither follows another one nor is followed
  }
  const int64_t first_day = FloorDiv(from_s + kSecondsPerDay - 1, kSecondsPerDay);
  for (int64_t s = first_day * kSecondsPerDay; s <= limits::kEventSecondsMax; s += kSecondsPerDay) {
    const BucketRule& before = was.BucketRuleAt(s - 1);
    const BucketRule& then = next.BucketRuleAt(s);
    if (before == then || !IsBucketStart(before, s) || !IsBucketStart(then, s)) continue;
    const TableSchema rules = Spliced(was, next, s);
    if (rules.former_buckets.size() >= limits::kBucketRulesMax) return std::nullopt;
    LaterRules later;
    FormatDateText(s / kSecondsPerDay, &later.date);
    later.clause = "bucket " + BucketRuleText(rules);
    return later;
  }
  return std::nullopt;
}

}  // namespace cistern
