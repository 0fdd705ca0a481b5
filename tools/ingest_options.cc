#include "tools/ingest_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "cistern/limits.h"
#include "tools/command.h"
#include "tools/reject_file.h"
#include "tools/size_text.h"
#include "tools/time_pattern.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

Status OfOption(const char* option, const Status& status) {
  return {status.code(), fmt::format("{} {}", option, status.message())};
}

Result<char> ParseDelimiter(std::string_view text) {
  if (text.empty()) return ',';
  if (text == "\\t" || text == "tab") return '\t';
  if (text.size() == 1 && text != "\"" && text != "\n" && text != "\r") return text[0];
  return Status::InvalidArgument(
      fmt::format("--delimiter '{}' is not one character (tab is written \\t)", text));
}

Result<DuplicatePolicy> ParseDuplicates(std::string_view text) {
  if (text == "warn") return DuplicatePolicy::kWarn;
  if (text == "refuse") return DuplicatePolicy::kRefuse;
  if (text == "allow") return DuplicatePolicy::kAllow;
  return Status::InvalidArgument(
      fmt::format("--duplicates '{}' is not one of warn, refuse, allow", text));
}

// How the times of the input are written.
Status CompleteTimes(const IngestOptions& options, TimeFormat* time) {
  time->too_fine_advice = "; --truncate-times cuts times off at the unit of their column";
  if (options.format == "line") time->number_unit = TimeUnit::kNanos;
  if (!options.time_unit.empty()) {
    const Result<TimeUnit> unit = ParseTimeUnit(options.time_unit);
    if (!unit.ok()) return OfOption("--time-unit", unit.status());
    time->number_unit = *unit;
  }
  if (!options.utc_offset.empty()) {
    const Result<int32_t> offset_s = ParseUtcOffset(options.utc_offset);
    if (!offset_s.ok()) return OfOption("--utc-offset", offset_s.status());
    time->utc_offset_s = *offset_s;
  }
  if (!options.time_base.empty()) {
    const Result<Instant> base = ParseIsoTime(options.time_base, time->utc_offset_s);
    if (!base.ok()) {
      return Status::InvalidArgument(
          fmt::format("--time-base '{}' is no ISO 8601 time such as 2024-05-24 or "
                      "2024-05-24T07:03:50Z", options.time_base));
    }
    time->base = *base;
  }
  return time->pattern.empty() ? Status::Ok() : CheckTimePattern(time->pattern);
}

// What would be taken and do nothing beside the others.
Status CheckTogether(const IngestOptions& options) {
  const auto useless = [](const char* option, const std::string& why) {
    return Status::InvalidArgument(fmt::format("{} {}; leave it out", option, why));
  };
  if (options.format != "csv") {
    const std::string why = fmt::format("is of --format csv, not of {}", options.format);
    if (!options.delimiter.empty()) return useless("--delimiter", why);
    if (!options.header.empty()) return useless("--header", why);
  }
  if (options.format != "line" && !options.measurements.empty()) {
    return useless("--measurement", fmt::format("is of --format line, not of {}", options.format));
  }
  if (!options.mapping.time.pattern.empty()) {
    const char* why = "is of numbers, and --time-format says that times are dates";
    if (!options.time_unit.empty()) return useless("--time-unit", why);
    if (!options.time_base.empty()) return useless("--time-base", why);
  }
  const auto has_stem = [](const std::vector<std::string>& texts) {
    return std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
      return text.find("{stem}") != std::string::npos;
    });
  };
  if (!options.stem.empty() && !has_stem(options.mapping.maps) && !has_stem(options.mapping.sets)) {
    return useless("--stem", "says what {stem} is, and no --map or --set has that");
  }
  return Status::Ok();
}

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
  each("--ignore", &o->mapping.ignores, "Columns of the input to leave out: a,b (repeatable)");
  each("--null", &o->mapping.null_tokens,
       "A bare cell with this text is missing, like an empty one (repeatable)");
  command->add_flag("--null-deletes", o->mapping.null_deletes,
                    "Missing cells delete what the row had, instead of leaving it alone");
  each("--measurement", &o->measurements,
       "Lines of this measurement alone, of --format line (default: the first one, and lines of "
       "others are rejected; repeatable where a key column has it)");
  command->add_option("--delimiter", o->delimiter, "Between cells of csv (default ,); tab is \\t");
  command->add_option("--header", o->header,
                      "Names of the cells of csv, for files without a header: a,b");
  command->add_option("--stem", o->stem, "What {stem} stands for, whatever the file's name");
}

void AddTimeOptions(CLI::App* command, IngestOptions* o) {
  command->add_option("--time-unit", o->time_unit,
                      "Of numeric times: s, ms, us or ns (default: the column's own; line: ns)");
  command->add_option("--time-base", o->time_base,
                      "Event times are numbers that count from this ISO 8601 time");
  command->add_option("--utc-offset", o->utc_offset,
                      "Of times that name no offset, for example +08:00 (default: UTC)");
  command->add_option("--time-format", o->mapping.time.pattern,
                      "Pattern of times, for example '%d.%m.%Y %H:%M:%S' (default: ISO 8601 or a "
                      "number)");
  command->add_flag("--truncate-times", o->mapping.time.truncate,
                    "Cut off what is finer than a time's column holds (default: the line is "
                    "rejected)");
  command->add_flag("--arrival-time", o->arrival_time,
                    "Lines without an event time get the time at which they are read");
  command->add_option("--future-max", o->future_max,
                      "How far event times may be ahead of the clock, for example 36h or 400d "
                      "(default 1d)");
}

void AddWriteOptions(CLI::App* command, IngestOptions* o) {
  command->add_option("--durability", o->durability, "synced (default), log or memory");
  command->add_option("--duplicates", o->duplicates,
                      "Rows whose values replace those of an earlier line of this run: warn "
                      "(default), refuse or allow");
  command->add_option("--batch-rows", o->batch_rows, "Rows stored at once (default 1000)")
      ->check(WholeNumber(1, limits::kBatchRowsMax));
  command->add_option("--ttl", o->mapping.ttl_s,
                      "Seconds that the rows live (default: the table's)")
      ->check(WholeNumber(0, limits::kTtlSecondsMax));
  command->add_option("--memory-budget", o->memory_budget,
                      "Memory that the engine may take, for example 16MiB (default 64MiB)");
  command->add_option("--reject", o->reject,
                      "Where rejected lines go (default: FILE.reject in the current directory)");
  command->add_option("--reject-max", o->reject_max, "Stop after more rejected lines than this")
      ->check(WholeNumber(0, INT64_MAX));
  command->add_option("--reasons", o->reasons, "Rejected lines to explain (default 20)")
      ->check(WholeNumber(0, INT64_MAX));
  command->add_flag("--quiet", o->quiet, "No progress bar, no summary unless lines are rejected");
}

}  // namespace

void AddIngestOptions(CLI::App* command, IngestOptions* options) {
  command->add_option("--table", options->table, "Table, or keyspace.table")->required();
  command->add_option("--format", options->format,
                      "csv (default), jsonl, or line (InfluxDB line protocol)");
  AddMappingOptions(command, options);
  AddTimeOptions(command, options);
  AddWriteOptions(command, options);
  command->add_option("FILE", options->files, "Files; - is standard input")->required();
}

Result<IngestPlan> PlanOf(const IngestOptions& options) {
  if (options.format != "csv" && options.format != "jsonl" && options.format != "line") {
    return Status::InvalidArgument(
        fmt::format("--format '{}' is not one of csv, jsonl, line", options.format));
  }
  CISTERN_RETURN_IF_ERROR(CheckTogether(options));
  IngestPlan plan;
  CISTERN_ASSIGN_OR_RETURN(plan.delimiter, ParseDelimiter(options.delimiter));
  CISTERN_ASSIGN_OR_RETURN(plan.duplicates, ParseDuplicates(options.duplicates));
  CISTERN_ASSIGN_OR_RETURN(plan.write.durability, ParseDurability(options.durability));
  if (!options.memory_budget.empty()) {
    CISTERN_ASSIGN_OR_RETURN(plan.engine.memory_budget_bytes,
                             ParseSize("--memory-budget", options.memory_budget,
                                       limits::kMemoryBudgetBytesMin, SIZE_MAX >> 1));
  }
  if (!options.future_max.empty()) {
    CISTERN_ASSIGN_OR_RETURN(plan.engine.event_future_s_max,
                             ParseSpan("--future-max", options.future_max, 0,
                                       limits::kFutureSecondsMax));
  }
  // The next file may go on with any bucket of this one. A stream may never end.
  plan.engine.seal_when_due =
      std::find(options.files.begin(), options.files.end(), "-") != options.files.end();
  plan.mapping = options.mapping;
  plan.mapping.time_unit_given = !options.time_unit.empty();
  if (options.arrival_time) plan.mapping.arrival_clock = SystemClock();
  CISTERN_RETURN_IF_ERROR(CompleteTimes(options, &plan.mapping.time));
  if (!options.reject.empty()) {
    CISTERN_RETURN_IF_ERROR(RejectFile::CheckPath(options.reject));
  }
  return plan;
}

}  // namespace cistern::tool
