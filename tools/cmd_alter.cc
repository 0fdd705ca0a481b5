// cistern alter: changes what a table is declared as.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "lib/cql/bucket_rule.h"
#include "tools/command.h"
#include "tools/engine_options.h"
#include "tools/record_printer.h"
#include "tools/schema_file.h"

namespace cistern::tool {
namespace {

struct AlterOptions {
  std::string store;
  std::string table;
  std::string schema;
  bool json = false;
};

using TablePtr = std::shared_ptr<const TableSchema>;

// The statement of the file that is about the table.
Result<TablePtr> ChooseStatement(const Tables& tables, const TableSchema& table,
                                 const std::string& path) {
  for (const TablePtr& declared : tables) {
    if (declared->QualifiedName() == table.QualifiedName()) return declared;
  }
  return Status::InvalidArgument(
      fmt::format("{} declares {}{}, not {}: give the whole CREATE TABLE text of the table as it "
                  "is to be",
                  path, tables.front()->QualifiedName(),
                  tables.size() > 1 ? fmt::format(" and {} more", tables.size() - 1) : "",
                  table.QualifiedName()));
}

// The regular columns of `a` that `b` does not have: "level, note".
std::string ColumnsOnlyIn(const TableSchema& a, const TableSchema& b) {
  std::string names;
  for (const size_t c : a.regular_columns) {
    if (b.FindColumn(a.columns[c].name)) continue;
    names += (names.empty() ? "" : ", ") + a.columns[c].name;
  }
  return names;
}

// On one line, whatever is in it.
std::string Quoted(const std::string& text) {
  std::string quoted;
  AppendJsonString(text, &quoted);
  return text.empty() ? "none" : quoted;
}

// "class=TimeWindowCompactionStrategy, compaction_window_size=1".
std::string MapText(const std::map<std::string, std::string>& map) {
  std::string text;
  for (const auto& [key, value] : map) {
    text += (text.empty() ? "" : ", ") + key + "=" + value;
  }
  return text.empty() ? "none" : text;
}

// "added level; dropped n".
std::string WhatChanged(const TableSchema& was, const TableSchema& is) {
  if (was.ToCql() == is.ToCql()) return "as it was";
  std::string changes;
  const auto add = [&changes](const std::string& change) {
    changes += (changes.empty() ? "" : "; ") + change;
  };
  const std::string added = ColumnsOnlyIn(is, was);
  const std::string dropped = ColumnsOnlyIn(was, is);
  if (!added.empty()) add("added " + added);
  if (!dropped.empty()) add("dropped " + dropped);
  if (was.default_ttl_s != is.default_ttl_s) {
    add(fmt::format("time to live {} s for later writes, was {} s", is.default_ttl_s,
                    was.default_ttl_s));
  }
  if (was.gc_grace_s != is.gc_grace_s) {
    add(fmt::format("gc_grace_seconds {}, was {}", is.gc_grace_s, was.gc_grace_s));
  }
  const std::string rule = BucketRuleText(is);
  const bool has_other_rule = rule != BucketRuleText(was);
  if (has_other_rule) add("bucket " + rule);
  for (const auto& [name, before, after] :
       {std::tuple("compaction", MapText(was.compaction), MapText(is.compaction)),
        // The rule rides in the comment: once said is enough.
        std::tuple("comment", has_other_rule ? "" : Quoted(was.comment),
                   has_other_rule ? "" : Quoted(is.comment)),
        std::tuple("other options", MapText(was.other_options), MapText(is.other_options))}) {
    if (before != after) add(fmt::format("{} {}, was {}", name, after, before));
  }
  return changes.empty() ? "changed" : changes;  // the order of columns
}

int RunAlter(const AlterOptions& options) {
  const Result<Tables> tables = ReadSchemaFile(options.schema);
  if (!tables.ok()) return FailUsage(tables.status());
  Result<std::unique_ptr<Engine>> engine =
      OpenStore(options.store, Access::kWrite, OnlyAsAsked());
  if (!engine.ok()) return FailOpen(engine.status());
  const Result<TablePtr> was = (*engine)->FindTable(options.table);
  if (!was.ok()) return FailUsage(was.status());
  const Result<TablePtr> is = ChooseStatement(*tables, **was, options.schema);
  if (!is.ok()) return FailUsage(is.status());
  if (const Status s = (*engine)->AlterTable((*is)->ToCql()); !s.ok()) return Fail(s);
  if (const Status s = (*engine)->Close(); !s.ok()) return Fail(s);
  const std::string name = (*is)->QualifiedName();
  const std::string changes = WhatChanged(**was, **is);
  return SayResult(options.json, fmt::format("table {} in {}: {}", name, options.store, changes),
                   JsonLine().Text("table", name).Text("store", options.store)
                       .Text("changes", changes));
}

}  // namespace

void AddAlter(CLI::App* app, Action* action) {
  auto options = std::make_shared<AlterOptions>();
  CLI::App* command = app->add_subcommand("alter", "Change a table: add and drop columns, change "
                                                   "its options or, from a date on, the width "
                                                   "of its buckets");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Table to change")->required();
  command->add_option("--schema", options->schema,
                      "File with the CREATE TABLE statement as it is to be")
      ->required();
  AddJsonOption(command, &options->json);
  command->footer("\nExamples:\n  cistern tables --store S --table air --cql >air.cql\n"
                  "  ... add and remove columns in air.cql ...\n"
                  "  cistern alter --store S --table air --schema air.cql\n\n"
                  "Rows that are there stay: they have no value in a column that is added, and "
                  "what a dropped one\nheld is not seen again. Keys and types do not change. "
                  "Another width of buckets\nfollows from a date on behind all rows: "
                  "'bucket day = 1 day until 2030-01-01, 1 month'; until\nthere are rows from it "
                  "on it can be changed again (docs/schema.md).");
  command->callback([options, action] { *action = [options] { return RunAlter(*options); }; });
}

}  // namespace cistern::tool
