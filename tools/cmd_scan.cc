// cistern scan: the rows of one entity, in time order.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "cistern/limits.h"
#include "tools/column_name.h"
#include "tools/command.h"
#include "tools/engine_options.h"
#include "tools/entity_text.h"
#include "tools/gap_teller.h"
#include "tools/interrupt.h"
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
  PrintChoice print;
  std::string token;
  bool follow = false;
  EngineTexts engine;
};

constexpr char kFooter[] = R"(
Examples:
  cistern scan --store S --table air --entity Dongsi --from 2016-12-01 --to 2017-01-01
  cistern scan --store S --table air --entity Dongsi --desc --limit 10
  cistern scan --store S --table traffic --entity state=MN,station=ATR301 --columns ts,temp \
      --format csv
  cistern scan --store S --table air --entity Dongsi --where "pm25 > 300 and wd = 'NW'"
  cistern scan --store S --table air --all-entities --from 2016-12-31 --json
  cistern scan --store S --table air --entity Dongsi --from -1h --follow --json
  cistern scan --store S --table air --entity Dongsi --bucket 2016-12

Times are ISO 8601 (UTC unless they name an offset), integer ticks of the table's event time, or
count from now: now, -36h, now+90s.
Rows from A on and before B are printed, ascending; --desc, or A later than B, turns the order
round. After --limit rows the token that continues the scan is printed on standard error.
With --all-entities one entity's rows follow another's, in the order that entities has; then
--limit counts over all of them, and there is no token.
With --follow the rows behind the last one are printed as they come, until SIGINT or SIGTERM or
--limit; a process that writes the store goes on beside it.
Damaged rows are passed over: each gap is named on standard error, and the exit code is 6.)";

constexpr int64_t kLookEveryUs = 1'000'000;  // of --follow
constexpr int64_t kLookShare = 10;           // a tenth of the time at most is spent on looking

class ScanCommand {
 public:
  explicit ScanCommand(ScanOptions options)
      : options_(std::move(options)), output_(STDOUT_FILENO) {}

  int Run() {
    const Result<PrintFormat> format = options_.print.Chosen();
    if (!format.ok()) return FailUsage(format.status());
    format_ = *format;
    if (const Status s = CheckWhose(); !s.ok()) return FailUsage(s);
    if (const Status s = TakeEngineTexts(options_.engine, &open_); !s.ok()) return FailUsage(s);
    Result<std::unique_ptr<Engine>> engine = OpenStore(options_.store, Access::kRead, open_);
    if (!engine.ok()) return FailOpen(engine.status());
    engine_ = std::move(*engine);
    const auto schema = engine_->FindTable(options_.table);
    if (!schema.ok()) return FailUsage(schema.status());
    schema_ = *schema;
    ScanRequest request;
    if (const Status s = Prepare(&request); !s.ok()) return FailUsage(s);
    StartPrinter();
    if (options_.follow) return Follow(std::move(request));
    return options_.all_entities ? PrintAll(request) : PrintOne(request);
  }

 private:
  [[nodiscard]] Status CheckWhose() const {
    if (options_.follow && (options_.all_entities || options_.descending || !options_.to.empty() ||
                            !options_.bucket.empty())) {
      return Status::InvalidArgument(
          "--follow prints what comes of one --entity, in the order of time and without an end: "
          "leave out --all-entities, --desc, --to and --bucket");
    }
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
    if (!options_.token.empty()) {
      CISTERN_ASSIGN_OR_RETURN(token_, ParseScanToken(options_.token));
      request->token = token_.engine_token;
    }
    CISTERN_RETURN_IF_ERROR(TakeRange(request));
    if (options_.descending && request->from < request->to) std::swap(request->from, request->to);
    CISTERN_RETURN_IF_ERROR(TakeColumns(request));
    CISTERN_ASSIGN_OR_RETURN(request->where, ConditionsOf(*schema_, options_.where));
    // The tool prints as it reads, so no range is too long for it.
    request->limit = options_.limit == 0 ? static_cast<uint64_t>(INT64_MAX)
                                         : token_.rows_before + options_.limit;
    return Status::Ok();
  }

  Status TakeRange(ScanRequest* request) {
    if (!options_.bucket.empty()) {
      CISTERN_ASSIGN_OR_RETURN(const int64_t time, TimeOfBucket(*schema_, options_.bucket));
      const TimeRange range = RangeOfBucket(*schema_, time);
      request->from = range.from;
      request->to = range.to;
      return Status::Ok();
    }
    const int64_t now_us = SystemClock()->WallMicros();
    CISTERN_RETURN_IF_ERROR(
        TakeBound("--from", options_.from, now_us, &token_.from, &request->from));
    return TakeBound("--to", options_.to, now_us, &token_.to, &request->to);
  }

  // One that counts from now is what it was when the scan began that is continued. `told`: of the
  // token that is given, and of those that are printed.
  Status TakeBound(std::string_view option, const std::string& text, int64_t now_us,
                   std::optional<int64_t>* told, int64_t* bound) const {
    if (text.empty()) return Status::Ok();
    const bool counts_from_now = CountsFromNow(text);
    if (counts_from_now && told->has_value()) {
      *bound = **told;
      return Status::Ok();
    }
    CISTERN_ASSIGN_OR_RETURN(*bound, ParseBound(option, text, schema_->time_unit, now_us));
    if (counts_from_now) *told = *bound;
    return Status::Ok();
  }

  // What continues the scan behind the rows that are printed.
  [[nodiscard]] std::string TokenText(const std::string& engine_token) const {
    return FormatScanToken(
        {token_.rows_before + rows_, engine_token, token_.from, token_.to});
  }

  // Those that --columns names, or all, as the engine takes them.
  Status TakeColumns(ScanRequest* request) {
    if (options_.columns.empty()) {
      for (size_t i = 0; i < schema_->columns.size(); ++i) columns_.push_back(i);
      return Status::Ok();
    }
    CISTERN_ASSIGN_OR_RETURN(request->columns,
                             ColumnsNamed(*schema_, "--columns", options_.columns));
    for (const std::string& name : request->columns) {
      columns_.push_back(*schema_->FindColumn(name));
    }
    return Status::Ok();
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
      Complain(fmt::format("more rows may follow; continue with --token {}", TokenText(token)));
    }
    return has_gaps_ ? kExitMissing : kExitOk;
  }

  // Each look opens the store anew, since a reader sees what was committed when it opened it. The
  // first one tells what is wrong; later the store may be away for a moment, and is waited for.
  int Follow(ScanRequest request) {
    CatchInterrupts();
    request.columns.clear();  // those of now, whatever is added meanwhile
    for (const size_t c : columns_) request.columns.push_back(schema_->columns[c].name);
    Status seen = Look(&request);
    if (!seen.ok()) return Fail(seen);
    if (rows_ == 0 && !has_gaps_ && request.where.empty()) {
      TellIfUnknown(engine_.get(), *schema_, request.entity);
    }
    std::string told;  // what was wrong with the last look
    int64_t wait_us = kLookEveryUs;
    while (InterruptSignal() == 0 && !output_.closed() && !IsFull()) {
      engine_.reset();  // or it would hold files that the writer has given up
      // Who reads may be gone while no row comes to tell it by.
      const bool is_read = PauseWhileRead(wait_us, STDOUT_FILENO);
      if (!is_read || InterruptSignal() != 0) break;
      const int64_t began_us = SystemClock()->MonotonicMicros();
      seen = LookAgain(&request);
      wait_us = std::max(kLookEveryUs,
                         kLookShare * (SystemClock()->MonotonicMicros() - began_us));
      if (seen.code() == StatusCode::kInvalidArgument) return Fail(seen);
      if (!seen.ok() && seen.message() != told) Complain(seen.message() + "; it is tried again");
      told = seen.ok() ? std::string() : seen.message();
    }
    if (!output_.status().ok()) return Fail(output_.status());
    if (!request.token.empty()) {
      Complain(fmt::format("continue with --token {}", TokenText(request.token)));
    }
    return has_gaps_ ? kExitMissing : kExitOk;
  }

  Status LookAgain(ScanRequest* request) {
    CISTERN_ASSIGN_OR_RETURN(engine_, ReopenStore(options_.store, open_));
    return Look(request);
  }

  // Prints what stands behind the request's token, and moves it behind that.
  Status Look(ScanRequest* request) {
    const uint64_t rows_by_then = rows_;
    CISTERN_ASSIGN_OR_RETURN(const std::unique_ptr<Cursor> cursor, engine_->Scan(*request));
    const Status printed = Print(cursor.get(), &request->token);
    // A table prints what it holds.
    if (rows_ > rows_by_then && !output_.closed()) printer_->Finish();
    output_.Flush();
    return printed;
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
  // `token`, unless null: where the last row that was printed stands.
  Status Print(Cursor* cursor, std::string* token = nullptr) {
    ResultBatch batch;
    while (!output_.closed() && InterruptSignal() == 0 && cursor->Next(&batch)) {
      for (size_t row = 0; row < batch.row_count && !output_.closed(); ++row) {
        for (size_t i = 0; i < cells_.size(); ++i) {
          cells_[i] =
              ValueCell(*schema_, columns_[i], batch.columns[i], row, format_, &texts_[i]);
        }
        printer_->Row(cells_);
      }
      rows_ += batch.row_count;
      if (token != nullptr && batch.row_count > 0) *token = cursor->Token();
    }
    if (cursor->gaps().empty()) return cursor->status();
    has_gaps_ = true;
    output_.Flush();
    for (const ScanGap& gap : cursor->gaps()) {
      if (IsNewGap(gap)) gap_teller_.Tell(gap, schema_->time_unit);
    }
    const bool is_gap = cursor->status().code() == StatusCode::kCorruption;
    return is_gap ? Status::Ok() : cursor->status();
  }

  // True if the gap is to be told. The looks of --follow meet the same damage again and again.
  bool IsNewGap(const ScanGap& gap) {
    if (!options_.follow || gaps_told_.size() >= limits::kScanGapsMax) return !options_.follow;
    return gaps_told_.emplace(gap.first_time, gap.last_time, gap.what).second;
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
  EngineOptions open_;  // what its texts say
  Output output_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const TableSchema> schema_;
  PrintFormat format_ = PrintFormat::kTable;
  std::unique_ptr<RecordPrinter> printer_;
  std::vector<size_t> columns_;  // of the schema, in the order of the output
  ScanToken token_;    // as it was given; its bounds are this scan's too
  uint64_t rows_ = 0;  // printed
  bool has_gaps_ = false;
  GapTeller gap_teller_{"nothing was printed"};
  std::set<std::tuple<int64_t, int64_t, std::string>> gaps_told_;  // of --follow
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
  AddPrintOptions(command, &options->print);
  command->add_flag("--follow", options->follow,
                    "Go on with rows as they come, until a signal ends it");
  AddEngineOptions(command, kMemoryOptions, &options->engine);
  command->add_option("--token", options->token,
                      "Continue where a scan with the same options and --limit stopped");
  command->footer(kFooter);
  command->callback([options, action] {
    *action = [options] { return ScanCommand(*options).Run(); };
  });
}

}  // namespace cistern::tool
