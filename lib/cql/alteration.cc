#include "lib/cql/alteration.h"

#include <string>

#include "lib/cql/bucket_rule.h"

namespace cistern {
namespace {

Status Impossible(const TableSchema& table, const std::string& what) {
  return Status::InvalidArgument("table " + table.name + " cannot be altered so: " + what);
}

std::string Names(const TableSchema& table, const std::vector<size_t>& columns) {
  std::string names;
  for (const size_t c : columns) names += (names.empty() ? "" : ", ") + table.columns[c].name;
  return "(" + names + ")";
}

// One of the two parts of the primary key: names, their order, types and directions.
Status CheckKey(const TableSchema& was, const std::vector<size_t>& was_key,
                const TableSchema& next, const std::vector<size_t>& next_key,
                const std::string& part) {
  const std::string was_names = Names(was, was_key);
  const std::string next_names = Names(next, next_key);
  if (was_names != next_names) {
    return Impossible(was, "its " + part + " key is " + was_names + ", not " + next_names +
                               "; key columns stay, with their names and their order, as rows are "
                               "found by them. Create another table");
  }
  for (size_t i = 0; i < was_key.size(); ++i) {
    const ColumnSpec& old_column = was.columns[was_key[i]];
    const ColumnSpec& new_column = next.columns[next_key[i]];
    if (old_column.type != new_column.type) {
      return Impossible(was, "the key column '" + old_column.name + "' is " +
                                 old_column.type.ToCql() + ", not " + new_column.type.ToCql());
    }
    if (old_column.role != new_column.role) {
      return Impossible(was, "the key column '" + old_column.name +
                                 "' would become another part of the rule in the comment");
    }
    if (old_column.descending != new_column.descending) {
      return Impossible(was, "the clustering order of '" + old_column.name +
                                 "' is kept on disk: it stays " +
                                 (old_column.descending ? "DESC" : "ASC"));
    }
  }
  return Status::Ok();
}

// Rules that held stay as they are; others may follow them.
Status CheckBucketRules(const TableSchema& was, const TableSchema& next) {
  std::vector<FormerBucketRule> held = next.former_buckets;
  const bool follows = next.former_buckets.size() > was.former_buckets.size();
  if (follows) held.resize(was.former_buckets.size());
  const BucketRule& then =
      follows ? next.former_buckets[was.former_buckets.size()].rule : next.bucket;
  if (held == was.former_buckets && then == was.bucket) return Status::Ok();
  return Impossible(was, "the bucket rule says in which partition a row is, here and upstream; by "
                         "another one rows that are there would be looked for where they are not. "
                         "Rules that held stay, and another one may follow from a date on: "
                         "'bucket " + was.columns[was.bucket_column].name + " = " +
                             WidthText(was.bucket) + " until 2030-01-01, 1 day'");
}

Status CheckRule(const TableSchema& was, const TableSchema& next) {
  if (was.time_unit != next.time_unit) {
    return Impossible(was, "the unit of the event time '" + was.columns[was.time_column()].name +
                               "' would give its rows other times");
  }
  const auto elsewhere = [&was](const std::string& rule) {
    return Impossible(was, "the " + rule + " rule says in which partition a row is, here and "
                           "upstream; by another one rows that are there would be looked for where "
                           "they are not. Create another table");
  };
  if (was.split != next.split) return elsewhere("split");
  return CheckBucketRules(was, next);
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
      const ColumnType& type = (*version)->columns[*found].type;
      if (type == column.type) break;
      if (version == before.rbegin()) {
        return Impossible(was, "the column '" + column.name + "' is " + type.ToCql() + ", not " +
                                   column.type.ToCql() +
                                   ": drop it, and add one of another name");
      }
      return Impossible(was, "the column '" + column.name + "' was dropped, and it was " +
                                 type.ToCql() + ": added again it has that type, not " +
                                 column.type.ToCql() + "; use another name");
    }
  }
  return Status::Ok();
}

}  // namespace

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
  if (next.former_buckets.size() == was.former_buckets.size()) return std::nullopt;
  return next.former_buckets[was.former_buckets.size()].until_s;
}

}  // namespace cistern
