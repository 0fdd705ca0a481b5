// cistern expire: gives back the space of what has expired.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/command.h"
#include "tools/counted.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct ExpireOptions {
  std::string store;
  std::string keep_unconfirmed;  // empty: for ever
};

constexpr char kFooter[] = R"(
Rows that have expired are invisible at once. Their space comes back when the last row of
their window of sealed buckets has expired: then the window goes as a whole. A store that is
kept open does it by itself.

Windows whose rows are nowhere else stay, whatever their age, unless --keep-unconfirmed says
how long after its end such a one may go (90s, 36h, 400d): its rows are then lost, and counted
as shed.

Examples:
  cistern expire --store S
  cistern expire --store S --keep-unconfirmed 365d)";

int RunExpire(const ExpireOptions& asked) {
  EngineOptions open_options;
  if (!asked.keep_unconfirmed.empty()) {
    const Result<int64_t> keep_s =
        ParseSpan("--keep-unconfirmed", asked.keep_unconfirmed, 1, int64_t{100} * 365 * 86400);
    if (!keep_s.ok()) return FailUsage(keep_s.status());
    open_options.keep_unconfirmed_s = *keep_s;
  }
  open_options.background_threads = false;  // or they would be first, and the report empty
  Result<std::unique_ptr<Engine>> engine = OpenStore(asked.store, Access::kWrite, open_options);
  if (!engine.ok()) return FailOpen(engine.status());
  const int done = DoneCode(**engine);
  const Result<ExpireReport> report = (*engine)->Expire();
  const Status closed = (*engine)->Close();
  if (!report.ok()) return Fail(report.status());
  fmt::print("{} dropped, {} expired, {} shed\n", Counted(report->windows, "window"),
             Counted(report->versions, "row version"), report->versions_shed);
  return closed.ok() ? done : Fail(closed);
}

}  // namespace

void AddExpire(CLI::App* app, Action* action) {
  auto options = std::make_shared<ExpireOptions>();
  CLI::App* command = app->add_subcommand("expire", "Give back the space of what has expired");
  AddStoreOption(command, &options->store);
  command->add_option("--keep-unconfirmed", options->keep_unconfirmed,
                      "Shed what upstream has not confirmed so long after its window: 36h, 400d");
  command->footer(kFooter);
  command->callback([options, action] { *action = [options] { return RunExpire(*options); }; });
}

}  // namespace cistern::tool
