// cistern entities: whose rows a table holds.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/entity_text.h"
#include "tools/output.h"
#include "tools/record_printer.h"
#include "tools/value_cell.h"

namespace cistern::tool {
namespace {

struct EntitiesOptions {
  std::string store;
  std::string table;
  PrintChoice print;
};

Status Print(Engine* engine, const TableSchema& schema, const std::string& table,
             RecordPrinter* printer, const Output& output) {
  Status failed;
  const Status listed = engine->ListEntities(table, [&](const EntityKey& entity) {
    const Result<std::vector<std::string>> values = EntityValues(schema, entity);
    if (!values.ok()) {
      failed = values.status();
      return false;
    }
    std::vector<PrintCell> cells;
    for (size_t i = 0; i < values->size(); ++i) {
      cells.push_back(
          LiteralCell(schema.columns[schema.entity_columns[i]].type.kind, (*values)[i]));
    }
    printer->Row(cells);
    return !output.closed();
  });
  return failed.ok() ? listed : failed;
}

int RunEntities(const EntitiesOptions& options) {
  const Result<PrintFormat> format = options.print.Chosen();
  if (!format.ok()) return FailUsage(format.status());
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead);
  if (!engine.ok()) return FailOpen(engine.status());
  const auto schema = (*engine)->FindTable(options.table);
  if (!schema.ok()) return FailUsage(schema.status());
  std::vector<PrintColumn> columns;
  for (const size_t column : (*schema)->entity_columns) {
    columns.push_back(PrintColumnOf(**schema, column, *format));
  }
  Output output(STDOUT_FILENO);
  const auto printer = RecordPrinter::New(*format, std::move(columns), &output);
  const Status s = Print(engine->get(), **schema, options.table, printer.get(), output);
  if (!output.closed()) printer->Finish();
  output.Flush();
  if (!s.ok()) return Fail(s);
  return output.status().ok() ? kExitOk : Fail(output.status());
}

}  // namespace

void AddEntities(CLI::App* app, Action* action) {
  auto options = std::make_shared<EntitiesOptions>();
  CLI::App* command = app->add_subcommand("entities", "Print the entities of a table");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Table, or keyspace.table")->required();
  AddPrintOptions(command, &options->print);
  command->footer("\nIn the order of their keys, in which scan --all-entities has them too. An "
                  "entity whose rows\nare all deleted or expired is there until its buckets "
                  "are.\n\nExample:\n  cistern entities --store S --table air");
  command->callback([options, action] { *action = [options] { return RunEntities(*options); }; });
}

}  // namespace cistern::tool
