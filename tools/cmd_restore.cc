// cistern restore: a store made of a backup.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cistern/backup.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/size_text.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct RestoreArguments {
  std::string from;
  std::string to;
  RestoreOptions options;
  bool json = false;
};

constexpr char kFooter[] = R"(
The new store is as the old one was at the moment of the backup; every byte is checked on its way.
What was confirmed then is confirmed; what was sent since is sent once more by the next sync, which
changes nothing upstream. No store is overwritten. What was interrupted is begun again by the same
command; until it is through nothing opens the directory.

As it is, the new store takes the place of the old one. For a copy beside an old one that lives on,
--new-identity makes it another store: with backups of its own, and not taken for the old one.

Examples:
  cistern restore --from /mnt/stick/cistern --to /data/cistern
  cistern restore --from /mnt/stick/cistern --number 3 --to /tmp/look --new-identity

Exit codes: 0 done; 2 a store or other things are in --to; 3 there is no such backup, or it is
damaged; 4 no room, or an I/O error; 6 done, but files were damaged or gone, each named on standard
error; others: see cistern --help)";

int RunRestore(const RestoreArguments& arguments) {
  const Result<RestoreReport> report =
      RestoreBackup(arguments.from, arguments.to, arguments.options);
  if (!report.ok()) return Fail(report.status());
  for (const std::string& problem : report->problems) Complain(problem);
  const std::string taken = FormatTicks(report->taken_us, TimeUnit::kMicros);
  const int said = SayResult(
      arguments.json,
      fmt::format("{} is the store {} as of {}: backup {}, {}, {}", arguments.to,
                  report->store_id, taken, report->number, Counted(report->files, "file"),
                  FormatSize(report->bytes)),
      JsonLine().Text("to", arguments.to).Text("store", report->store_id)
          .Text("taken_at", taken).Number("backup", report->number)
          .Number("files", report->files).Number("bytes", report->bytes)
          .Number("problems", report->problems.size()));
  return said == kExitOk && !report->problems.empty() ? kExitMissing : said;
}

}  // namespace

void AddRestore(CLI::App* app, Action* action) {
  auto arguments = std::make_shared<RestoreArguments>();
  CLI::App* command = app->add_subcommand("restore", "Make a store of a backup");
  command->add_option("--from", arguments->from, "Directory of backups")->required();
  command->add_option("--to", arguments->to, "Directory of the new store: empty, or not there yet")
      ->required();
  command
      ->add_option("--number", arguments->options.number,
                   "Of the backup; the newest one, if not given")
      ->check(WholeNumber(1, UINT64_MAX));
  command->add_flag("--new-identity", arguments->options.new_identity,
                    "For a copy beside an old store that lives on");
  command->add_flag("--damaged-too", arguments->options.damaged_too,
                    "Of a damaged backup what is left of it");
  AddJsonOption(command, &arguments->json);
  command->footer(kFooter);
  command->callback([arguments, action] {
    *action = [arguments] { return RunRestore(*arguments); };
  });
}

}  // namespace cistern::tool
