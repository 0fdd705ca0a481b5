// cistern tables: what is declared in a store.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "lib/cql/bucket_rule.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/record_printer.h"

namespace cistern::tool {
namespace {

struct TablesOptions {
  std::string store;
  std::string table;
  PrintChoice print;
  bool cql = false;
};

std::string EntityText(const TableSchema& table) {
  std::string names;
  for (const size_t column : table.entity_columns) {
    names += (names.empty() ? "" : ", ") + table.columns[column].name;
  }
  return names;
}

std::string SplitText(const TableSchema& table) {
  return fmt::format("{} = {} {}", table.columns[*table.split_column].name,
                     table.split.kind == SplitKind::kHash ? "hash" : "round_robin",
                     table.split.count);
}

std::string_view UnitText(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return "s";
    case TimeUnit::kMillis: return "ms";
    case TimeUnit::kMicros: return "us";
    case TimeUnit::kTicks100ns: return "100 ns";
    case TimeUnit::kNanos: break;
  }
  return "ns";
}

// The machine formats have the whole text too.
void Print(const Tables& tables, PrintFormat format, Output* output) {
  std::vector<PrintColumn> columns = {{"table", false},  {"entity", false}, {"time", false},
                                      {"bucket", false}, {"split", false},  {"columns", true},
                                      {"ttl_s", true}};
  const bool whole = format != PrintFormat::kTable;
  if (whole) columns.push_back({"cql", false});
  const auto printer = RecordPrinter::New(format, std::move(columns), output);
  for (const auto& table : tables) {
    const std::string name = table->QualifiedName();
    const std::string entity = EntityText(*table);
    const std::string time =
        fmt::format("{} = {}", table->columns[table->time_column()].name,
                    UnitText(table->time_unit));
    const std::string bucket = BucketRuleText(*table);
    const std::string split = table->split_column ? SplitText(*table) : std::string();
    const std::string count = fmt::format("{}", table->columns.size());
    const std::string ttl = fmt::format("{}", table->default_ttl_s);
    const std::string cql = table->ToCql();
    std::vector<PrintCell> cells = {{name},
                                    {entity},
                                    {time},
                                    {bucket},
                                    {split, !table->split_column, false},
                                    {count, false, true},
                                    {ttl, table->default_ttl_s == 0, true}};
    if (whole) cells.push_back({cql});
    printer->Row(cells);
  }
  printer->Finish();
}

int RunTables(const TablesOptions& options) {
  const Result<PrintFormat> format = options.print.Chosen();
  if (!format.ok()) return FailUsage(format.status());
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead);
  if (!engine.ok()) return FailOpen(engine.status());
  const Result<Tables> tables = ChooseTables(**engine, options.table);
  if (!tables.ok()) return FailUsage(tables.status());
  Output output(STDOUT_FILENO);
  if (options.cql) {
    for (const auto& table : *tables) output.Write(table->ToCql() + "\n");
  } else {
    Print(*tables, *format, &output);
  }
  output.Flush();
  return output.status().ok() ? kExitOk : Fail(output.status());
}

}  // namespace

void AddTables(CLI::App* app, Action* action) {
  auto options = std::make_shared<TablesOptions>();
  CLI::App* command = app->add_subcommand("tables", "Print the tables of the store");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "This table alone");
  AddPrintOptions(command, &options->print);
  command->add_flag("--cql", options->cql, "As CREATE TABLE text, which create takes");
  command->footer("\nExamples:\n  cistern tables --store S --json\n"
                  "  cistern tables --store S --cql >schema.cql");
  command->callback([options, action, command] {
    for (const char* other : {"--format", "--json"}) {
      if (!options->cql || command->get_option(other)->count() == 0) continue;
      throw CLI::ValidationError(
          "--cql", fmt::format("prints CQL, whatever {} says: leave one out", other));
    }
    *action = [options] { return RunTables(*options); };
  });
}

}  // namespace cistern::tool
