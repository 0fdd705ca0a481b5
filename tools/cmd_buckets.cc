// cistern buckets: what a store holds of each bucket.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "lib/base/nearest_name.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/entity_text.h"
#include "tools/output.h"
#include "tools/record_printer.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct BucketsOptions {
  std::string store;
  std::string table;
  std::string entity;
  std::string state;
  std::string from;
  std::string to;
  uint64_t limit = UINT64_MAX;
  PrintChoice print;
};

struct BucketColumn {
  PrintColumn column;
  bool shown = true;
};

// The machine formats have every column. A table for people leaves out what was asked for and is
// the same on every line, and what tells nothing: splits where no table has any, the sequence of
// the last seal, and starts unless the buckets are mere numbers.
std::vector<BucketColumn> ColumnsFor(const BucketsOptions& options, PrintFormat format,
                                     const Tables& tables) {
  const bool all = format != PrintFormat::kTable;
  const bool splits = std::any_of(tables.begin(), tables.end(),
                                  [](const auto& t) { return t->split_column.has_value(); });
  const bool numbers = std::any_of(tables.begin(), tables.end(), [](const auto& table) {
    return table->bucket.encoding == BucketEncoding::kSinceEpoch;
  });
  return {{{"table", false}, all || options.table.empty()},
          {{"entity", false}, all || options.entity.empty()},
          {{"bucket", false}},
          {{"split", true}, all || splits},
          {{"state", false}},
          {{"versions", true}},
          {{"segments", true}},
          {{"bytes", true}},
          {{"seals", true}},
          {{"seal", true}, all},
          {{"start", false}, all || numbers},
          {{"first", false}},
          {{"last", false}}};
}

// Units of event times by table.
class TableUnits {
 public:
  explicit TableUnits(const Tables& tables) {
    for (const auto& table : tables) units_[table->QualifiedName()] = table->time_unit;
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
  // `table` and `entity` as they are named in the inventory; empty: all.
  BucketFilter(const BucketsOptions& options, std::string table, std::string entity,
               const TableUnits* units)
      : options_(options), table_(std::move(table)), entity_(std::move(entity)), units_(units) {}

  [[nodiscard]] Status Check(const Tables& tables) const {
    for (const auto& [option, time] : {std::pair("--from", options_.from),
                                       std::pair("--to", options_.to)}) {
      if (time.empty()) continue;
      CISTERN_RETURN_IF_ERROR(ParseBound(option, time, TimeUnit::kMillis, now_us_).status());
    }
    if (options_.from.empty() || options_.to.empty() || tables.empty()) return Status::Ok();
    // A bound that is a number is another time in another table.
    const bool reversed = std::all_of(tables.begin(), tables.end(), [this](const auto& table) {
      return TicksOf(options_.from, table->time_unit) > TicksOf(options_.to, table->time_unit);
    });
    return !reversed ? Status::Ok()
                     : Status::InvalidArgument(fmt::format("--from {} is later than --to {}",
                                                           options_.from, options_.to));
  }
  // Of the entity, whatever else is asked for.
  [[nodiscard]] bool IsOfEntity(const BucketInfo& bucket) const {
    return (table_.empty() || bucket.table == table_) &&
           (entity_.empty() || bucket.entity == entity_);
  }
  [[nodiscard]] bool Wants(const BucketInfo& bucket) const {
    if (!IsOfEntity(bucket)) return false;
    if (!options_.state.empty() && bucket.state != options_.state) return false;
    const TimeUnit unit = units_->Of(bucket);
    // Without rows a bucket has the times that it may have rows of.
    const int64_t last = bucket.last_time.value_or(bucket.bucket_end - 1);
    const int64_t first = bucket.first_time.value_or(bucket.bucket_start);
    return (options_.from.empty() || last >= TicksOf(options_.from, unit)) &&
           (options_.to.empty() || first < TicksOf(options_.to, unit));
  }

 private:
  // Times beyond what the unit can say are beyond every row.
  [[nodiscard]] int64_t TicksOf(const std::string& text, TimeUnit unit) const {
    const Result<int64_t> ticks = ParseBound("", text, unit, now_us_);
    return ticks.ok() ? *ticks : INT64_MAX;
  }

  const BucketsOptions& options_;
  const std::string table_;
  const std::string entity_;
  const TableUnits* const units_;
  const int64_t now_us_ = SystemClock()->WallMicros();
};

// Prints one line for each bucket, and their sum for people.
class BucketPrinter {
 public:
  BucketPrinter(std::vector<BucketColumn> columns, const TableUnits* units, PrintFormat format,
                Output* output)
      : columns_(std::move(columns)),
        units_(units),
        output_(output),
        with_total_(format == PrintFormat::kTable) {
    std::vector<PrintColumn> shown;
    for (const BucketColumn& column : columns_) {
      if (column.shown) shown.push_back(column.column);
    }
    printer_ = RecordPrinter::New(format, std::move(shown), output);
  }

  void Print(const BucketInfo& bucket) {
    const TimeUnit ticks = units_->Of(bucket);
    const auto time_text = [ticks](const std::optional<int64_t>& time) {
      return time ? FormatTicks(*time, ticks) : std::string();
    };
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
                                 time_text(bucket.first_time),
                                 time_text(bucket.last_time)};
    std::vector<PrintCell> cells;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].shown) cells.push_back({texts[i], false, columns_[i].column.right});
    }
    printer_->Row(cells);
    ++buckets_;
    versions_ += bucket.versions;
    segments_ += bucket.segments;
    bytes_ += bucket.bytes;
  }
  // `more`: there are others that were not printed.
  void Finish(bool more) {
    printer_->Finish();
    if (!with_total_) return;
    output_->Write(fmt::format("{}: {}, {}, {}, {}\n",
                               more ? "there are more; of these" : "total",
                               Counted(buckets_, "bucket"),
                               Counted(versions_, "version"), Counted(segments_, "segment"),
                               Counted(bytes_, "byte")));
  }

 private:
  const std::vector<BucketColumn> columns_;
  const TableUnits* const units_;
  Output* const output_;
  const bool with_total_;
  std::unique_ptr<RecordPrinter> printer_;
  uint64_t buckets_ = 0;
  uint64_t versions_ = 0;
  uint64_t segments_ = 0;
  uint64_t bytes_ = 0;
};

// The entity as the inventory has it; with a table it may be given as for scan.
Result<std::string> EntityIn(const Tables& tables, const BucketsOptions& options) {
  if (options.table.empty() || options.entity.empty()) return options.entity;
  const TableSchema& schema = *tables.front();
  CISTERN_ASSIGN_OR_RETURN(const EntityKey entity, ParseEntity(schema, {options.entity}));
  return EntityToText(schema, entity.bytes);
}

// For CLI11: empty, or what is wrong with the name of a state.
std::string IsState(const std::string& text) {
  const std::vector<std::string> states = {"open", "sealed", "quarantined"};
  if (std::find(states.begin(), states.end(), text) != states.end()) return {};
  const std::string nearest = NearestName(text, states);
  return fmt::format("'{}' is not one of open, sealed, quarantined{}", text,
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

int RunBuckets(const BucketsOptions& options) {
  const Result<PrintFormat> format = options.print.Chosen();
  if (!format.ok()) return FailUsage(format.status());
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead);
  if (!engine.ok()) return FailOpen(engine.status());
  const Result<Tables> tables = ChooseTables(**engine, options.table);
  if (!tables.ok()) return FailUsage(tables.status());
  const Result<std::string> entity = EntityIn(*tables, options);
  if (!entity.ok()) return FailUsage(entity.status());
  const TableUnits units(*tables);
  const BucketFilter filter(options, options.table.empty() ? "" : tables->front()->QualifiedName(),
                            *entity, &units);
  if (const Status checked = filter.Check(*tables); !checked.ok()) return FailUsage(checked);
  Output output(STDOUT_FILENO);
  BucketPrinter printer(ColumnsFor(options, *format, *tables), &units, *format, &output);
  uint64_t left = options.limit;
  bool more = false;
  bool knows_entity = options.entity.empty();
  const Status s = (*engine)->ListBuckets([&](const BucketInfo& bucket) {
    knows_entity = knows_entity || filter.IsOfEntity(bucket);
    if (!filter.Wants(bucket)) return !output.closed();
    more = left == 0;
    if (more) return false;
    printer.Print(bucket);
    --left;
    return !output.closed();
  });
  if (!output.closed()) printer.Finish(more);
  output.Flush();
  if (!s.ok()) return Fail(s);
  if (!knows_entity) {
    Complain(options.table.empty()
                 ? fmt::format("no table has rows of entity {}", *entity)
                 : fmt::format("table {} has no rows of entity {}",
                               tables->front()->QualifiedName(), *entity));
  }
  return output.status().ok() ? kExitOk : Fail(output.status());
}

}  // namespace

void AddBuckets(CLI::App* app, Action* action) {
  auto options = std::make_shared<BucketsOptions>();
  CLI::App* command =
      app->add_subcommand("buckets", "Print the buckets: state, versions, bytes, bounds");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Of this table alone");
  command->add_option("--entity", options->entity,
                      "Of this entity alone: with --table as for scan, else as buckets prints it");
  command->add_option("--state", options->state, "In this state: open, sealed or quarantined")
      ->check(IsState);
  command->add_option("--from", options->from,
                      "With rows at this event time or later; without any, those that "
                      "it may have count");
  command->add_option("--to", options->to, "With rows before this event time");
  command->add_option("--limit", options->limit, "At most this many (default: all)")
      ->check(WholeNumber(1, INT64_MAX));
  AddPrintOptions(command, &options->print);
  command->footer("\nVersions are row versions: an overwritten row counts until its versions are "
                  "merged. A bucket is\nquarantined where the opening found a part of it "
                  "unreadable; verify reads every page. One without\nfirst and last has no rows, "
                  "but deletes. csv and JSON have every column: the\nsplit, the sequence of the "
                  "last seal and the bucket's start too.\n\nExamples:\n"
                  "  cistern buckets --store S --table air --entity Dongsi\n"
                  "  cistern buckets --store S --state open --to 2016-12-01");
  command->callback([options, action] { *action = [options] { return RunBuckets(*options); }; });
}

}  // namespace cistern::tool
