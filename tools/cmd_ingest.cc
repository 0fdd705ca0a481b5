// cistern ingest: files and streams into a table.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <optional>
#include <utility>

#include "cistern/limits.h"
#include "engine/bucketing/bucketer.h"
#include "tools/cell_text.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/ingest_run.h"
#include "tools/input.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/record_reader.h"
#include "tools/reject_file.h"
#include "tools/row_mapper.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct IngestOptions {
  std::string store;
  std::string table;
  std::string format = "csv";
  std::vector<std::string> files;
  std::string delimiter = ",";
  std::string header;
  std::string stem;
  std::string time_unit;
  std::string time_base;
  std::string utc_offset;
  std::string reject;
  std::string durability = "synced";
  std::vector<std::string> ignores;  // as given: lists separated by commas
  MappingOptions mapping;
  uint64_t batch_rows = 1000;
  uint64_t reasons = 20;
  uint64_t reject_max = UINT64_MAX;
  std::optional<uint32_t> ttl_s;
  std::string memory_budget;
  std::string future_max;
  bool quiet = false;
};

constexpr char kFooter[] = R"(
Examples:
  cistern ingest --store S --table air --null NA \
      --map '{year}-{month}-{day}T{hour}=ts' --utc-offset +08:00 --ignore No air.csv
  cistern ingest --store S --table imu --delimiter ' ' --header ms,x,y,z --set 'run={stem}' \
      --map ms=ts --time-unit ms --time-base 2024-05-24 S01R02.txt
  zstd -dc S01R02.txt.zst | cistern ingest --store S --table imu --stem S01R02 ... -
  tail -f readings.jsonl | cistern ingest --store S --table air --format jsonl -

A line that cannot be stored is named with its number and the reason, and kept word for word
in the reject file; the rest goes on, and the exit code is 1.)";

std::vector<std::string> SplitNames(std::string_view text, char separator) {
  std::vector<std::string> names;
  for (;;) {
    const size_t end = text.find(separator);
    names.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return names;
    text.remove_prefix(end + 1);
  }
}

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "S01R02" of "/data/S01R02.txt.zst": without the last extension, and without the one before
// it when the last one is of a compressor.
std::string StemOf(std::string_view path) {
  std::string_view name = BaseName(path);
  for (int i = 0; i < 2; ++i) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) break;
    const std::string_view extension = name.substr(dot);
    name = name.substr(0, dot);
    if (extension != ".zst" && extension != ".gz" && extension != ".xz" && extension != ".bz2") {
      break;
    }
  }
  return std::string(name);
}

Result<char> ParseDelimiter(std::string_view text) {
  if (text == "\\t" || text == "tab") return '\t';
  if (text.size() == 1 && text != "\"" && text != "\n" && text != "\r") return text[0];
  return Status::InvalidArgument(
      fmt::format("--delimiter '{}' is not one character (tab is written \\t)", text));
}

// "16MiB", "8388608"; units are KiB, MiB and GiB.
Result<size_t> ParseMemoryBudget(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const std::string_view units[] = {"", "KiB", "MiB", "GiB"};
  const auto found = std::find(std::begin(units), std::end(units), unit);
  const auto shift = 10 * (found - std::begin(units));
  if (error != std::errc() || found == std::end(units) || value > (UINT64_MAX >> 1) >> shift) {
    return Status::InvalidArgument(fmt::format(
        "--memory-budget '{}' is not a whole number of bytes, KiB, MiB or GiB", text));
  }
  if (value << shift < limits::kMemoryBudgetBytesMin) {
    return Status::InvalidArgument(fmt::format("--memory-budget '{}' is less than the {} MiB that "
                                               "are needed", text,
                                               limits::kMemoryBudgetBytesMin >> 20));
  }
  return static_cast<size_t>(value << shift);
}

// The command that unpacks what begins with these bytes; nullptr if nothing is known to.
const char* UnpackerOf(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return "zcat";
  if (head.starts_with("\x28\xb5\x2f\xfd")) return "zstdcat";
  if (head.starts_with("\xfd" "7zXZ")) return "xzcat";
  if (head.starts_with("BZh")) return "bzcat";
  return nullptr;
}

// Of a header that is one cell: "; try --delimiter ';'" if it holds another usual one.
std::string DelimiterAdvice(const Record& header, char delimiter) {
  if (delimiter != ',' || header.cells.size() != 1) return {};
  const std::string_view text = header.cells.front().text;
  if (text.find(';') != std::string_view::npos) return "; are its cells apart by --delimiter ';'?";
  if (text.find('\t') != std::string_view::npos) {
    return "; are its cells apart by --delimiter '\\t'?";
  }
  return {};
}

// Fills the parts of options->mapping that are given as texts.
Status CompleteMapping(IngestOptions* options) {
  MappingOptions& mapping = options->mapping;
  for (const std::string& list : options->ignores) {
    // A name may hold a comma itself.
    mapping.ignores.push_back(list);
    for (std::string& name : SplitNames(list, ',')) mapping.ignores.push_back(std::move(name));
  }
  mapping.ttl_s = options->ttl_s;
  if (options->format == "line") mapping.time.number_unit = TimeUnit::kNanos;
  if (!options->time_unit.empty()) {
    CISTERN_ASSIGN_OR_RETURN(mapping.time.number_unit, ParseTimeUnit(options->time_unit));
  }
  if (!options->utc_offset.empty()) {
    CISTERN_ASSIGN_OR_RETURN(mapping.time.utc_offset_s, ParseUtcOffset(options->utc_offset));
  }
  if (!options->time_base.empty()) {
    CISTERN_ASSIGN_OR_RETURN(mapping.time.base,
                             ParseIsoTime(options->time_base, mapping.time.utc_offset_s));
  }
  return Status::Ok();
}

// The whole run; keeps what the inputs share.
class IngestCommand {
 public:
  explicit IngestCommand(IngestOptions options)
      : options_(std::move(options)), progress_(!options_.quiet) {}

  int Run() {
    Status s = Prepare();
    if (!s.ok()) return FailUsage(s);
    // The next file may go on with any bucket of this one. A stream may never end.
    engine_options_.seal_when_due =
        std::find(options_.files.begin(), options_.files.end(), "-") != options_.files.end();
    Result<std::unique_ptr<Engine>> opened =
        OpenStore(options_.store, Access::kWrite, engine_options_);
    if (!opened.ok()) return FailOpen(opened.status());
    engine_ = std::move(*opened);
    const int done = DoneCode(*engine_);
    const auto schema = engine_->FindTable(options_.table);
    if (!schema.ok()) return FailUsage(schema.status());
    schema_ = *schema;
    IngestRun run(schema_, Settings(), &progress_);
    int code = kExitOk;
    size_t begun = 0;
    while (begun < options_.files.size() && code == kExitOk && InterruptSignal() == 0) {
      code = ReadFile(options_.files[begun++], &run);
    }
    progress_.Clear();
    if (begun < options_.files.size()) ReportUnread(begun);
    if (const Status closed = engine_->Close(); !closed.ok() && code == kExitOk) {
      code = Fail(closed);
    }
    Report(run.totals());
    if (InterruptSignal() != 0) return 128 + InterruptSignal();
    if (code != kExitOk) return code;
    return done == kExitOk && run.totals().rejected > 0 ? static_cast<int>(kExitPartial) : done;
  }

 private:
  Status Prepare() {
    if (options_.format != "csv" && options_.format != "jsonl" && options_.format != "line") {
      return Status::InvalidArgument(
          fmt::format("--format '{}' is not one of csv, jsonl, line", options_.format));
    }
    CISTERN_ASSIGN_OR_RETURN(delimiter_, ParseDelimiter(options_.delimiter));
    CISTERN_ASSIGN_OR_RETURN(write_.durability, ParseDurability(options_.durability));
    if (!options_.memory_budget.empty()) {
      CISTERN_ASSIGN_OR_RETURN(engine_options_.memory_budget_bytes,
                               ParseMemoryBudget(options_.memory_budget));
    }
    if (!options_.future_max.empty()) {
      constexpr int64_t kSecondsMax = limits::kEventSecondsMax - limits::kEventSecondsMin;
      CISTERN_ASSIGN_OR_RETURN(engine_options_.event_future_s_max,
                               ParseSpan("--future-max", options_.future_max, 0, kSecondsMax));
    }
    return CompleteMapping(&options_);
  }

  IngestSettings Settings() {
    IngestSettings settings;
    settings.batch_rows_max = options_.batch_rows;
    settings.reasons_shown_max = options_.reasons;
    settings.rejected_max = options_.reject_max;
    settings.append = [this](const RowBatch& batch) { return Append(batch); };
    settings.complain = [](const std::string& line) { Complain(line); };
    return settings;
  }

  Status Append(const RowBatch& batch) {
    Status s = engine_->Append(batch, write_).status();
    // A row that is refused is tried alone at last.
    const bool is_row = s.code() == StatusCode::kOutOfRange && batch.row_count() == 1;
    return is_row ? ExplainFuture(batch, std::move(s)) : s;
  }

  // The refusal of a time ahead of the clock in the words of the command line.
  Status ExplainFuture(const RowBatch& batch, Status refused) const {
    const int64_t ticks = RowTime(batch, 0);
    const int64_t now_s = SystemClock()->WallMicros() / 1'000'000;
    const int64_t ahead_s = ticks / TicksPerSecond(schema_->time_unit) - now_s;
    if (ahead_s <= engine_options_.event_future_s_max || !Bucketer(*schema_).InRange(ticks)) {
      return refused;
    }
    return Status::OutOfRange(fmt::format(
        "column '{}': {} is {:.1f} days ahead of the clock; check its unit (--time-unit), or take "
        "it with --future-max {}d",
        schema_->columns[schema_->time_column()].name, FormatTicks(ticks, schema_->time_unit),
        static_cast<double>(ahead_s) / 86400, ahead_s / 86400 + 1));
  }

  std::unique_ptr<RecordReader> NewReader(Input* input) const {
    if (options_.format == "jsonl") return NewJsonReader(input);
    if (options_.format == "line") return NewLineProtocolReader(input);
    return NewCsvReader(input, delimiter_);
  }

  RejectFile* RejectsFor(const std::string& file) {
    const std::string path =
        !options_.reject.empty() ? options_.reject
                                 : fmt::format("{}.reject", file == "-" ? "stdin" : BaseName(file));
    for (const auto& known : rejects_) {
      if (known->path() == path) return known.get();
    }
    rejects_.push_back(std::make_unique<RejectFile>(path));
    return rejects_.back().get();
  }

  // The header's names from the options or the first record; empty at an empty input.
  Status BindCsvHeader(const std::string& name, RecordReader* reader, Input* input,
                       RowMapper* mapper, RejectFile* rejects) {
    if (!options_.header.empty()) return mapper->BindHeader(SplitNames(options_.header, ','));
    Record record;
    for (;;) {
      switch (reader->Next(&record)) {
        case ReadOutcome::kIdle: continue;
        case ReadOutcome::kEnd:
          Complain(name + " is empty: it has not even a header");
          return Status::Ok();
        case ReadOutcome::kInterrupted: return Status::Ok();
        case ReadOutcome::kFailed: return input->status();
        case ReadOutcome::kBad:
          return Status::InvalidArgument(
              fmt::format("{}:{}: the header cannot be read: {}", name, record.line,
                          record.reason));
        case ReadOutcome::kRecord: break;
      }
      break;
    }
    std::vector<std::string> names;
    for (const Cell& cell : record.cells) names.emplace_back(cell.text);
    rejects->SetHeader(record.raw);
    const Status s = mapper->BindHeader(names);
    if (s.ok()) return s;
    return {s.code(),
            fmt::format("{}: {}{}", name, s.message(), DelimiterAdvice(record, delimiter_))};
  }

  int ReadFile(const std::string& file, IngestRun* run) {
    const std::string name = file == "-" ? "standard input" : file;
    std::optional<std::string> stem;
    if (!options_.stem.empty()) stem = options_.stem;
    if (!stem && file != "-") stem = StemOf(file);
    Result<RowMapper> mapper = RowMapper::Make(schema_, options_.mapping, stem);
    if (!mapper.ok()) return FailUsage(mapper.status());
    Result<std::unique_ptr<Input>> input = Input::Open(file);
    if (!input.ok()) return FailUsage(input.status());
    if (const Status s = CheckIsPlain(file, input->get()); !s.ok()) return FailUsage(s);
    const std::unique_ptr<RecordReader> reader = NewReader(input->get());
    RejectFile* rejects = RejectsFor(file);
    if (options_.format == "csv") {
      const Status s = BindCsvHeader(name, reader.get(), input->get(), &*mapper, rejects);
      if (!s.ok()) return Fail(s);
    }
    const Status s = run->Read(name, input->get(), reader.get(), &*mapper, rejects);
    progress_.Clear();
    return s.ok() ? static_cast<int>(kExitOk) : Fail(s);
  }

  // kInvalidArgument for a compressed file, with what unpacks it. A pipe is not looked at: its
  // first bytes may take their time.
  static Status CheckIsPlain(const std::string& file, Input* input) {
    if (input->size() == 0 || input->Grow() != Fill::kData) return Status::Ok();
    const char* unpacker = UnpackerOf(input->window());
    if (unpacker == nullptr) return Status::Ok();
    return Status::InvalidArgument(
        file == "-" ? fmt::format("standard input is compressed; unpack it with {}", unpacker)
                    : fmt::format("{} is compressed; unpack it on the way: {} {} | cistern ingest "
                                  "... -", file, unpacker, file));
  }

  void ReportUnread(size_t begun) const {
    std::string names;
    for (size_t i = begun; i < options_.files.size(); ++i) {
      names += (names.empty() ? "" : ", ") + options_.files[i];
    }
    const bool one = begun + 1 == options_.files.size();
    Complain(fmt::format("{} {} not read", names, one ? "was" : "were"));
  }

  void Report(const IngestTotals& totals) {
    std::string line =
        fmt::format("{} stored in {}", Counted(totals.rows, "row"), schema_->QualifiedName());
    if (totals.rejected > 0) {
      std::string paths;
      for (const auto& file : rejects_) {
        if (file->used()) paths += (paths.empty() ? "" : ", ") + file->path();
      }
      line += fmt::format(", {} rejected", Counted(totals.rejected, "line"));
      line += paths.empty() ? " and kept nowhere" : " to " + paths;
    }
    if (InterruptSignal() != 0) line += ", interrupted";
    if (!options_.quiet || totals.rejected > 0) Complain(line);
  }

  IngestOptions options_;
  Progress progress_;
  char delimiter_ = ',';
  EngineOptions engine_options_;
  WriteOptions write_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const TableSchema> schema_;
  std::vector<std::unique_ptr<RejectFile>> rejects_;
};

void AddMappingOptions(CLI::App* command, IngestOptions* o) {
  // Each of these takes one value at a time: the words after it are files.
  const auto each = [command](const char* name, std::vector<std::string>* target,
                              const char* help) {
    command->add_option(name, *target, help)->allow_extra_args(false);
  };
  each("--map", &o->mapping.maps,
       "SOURCE=COLUMN: a column of the input feeds COLUMN; '{a}-{b}=COLUMN': several do "
       "(repeatable)");
  each("--set", &o->mapping.sets,
       "COLUMN=VALUE for every row; {stem} is the file's name without extension (repeatable)");
  each("--ignore", &o->ignores, "Columns of the input to leave out: a,b (repeatable)");
  each("--null", &o->mapping.null_tokens,
       "A bare cell with this text is missing, like an empty one (repeatable)");
  command->add_flag("--null-deletes", o->mapping.null_deletes,
                    "Missing cells delete what the row had, instead of leaving it alone");
  command->add_option("--delimiter", o->delimiter, "Between cells of csv; tab is \\t");
  command->add_option("--header", o->header, "Names of the cells, for files without a header: a,b");
  command->add_option("--stem", o->stem, "What {stem} stands for, whatever the file's name");
  command->add_option("--time-unit", o->time_unit,
                      "Of numeric times: s, ms, us or ns (default: the column's own; line: ns)");
  command->add_option("--time-base", o->time_base,
                      "Event times are relative to this ISO 8601 time");
  command->add_option("--utc-offset", o->utc_offset,
                      "Of times that name no offset, for example +08:00 (default: UTC)");
  command->add_option("--time-format", o->mapping.time.pattern,
                      "Pattern of times, for example '%d.%m.%Y %H:%M:%S' (default: ISO 8601 or a "
                      "number)");
}

void AddWriteOptions(CLI::App* command, IngestOptions* o) {
  command->add_option("--durability", o->durability, "synced (default), log or memory");
  command->add_option("--batch-rows", o->batch_rows, "Rows stored at once (default 1000)")
      ->check(WholeNumber(1, limits::kBatchRowsMax));
  command->add_option("--ttl", o->ttl_s, "Seconds that the rows live (default: the table's)")
      ->check(WholeNumber(0, limits::kTtlSecondsMax));
  command->add_option("--memory-budget", o->memory_budget,
                      "Memory that the engine may take, for example 16MiB (default 64MiB)");
  command->add_option("--future-max", o->future_max,
                      "How far event times may be ahead of the clock, for example 36h or 400d "
                      "(default 1d)");
  command->add_option("--reject", o->reject,
                      "Where rejected lines go (default: FILE.reject in the current directory)");
  command->add_option("--reject-max", o->reject_max, "Stop after more rejected lines than this")
      ->check(WholeNumber(0, INT64_MAX));
  command->add_option("--reasons", o->reasons, "Rejected lines to explain (default 20)")
      ->check(WholeNumber(0, INT64_MAX));
  command->add_flag("--quiet", o->quiet, "No progress bar, no summary unless lines are rejected");
}

}  // namespace

void AddIngest(CLI::App* app, Action* action) {
  auto options = std::make_shared<IngestOptions>();
  CLI::App* command = app->add_subcommand("ingest", "Store the rows of files or standard input");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Table, or keyspace.table")->required();
  command->add_option("--format", options->format,
                      "csv (default), jsonl, or line (InfluxDB line protocol)");
  AddMappingOptions(command, options.get());
  AddWriteOptions(command, options.get());
  command->add_option("FILE", options->files, "Files; - is standard input")->required();
  command->footer(kFooter);
  command->callback([options, action] {
    *action = [options] {
      CatchInterrupts();
      return IngestCommand(*options).Run();
    };
  });
}

}  // namespace cistern::tool
