// cistern seal: makes buckets immutable.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cistern/clock.h"
#include "cistern/entity.h"
#include "engine/bucketing/bucketer.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/engine_options.h"
#include "tools/entity_text.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct SealOptions {
  std::string store;
  std::string table;
  bool due = false;
  bool all = false;
  std::vector<std::string> entity;
  std::string bucket;
  EngineTexts engine;
  EngineOptions open;  // what the texts say
  bool json = false;
};

constexpr char kFooter[] = R"(
A bucket is due when the clock has passed its end by --seal-grace (5m) and no row came to it for
--seal-idle (5m); the answer says how many are not, and why. --all seals every bucket, also those
that still go on: rows that come later make amendments. A bucket that is named by --entity and
--bucket is sealed likewise.

Examples:
  cistern seal --store S --due
  cistern seal --store S --table air --all
  cistern seal --store S --table air --entity Dongsi --bucket 2016-12)";

Result<SealRequest> RequestOf(Engine* engine, const SealOptions& options) {
  SealRequest request;
  request.table = options.table;
  request.due_only = options.due;
  if (options.bucket.empty()) return request;
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable(options.table));
  CISTERN_ASSIGN_OR_RETURN(request.entity, ParseEntity(*schema, options.entity));
  CISTERN_ASSIGN_OR_RETURN(request.time, TimeOfBucket(*schema, options.bucket));
  return request;
}

// "5 minutes", or as an option would say it.
std::string Span(int64_t seconds) {
  const bool is_minutes = seconds > 0 && seconds % 60 == 0 && seconds < 3600;
  return is_minutes ? Counted(static_cast<uint64_t>(seconds / 60), "minute")
                    : FormatSpan(static_cast<uint64_t>(seconds));
}

// Open buckets of the table, or of all, that --due has left, and why: "3 open buckets are not
// due: ...". Empty if there is none.
Result<std::string> TellNotDue(Engine* engine, const std::string& table,
                               const EngineOptions& limits) {
  CISTERN_ASSIGN_OR_RETURN(const Tables tables, ChooseTables(*engine, table));
  std::map<std::string, Bucketer> bucketers;
  for (const auto& schema : tables) bucketers.emplace(schema->QualifiedName(), *schema);
  const int64_t over_s = SystemClock()->WallMicros() / 1'000'000 - limits.seal_grace_s;
  uint64_t going_on = 0;
  uint64_t fresh = 0;
  CISTERN_RETURN_IF_ERROR(engine->ListBuckets([&](const BucketInfo& bucket) {
    const auto bucketer = bucketers.find(bucket.table);
    if (bucketer == bucketers.end() || bucket.state != "open") return true;
    const int64_t time = std::clamp(bucket.bucket_start, bucketer->second.min_ticks(),
                                    bucketer->second.max_ticks());
    ++(bucketer->second.SpanOf(time).end_s > over_s ? going_on : fresh);
    return true;
  }));
  if (going_on + fresh == 0) return std::string();
  std::string why;
  if (fresh > 0) {
    why = fmt::format("rows came less than {} ago ({})", Span(limits.seal_idle_s), fresh);
  }
  if (going_on > 0) {
    why += fmt::format("{}the bucket's end is not {} past ({})", why.empty() ? "" : ", or ",
                       Span(limits.seal_grace_s), going_on);
  }
  const bool one = going_on + fresh == 1;
  return fmt::format("{} {} not due: {}; --all seals {} too",
                     Counted(going_on + fresh, "open bucket"), one ? "is" : "are", why,
                     one ? "it" : "them");
}

// Why the bucket that was named was not sealed.
Result<std::string> TellWhyNot(Engine* engine, const SealOptions& options,
                               const SealRequest& request) {
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable(options.table));
  const std::string table = schema->QualifiedName();
  const std::string entity = EntityToText(*schema, request.entity->bytes);
  const int64_t start = TicksFromSeconds(schema->time_unit,
                                         Bucketer(*schema).StartOf(*request.time));
  bool knows_entity = false;
  std::string state;  // of one of its splits
  CISTERN_RETURN_IF_ERROR(engine->ListBuckets([&](const BucketInfo& bucket) {
    if (bucket.table != table || bucket.entity != entity) return true;
    knows_entity = true;
    if (bucket.bucket_start == start && state != "quarantined") state = bucket.state;
    return true;
  }));
  if (!knows_entity) return fmt::format("table {} has no rows of entity {}", table, entity);
  if (state.empty()) {
    return fmt::format("entity {} of table {} has no bucket {}", entity, table, options.bucket);
  }
  return state == "sealed" ? std::string("it is sealed already, and nothing came since")
                           : fmt::format("the bucket is {}", state);
}

// What a person asks who sees what was sealed; empty: nothing.
Result<std::string> TellWhatIsLeft(Engine* engine, const SealOptions& options,
                                   const SealRequest& request, const SealReport& report) {
  if (!report.problems.empty() || !report.stopped.ok()) return std::string();  // it is told
  if (request.time) {
    return report.buckets > 0 ? std::string() : TellWhyNot(engine, options, request);
  }
  std::string left;
  if (request.due_only) {
    CISTERN_ASSIGN_OR_RETURN(left, TellNotDue(engine, options.table, options.open));
  }
  return left.empty() && report.buckets == 0 ? "no bucket is open" : left;
}

int RunSeal(SealOptions options) {
  const bool one = !options.bucket.empty() || !options.entity.empty();
  if (int{options.due} + int{options.all} + int{one} != 1 ||
      (one && (options.bucket.empty() || options.entity.empty() || options.table.empty()))) {
    return FailUsage(Status::InvalidArgument(
        "say what to seal by one of --due, --all, or --table with --entity and --bucket"));
  }
  if (const std::string useless = GivenSealOption(options.engine);
      !useless.empty() && !options.due) {
    return FailUsage(Status::InvalidArgument(
        fmt::format("{} says which buckets are --due, and here others are meant; leave it out",
                    useless)));
  }
  if (const Status taken = TakeEngineTexts(options.engine, &options.open); !taken.ok()) {
    return FailUsage(taken);
  }
  options.open.background_threads = false;  // or they would seal some first, and report less
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kWrite, options.open);
  if (!engine.ok()) return FailOpen(engine.status());
  const Result<SealRequest> request = RequestOf(engine->get(), options);
  if (!request.ok()) return FailUsage(request.status());
  const Result<SealReport> report = (*engine)->Seal(*request);
  const Result<std::string> left =
      report.ok() ? TellWhatIsLeft(engine->get(), options, *request, *report) : std::string();
  const Status closed = (*engine)->Close();
  if (!report.ok()) {
    const bool usage = report.status().code() == StatusCode::kNotFound;
    return usage ? FailUsage(report.status()) : Fail(report.status());
  }
  for (const std::string& problem : report->problems) Complain(problem);
  if (!left.ok()) return Fail(left.status());
  const int said = SayResult(
      options.json,
      fmt::format("{} sealed ({}), {}{}{}", Counted(report->buckets, "bucket"),
                  Counted(report->amendments, "amendment"), Counted(report->bytes, "byte"),
                  left->empty() ? "" : "; ", *left),
      JsonLine().Number("buckets", report->buckets).Number("amendments", report->amendments)
          .Number("bytes", report->bytes).Number("problems", report->problems.size())
          .TextOrNull("left", left->empty() ? std::nullopt : std::optional(*left)));
  if (said != kExitOk) return said;
  if (!report->stopped.ok()) return Fail(report->stopped);
  if (!closed.ok()) return Fail(closed);
  return report->problems.empty() ? kExitOk : kExitPartial;
}

}  // namespace

void AddSeal(CLI::App* app, Action* action) {
  auto options = std::make_shared<SealOptions>();
  CLI::App* command =
      app->add_subcommand("seal", "Make buckets immutable, small and ready to leave");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Of this table alone");
  command->add_flag("--due", options->due, "What is due");
  command->add_flag("--all", options->all, "Everything, due or not");
  command->add_option("--entity", options->entity, "As for scan, with --bucket")
      ->allow_extra_args(false);
  command->add_option("--bucket", options->bucket,
                      "The bucket whose column has this value: 2016-12");
  AddEngineOptions(command, kMemoryOptions | kDiskOptions | kSealOptions, &options->engine);
  AddJsonOption(command, &options->json);
  command->footer(kFooter);
  command->callback([options, action] { *action = [options] { return RunSeal(*options); }; });
}

}  // namespace cistern::tool
