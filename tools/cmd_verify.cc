// cistern verify: every checksum and cross-invariant of a store.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "tools/command.h"
#include "tools/counted.h"
#include "tools/engine_options.h"

namespace cistern::tool {
namespace {

// What the opening met is a problem too. Damaged records of the catalog and lost files are found by
// both.
size_t CountProblems(const VerifyReport& report, const RecoveryReport& recovery) {
  const auto told = [&report](const std::string& note) {
    return std::any_of(report.problems.begin(), report.problems.end(),
                       [&note](const std::string& problem) { return problem.starts_with(note); });
  };
  return report.problems.size() +
         static_cast<size_t>(std::count_if(recovery.notes.begin(), recovery.notes.end(),
                                           [&told](const auto& note) { return !told(note); }));
}

struct VerifyOptions {
  std::string store;
  EngineTexts engine;
  bool json = false;
};

int RunVerify(const VerifyOptions& options) {
  EngineOptions open_options;
  const Status taken = TakeEngineTexts(options.engine, &open_options);
  if (!taken.ok()) return FailUsage(taken);
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead, open_options);
  if (!engine.ok()) return FailOpen(engine.status());
  CountLossesItself();
  const Result<VerifyReport> report = (*engine)->Verify();
  if (!report.ok()) return Fail(report.status());
  const RecoveryReport recovery = (*engine)->Recovery();  // OpenStore told its notes
  for (const std::string& problem : report->problems) {
    const bool is_told = std::count(recovery.notes.begin(), recovery.notes.end(), problem) > 0;
    if (!is_told) Complain(problem);
  }
  const size_t problems = CountProblems(*report, recovery);
  const int said = SayResult(
      options.json,
      fmt::format("{}: {} of {}, {}, {} with those of the journal checked, {}", options.store,
                  Counted(report->segments, "segment"), Counted(report->buckets, "bucket"),
                  Counted(report->pages, "page"), Counted(report->versions, "row version"),
                  Counted(problems, "problem")),
      JsonLine().Text("store", options.store).Number("segments", report->segments)
          .Number("buckets", report->buckets).Number("pages", report->pages)
          .Number("versions", report->versions).Number("problems", problems));
  return said == kExitOk && problems > 0 ? kExitPartial : said;
}

}  // namespace

void AddVerify(CLI::App* app, Action* action) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app->add_subcommand("verify", "Check every page, header, journal record and cross-invariant");
  AddStoreOption(command, &options->store);
  AddEngineOptions(command, kMemoryOptions, &options->engine);
  AddJsonOption(command, &options->json);
  command->footer("\nProblems, those met while opening too, are named on standard error; then the "
                  "exit code is 1.\nNothing is changed. Buckets without a segment yet are in the "
                  "journal alone.\n\nExample:\n  cistern verify --store /data/cistern");
  command->callback([options, action] { *action = [options] { return RunVerify(*options); }; });
}

}  // namespace cistern::tool
