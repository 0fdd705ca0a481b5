// cistern aggregate: what values are together, step by step.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "lib/base/shell_text.h"
#include "lib/cql/value_text.h"
#include "tools/calendar_step.h"
#include "tools/column_name.h"
#include "tools/command.h"
#include "tools/engine_options.h"
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
  std::string time_zone;
  std::vector<std::string> of;
  std::vector<std::string> where;
  std::string group_by;
  std::string across;
  std::string from;
  std::string to;
  PrintChoice print;
  EngineTexts engine;
};

constexpr char kFooter[] = R"(
Examples:
  cistern aggregate --store S --table air --entity Dongsi --step 1h --of temp:min,max,avg
  cistern aggregate --store S --table air --entity Dongsi --entity Tiantan --step 1d \
      --of pm25:avg --of wd:first,last --from 2016-12-01 --to 2017-01-01 --format csv
  cistern aggregate --store S --table air --all-entities --step 1w --of ts:count
  cistern aggregate --store S --table air --entity Dongsi --step 1mo --time-zone Asia/Shanghai \
      --of pm25:avg,max --where "wd = 'NW'"
  cistern aggregate --store S --table metrics --entity gw1 --step 1h --of value:avg \
      --group-by metric

A line for each entity and step that has rows, and for each group of them: count, min, max, sum,
avg, first and last of the values; count of the event time counts rows. Steps begin at multiples
of their width, counted from 1970-01-01 UTC or, by --time-zone, from that of a zone's clocks;
weeks begin on Monday, months, quarters and years with the calendar's. Where rows of one time are
told apart by a further clustering column, their values are mixed only by --across COLUMN.
docs/tool.md says what NaN, overflow and sums of fractions give.)";

class AggregateCommand {
 public:
  explicit AggregateCommand(AggregateOptions options)
      : options_(std::move(options)), output_(STDOUT_FILENO) {}

  int Run() {
    const Result<PrintFormat> format = options_.print.Chosen();
    if (!format.ok()) return FailUsage(format.status());
    format_ = *format;
    if (options_.all_entities != options_.entities.empty()) {
      return FailUsage(Status::InvalidArgument(
          options_.all_entities ? "--entity and --all-entities are both given: leave one out"
                                : "say whose rows by --entity, or --all-entities"));
    }
    EngineOptions open_options;
    const Status taken = TakeEngineTexts(options_.engine, &open_options);
    if (!taken.ok()) return FailUsage(taken);
    Result<std::unique_ptr<Engine>> engine =
        OpenStore(options_.store, Access::kRead, open_options);
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
      const bool may_tell = !has_lines && !has_gaps_ && request.where.empty();
      if (may_tell) TellIfUnknown(engine->get(), *schema_, entity);
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
    CISTERN_RETURN_IF_ERROR(TakeTimes(request));
    for (const std::string& text : options_.of) {
      CISTERN_ASSIGN_OR_RETURN(const auto columns, ParseAggregates(text));
      for (const AggregateColumn& asked : columns) {
        CISTERN_RETURN_IF_ERROR(
            Ask({ColumnNamed(*schema_, asked.column), asked.function}, request));
      }
    }
    CISTERN_ASSIGN_OR_RETURN(request->where, ConditionsOf(*schema_, options_.where));
    if (!options_.group_by.empty()) {
      CISTERN_ASSIGN_OR_RETURN(request->group_by,
                               ColumnsNamed(*schema_, "--group-by", options_.group_by));
    }
    return CheckMixing(*request);
  }

  // The range and the steps, by the clock that was asked for.
  Status TakeTimes(AggregateRequest* request) {
    LocalClock clock;
    if (!options_.time_zone.empty()) {
      const Result<LocalClock> zone = LocalClock::OfZone(options_.time_zone);
      if (!zone.ok()) return Status::InvalidArgument("--time-zone " + zone.status().message());
      clock = *zone;
      zone_ = *zone;
    }
    const TimeUnit unit = schema_->time_unit;
    const int64_t now_us = SystemClock()->WallMicros();
    if (!options_.from.empty()) {
      CISTERN_ASSIGN_OR_RETURN(
          request->from, ParseBound("--from", options_.from, unit, now_us, clock.ForBounds()));
    }
    if (!options_.to.empty()) {
      CISTERN_ASSIGN_OR_RETURN(
          request->to, ParseBound("--to", options_.to, unit, now_us, clock.ForBounds()));
    }
    if (request->from >= request->to) {
      return Status::InvalidArgument("--from must be before --to: the range is empty");
    }
    CISTERN_ASSIGN_OR_RETURN(const StepWidth width, ParseStep(options_.step, unit));
    const std::optional<int64_t> even = CalendarSteps::EvenWidth(width, unit);
    if (!zone_ && even) {
      request->step = *even;
    } else {
      const CalendarSteps steps(width, clock, unit);
      request->step_of = [steps](int64_t time) { return steps.StepOf(time); };
    }
    return Status::Ok();
  }

  // Where a clustering column says what a row is of (which metric, which part), an average over
  // rows with different ones is seldom meant, and nothing in the result would tell.
  Status CheckMixing(const AggregateRequest& request) const {
    std::vector<std::string> across;
    if (!options_.across.empty()) {
      CISTERN_ASSIGN_OR_RETURN(across, ColumnsNamed(*schema_, "--across", options_.across));
    }
    std::vector<std::string> mixed;
    for (const size_t c : schema_->clustering_columns) {
      const std::string& name = schema_->columns[c].name;
      const auto known = std::find(across.begin(), across.end(), name);
      const bool is_across = known != across.end();
      if (is_across) across.erase(known);
      if (c == schema_->time_column() || HasOneValue(request, name)) {
        if (is_across) return UselessAcross(name);
      } else if (!is_across) {
        mixed.push_back(name);
      }
    }
    if (!across.empty()) return UselessAcross(across.front());
    const auto value = std::find_if(request.of.begin(), request.of.end(), [this](const auto& of) {
      const size_t c = *schema_->FindColumn(of.column);
      return schema_->columns[c].role == ColumnRole::kRegular &&
             of.function != AggregateFunction::kCount;
    });
    if (mixed.empty() || value == request.of.end()) return Status::Ok();
    const std::string& name = mixed.front();
    const std::string word = ShellWord(name);
    const std::string clause = WhereName(name) + " = ...";
    return Status::InvalidArgument(fmt::format(
        "--of {}:{} would mix rows that '{}' tells apart: --group-by {} prints a line for each, "
        "--where {} takes one, --across {} takes all of them together", value->column,
        FunctionName(value->function), name, word,
        word == name ? fmt::format("\"{}\"", clause) : ShellQuoted(clause), word));
  }

  // True if the rows of a line have one value of the column. Conditions but `=` leave several.
  static bool HasOneValue(const AggregateRequest& request, const std::string& column) {
    const auto& groups = request.group_by;
    return std::find(groups.begin(), groups.end(), column) != groups.end() ||
           std::any_of(request.where.begin(), request.where.end(), [&column](const Condition& c) {
             return c.column == column && c.comparison == Comparison::kEqual;
           });
  }

  static Status UselessAcross(const std::string& column) {
    return Status::InvalidArgument(fmt::format(
        "--across {} does nothing: it names clustering columns of which a line has several values, "
        "and not the event time, one of --group-by, or one that = in --where fixes", column));
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
    for (const std::string& group : request.group_by) {
      group_columns_.push_back(*schema_->FindColumn(group));
      columns.push_back(PrintColumnOf(*schema_, group_columns_.back(), format_));
    }
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
        FillLine(cursor->types(), batch, row, entity_width);
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

  void FillLine(const std::vector<ColumnType>& types, const AggregateBatch& batch, size_t row,
                size_t at) {
    FillStart(batch.starts[row], at);
    const size_t group_count = batch.groups.size();
    for (size_t k = 0; k < group_count; ++k) {
      ++at;
      const ColumnType& type = schema_->columns[group_columns_[k]].type;
      cells_[at] = TypedCell(type, batch.groups[k], row, format_, &texts_[at]);
    }
    for (size_t k = 0; k < types.size(); ++k) {
      ++at;
      cells_[at] = TypedCell(types[k], batch.columns[k], row, format_, &texts_[at]);
    }
  }

  // The start of a step, as the event time is shown; by the zone's clocks if there is one. A
  // timeuuid names a row: a step has a time alone.
  void FillStart(int64_t ticks, size_t at) {
    const size_t time = schema_->time_column();
    const CqlType kind = schema_->columns[time].type.kind;
    const bool is_number = kind == CqlType::kBigint && format_ != PrintFormat::kTable;
    if (zone_ && !is_number) {
      texts_[at] = FormatTicks(ticks, schema_->time_unit, *zone_);
      cells_[at] = {texts_[at], false, false};
    } else if (kind == CqlType::kTimeuuid) {
      texts_[at] = FormatTicks(ticks, schema_->time_unit);
      cells_[at] = {texts_[at], false, false};
    } else {
      ColumnData start;
      start.AppendFixed(ticks);
      cells_[at] = ValueCell(*schema_, time, start, 0, format_, &texts_[at]);
    }
  }

  const AggregateOptions options_;
  Output output_;
  std::shared_ptr<const TableSchema> schema_;
  PrintFormat format_ = PrintFormat::kTable;
  std::optional<LocalClock> zone_;     // of --time-zone
  std::vector<size_t> group_columns_;  // of the schema
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
  command->add_option("--step", options->step, "Width of a step: 30s, 15m, 1h, 1d, 1w, 1mo, 1q, 1y")
      ->required();
  command->add_option("--time-zone", options->time_zone,
                      "Days and hours of this zone's clocks: Europe/Berlin (default: UTC)");
  command->add_option("--of", options->of, "Column and functions: temp:min,max,avg; repeatable")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--where", options->where,
                      "Of rows that meet this alone: \"temp > 30 and state = 'OK'\"; repeatable")
      ->allow_extra_args(false);
  command->add_option("--group-by", options->group_by,
                      "A line for each set of values of these columns: a,b");
  command->add_option("--across", options->across,
                      "Rows that these clustering columns tell apart are taken together: a,b");
  command->add_option("--from", options->from, "First event time (default: from the beginning)");
  command->add_option("--to", options->to, "End of the range, not included (default: to the end)");
  AddEngineOptions(command, kMemoryOptions, &options->engine);
  AddPrintOptions(command, &options->print);
  command->footer(kFooter);
  command->callback([options, action] {
    *action = [options] { return AggregateCommand(*options).Run(); };
  });
}

}  // namespace cistern::tool
