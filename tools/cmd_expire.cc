// cistern expire: gives back the space of what has expired.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

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
  bool json = false;
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

void PrintText(const ExpireReport& report, Output* output) {
  output->Write(fmt::format("{} dropped, {} expired, {} shed\n",
                            Counted(report.windows, "window"),
                            Counted(report.versions, "row version"), report.versions_shed));
  for (const WindowEnd& window : report.ended) {
    output->Write(fmt::format("{} {}: {}\n", NameOf(window), window.shed ? "was shed" : "went",
                              window.why));
  }
  for (const WindowOutlook& window : report.left) {
    output->Write(fmt::format("{} stays: {}\n", NameOf(window), window.why));
  }
}

// What both kinds of windows have.
template <typename Window>
JsonLine JsonOf(const Window& window) {
  const auto time = [](const std::optional<int64_t>& s) {
    return s ? std::optional(FormatTicks(*s, TimeUnit::kSeconds)) : std::nullopt;
  };
  JsonLine json;
  json.Text("window", window.window).TextOrNull("from", time(window.from_s))
      .TextOrNull("to", time(window.to_s)).Number("versions", window.versions)
      .Text("why", window.why);
  return json;
}

void PrintJson(const ExpireReport& report, Output* output) {
  std::vector<std::string> ended;
  for (const WindowEnd& window : report.ended) {
    ended.push_back(JsonOf(window).Truth("shed", window.shed).object());
  }
  std::vector<std::string> left;
  for (const WindowOutlook& window : report.left) left.push_back(JsonOf(window).object());
  output->Write(JsonLine().Number("windows", report.windows).Number("versions", report.versions)
                    .Number("versions_shed", report.versions_shed).Objects("ended", ended)
                    .Objects("left", left).object() + "\n");
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
  asked.json ? PrintJson(*report, &output) : PrintText(*report, &output);
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
  AddJsonOption(command, &options->json);
  command->footer(kFooter);
  command->callback([options, action] { *action = [options] { return RunExpire(*options); }; });
}

}  // namespace cistern::tool
