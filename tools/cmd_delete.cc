// cistern delete: one row, a range of event times, or a whole bucket of an entity.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <optional>
#include <set>

#include "tools/cell_text.h"
#include "tools/command.h"
#include "tools/engine_options.h"
#include "tools/entity_text.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr uint64_t kRowsOfOneTimeMax = 100'000;  // that are counted

struct DeleteOptions {
  std::string store;
  std::string table;
  std::vector<std::string> entity;
  std::string at;
  std::vector<std::string> keys;  // NAME=VALUE
  std::string from;
  std::string to;
  std::string bucket;
  std::string bucket_of;
  std::string durability = "synced";
  bool json = false;
};

constexpr char kFooter[] = R"(
Examples:
  cistern delete --store S --table air --entity Dongsi --at 2016-12-01T05:00
  cistern delete --store S --table traffic --entity state=MN,station=ATR301 \
      --at 2016-12-01T05:00 --key weather_description='light snow'
  cistern delete --store S --table air --entity Dongsi --from 2016-12-01 --to 2016-12-02
  cistern delete --store S --table air --entity Dongsi --bucket 2016-12

Rows that are written later live, whatever their event time.)";

Status SetKey(const TableSchema& schema, const std::string& pair, std::set<size_t>* given,
              RowBatch* batch) {
  const size_t split = pair.find('=');
  if (split == std::string::npos) {
    return Status::InvalidArgument(fmt::format("--key '{}' is not NAME=VALUE", pair));
  }
  const std::string_view name = std::string_view(pair).substr(0, split);
  const std::optional<size_t> column = schema.FindColumn(name);
  if (!column || schema.columns[*column].role != ColumnRole::kClustering) {
    std::string known;
    for (const size_t c : schema.clustering_columns) {
      if (c != schema.time_column()) known += (known.empty() ? "" : ", ") + schema.columns[c].name;
    }
    return Status::InvalidArgument(fmt::format(
        "--key: '{}' is no clustering column of table {}; beside the event time it has {}", name,
        schema.QualifiedName(), known.empty() ? "none" : known));
  }
  if (!given->insert(*column).second) {
    return Status::InvalidArgument(fmt::format("--key: '{}' is given twice", name));
  }
  return SetCellFromText(*column, std::string_view(pair).substr(split + 1), {}, batch);
}

// The event time of --at, which is a bound like any other where it is no timeuuid.
Status SetAt(const TableSchema& schema, const std::string& at, RowBatch* batch) {
  const size_t column = schema.time_column();
  if (schema.columns[column].type.lane() != Lane::kFixed) {
    return SetCellFromText(column, at, {}, batch);
  }
  CISTERN_ASSIGN_OR_RETURN(
      const int64_t ticks,
      ParseBound("--at", at, schema.time_unit, SystemClock()->WallMicros()));
  return batch->SetInt(column, ticks);
}

// Rows of the range, counted up to `limit`; nullopt if that cannot be told. A page that cannot be
// read must not keep anybody from deleting.
std::optional<uint64_t> CountRows(Engine* engine, const std::string& table,
                                  const EntityKey& entity, TimeRange range, uint64_t limit) {
  auto cursor = engine->Scan(
      {.table = table, .entity = entity, .from = range.from, .to = range.to, .limit = limit});
  uint64_t rows = 0;
  ResultBatch batch;
  while (cursor.ok() && (*cursor)->Next(&batch)) rows += batch.row_count;
  if (!cursor.ok() || !(*cursor)->status().ok()) return std::nullopt;
  return rows;
}

// Whether a deletion met rows, as far as that can be told: true in doubt.
using Met = bool;

Result<Met> DeleteRow(Engine* engine, const std::shared_ptr<const TableSchema>& schema,
                      const DeleteOptions& options, const WriteOptions& write) {
  RowBatch batch(schema);
  batch.BeginRow(RowKind::kDeleteRow);
  CISTERN_ASSIGN_OR_RETURN(const std::vector<std::string> values,
                           SplitEntity(*schema, options.entity));
  for (size_t i = 0; i < values.size(); ++i) {
    CISTERN_RETURN_IF_ERROR(SetCellFromText(schema->entity_columns[i], values[i], {}, &batch));
  }
  CISTERN_RETURN_IF_ERROR(SetAt(*schema, options.at, &batch));
  std::set<size_t> given;
  for (const std::string& pair : options.keys) {
    CISTERN_RETURN_IF_ERROR(SetKey(*schema, pair, &given, &batch));
  }
  CISTERN_RETURN_IF_ERROR(batch.EndRow());
  // Rows of one time differ in their further key: one less is there if it was there.
  CISTERN_ASSIGN_OR_RETURN(const EntityKey entity, ParseEntity(*schema, options.entity));
  const int64_t time = RowTime(batch, 0);
  const auto count = [&]() -> std::optional<uint64_t> {
    if (time == INT64_MAX) return std::nullopt;
    return CountRows(engine, options.table, entity, {time, time + 1}, kRowsOfOneTimeMax);
  };
  const std::optional<uint64_t> before = count();
  CISTERN_RETURN_IF_ERROR(engine->Append(batch, write).status());
  return !before || *before == kRowsOfOneTimeMax || before != count();
}

Result<Met> Delete(Engine* engine, const std::shared_ptr<const TableSchema>& schema,
                   const DeleteOptions& options, const WriteOptions& write) {
  if (!options.at.empty()) return DeleteRow(engine, schema, options, write);
  CISTERN_ASSIGN_OR_RETURN(const EntityKey entity, ParseEntity(*schema, options.entity));
  const int64_t now_us = SystemClock()->WallMicros();
  if (!options.bucket.empty() || !options.bucket_of.empty()) {
    int64_t time = 0;
    if (!options.bucket.empty()) {
      CISTERN_ASSIGN_OR_RETURN(time, TimeOfBucket(*schema, options.bucket));
    } else {
      CISTERN_ASSIGN_OR_RETURN(time,
                               ParseBound("--bucket-of", options.bucket_of, schema->time_unit,
                                          now_us));
    }
    const TimeRange range = RangeOfBucket(*schema, time);
    const Met met = CountRows(engine, options.table, entity, range, 1) != 0;
    CISTERN_RETURN_IF_ERROR(engine->DeleteBucket(options.table, entity, time, write).status());
    return met;
  }
  CISTERN_ASSIGN_OR_RETURN(const int64_t from,
                           ParseBound("--from", options.from, schema->time_unit, now_us));
  CISTERN_ASSIGN_OR_RETURN(const int64_t to,
                           ParseBound("--to", options.to, schema->time_unit, now_us));
  if (from >= to) {
    return Status::InvalidArgument("--from must be before --to, which is not included");
  }
  const Met met = CountRows(engine, options.table, entity, {from, to}, 1) != 0;
  CISTERN_RETURN_IF_ERROR(
      engine->DeleteRange(options.table, entity, {from, to}, write).status());
  return met;
}

std::string Describe(const TableSchema& schema, const DeleteOptions& options) {
  std::string entity;
  for (const std::string& part : options.entity) entity += (entity.empty() ? "" : ",") + part;
  std::string what;
  if (!options.from.empty()) {
    what = fmt::format("the rows from {} on and before {}", options.from, options.to);
  }
  if (!options.at.empty()) what = fmt::format("the row at {}", options.at);
  for (const std::string& key : options.keys) what += ", " + key;
  if (!options.bucket.empty()) what = fmt::format("the bucket {}", options.bucket);
  if (!options.bucket_of.empty()) what = fmt::format("the bucket of {}", options.bucket_of);
  return fmt::format("deleted in {}: {} of {}", schema.QualifiedName(), what, entity);
}

// Whether it is said what to delete, once, and nothing else with it: what would be passed over
// must not look as if it narrowed a deletion.
Status CheckWhat(const DeleteOptions& options) {
  const bool range = !options.from.empty() || !options.to.empty();
  const int ways = !options.at.empty() + range + !options.bucket.empty() +
                   !options.bucket_of.empty();
  if (ways != 1 || (range && (options.from.empty() || options.to.empty()))) {
    return Status::InvalidArgument(
        "say what to delete by one of --at, --from with --to, --bucket, --bucket-of");
  }
  if (options.at.empty() && !options.keys.empty()) {
    return Status::InvalidArgument(
        "--key goes with --at alone: a range of event times and a bucket are deleted with every "
        "row in them; delete single rows by --at with --key");
  }
  return Status::Ok();
}

int RunDelete(const DeleteOptions& options) {
  if (const Status s = CheckWhat(options); !s.ok()) return FailUsage(s);
  WriteOptions write;
  const Result<Durability> durability = ParseDurability(options.durability);
  if (!durability.ok()) return FailUsage(durability.status());
  write.durability = *durability;
  Result<std::unique_ptr<Engine>> engine =
      OpenStore(options.store, Access::kWrite, OnlyAsAsked());
  if (!engine.ok()) return FailOpen(engine.status());
  const auto schema = (*engine)->FindTable(options.table);
  if (!schema.ok()) return FailUsage(schema.status());
  const Result<Met> met = Delete(engine->get(), *schema, options, write);
  const Status closed = (*engine)->Close();
  if (!met.ok()) return Fail(met.status());
  if (!closed.ok()) return Fail(closed);
  const char* nothing =
      "; no row was there, and a tombstone was written wherever rows may be upstream";
  const std::string done = Describe(**schema, options);
  return SayResult(options.json, done + (*met ? "" : nothing),
                   JsonLine().Text("table", (*schema)->QualifiedName()).Text("deleted", done)
                       .Truth("met_rows", *met));
}

}  // namespace

void AddDelete(CLI::App* app, Action* action) {
  auto options = std::make_shared<DeleteOptions>();
  CLI::App* command = app->add_subcommand("delete", "Delete a row, a range or a bucket");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Table, or keyspace.table")->required();
  command->add_option("--entity", options->entity, "As for scan")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--at", options->at, "The row with this event time");
  command->add_option("--key", options->keys,
                      "NAME=VALUE of each further clustering column, with --at (repeatable)")
      ->allow_extra_args(false);
  command->add_option("--from", options->from, "First event time of a range");
  command->add_option("--to", options->to, "End of the range, not included");
  command->add_option("--bucket", options->bucket,
                      "The bucket whose column has this value: 2016-12");
  command->add_option("--bucket-of", options->bucket_of, "The bucket that holds this event time");
  command->add_option("--durability", options->durability, "synced (default), log or memory");
  AddJsonOption(command, &options->json);
  command->footer(kFooter);
  command->callback([options, action] { *action = [options] { return RunDelete(*options); }; });
}

}  // namespace cistern::tool
