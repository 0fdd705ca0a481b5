// cistern stats: the counters of a store.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/output.h"
#include "tools/record_printer.h"

namespace cistern::tool {
namespace {

struct StatsOptions {
  std::string store;
  PrintChoice print;
};

std::vector<NamedValue> ValuesOf(const Metrics& m) {
  std::vector<NamedValue> values;
  const auto add = [&values](const char* name, auto value) {
    values.push_back({name, fmt::format("{}", value)});
  };
  add("versions_written", m.versions_written);
  add("versions_open", m.versions_open);
  add("versions_sealed", m.versions_sealed);
  add("versions_waiting", m.versions_waiting);
  add("versions_parked", m.versions_parked);
  add("versions_confirmed", m.versions_confirmed);
  add("versions_confirmed_by_count", m.versions_confirmed_by_count);
  add("versions_confirmed_by_rows", m.versions_confirmed_by_rows);
  add("versions_superseded", m.versions_superseded);
  add("versions_expired", m.versions_expired);
  add("versions_shed", m.versions_shed);
  add("versions_quarantined", m.versions_quarantined);
  add("versions_head", m.versions_head);
  add("commit_groups", m.commit_groups);
  add("journal_bytes", m.journal_bytes);
  add("journal_syncs", m.journal_syncs);
  add("rotations", m.rotations);
  add("spill_bytes", m.spill_bytes);
  add("respill_bytes", m.respill_bytes);
  add("buckets_sealed", m.buckets_sealed);
  add("amendments", m.amendments);
  add("seal_bytes", m.seal_bytes);
  add("versions_repeated", m.versions_repeated);
  add("windows_dropped", m.windows_dropped);
  add("window_merges", m.window_merges);
  add("window_merge_bytes", m.window_merge_bytes);
  add("busy_rejections", m.busy_rejections);
  add("rows_provisional", m.rows_provisional);
  add("wal_bytes_written", m.wal_bytes_written);
  add("sst_bytes_written", m.sst_bytes_written);
  add("manifest_bytes_written", m.manifest_bytes_written);
  add("other_bytes_written", m.other_bytes_written);
  add("memory_bytes_charged", m.memory_bytes_charged);
  add("memory_bytes_peak", m.memory_bytes_peak);
  add("memory_budget_bytes", m.memory_budget_bytes);
  add("queued_batches", m.queued_batches);
  add("queued_bytes", m.queued_bytes);
  add("disk_bytes_used", m.disk_bytes_used);
  add("disk_budget_bytes", m.disk_budget_bytes);
  add("wal_bytes_on_disk", m.wal_bytes_on_disk);
  add("spill_families", m.spill_families);
  add("window_families", m.window_families);
  add("journal_families", m.journal_families);
  add("records_replayed_at_open", m.records_replayed_at_open);
  add("open_micros", m.open_micros);
  add("clock_trusted", m.clock_trusted);
  add("recovered_with_loss", m.recovered_with_loss);
  return values;
}

int RunStats(const StatsOptions& options) {
  const Result<PrintFormat> format = options.print.Chosen();
  if (!format.ok()) return FailUsage(format.status());
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead);
  if (!engine.ok()) return FailOpen(engine.status());
  Output output(STDOUT_FILENO);
  PrintValues(ValuesOf((*engine)->GetMetrics()), *format, "counter", &output);
  output.Flush();
  return output.status().ok() ? kExitOk : Fail(output.status());
}

}  // namespace

void AddStats(CLI::App* app, Action* action) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App* command = app->add_subcommand("stats", "Print the counters of the store");
  AddStoreOption(command, &options->store);
  AddPrintOptions(command, &options->print);
  command->footer("\nCounters of writes are those since this open, so they are near zero here; "
                  "versions and bytes\nin use are the store's.\n\n"
                  "Example:\n  cistern stats --store S --json");
  command->callback([options, action] { *action = [options] { return RunStats(*options); }; });
}

}  // namespace cistern::tool
