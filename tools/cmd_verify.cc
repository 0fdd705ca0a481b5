// cistern verify: every checksum and cross-invariant of a store.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cistern/limits.h"
#include "tools/command.h"

namespace cistern::tool {
namespace {

int RunVerify(const std::string& store) {
  Result<std::unique_ptr<Engine>> engine = OpenStore(store, Access::kRead);
  if (!engine.ok()) return FailOpen(engine.status());
  Result<VerifyReport> report = (*engine)->Verify();
  if (!report.ok()) return Fail(report.status());
  if ((*engine)->Recovery().recovered_with_loss) {  // which rows was said by OpenStore
    report->problems.emplace_back("the journal has lost acknowledged rows");
  }
  for (const std::string& problem : report->problems) Complain(problem);
  fmt::print("{}: {} buckets, {} segments, {} pages, {} row versions checked, {} problems\n", store,
             report->buckets, report->segments, report->pages, report->versions,
             report->problems.size());
  return report->problems.empty() ? kExitOk : kExitPartial;
}

}  // namespace

void AddVerify(CLI::App* app, Action* action) {
  auto store = std::make_shared<std::string>();
  CLI::App* command =
      app->add_subcommand("verify", "Check every page, header, journal record and cross-invariant");
  command->add_option("--store", *store, "Directory of the store")->required();
  command->footer("\nProblems are named on standard error; then the exit code is 1. Nothing is "
                  "changed.");
  command->callback([store, action] { *action = [store] { return RunVerify(*store); }; });
}

}  // namespace cistern::tool
