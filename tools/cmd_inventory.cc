// cistern tables, buckets: what a store holds.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "tools/command.h"
#include "tools/output.h"
#include "tools/record_printer.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct TablesOptions {
  std::string store;
  bool cql = false;
};

struct BucketsOptions {
  std::string store;
  std::string table;
  std::string entity;
  std::string format = "table";
};

int RunTables(const TablesOptions& options) {
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead);
  if (!engine.ok()) return FailOpen(engine.status());
  Output output(STDOUT_FILENO);
  for (const auto& table : (*engine)->ListTables()) {
    const std::string name =
        table->keyspace.empty() ? table->name : table->keyspace + "." + table->name;
    output.Write(options.cql ? table->ToCql() + "\n" : name + "\n");
  }
  output.Flush();
  return output.status().ok() ? static_cast<int>(kExitOk) : Fail(output.status());
}

const std::vector<PrintColumn> kBucketColumns = {
    {"table", false},   {"entity", false}, {"bucket", false}, {"split", true},
    {"state", false},   {"rows", true},    {"segments", true}, {"bytes", true},
    {"seals", true},    {"seal", true},
    {"start", false},   {"first", false},  {"last", false}};

// Prints one line for each bucket that the filters let through.
class BucketPrinter {
 public:
  BucketPrinter(Engine* engine, PrintFormat format, Output* output)
      : printer_(RecordPrinter::New(format, kBucketColumns, output)) {
    for (const auto& table : engine->ListTables()) units_[table->name] = table->time_unit;
  }

  void Print(const BucketInfo& bucket) {
    const auto unit = units_.find(bucket.table.substr(bucket.table.find('.') + 1));
    const TimeUnit ticks = unit == units_.end() ? TimeUnit::kMillis : unit->second;
    const std::string texts[] = {bucket.table,
                                 bucket.entity,
                                 bucket.bucket,
                                 fmt::format("{}", bucket.split),
                                 bucket.state,
                                 fmt::format("{}", bucket.versions),
                                 fmt::format("{}", bucket.segments),
                                 fmt::format("{}", bucket.bytes),
                                 fmt::format("{}", bucket.seals),
                                 fmt::format("{}", bucket.seal_sequence),
                                 FormatTicks(bucket.bucket_start, ticks),
                                 FormatTicks(bucket.first_time, ticks),
                                 FormatTicks(bucket.last_time, ticks)};
    std::vector<PrintCell> cells;
    for (size_t i = 0; i < kBucketColumns.size(); ++i) {
      cells.push_back({texts[i], false, kBucketColumns[i].right});
    }
    printer_->Row(cells);
  }
  void Finish() { printer_->Finish(); }

 private:
  std::unique_ptr<RecordPrinter> printer_;
  std::map<std::string, TimeUnit> units_;
};

int RunBuckets(const BucketsOptions& options) {
  const Result<PrintFormat> format = ParsePrintFormat(options.format);
  if (!format.ok()) return FailUsage(format.status());
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead);
  if (!engine.ok()) return FailOpen(engine.status());
  std::string table;
  if (!options.table.empty()) {
    const auto schema = (*engine)->FindTable(options.table);
    if (!schema.ok()) return FailUsage(schema.status());
    table = (*schema)->name;
  }
  Output output(STDOUT_FILENO);
  BucketPrinter printer(engine->get(), *format, &output);
  const Status s = (*engine)->ListBuckets([&](const BucketInfo& bucket) {
    const bool wanted =
        (table.empty() || bucket.table == table || bucket.table.ends_with("." + table)) &&
        (options.entity.empty() || bucket.entity == options.entity);
    if (wanted) printer.Print(bucket);
    return !output.closed();
  });
  if (!output.closed()) printer.Finish();
  output.Flush();
  if (!s.ok()) return Fail(s);
  return output.status().ok() ? static_cast<int>(kExitOk) : Fail(output.status());
}

}  // namespace

void AddTables(CLI::App* app, Action* action) {
  auto options = std::make_shared<TablesOptions>();
  CLI::App* command = app->add_subcommand("tables", "Print the tables of the store");
  command->add_option("--store", options->store, "Directory of the store")->required();
  command->add_flag("--cql", options->cql, "As CREATE TABLE text");
  command->footer("\nExample:\n  cistern tables --store S --cql >schema.cql");
  command->callback([options, action] { *action = [options] { return RunTables(*options); }; });
}

void AddBuckets(CLI::App* app, Action* action) {
  auto options = std::make_shared<BucketsOptions>();
  CLI::App* command =
      app->add_subcommand("buckets", "Print the buckets with their state, rows, bytes and bounds");
  command->add_option("--store", options->store, "Directory of the store")->required();
  command->add_option("--table", options->table, "Of this table alone");
  command->add_option("--entity", options->entity, "Of this entity alone, as buckets prints it");
  command->add_option("--format", options->format, "table (default), csv or jsonl");
  command->footer("\nRows are row versions: an overwritten row counts until its versions are "
                  "merged.\n\nExample:\n  cistern buckets --store S --table air --entity Dongsi");
  command->callback([options, action] { *action = [options] { return RunBuckets(*options); }; });
}

}  // namespace cistern::tool
