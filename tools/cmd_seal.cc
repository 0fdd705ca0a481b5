// cistern seal: makes buckets immutable.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/command.h"
#include "tools/counted.h"
#include "tools/entity_text.h"

namespace cistern::tool {
namespace {

struct SealOptions {
  std::string store;
  std::string table;
  bool due = false;
  bool all = false;
  std::vector<std::string> entity;
  std::string bucket;
};

constexpr char kFooter[] = R"(
A bucket is due when the clock has passed its end by 5 minutes and no row came to it for as
long. --all seals every bucket, also those that still go on: rows that come later make
amendments. A bucket that is named by --entity and --bucket is sealed likewise.

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

int RunSeal(const SealOptions& options) {
  const bool one = !options.bucket.empty() || !options.entity.empty();
  if (int{options.due} + int{options.all} + int{one} != 1 ||
      (one && (options.bucket.empty() || options.entity.empty() || options.table.empty()))) {
    return FailUsage(Status::InvalidArgument(
        "say what to seal by one of --due, --all, or --table with --entity and --bucket"));
  }
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kWrite);
  if (!engine.ok()) return FailOpen(engine.status());
  const int done = DoneCode(**engine);
  const Result<SealRequest> request = RequestOf(engine->get(), options);
  if (!request.ok()) return FailUsage(request.status());
  const Result<SealReport> report = (*engine)->Seal(*request);
  const Status closed = (*engine)->Close();
  if (!report.ok()) {
    const bool usage = report.status().code() == StatusCode::kNotFound;
    return usage ? FailUsage(report.status()) : Fail(report.status());
  }
  for (const std::string& problem : report->problems) Complain(problem);
  fmt::print("{} sealed, {} of them amendments, {}\n", Counted(report->buckets, "bucket"),
             report->amendments, Counted(report->bytes, "byte"));
  if (!closed.ok()) return Fail(closed);
  return report->problems.empty() ? done : static_cast<int>(kExitPartial);
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
  command->footer(kFooter);
  command->callback([options, action] { *action = [options] { return RunSeal(*options); }; });
}

}  // namespace cistern::tool
