#include "tools/ingest_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cistern/limits.h"
#include "tools/command.h"
#include "tools/reject_file.h"
#include "tools/time_text.h"
#include "tools/utc_offset.h"

namespace cistern::tool {
namespace {

Status OfOption(const char* option, const Status& status) {
  return {status.code(), fmt::format("{} {}", option, status.message())};
}

// How the bytes of the input are text, and the text cells.
Status CompleteText(const IngestOptions& options, IngestPlan* plan) {
  if (!options.encoding.empty()) {
    const Result<TextEncoding> encoding = ParseTextEncoding(options.encoding);
    if (!encoding.ok()) return OfOption("--encoding", encoding.status());
    plan->encoding = *encoding;
  }
  CISTERN_ASSIGN_OR_RETURN(plan->mapping.decimal, ParseDecimalMark(options.decimal));
  CISTERN_ASSIGN_OR_RETURN(plan->dialect.delimiter,
                           ParseDelimiter(options.delimiter, plan->mapping.decimal));
  plan->dialect.delimiter_given = !options.delimiter.empty();
  CISTERN_RETURN_IF_ERROR(ParseEscape(options.escape, &plan->dialect));
  plan->dialect.skip_lines = options.skip_lines;
  plan->dialect.comment = options.comment;
  CISTERN_ASSIGN_OR_RETURN(plan->mapping.non_finite, ParseNonFinite(options.non_finite));
  return Status::Ok();
}

// The clock of times that name no offset.
Result<LocalClock> ClockOf(const IngestOptions& options) {
  LocalClock clock;
  if (!options.utc_offset.empty()) {
    const Result<int32_t> offset_s = ParseUtcOffset(options.utc_offset);
    if (!offset_s.ok()) return OfOption("--utc-offset", offset_s.status());
    clock = LocalClock(*offset_s);
  }
  if (!options.time_zone.empty()) {
    Result<LocalClock> zone = LocalClock::OfZone(options.time_zone);
    if (zone.status().code() == StatusCode::kNotFound) {  // no database, and no need of one
      return OfOption("--time-zone",
                      Status::InvalidArgument(zone.status().message() +
                                              ", or give the offset by --utc-offset"));
    }
    if (!zone.ok()) return OfOption("--time-zone", zone.status());
    clock = std::move(*zone);
  }
  if (!options.ambiguous_times.empty()) {
    const Result<AmbiguousTimes> ambiguous = ParseAmbiguousTimes(options.ambiguous_times);
    if (!ambiguous.ok()) return OfOption("--ambiguous-times", ambiguous.status());
    clock.set_ambiguous(*ambiguous);
  }
  return clock;
}

// Of an option that is a time, such as --time-base.
Result<Instant> TimeOfOption(const char* option, const std::string& text,
                             const LocalClock& clock) {
  Result<Instant> time = ParseIsoTime(text, clock);
  if (time.ok()) return time;
  if (time.status().code() == StatusCode::kOutOfRange) return OfOption(option, time.status());
  return Status::InvalidArgument(
      fmt::format("{} '{}' is no ISO 8601 time such as 2024-05-24 or 2024-05-24T07:03:50Z", option,
                  text));
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
  // A point's time counts nanoseconds; a field that is a time counts what its writer liked.
  time->unit_is_of_event = options.format == "line" && options.time_unit.empty();
  if (time->unit_is_of_event) time->number_unit = TimeUnit::kNanos;
  if (!options.time_unit.empty()) {
    const Result<TimeUnit> unit = ParseTimeUnit(options.time_unit);
    if (!unit.ok()) return OfOption("--time-unit", unit.status());
    time->number_unit = *unit;
  }
  CISTERN_ASSIGN_OR_RETURN(time->clock, ClockOf(options));
  if (!options.time_format.empty()) {
    Result<TimePattern> pattern = TimePattern::Compile(options.time_format);
    if (!pattern.ok()) return OfOption("--time-format", pattern.status());
    time->pattern = std::move(*pattern);
  }
  if (!options.time_base.empty()) {
    CISTERN_ASSIGN_OR_RETURN(time->base,
                             TimeOfOption("--time-base", options.time_base, time->clock));
  }
  return Status::Ok();
}

// A time by the record's number. Called when the clock of the times is known.
Status CompleteTimeSteps(const IngestOptions& options, MappingOptions* mapping) {
  if (options.time_start.empty()) return Status::Ok();
  CISTERN_ASSIGN_OR_RETURN(
      const Instant start, TimeOfOption("--time-start", options.time_start, mapping->time.clock));
  CISTERN_ASSIGN_OR_RETURN(const int64_t step_ns, ParseTimeStep(options.time_step));
  mapping->time_steps = TimeSteps{start, step_ns};
  return Status::Ok();
}

bool UsesStem(const IngestOptions& options) {
  const auto has_stem = [](const std::vector<std::string>& texts) {
    return std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
      return text.find("{stem}") != std::string::npos;
    });
  };
  return has_stem(options.mapping.maps) || has_stem(options.mapping.sets);
}

// Of the ways to make the event time from something else than a cell.
Status CheckTimesTogether(const IngestOptions& options) {
  if (options.time_start.empty() != options.time_step.empty()) {
    return Status::InvalidArgument(
        "--time-start and --time-step go together: the time of the first record, and from one to "
        "the next");
  }
  if (options.arrival_time && !(options.time_start.empty() && options.mapping.time_sum.empty())) {
    return Status::InvalidArgument(
        fmt::format("--arrival-time is of rows without an event time, and {} gives one to all: "
                    "leave one out", options.time_start.empty() ? "--time-sum" : "--time-start"));
  }
  if (options.time_start.empty()) return Status::Ok();
  if (!options.time_base.empty()) {
    return Status::InvalidArgument("--time-base is of numbers, and --time-start gives the time: "
                                   "leave one out");
  }
  if (options.files.size() < 2 || UsesStem(options)) return Status::Ok();
  return Status::InvalidArgument(
      "--time-start is of one file: the records of a second one would have the times of the first "
      "one's; tell them apart with --set 'COLUMN={stem}', or ingest each with a start of its own");
}

// The next file may go on with any bucket of this one. A stream may never end.
bool ReadsStream(const IngestOptions& options) {
  return std::find(options.files.begin(), options.files.end(), "-") != options.files.end();
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
    if (!options.escape.empty()) return useless("--escape", why);
    if (!options.comment.empty()) return useless("--comment", why);
    if (!options.decimal.empty()) return useless("--decimal", why);
    if (options.skip_lines > 0) return useless("--skip-lines", why);
    if (options.mapping.trailing_delimiter) return useless("--trailing-delimiter", why);
  }
  if (options.format != "line" && !options.measurements.empty()) {
    return useless("--measurement", fmt::format("is of --format line, not of {}", options.format));
  }
  CISTERN_RETURN_IF_ERROR(CheckTimesTogether(options));
  if (!options.time_format.empty()) {
    const char* why = "is of numbers, and --time-format says that times are dates";
    if (!options.time_unit.empty()) return useless("--time-unit", why);
    if (!options.time_base.empty()) return useless("--time-base", why);
  }
  if (!options.time_zone.empty() && !options.utc_offset.empty()) {
    return useless("--utc-offset", "is of clocks that stay as they are, and --time-zone says whose "
                                   "clock it is");
  }
  if (!options.ambiguous_times.empty() && options.time_zone.empty() &&
      options.time_format.find("%Z") == std::string::npos) {
    return useless("--ambiguous-times", "is of --time-zone or of %Z in --time-format");
  }
  if (const std::string given = GivenSealOption(options.engine);
      !given.empty() && !ReadsStream(options)) {
    return useless(given.c_str(), "says when buckets are due, and none is sealed while files are "
                                  "read");
  }
  if (!options.stem.empty() && !UsesStem(options)) {
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
  command->add_option("--stem", o->stem, "What {stem} stands for, whatever the file's name");
}

void AddTextOptions(CLI::App* command, IngestOptions* o) {
  command->add_option("--encoding", o->encoding,
                      "utf-8 (default), latin-1 or windows-1252; UTF-16 is known by its mark");
  command->add_option("--delimiter", o->delimiter,
                      "Between cells of csv; tab is \\t (default: , and ; with --decimal ,)");
  command->add_flag("--trailing-delimiter", o->mapping.trailing_delimiter,
                    "Every line of csv ends with a delimiter");
  command->add_option("--escape", o->escape,
                      "Before quotes and delimiters of csv, such as '\\'; cqlsh, or "
                      "cqlsh-python3.10: as its COPY TO writes");
  command->add_option("--header", o->header,
                      "Names of the cells of csv, for files without a header: a,b");
  command->add_option("--skip-lines", o->skip_lines, "Lines of csv before the header")
      ->check(WholeNumber(1, kSkipLinesMax));
  command->add_option("--comment", o->comment, "Lines of csv that begin so are left out, as #");
  command->add_option("--decimal", o->decimal,
                      "Before the decimals of numbers of csv: , or . (default)");
  command->add_option("--non-finite", o->non_finite,
                      "NaN and infinities in columns of numbers: store (default), missing or "
                      "refuse");
}

void AddTimeOptions(CLI::App* command, IngestOptions* o) {
  command->add_option("--time-unit", o->time_unit,
                      "Of numeric times: s, ms, us or ns (default: the column's own; line: ns)");
  command->add_option("--time-base", o->time_base,
                      "Event times are numbers that count from this ISO 8601 time");
  command->add_option("--time-sum", o->mapping.time_sum,
                      "Event time in seconds, of cells: 'hour*3600 + minute*60 + micro/1e6'");
  command->add_option("--time-start", o->time_start,
                      "Event time of the first record, where the input has none, in ISO 8601");
  command->add_option("--time-step", o->time_step,
                      "From each record to the next, with --time-start, for example 20ms");
  command->add_option("--utc-offset", o->utc_offset,
                      "Of times that name no offset, for example +08:00 (default: UTC)");
  command->add_option("--time-zone", o->time_zone,
                      "Of times that name no offset, with summer time: a zone such as "
                      "Europe/Berlin (default: UTC)");
  command->add_option("--ambiguous-times", o->ambiguous_times,
                      "Of the hour that is there twice as clocks are put back: earlier, later or "
                      "refuse (default)");
  command->add_option("--time-format", o->time_format,
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
  command->add_option("--ttl-from", o->mapping.ttl_from,
                      "Cell of the input that has the seconds which its row lives; where it is "
                      "missing --ttl counts, or the table's");
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
                      "csv (default), jsonl (an object a line), json (objects or arrays of them), "
                      "or line (InfluxDB line protocol)");
  AddMappingOptions(command, options);
  AddTextOptions(command, options);
  AddTimeOptions(command, options);
  AddWriteOptions(command, options);
  AddEngineOptions(command,
                   kMemoryOptions | kDiskOptions | kHeadOptions | kSealOptions | kKeepOptions,
                   &options->engine);
  command->add_option("FILE", options->files, "Files; - is standard input")->required();
}

Result<IngestPlan> PlanOf(const IngestOptions& options) {
  constexpr std::string_view kFormats[] = {"csv", "jsonl", "json", "line"};
  if (std::find(std::begin(kFormats), std::end(kFormats), options.format) == std::end(kFormats)) {
    return Status::InvalidArgument(
        fmt::format("--format '{}' is not one of csv, jsonl, json, line", options.format));
  }
  CISTERN_RETURN_IF_ERROR(CheckTogether(options));
  IngestPlan plan;
  CISTERN_ASSIGN_OR_RETURN(plan.duplicates, ParseDuplicates(options.duplicates));
  CISTERN_ASSIGN_OR_RETURN(plan.write.durability, ParseDurability(options.durability));
  CISTERN_RETURN_IF_ERROR(TakeEngineTexts(options.engine, &plan.engine));
  if (!options.future_max.empty()) {
    CISTERN_ASSIGN_OR_RETURN(plan.engine.event_future_s_max,
                             ParseSpan("--future-max", options.future_max, 0,
                                       limits::kFutureSecondsMax));
  }
  plan.engine.seal_when_due = ReadsStream(options);
  plan.mapping = options.mapping;
  plan.mapping.time_unit_given = !options.time_unit.empty();
  if (options.arrival_time) plan.mapping.arrival_clock = SystemClock();
  CISTERN_RETURN_IF_ERROR(CompleteText(options, &plan));
  CISTERN_RETURN_IF_ERROR(CompleteTimes(options, &plan.mapping.time));
  CISTERN_RETURN_IF_ERROR(CompleteTimeSteps(options, &plan.mapping));
  if (!options.reject.empty()) {
    CISTERN_RETURN_IF_ERROR(RejectFile::CheckPath(options.reject));
  }
  return plan;
}

}  // namespace cistern::tool
