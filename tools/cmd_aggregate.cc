// cistern aggregate: what values are together, step by step.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "lib/cql/value_text.h"
#include "tools/column_name.h"
#include "tools/command.h"
#include "tools/entity_text.h"
#include "tools/gap_teller.h"
#include "tools/output.h"
#include "tools/record_printer.h"
#include "tools/time_text.h"
#include "tools/unknown_entity.h"
#include "tools/value_cell.h"
#include "tools/where_text.h"

namespace cistern::tool {
namespace {

struct AggregateOptions {
  std::string store;
  std::string table;
  std::vector<std::string> entities;  // none: all_entities
  bool all_entities = false;
  std::string step;
  std::vector<std::string> of;
  std::string from;
  std::string to;
  std::string format = "table";
};

constexpr char kFooter[] = R"(
Examples:
  cistern aggregate --store S --table air --entity Dongsi --step 1h --of temp:min,max,avg
  cistern aggregate --store S --table air --entity Dongsi --entity Tiantan --step 1d \
      --of pm25:avg --of wd:first,last --from 2016-12-01 --to 2017-01-01 --format csv
  cistern aggregate --store S --table air --all-entities --step 7d --of ts:count

A line for each entity and step that has rows: count, min, max, sum, avg, first and last of the
values; count of the event time counts rows. Steps begin at multiples of their width, counted from
1970-01-01 UTC. docs/tool.md says what NaN, overflow and sums of fractions give.)";

class AggregateCommand {
 public:
  explicit AggregateCommand(AggregateOptions options)
      : options_(std::move(options)), output_(STDOUT_FILENO) {}

  int Run() {
    const Result<PrintFormat> format = ParsePrintFormat(options_.format);
    if (!format.ok()) return FailUsage(format.status());
    format_ = *format;
    if (options_.all_entities != options_.entities.empty()) {
      return FailUsage(Status::InvalidArgument(
          options_.all_entities ? "--entity and --all-entities are both given: leave one out"
                                : "say whose rows by --entity, or --all-entities"));
    }
    Result<std::unique_ptr<Engine>> engine = OpenStore(options_.store, Access::kRead);
    if (!engine.ok()) return FailOpen(engine.status());
    const auto schema = (*engine)->FindTable(options_.table);
    if (!schema.ok()) return FailUsage(schema.status());
    schema_ = *schema;
    AggregateRequest request;
    if (const Status s = Prepare(&request); !s.ok()) return FailUsage(s);
    Result<std::unique_ptr<AggregateCursor>> cursor = (*engine)->Aggregate(request);
    if (!cursor.ok()) return Fail(cursor.status());
    const Status printed = Print(request, cursor->get());
    if (!printed.ok()) return Fail(printed);
    for (const EntityKey& entity : request.entities) {
      const bool has_lines = std::find(printed_.begin(), printed_.end(), entity) != printed_.end();
      if (output_.closed()) break;
      if (!has_lines && !has_gaps_) TellIfUnknown(engine->get(), *schema_, entity);
    }
    return has_gaps_ ? kExitMissing : kExitOk;
  }

 private:
  Status Prepare(AggregateRequest* request) {
    request->table = options_.table;
    for (const std::string& text : options_.entities) {
      CISTERN_ASSIGN_OR_RETURN(EntityKey entity, ParseEntity(*schema_, {text}));
      const auto& known = request->entities;
      if (std::find(known.begin(), known.end(), entity) != known.end()) {
        return Status::InvalidArgument(fmt::format("--entity {} is given twice", text));
      }
      request->entities.push_back(std::move(entity));
    }
    const int64_t now_us = SystemClock()->WallMicros();
    if (!options_.from.empty()) {
      CISTERN_ASSIGN_OR_RETURN(request->from,
                               ParseBound("--from", options_.from, schema_->time_unit, now_us));
    }
    if (!options_.to.empty()) {
      CISTERN_ASSIGN_OR_RETURN(request->to,
                               ParseBound("--to", options_.to, schema_->time_unit, now_us));
    }
    CISTERN_ASSIGN_OR_RETURN(request->step, ParseStep(options_.step, schema_->time_unit));
    if (request->from >= request->to) {
      return Status::InvalidArgument("--from must be before --to: the range is empty");
    }
    for (const std::string& text : options_.of) {
      CISTERN_ASSIGN_OR_RETURN(const auto columns, ParseAggregates(text));
      for (const AggregateColumn& asked : columns) {
        CISTERN_RETURN_IF_ERROR(
            Ask({ColumnNamed(*schema_, asked.column), asked.function}, request));
      }
    }
    return Status::Ok();
  }

  // Two results of one name could not be told apart.
  Status Ask(AggregateColumn asked, AggregateRequest* request) const {
    if (!schema_->FindColumn(asked.column)) {
      return Status::InvalidArgument("--of: " + NoColumn(*schema_, asked.column));
    }
    const bool is_known = std::any_of(
        request->of.begin(), request->of.end(), [&asked](const AggregateColumn& known) {
          return known.column == asked.column && known.function == asked.function;
        });
    if (is_known) {
      return Status::InvalidArgument(fmt::format("--of asks for {} of {} twice",
                                                 FunctionName(asked.function), asked.column));
    }
    request->of.push_back(std::move(asked));
    return Status::Ok();
  }

  Status Print(const AggregateRequest& request, AggregateCursor* cursor) {
    const size_t entity_width = schema_->entity_columns.size();
    std::vector<PrintColumn> columns;
    for (const size_t c : schema_->entity_columns) {
      columns.push_back(PrintColumnOf(*schema_, c, format_));
    }
    columns.push_back({schema_->columns[schema_->time_column()].name, false});
    for (const AggregateColumn& asked : request.of) {
      columns.push_back(
          {fmt::format("{}_{}", asked.column, FunctionName(asked.function)), true});
    }
    cells_.resize(columns.size());
    texts_.resize(columns.size());
    const auto printer = RecordPrinter::New(format_, std::move(columns), &output_);
    AggregateBatch batch;
    while (!output_.closed() && cursor->Next(&batch)) {
      CISTERN_ASSIGN_OR_RETURN(const auto values, EntityValues(*schema_, batch.entity));
      NotePrinted(batch.entity);
      for (size_t i = 0; i < entity_width; ++i) {
        texts_[i] = values[i];
        const size_t c = schema_->entity_columns[i];
        cells_[i] = LiteralCell(schema_->columns[c].type.kind, texts_[i]);
      }
      for (size_t row = 0; row < batch.starts.size(); ++row) {
        FillStep(cursor->types(), batch, row, entity_width);
        printer->Row(cells_);
      }
    }
    if (!output_.closed()) printer->Finish();
    output_.Flush();
    for (const ScanGap& gap : cursor->gaps()) {
      has_gaps_ = true;
      gap_teller_.Tell(gap, schema_->time_unit);
    }
    const bool is_gap = has_gaps_ && cursor->status().code() == StatusCode::kCorruption;
    return cursor->status().ok() || is_gap ? output_.status() : cursor->status();
  }

  // Of those that were asked for by name: there may be any number of others.
  void NotePrinted(const EntityKey& entity) {
    if (options_.all_entities || (!printed_.empty() && printed_.back() == entity)) return;
    printed_.push_back(entity);
  }

  void FillStep(const std::vector<ColumnType>& types, const AggregateBatch& batch, size_t row,
                size_t at) {
    ColumnData start;
    start.AppendFixed(batch.starts[row]);
    const size_t time = schema_->time_column();
    // A timeuuid names a row: a step has a time alone.
    if (schema_->columns[time].type.lane() == Lane::kBytes) {
      texts_[at] = FormatTicks(batch.starts[row], schema_->time_unit);
      cells_[at] = {texts_[at], false, false};
    } else {
      cells_[at] = ValueCell(*schema_, time, start, 0, format_, &texts_[at]);
    }
    for (size_t k = 0; k < types.size(); ++k) {
      ++at;
      cells_[at] = TypedCell(types[k], batch.columns[k], row, format_, &texts_[at]);
    }
  }

  const AggregateOptions options_;
  Output output_;
  std::shared_ptr<const TableSchema> schema_;
  PrintFormat format_ = PrintFormat::kTable;
  GapTeller gap_teller_{"no line counts rows"};
  bool has_gaps_ = false;
  std::vector<EntityKey> printed_;  // that have lines
  std::vector<std::string> texts_;
  std::vector<PrintCell> cells_;
};

}  // namespace

void AddAggregate(CLI::App* app, Action* action) {
  auto options = std::make_shared<AggregateOptions>();
  CLI::App* command = app->add_subcommand(
      "aggregate", "Print count, min, max, sum, avg, first, last of values by steps of time");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Table, or keyspace.table")->required();
  command->add_option("--entity", options->entities,
                      "pump-7, or a=1,b=x for a composite entity; repeatable, one entity each")
      ->allow_extra_args(false);
  command->add_flag("--all-entities", options->all_entities, "Of every entity of the table");
  command->add_option("--step", options->step, "Width of a step: 30s, 15m, 1h, 1d")->required();
  command->add_option("--of", options->of, "Column and functions: temp:min,max,avg; repeatable")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--from", options->from, "First event time (default: from the beginning)");
  command->add_option("--to", options->to, "End of the range, not included (default: to the end)");
  command->add_option("--format", options->format, "table (default), csv or jsonl");
  command->footer(kFooter);
  command->callback([options, action] {
    *action = [options] { return AggregateCommand(*options).Run(); };
  });
}

}  // namespace cistern::tool
