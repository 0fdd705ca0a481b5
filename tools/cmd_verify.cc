// cistern verify: every checksum and cross-invariant of a store.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "tools/command.h"
#include "tools/counted.h"

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

int RunVerify(const std::string& store) {
  Result<std::unique_ptr<Engine>> engine = OpenStore(store, Access::kRead);
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
  const int said = Say(fmt::format(
      "{}: {} of {}, {}, {} with those of the journal checked, {}", store,
      Counted(report->segments, "segment"), Counted(report->buckets, "bucket"),
      Counted(report->pages, "page"), Counted(report->versions, "row version"),
      Counted(problems, "problem")));
  return said == kExitOk && problems > 0 ? kExitPartial : said;
}

}  // namespace

void AddVerify(CLI::App* app, Action* action) {
  auto store = std::make_shared<std::string>();
  CLI::App* command =
      app->add_subcommand("verify", "Check every page, header, journal record and cross-invariant");
  AddStoreOption(command, store.get());
  command->footer("\nProblems, those met while opening too, are named on standard error; then the "
                  "exit code is 1.\nNothing is changed. Buckets without a segment yet are in the "
                  "journal alone.\n\nExample:\n  cistern verify --store /data/cistern");
  command->callback([store, action] { *action = [store] { return RunVerify(*store); }; });
}

}  // namespace cistern::tool
