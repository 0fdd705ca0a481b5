// cistern create: declares the tables of a file of CREATE TABLE statements.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "tools/command.h"
#include "tools/engine_options.h"
#include "tools/expect_options.h"
#include "tools/schema_file.h"
#include "tools/table_advice.h"

namespace cistern::tool {
namespace {

struct CreateOptions {
  std::string store;
  std::string schema;
  ExpectOptions expect;
  bool json = false;
};

// The names of those that are there, whatever they are declared as.
std::set<std::string> FindThere(const Engine& engine, const Tables& tables) {
  std::set<std::string> there;
  for (const auto& table : tables) {
    if (engine.FindTable(table->QualifiedName()).ok()) there.insert(table->QualifiedName());
  }
  return there;
}

// First those that exist, which creates nothing: one that differs stops all the others.
Status CreateAll(Engine* engine, Tables tables, const std::set<std::string>& there) {
  std::stable_partition(tables.begin(), tables.end(), [&there](const auto& table) {
    return there.contains(table->QualifiedName());
  });
  for (const auto& table : tables) CISTERN_RETURN_IF_ERROR(engine->CreateTable(table->ToCql()));
  return Status::Ok();
}

// Before there are rows, as most of it is not to be changed then.
void TellAdvice(const TableSchema& table, const TableExpectation& expected) {
  for (const TableAdvice& advice : AdviseTable(table, table.compaction, expected)) {
    Complain(AdviceText(table.QualifiedName(), advice));
  }
}

int RunCreate(const CreateOptions& options) {
  // Before the store is touched: a wrong schema must not leave an empty store behind.
  const Result<Tables> tables = ReadSchemaFile(options.schema);
  if (!tables.ok()) return FailUsage(tables.status());
  const Result<TableExpectation> expected = PlanExpectation(options.expect);
  if (!expected.ok()) return FailUsage(expected.status());
  Result<std::unique_ptr<Engine>> engine =
      OpenStore(options.store, Access::kCreate, OnlyAsAsked());
  if (!engine.ok()) return FailOpen(engine.status());
  const std::set<std::string> there = FindThere(**engine, *tables);
  if (const Status s = CreateAll(engine->get(), *tables, there); !s.ok()) return Fail(s);
  if (const Status s = (*engine)->Close(); !s.ok()) return Fail(s);
  std::string lines;
  for (const auto& table : *tables) {
    const std::string name = table->QualifiedName();
    const bool is_there = there.contains(name);
    if (!is_there) TellAdvice(*table, *expected);
    const std::string& bucket_column = table->columns[table->bucket_column].name;
    lines += lines.empty() ? "" : "\n";
    lines += options.json
                 ? JsonLine().Text("table", name).Text("store", options.store)
                       .Truth("there_already", is_there).Text("bucket_column", bucket_column)
                       .object()
                 : fmt::format("table {} in {}: {}buckets by {}", name, options.store,
                               is_there ? "there already, " : "", bucket_column);
  }
  return Say(lines);
}

}  // namespace

void AddCreate(CLI::App* app, Action* action) {
  auto options = std::make_shared<CreateOptions>();
  CLI::App* command = app->add_subcommand("create", "Declare tables by CREATE TABLE text; makes "
                                                    "the store if there is none");
  AddStoreOption(command, &options->store);
  command->add_option("--schema", options->schema, "File with CREATE TABLE statements, a ; between")
      ->required();
  AddExpectOptions(command, &options->expect);
  AddJsonOption(command, &options->json);
  command->footer("\nExamples:\n  cistern create --store /data/cistern --schema air.cql\n"
                  "  cistern tables --store OLD --cql >all.cql\n"
                  "  cistern create --store NEW --schema all.cql\n"
                  "  cistern create --store S --schema air.cql --repair-interval 7d "
                  "--rows-per-day 86400\n\n"
                  "Every statement is checked before the first table is created. A table that "
                  "exists and is equal\nis left as it is; one that differs is an error: "
                  "cistern alter changes a table.\nWhere compaction, gc_grace_seconds or the width "
                  "of the buckets will cost the cluster\nroom or rows, that is told on standard "
                  "error with the clause to declare instead.");
  command->callback([options, action] { *action = [options] { return RunCreate(*options); }; });
}

}  // namespace cistern::tool
