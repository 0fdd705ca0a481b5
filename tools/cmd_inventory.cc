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
  std::string state;
  std::string from;
  std::string to;
  uint64_t limit = UINT64_MAX;
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

// Units of event times by table.
class TableUnits {
 public:
  explicit TableUnits(Engine* engine) {
    for (const auto& table : engine->ListTables()) units_[table->name] = table->time_unit;
  }
  [[nodiscard]] TimeUnit Of(const BucketInfo& bucket) const {
    const auto unit = units_.find(bucket.table);
    return unit == units_.end() ? TimeUnit::kMillis : unit->second;
  }

 private:
  std::map<std::string, TimeUnit> units_;
};

// Which buckets are wanted.
class BucketFilter {
 public:
  // `table` as it is named in the inventory; empty: all.
  BucketFilter(const BucketsOptions& options, std::string table, const TableUnits* units)
      : options_(options), table_(std::move(table)), units_(units) {}

  [[nodiscard]] Status Check() const {
    for (const std::string& time : {options_.from, options_.to}) {
      if (!time.empty()) CISTERN_RETURN_IF_ERROR(ParseTicks(time, TimeUnit::kMillis).status());
    }
    return Status::Ok();
  }
  [[nodiscard]] bool Wants(const BucketInfo& bucket) const {
    if (!table_.empty() && bucket.table != table_) return false;
    if (!options_.entity.empty() && bucket.entity != options_.entity) return false;
    if (!options_.state.empty() && bucket.state != options_.state) return false;
    const TimeUnit unit = units_->Of(bucket);
    return (options_.from.empty() || bucket.last_time >= TicksOf(options_.from, unit)) &&
           (options_.to.empty() || bucket.first_time < TicksOf(options_.to, unit));
  }

 private:
  // Times beyond what the unit can say are beyond every row.
  [[nodiscard]] static int64_t TicksOf(const std::string& text, TimeUnit unit) {
    const Result<int64_t> ticks = ParseTicks(text, unit);
    return ticks.ok() ? *ticks : INT64_MAX;
  }

  const BucketsOptions& options_;
  const std::string table_;
  const TableUnits* const units_;
};

// Prints one line for each bucket.
class BucketPrinter {
 public:
  BucketPrinter(const TableUnits* units, PrintFormat format, Output* output)
      : printer_(RecordPrinter::New(format, kBucketColumns, output)), units_(units) {}

  void Print(const BucketInfo& bucket) {
    const TimeUnit ticks = units_->Of(bucket);
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
  const TableUnits* const units_;
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
  const TableUnits units(engine->get());
  const BucketFilter filter(options, table, &units);
  if (const Status checked = filter.Check(); !checked.ok()) return FailUsage(checked);
  Output output(STDOUT_FILENO);
  BucketPrinter printer(&units, *format, &output);
  uint64_t left = options.limit;
  const Status s = (*engine)->ListBuckets([&](const BucketInfo& bucket) {
    if (!filter.Wants(bucket)) return !output.closed();
    printer.Print(bucket);
    return --left > 0 && !output.closed();
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
  command->add_option("--state", options->state, "In this state: open, sealed or quarantined")
      ->check(CLI::IsMember({"open", "sealed", "quarantined"}));
  command->add_option("--from", options->from, "With rows at this event time or later")
      ->check(NotEmpty());
  command->add_option("--to", options->to, "With rows before this event time")
      ->check(NotEmpty());
  command->add_option("--limit", options->limit, "At most this many (default: all)")
      ->check(WholeNumber(1, INT64_MAX));
  command->add_option("--format", options->format, "table (default), csv or jsonl");
  command->footer("\nRows are row versions: an overwritten row counts until its versions are "
                  "merged. A bucket is quarantined where the opening found a part of it "
                  "unreadable; verify reads every page.\n\nExamples:\n"
                  "  cistern buckets --store S --table air --entity Dongsi\n"
                  "  cistern buckets --store S --state open --to 2016-12-01");
  command->callback([options, action] { *action = [options] { return RunBuckets(*options); }; });
}

}  // namespace cistern::tool
