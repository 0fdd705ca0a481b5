// cistern scan: the rows of one entity, in time order.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "tools/column_name.h"
#include "tools/command.h"
#include "tools/entity_text.h"
#include "tools/gap_teller.h"
#include "tools/output.h"
#include "tools/record_printer.h"
#include "tools/scan_token.h"
#include "tools/time_text.h"
#include "tools/unknown_entity.h"
#include "tools/value_cell.h"
#include "tools/where_text.h"

namespace cistern::tool {
namespace {

struct ScanOptions {
  std::string store;
  std::string table;
  std::vector<std::string> entity;  // empty: all_entities
  bool all_entities = false;
  std::string from;
  std::string to;
  std::string bucket;  // instead of both
  bool descending = false;
  uint64_t limit = 0;  // 0: not given
  std::string columns;
  std::vector<std::string> where;
  std::string format = "table";
  std::string token;
};

constexpr char kFooter[] = R"(
Examples:
  cistern scan --store S --table air --entity Dongsi --from 2016-12-01 --to 2017-01-01
  cistern scan --store S --table air --entity Dongsi --desc --limit 10
  cistern scan --store S --table traffic --entity state=MN,station=ATR301 --columns ts,temp \
      --format csv
  cistern scan --store S --table air --entity Dongsi --where "pm25 > 300 and wd = 'NW'"
  cistern scan --store S --table air --all-entities --from 2016-12-31 --format jsonl
  cistern scan --store S --table air --entity Dongsi --bucket 2016-12

Times are ISO 8601 (UTC unless they name an offset), integer ticks of the table's event time, or
count from now: now, -36h, now+90s.
Rows from A on and before B are printed, ascending; --desc, or A later than B, turns the order
round. After --limit rows the token that continues the scan is printed on standard error.
With --all-entities one entity's rows follow another's, in the order that entities has; then
--limit counts over all of them, and there is no token.
Damaged rows are passed over: each gap is named on standard error, and the exit code is 6.)";

std::string_view WithoutBlanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

class ScanCommand {
 public:
  explicit ScanCommand(ScanOptions options)
      : options_(std::move(options)), output_(STDOUT_FILENO) {}

  int Run() {
    const Result<PrintFormat> format = ParsePrintFormat(options_.format);
    if (!format.ok()) return FailUsage(format.status());
    format_ = *format;
    if (const Status s = CheckWhose(); !s.ok()) return FailUsage(s);
    Result<std::unique_ptr<Engine>> engine = OpenStore(options_.store, Access::kRead);
    if (!engine.ok()) return FailOpen(engine.status());
    engine_ = std::move(*engine);
    const auto schema = engine_->FindTable(options_.table);
    if (!schema.ok()) return FailUsage(schema.status());
    schema_ = *schema;
    ScanRequest request;
    if (const Status s = Prepare(&request); !s.ok()) return FailUsage(s);
    StartPrinter();
    return options_.all_entities ? PrintAll(request) : PrintOne(request);
  }

 private:
  [[nodiscard]] Status CheckWhose() const {
    if (!options_.bucket.empty() && !(options_.from.empty() && options_.to.empty())) {
      return Status::InvalidArgument(
          "--bucket says which event times are meant: leave --from and --to out");
    }
    if (options_.all_entities == options_.entity.empty()) {
      return options_.all_entities && !options_.token.empty()
                 ? Status::InvalidArgument(
                       "--token continues the scan of one --entity; --all-entities gives none")
                 : Status::Ok();
    }
    return Status::InvalidArgument(
        options_.all_entities ? "--entity and --all-entities are both given: leave one out"
                              : "say whose rows by --entity, or --all-entities");
  }

  Status Prepare(ScanRequest* request) {
    request->table = options_.table;
    if (!options_.all_entities) {
      CISTERN_ASSIGN_OR_RETURN(request->entity, ParseEntity(*schema_, options_.entity));
    }
    CISTERN_RETURN_IF_ERROR(TakeRange(request));
    if (options_.descending && request->from < request->to) std::swap(request->from, request->to);
    CISTERN_RETURN_IF_ERROR(TakeColumns(request));
    for (const std::string& text : options_.where) {
      CISTERN_ASSIGN_OR_RETURN(const std::vector<Condition> conditions, ParseWhere(text));
      for (const Condition& c : conditions) {
        request->where.push_back({ColumnNamed(*schema_, c.column), c.comparison, c.value});
      }
    }
    if (!options_.token.empty()) {
      CISTERN_ASSIGN_OR_RETURN(ScanToken token, ParseScanToken(options_.token));
      rows_before_ = token.rows_before;
      request->token = std::move(token.engine_token);
    }
    // The tool prints as it reads, so no range is too long for it.
    request->limit = options_.limit == 0 ? static_cast<uint64_t>(INT64_MAX)
                                         : rows_before_ + options_.limit;
    return Status::Ok();
  }

  Status TakeRange(ScanRequest* request) const {
    if (!options_.bucket.empty()) {
      CISTERN_ASSIGN_OR_RETURN(const int64_t time, TimeOfBucket(*schema_, options_.bucket));
      const TimeRange range = RangeOfBucket(*schema_, time);
      request->from = range.from;
      request->to = range.to;
      return Status::Ok();
    }
    const int64_t now_us = SystemClock()->WallMicros();
    if (!options_.from.empty()) {
      CISTERN_ASSIGN_OR_RETURN(request->from,
                               ParseBound("--from", options_.from, schema_->time_unit, now_us));
    }
    if (options_.to.empty()) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(request->to,
                             ParseBound("--to", options_.to, schema_->time_unit, now_us));
    return Status::Ok();
  }

  // Those that --columns names, or all, as the engine takes them.
  Status TakeColumns(ScanRequest* request) {
    if (options_.columns.empty()) {
      for (size_t i = 0; i < schema_->columns.size(); ++i) columns_.push_back(i);
      return Status::Ok();
    }
    const std::string_view all = options_.columns;
    for (size_t begin = 0; begin <= all.size();) {
      const size_t end = std::min(all.find(',', begin), all.size());
      const std::string name =
          ColumnNamed(*schema_, WithoutBlanks(all.substr(begin, end - begin)));
      const std::optional<size_t> column = schema_->FindColumn(name);
      if (!column) return BadColumn(name);
      request->columns.push_back(name);
      columns_.push_back(*column);
      begin = end + 1;
    }
    return Status::Ok();
  }

  Status BadColumn(const std::string& name) const {
    if (name.empty()) {
      return Status::InvalidArgument(
          fmt::format("--columns '{}' leaves out a name; table {} has {}", options_.columns,
                      schema_->QualifiedName(), ColumnList(*schema_)));
    }
    return Status::InvalidArgument("--columns: " + NoColumn(*schema_, name));
  }

  int PrintOne(const ScanRequest& request) {
    Result<std::unique_ptr<Cursor>> cursor = engine_->Scan(request);
    if (!cursor.ok()) return Fail(cursor.status());
    if (const Status s = Finish(Print(cursor->get())); !s.ok()) return Fail(s);
    if (rows_ == 0 && !has_gaps_ && request.where.empty()) {
      TellIfUnknown(engine_.get(), *schema_, request.entity);
    }
    const std::string token = IsFull() ? (*cursor)->Token() : std::string();
    if (!token.empty()) {
      Complain(fmt::format("more rows may follow; continue with --token {}",
                           FormatScanToken({rows_before_ + rows_, token})));
    }
    return has_gaps_ ? kExitMissing : kExitOk;
  }

  // One cursor at a time, so that memory does not grow with the entities.
  int PrintAll(ScanRequest request) {
    Status failed;
    const Status listed = engine_->ListEntities(options_.table, [&](const EntityKey& entity) {
      request.entity = entity;
      if (options_.limit != 0) request.limit = options_.limit - rows_;
      Result<std::unique_ptr<Cursor>> cursor = engine_->Scan(request);
      failed = cursor.ok() ? Print(cursor->get()) : cursor.status();
      return failed.ok() && !output_.closed() && !IsFull();
    });
    if (const Status s = Finish(failed.ok() ? listed : failed); !s.ok()) return Fail(s);
    if (IsFull()) {
      Complain(fmt::format("stopped after --limit {}; more rows may follow", options_.limit));
    }
    return has_gaps_ ? kExitMissing : kExitOk;
  }

  // OK with gaps too: those are told.
  Status Print(Cursor* cursor) {
    ResultBatch batch;
    while (!output_.closed() && cursor->Next(&batch)) {
      for (size_t row = 0; row < batch.row_count && !output_.closed(); ++row) {
        for (size_t i = 0; i < cells_.size(); ++i) {
          cells_[i] =
              ValueCell(*schema_, columns_[i], batch.columns[i], row, format_, &texts_[i]);
        }
        printer_->Row(cells_);
      }
      rows_ += batch.row_count;
    }
    if (cursor->gaps().empty()) return cursor->status();
    has_gaps_ = true;
    output_.Flush();
    for (const ScanGap& gap : cursor->gaps()) gap_teller_.Tell(gap, schema_->time_unit);
    const bool is_gap = cursor->status().code() == StatusCode::kCorruption;
    return is_gap ? Status::Ok() : cursor->status();
  }

  void StartPrinter() {
    std::vector<PrintColumn> columns;
    for (const size_t i : columns_) columns.push_back(PrintColumnOf(*schema_, i, format_));
    texts_.resize(columns.size());
    cells_.resize(columns.size());
    printer_ = RecordPrinter::New(format_, std::move(columns), &output_);
  }

  Status Finish(const Status& scanned) {
    if (!output_.closed()) printer_->Finish();
    output_.Flush();
    return scanned.ok() ? output_.status() : scanned;
  }

  bool IsFull() const { return options_.limit != 0 && rows_ >= options_.limit; }

  ScanOptions options_;
  Output output_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const TableSchema> schema_;
  PrintFormat format_ = PrintFormat::kTable;
  std::unique_ptr<RecordPrinter> printer_;
  std::vector<size_t> columns_;  // of the schema, in the order of the output
  uint64_t rows_before_ = 0;  // the token
  uint64_t rows_ = 0;         // printed
  bool has_gaps_ = false;
  GapTeller gap_teller_{"nothing was printed"};
  std::vector<std::string> texts_;
  std::vector<PrintCell> cells_;
};

}  // namespace

void AddScan(CLI::App* app, Action* action) {
  auto options = std::make_shared<ScanOptions>();
  CLI::App* command = app->add_subcommand("scan", "Print rows in time order, of one entity or all");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Table, or keyspace.table")->required();
  command->add_option("--entity", options->entity,
                      "pump-7 or pump=pump-7; a=1,b=x for a composite entity (or --entity a=1 "
                      "--entity b=x)")
      ->allow_extra_args(false);
  command->add_flag("--all-entities", options->all_entities, "Of every entity of the table");
  command->add_option("--from", options->from, "First event time (default: from the beginning)");
  command->add_option("--to", options->to, "End of the range, not included (default: to the end)");
  command->add_option("--bucket", options->bucket,
                      "The rows of the bucket whose column has this value: 2016-12");
  command->add_flag("--desc", options->descending, "Newest first");
  command->add_option("--limit", options->limit, "At most this many rows (default: all)")
      ->check(WholeNumber(1, INT64_MAX));
  command->add_option("--columns", options->columns, "Columns to print: a,b (default: all)");
  command->add_option("--where", options->where,
                      "Rows that meet this alone: \"temp > 30 and state = 'OK'\"; repeatable")
      ->allow_extra_args(false);
  command->add_option("--format", options->format, "table (default), csv or jsonl");
  command->add_option("--token", options->token,
                      "Continue where a scan with the same options and --limit stopped");
  command->footer(kFooter);
  command->callback([options, action] {
    *action = [options] { return ScanCommand(*options).Run(); };
  });
}

}  // namespace cistern::tool
