// cistern salvage: what can be read of a damaged store, as a new one.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cistern/salvage.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/engine_options.h"

namespace cistern::tool {
namespace {

struct SalvageArguments {
  std::string store;
  std::string to;
  std::string table;
  EngineTexts engine;
  bool json = false;
};

constexpr char kFooter[] = R"(
The damaged store is only read. The new one gets every row version that is readable, with its write
timestamp and expiry, and every delete. What upstream has confirmed stays sealed and confirmed where
that is known; all other buckets are open there and are sealed anew when due. What could not be read
is named on standard error, and the exit code is then 6. Where the database cannot be opened, files
are read by the copies of its catalog, CATALOG-1 and CATALOG-2.

Example:
  cistern salvage --store /data/broken --to /data/cistern)";

// Says "0 lost" only where that is known.
std::string LostText(const SalvagedTable& table, bool knows_losses) {
  if (knows_losses) return fmt::format("{} lost", table.versions_lost);
  return table.versions_lost == 0 ? "how many were lost is not known"
                                  : fmt::format("at least {} lost", table.versions_lost);
}

// Says what is lost of no table that can be named.
void TellOtherLosses(const SalvageReport& report) {
  if (report.versions_lost > 0) {
    Complain(fmt::format("{} row versions are lost in files of which nothing is left to tell whose "
                         "they were", report.versions_lost));
  }
  const uint64_t records = report.journal_records_lost.value_or(0);  // the problems tell of others
  if (records > 0) {
    Complain(fmt::format("nothing is left to tell of which tables the rows of {} were, which are "
                         "missing", Counted(records, "acknowledged journal record")));
  }
}

// Salvage failed: the table or the new directory is wrong, or a store.
int FailSalvage(const Status& status, const SalvageArguments& arguments) {
  const StatusCode code = status.code();
  if (code == StatusCode::kAlreadyExists) return FailUsage(status);
  if (code == StatusCode::kNotFound && !arguments.table.empty()) {
    EngineOptions look;
    look.read_only = true;
    const bool is_there =
        Engine::Open(arguments.store, look).status().code() != StatusCode::kNotFound;
    if (is_there) return FailUsage(status);
  }
  return code == StatusCode::kCorruption || code == StatusCode::kNotFound ? FailOpen(status)
                                                                          : Fail(status);
}

int RunSalvage(const SalvageArguments& arguments) {
  EngineOptions engine;
  const Status taken = TakeEngineTexts(arguments.engine, &engine);
  if (!taken.ok()) return FailUsage(taken);
  SalvageOptions options;
  options.table = arguments.table;
  options.memory_budget_bytes = engine.memory_budget_bytes;
  const bool may_take_more = engine.memory_budget_bytes == limits::kMemoryBudgetBytesDefault;
  Result<SalvageReport> report = Salvage(arguments.store, arguments.to, options);
  while (may_take_more && RaiseReaderBudget(report.status(), &options.memory_budget_bytes)) {
    report = Salvage(arguments.store, arguments.to, options);
  }
  if (!report.ok()) return FailSalvage(report.status(), arguments);
  for (const std::string& problem : report->problems) Complain(problem);
  for (const SalvagedTable& table : report->tables) {
    const std::string confirmed =
        table.versions_confirmed == 0
            ? std::string()
            : fmt::format(" ({} of them confirmed)", table.versions_confirmed);
    const int said = SayResult(
        arguments.json,
        fmt::format("{}: {}, {} saved{}, {}", table.table, Counted(table.buckets, "bucket"),
                    Counted(table.versions_saved, "row version"), confirmed,
                    LostText(table, report->knows_losses())),
        JsonLine().Text("table", table.table).Number("buckets", table.buckets)
            .Number("versions_saved", table.versions_saved)
            .Number("versions_confirmed", table.versions_confirmed)
            .Number("versions_lost", table.versions_lost)
            .Truth("versions_lost_known", report->knows_losses()));
    if (said != kExitOk) return said;
  }
  TellOtherLosses(*report);
  return report->complete() ? kExitOk : kExitMissing;
}

}  // namespace

void AddSalvage(CLI::App* app, Action* action) {
  auto arguments = std::make_shared<SalvageArguments>();
  CLI::App* command = app->add_subcommand(
      "salvage", "Write what can be read of a damaged store to a new one");
  command->add_option("--store", arguments->store, "Directory of the damaged store")
      ->required();
  command->add_option("--to", arguments->to, "Directory of the new store: empty, or not there yet")
      ->required();
  command->add_option("--table", arguments->table, "Of this table alone");
  AddEngineOptions(command, kMemoryOptions, &arguments->engine);
  AddJsonOption(command, &arguments->json);
  command->footer(kFooter);
  command->callback([arguments, action] {
    *action = [arguments] { return RunSalvage(*arguments); };
  });
}

}  // namespace cistern::tool
