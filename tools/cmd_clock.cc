// cistern clock: what the store believes of the time, and how a person puts it right.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/output.h"
#include "tools/record_printer.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct ClockOptions {
  std::string store;
  PrintChoice print;
  bool confirm = false;
};

constexpr char kFooter[] = R"(
While the wall clock is not trusted rows are taken and wait for their time, and nothing is sealed,
sent or dropped. It is not trusted when it jumped, by years or by minutes; `why` has the reason, and
what helps. --confirm says that this machine's clock is right as it is now: look at it first, as
what has expired by it goes. The store must not be open elsewhere for that; firmware that has it
open calls Engine::ConfirmClock.

The code is 7 where the clock is not trusted.

Examples:
  cistern clock --store S
  cistern clock --store S --json
  date --utc && cistern clock --store S --confirm)";

std::string TimeText(int64_t time_us) {
  return time_us == 0 ? "never" : FormatTicks(time_us / 1'000'000, TimeUnit::kSeconds);
}

std::string_view SyncText(ClockSync sync) {
  switch (sync) {
    case ClockSync::kYes: return "yes";
    case ClockSync::kNo: return "no";
    case ClockSync::kUnknown: break;
  }
  return "unknown";
}

std::vector<NamedValue> ValuesOf(const ClockReport& report) {
  return {{"trusted", report.trusted ? "true" : "false"},
          {"wall", TimeText(report.wall_us), false},
          {"synchronised", std::string(SyncText(report.sync)), false},
          {"believed", TimeText(report.now_us), false},
          {"certain", TimeText(report.certain_us), false},
          {"rows_wait", report.rows_wait ? "true" : "false"},
          {"dwell_left_s", fmt::format("{}", report.dwell_left_us / 1'000'000)},
          {"why", report.why, false}};
}

int RunClock(const ClockOptions& options) {
  const Result<PrintFormat> format = options.print.Chosen();
  if (!format.ok()) return FailUsage(format.status());
  EngineOptions open_options;
  open_options.background_threads = false;
  Result<std::unique_ptr<Engine>> engine =
      OpenStore(options.store, options.confirm ? Access::kWrite : Access::kRead, open_options);
  if (!engine.ok()) return FailOpen(engine.status());
  const Result<ClockReport> report =
      options.confirm ? (*engine)->ConfirmClock() : (*engine)->GetClock();
  const Status closed = (*engine)->Close();
  if (!report.ok()) return Fail(report.status());
  Output output(STDOUT_FILENO);
  PrintValues(ValuesOf(*report), *format, "clock", &output);
  output.Flush();
  if (!output.status().ok()) return Fail(output.status());
  if (!closed.ok()) return Fail(closed);
  return report->trusted ? kExitOk : kExitBlocked;
}

}  // namespace

void AddClock(CLI::App* app, Action* action) {
  auto options = std::make_shared<ClockOptions>();
  CLI::App* command =
      app->add_subcommand("clock", "Print what the store believes of the time, or put it right");
  AddStoreOption(command, &options->store);
  AddPrintOptions(command, &options->print);
  command->add_flag("--confirm", options->confirm,
                    "This machine's wall clock is right as it is now");
  command->footer(kFooter);
  command->callback([options, action] { *action = [options] { return RunClock(*options); }; });
}

}  // namespace cistern::tool
