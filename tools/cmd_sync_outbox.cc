// cistern sync status, retry and resend: what of the outbox waits, and what is to wait again.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/replication_service.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/engine_options.h"
#include "tools/output.h"
#include "tools/sync_config.h"
#include "tools/sync_options.h"
#include "tools/sync_status.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr char kStatusFooter[] = R"(
The first line is the age of the oldest bucket that is sealed and not confirmed; what is not sealed
yet, since when, and what of it is overdue by the --seal-... options, follows. The store is only
read, also while a process has it open; no cluster is needed.

Examples:
  cistern sync status --store S
  cistern sync status --config /etc/cistern/sync.toml --json

Exit codes: 0 nothing is parked; 7 some is; others: see cistern --help)";

constexpr char kRetryFooter[] = R"(
A bucket that the cluster refused is parked, with its words. Once the reason is gone this lets it
wait again; the next sync sends it.

Example:
  cistern sync retry --store S --table air

Exit codes: 0 done; 3 another process has the store open; others: see cistern --help)";

constexpr char kResendFooter[] = R"(
Every bucket that holds an event time from A on and before B waits once more, if it was confirmed
and its window is still here. Nothing changes upstream where nothing was lost there.

Example:
  cistern sync resend --store S --table air --from 2024-05-01 --to 2024-05-03

Exit codes: 0 done; 3 another process has the store open; others: see cistern --help)";

// --- status

struct StoreOptions {
  std::string config;
  std::string store;
  std::string table;
  std::string from;
  std::string to;
  bool json = false;
  EngineTexts engine;  // of status
};

// With the store that the file says, where the command line says none.
Result<StoreOptions> WithFile(StoreOptions options) {
  SyncOptions given;
  given.store = options.store;
  given.engine = options.engine;
  if (!options.config.empty()) {
    CISTERN_ASSIGN_OR_RETURN(SyncOptions file, ReadSyncConfig(options.config));
    given = Overlaid(std::move(given), std::move(file));
  }
  CISTERN_RETURN_IF_ERROR(CheckStore(given));
  options.store = std::move(given.store);
  options.engine = std::move(given.engine);
  return options;
}

int RunStatus(const StoreOptions& options) {
  EngineOptions open_options;  // what is overdue goes by the rules of sealing
  const Status taken = TakeEngineTexts(options.engine, &open_options);
  if (!taken.ok()) return FailUsage(taken);
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead, open_options);
  if (!engine.ok()) return FailOpen(engine.status());
  Result<OutboxStatus> outbox = GetOutboxStatus(engine->get());
  if (!outbox.ok()) return Fail(outbox.status());
  Result<std::vector<ParkedSeal>> parked = ListParked(engine->get());
  if (!parked.ok()) return Fail(parked.status());
  SyncStatus status;
  status.outbox = *std::move(outbox);
  status.parked = *std::move(parked);
  status.now_s = SystemClock()->WallMicros() / 1'000'000;
  Output output(STDOUT_FILENO);
  output.Write(options.json ? SyncStatusJson(status) : SyncStatusText(status));
  output.Flush();
  if (!output.status().ok()) return Fail(output.status());
  if (status.outbox.seals_parked > 0) return kExitBlocked;
  return status.outbox.seals_unlisted == 0 ? kExitOk : kExitMissing;
}

// --- retry and resend

// A change of the outbox, which gives how many seals wait again; gives the exit code.
int ChangeOutbox(const StoreOptions& options,
                 Result<uint64_t> (*change)(Engine*, const StoreOptions&)) {
  EngineOptions open_options;
  open_options.background_threads = false;
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kWrite, open_options);
  if (!engine.ok()) return FailOpen(engine.status());
  const Result<uint64_t> changed = change(engine->get(), options);
  const Result<OutboxStatus> outbox = GetOutboxStatus(engine->get());
  const Status closed = (*engine)->Close();
  if (!changed.ok()) {
    const bool is_usage = changed.status().code() == StatusCode::kNotFound;
    return is_usage ? FailUsage(changed.status()) : Fail(changed.status());
  }
  std::string line =
      fmt::format("{} {} again", Counted(*changed, "seal"), *changed == 1 ? "waits" : "wait");
  // One that waits is not sent again, which surprises who asked for that.
  if (*changed == 0 && outbox.ok() && outbox->seals_waiting > 0) {
    line += fmt::format("; {} of the store {} already", Counted(outbox->seals_waiting, "seal"),
                        outbox->seals_waiting == 1 ? "waits" : "wait");
  }
  const uint64_t waiting = outbox.ok() ? outbox->seals_waiting : 0;
  const int said = SayResult(
      options.json, line,
      JsonLine().Number("seals_again", *changed).Number("seals_waiting", waiting));
  return said != kExitOk || closed.ok() ? said : Fail(closed);
}

Result<uint64_t> Retry(Engine* engine, const StoreOptions& options) {
  std::optional<std::string> table;
  if (!options.table.empty()) table = options.table;
  return RetryParked(engine, table);
}

Result<uint64_t> ResendRange(Engine* engine, const StoreOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable(options.table));
  const int64_t now_us = SystemClock()->WallMicros();
  CISTERN_ASSIGN_OR_RETURN(const int64_t from,
                           ParseBound("--from", options.from, schema->time_unit, now_us));
  CISTERN_ASSIGN_OR_RETURN(const int64_t to,
                           ParseBound("--to", options.to, schema->time_unit, now_us));
  if (from >= to) {
    return Status::InvalidArgument(
        fmt::format("--from {} is not before --to {}", options.from, options.to));
  }
  return Resend(engine, options.table, {from, to});
}

// One that works on the store alone; `run` is given options that name it.
CLI::App* AddStoreCommand(CLI::App* sync, const char* name, const char* what, Action* action,
                          const std::shared_ptr<StoreOptions>& options,
                          int (*run)(const StoreOptions&)) {
  CLI::App* command = sync->add_subcommand(name, what);
  command->add_option("--config", options->config,
                      "TOML file of `cistern sync`: where the store is, unless --store says it");
  AddStoreOption(command, &options->store);
  command->get_option("--store")->required(false);  // the file may have it
  AddJsonOption(command, &options->json);
  command->callback([options, action, run] {
    *action = [options, run] {
      const Result<StoreOptions> with_file = WithFile(*options);
      return with_file.ok() ? run(*with_file) : FailUsage(with_file.status());
    };
  });
  return command;
}

void AddStatus(CLI::App* sync, Action* action) {
  auto options = std::make_shared<StoreOptions>();
  CLI::App* command = AddStoreCommand(sync, "status", "Print what waits, and since when", action,
                                      options, RunStatus);
  AddEngineOptions(command, kSealOptions | kHeadOptions, &options->engine);
  command->footer(kStatusFooter);
}

void AddRetry(CLI::App* sync, Action* action) {
  auto options = std::make_shared<StoreOptions>();
  CLI::App* command =
      AddStoreCommand(sync, "retry", "Let parked buckets be sent again", action, options,
                      [](const StoreOptions& given) { return ChangeOutbox(given, Retry); });
  command->add_option("--table", options->table, "Of this table alone");
  command->footer(kRetryFooter);
}

void AddResend(CLI::App* sync, Action* action) {
  auto options = std::make_shared<StoreOptions>();
  CLI::App* command =
      AddStoreCommand(sync, "resend", "Send once more what was confirmed", action, options,
                      [](const StoreOptions& given) { return ChangeOutbox(given, ResendRange); });
  command->add_option("--table", options->table, "Table, or keyspace.table")->required();
  command->add_option("--from", options->from, "Event time, as for scan")->required();
  command->add_option("--to", options->to, "Event time, not included")->required();
  command->footer(kResendFooter);
}

}  // namespace

void AddSyncOutbox(CLI::App* sync, Action* action) {
  AddStatus(sync, action);
  AddRetry(sync, action);
  AddResend(sync, action);
}

}  // namespace cistern::tool
