// cistern scan: the rows of one entity, in time order.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "lib/cql/value_text.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/record_printer.h"
#include "tools/scan_token.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct ScanOptions {
  std::string store;
  std::string table;
  std::vector<std::string> entity;
  std::string from;
  std::string to;
  bool descending = false;
  uint64_t limit = 0;  // 0: not given
  std::string columns;
  std::string format = "table";
  std::string token;
};

constexpr char kFooter[] = R"(
Examples:
  cistern scan --store S --table air --entity Dongsi --from 2016-12-01 --to 2017-01-01
  cistern scan --store S --table air --entity Dongsi --desc --limit 10
  cistern scan --store S --table traffic --entity state=MN,station=ATR301 --columns ts,temp \
      --format csv

Times are ISO 8601 (UTC unless they name an offset) or integer ticks of the table's event time.
Rows from A on and before B are printed, ascending; --desc, or A later than B, turns the order
round. After --limit rows the token that continues the scan is printed on standard error.
Damaged rows are passed over: each gap is named on standard error, and the exit code is 6.)";

bool IsNumber(CqlType kind) {
  switch (kind) {
    case CqlType::kTinyint:
    case CqlType::kSmallint:
    case CqlType::kInt:
    case CqlType::kBigint:
    case CqlType::kFloat:
    case CqlType::kDouble:
      return true;
    default:
      return false;
  }
}

// Whether JSON takes the text as it is. NaN and infinities are no JSON numbers.
bool IsBare(CqlType kind, std::string_view text) {
  if (kind == CqlType::kBoolean) return true;
  if (!IsNumber(kind) || text.empty()) return false;
  return (text.back() >= '0' && text.back() <= '9');
}

bool IsNegativeZero(CqlType kind, std::string_view text) {
  return text == "-0" && (kind == CqlType::kDouble || kind == CqlType::kFloat);
}

class ScanCommand {
 public:
  explicit ScanCommand(ScanOptions options)
      : options_(std::move(options)), output_(STDOUT_FILENO) {}

  int Run() {
    const Result<PrintFormat> format = ParsePrintFormat(options_.format);
    if (!format.ok()) return FailUsage(format.status());
    format_ = *format;
    Result<std::unique_ptr<Engine>> engine = OpenStore(options_.store, Access::kRead);
    if (!engine.ok()) return FailOpen(engine.status());
    const auto schema = (*engine)->FindTable(options_.table);
    if (!schema.ok()) return FailUsage(schema.status());
    schema_ = *schema;
    ScanRequest request;
    if (const Status s = Prepare(&request); !s.ok()) return FailUsage(s);
    Result<std::unique_ptr<Cursor>> cursor = (*engine)->Scan(request);
    if (!cursor.ok()) return Fail(cursor.status());
    return Print(cursor->get());
  }

 private:
  Status Prepare(ScanRequest* request) {
    request->table = options_.table;
    CISTERN_ASSIGN_OR_RETURN(request->entity, ParseEntity(*schema_, options_.entity));
    if (!options_.from.empty()) {
      CISTERN_ASSIGN_OR_RETURN(request->from, ParseTicks(options_.from, schema_->time_unit));
    }
    if (!options_.to.empty()) {
      CISTERN_ASSIGN_OR_RETURN(request->to, ParseTicks(options_.to, schema_->time_unit));
    }
    if (options_.descending && request->from < request->to) std::swap(request->from, request->to);
    CISTERN_RETURN_IF_ERROR(TakeColumns(request));
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

  Status TakeColumns(ScanRequest* request) {
    std::string_view rest = options_.columns;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(','), rest.size());
      const std::string name(rest.substr(0, end));
      if (!schema_->FindColumn(name)) {
        std::string names;
        for (const ColumnSpec& column : schema_->columns) {
          names += (names.empty() ? "" : ", ") + column.name;
        }
        return Status::InvalidArgument(fmt::format("--columns: table '{}' has no column '{}'; it "
                                                   "has {}", schema_->name, name, names));
      }
      request->columns.push_back(name);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return Status::Ok();
  }

  int Print(Cursor* cursor) {
    std::vector<PrintColumn> columns;
    for (const size_t i : cursor->columns()) {
      columns.push_back({schema_->columns[i].name, IsNumber(schema_->columns[i].type.kind)});
    }
    texts_.resize(columns.size());
    cells_.resize(columns.size());
    const auto printer = RecordPrinter::New(format_, std::move(columns), &output_);
    ResultBatch batch;
    uint64_t rows = 0;
    while (!output_.closed() && cursor->Next(&batch)) {
      for (size_t row = 0; row < batch.row_count && !output_.closed(); ++row) {
        PrintRow(cursor->columns(), batch, row, printer.get());
      }
      rows += batch.row_count;
    }
    if (!output_.closed()) printer->Finish();
    output_.Flush();
    for (const ScanGap& gap : cursor->gaps()) Complain(GapText(gap));
    const bool has_gaps = !cursor->gaps().empty();
    const bool is_gap = has_gaps && cursor->status().code() == StatusCode::kCorruption;
    if (!cursor->status().ok() && !is_gap) return Fail(cursor->status());
    if (!output_.status().ok()) return Fail(output_.status());
    if (IsFull(rows)) {
      const std::string token = cursor->Token();
      if (!token.empty()) {
        Complain(fmt::format("more rows may follow; continue with --token {}",
                             FormatScanToken({rows_before_ + rows, token})));
      }
    }
    return has_gaps ? kExitMissing : kExitOk;
  }

  std::string GapText(const ScanGap& gap) const {
    const std::string versions =
        gap.versions == 0 ? "rows" : fmt::format("{} row versions", gap.versions);
    if (!gap.located) {
      return fmt::format("{} of this store are lost, and rows of this scan may be among them: {}",
                         versions, gap.what);
    }
    return fmt::format("{} are damaged and nothing was printed from {} to {}: {}", versions,
                       FormatTicks(gap.first_time, schema_->time_unit),
                       FormatTicks(gap.last_time, schema_->time_unit), gap.what);
  }

  bool IsFull(uint64_t rows) const { return options_.limit != 0 && rows >= options_.limit; }

  void PrintRow(const std::vector<size_t>& columns, const ResultBatch& batch, size_t row,
                RecordPrinter* printer) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const ColumnData& data = batch.columns[i];
      const ColumnType& type = schema_->columns[columns[i]].type;
      PrintCell& cell = cells_[i];
      cell.null = data.state(row) != CellState::kValue;
      texts_[i].clear();
      if (!cell.null) {
        const bool fixed = data.lane == Lane::kFixed;
        FormatValueText(type, fixed ? data.fixed[row] : 0,
                        fixed ? std::string_view() : data.bytes(row), &texts_[i]);
      }
      // Some readers of JSON take -0 for an integer and lose its sign.
      if (format_ == PrintFormat::kJsonl && IsNegativeZero(type.kind, texts_[i])) {
        texts_[i] = "-0.0";
      }
      cell.text = texts_[i];
      cell.bare = IsBare(type.kind, texts_[i]);
    }
    printer->Row(cells_);
  }

  ScanOptions options_;
  Output output_;
  std::shared_ptr<const TableSchema> schema_;
  PrintFormat format_ = PrintFormat::kTable;
  uint64_t rows_before_ = 0;
  std::vector<std::string> texts_;
  std::vector<PrintCell> cells_;
};

}  // namespace

void AddScan(CLI::App* app, Action* action) {
  auto options = std::make_shared<ScanOptions>();
  CLI::App* command = app->add_subcommand("scan", "Print the rows of one entity in time order");
  command->add_option("--store", options->store, "Directory of the store")->required();
  command->add_option("--table", options->table, "Table, or keyspace.table")->required();
  command->add_option("--entity", options->entity,
                      "pump-7, or a=1,b=x for a composite entity (or --entity a=1 --entity b=x)")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--from", options->from, "First event time (default: from the beginning)")
      ->check(NotEmpty());
  command->add_option("--to", options->to, "End of the range, not included (default: to the end)")
      ->check(NotEmpty());
  command->add_flag("--desc", options->descending, "Newest first");
  command->add_option("--limit", options->limit, "At most this many rows (default: all)")
      ->check(WholeNumber(1, INT64_MAX));
  command->add_option("--columns", options->columns, "Columns to print: a,b (default: all)")
      ->check(NotEmpty());
  command->add_option("--format", options->format, "table (default), csv or jsonl");
  command->add_option("--token", options->token,
                      "Continue where a scan with the same options and --limit stopped")
      ->check(NotEmpty());
  command->footer(kFooter);
  command->callback([options, action] {
    *action = [options] { return ScanCommand(*options).Run(); };
  });
}

}  // namespace cistern::tool
