// cistern expire: gives back the space of what has expired.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/counted.h"
#include "tools/engine_options.h"
#include "tools/output.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct ExpireOptions {
  std::string store;
  EngineTexts engine;
};

constexpr char kFooter[] = R"(
Rows that have expired are invisible at once. Their space comes back when the last row of
their window of sealed buckets has expired: then the window goes as a whole. A store that is
kept open does it by itself.

Confirmed windows go --keep-confirmed (30d) after their end, and after upstream has them.
Windows whose rows are nowhere else stay, whatever their age, unless --keep-unconfirmed says
how long after its end such a one may go (90s, 36h, 400d): its rows are then lost, and counted
as shed. Each window that went or stays is told with the reason; windows has more of it.

Examples:
  cistern expire --store S
  cistern expire --store S --keep-confirmed 365d --keep-unconfirmed 365d)";

// "window 12 from 2027-01-15T00:00:00Z to ... with 5 row versions"
template <typename Window>
std::string NameOf(const Window& window) {
  const auto time = [](int64_t s) { return FormatTicks(s, TimeUnit::kSeconds); };
  const std::string times =
      window.from_s && window.to_s
          ? fmt::format("from {} to {}", time(*window.from_s), time(*window.to_s))
          : "of all times";
  return fmt::format("{} {} with {}", window.window, times,
                     Counted(window.versions, "row version"));
}

int RunExpire(const ExpireOptions& asked) {
  EngineOptions open_options;
  const Status taken = TakeEngineTexts(asked.engine, &open_options);
  if (!taken.ok()) return FailUsage(taken);
  open_options.background_threads = false;  // or they would be first, and the report empty
  Result<std::unique_ptr<Engine>> engine = OpenStore(asked.store, Access::kWrite, open_options);
  if (!engine.ok()) return FailOpen(engine.status());
  const Result<ExpireReport> report = (*engine)->Expire();
  const Status closed = (*engine)->Close();
  if (!report.ok()) return Fail(report.status());
  Output output(STDOUT_FILENO);
  output.Write(fmt::format("{} dropped, {} expired, {} shed\n",
                           Counted(report->windows, "window"),
                           Counted(report->versions, "row version"), report->versions_shed));
  for (const WindowEnd& window : report->ended) {
    output.Write(fmt::format("{} {}: {}\n", NameOf(window), window.shed ? "was shed" : "went",
                             window.why));
  }
  for (const WindowOutlook& window : report->left) {
    output.Write(fmt::format("{} stays: {}\n", NameOf(window), window.why));
  }
  output.Flush();
  if (!output.status().ok()) return Fail(output.status());
  return closed.ok() ? kExitOk : Fail(closed);
}

}  // namespace

void AddExpire(CLI::App* app, Action* action) {
  auto options = std::make_shared<ExpireOptions>();
  CLI::App* command = app->add_subcommand("expire", "Give back the space of what has expired");
  AddStoreOption(command, &options->store);
  AddEngineOptions(command, kMemoryOptions | kKeepOptions, &options->engine);
  command->footer(kFooter);
  command->callback([options, action] { *action = [options] { return RunExpire(*options); }; });
}

}  // namespace cistern::tool
