// cistern sync: sealed buckets to a cluster.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/cluster_access.h"
#include "engine/replication_plan.h"
#include "engine/replication_service.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/engine_options.h"
#include "tools/interrupt.h"
#include "tools/sync_config.h"
#include "tools/sync_follow.h"
#include "tools/sync_options.h"
#include "tools/sync_run.h"
#include "tools/sync_status.h"

namespace cistern::tool {
namespace {

constexpr size_t kParkedShownMax = 10;
constexpr int64_t kLineEveryUs = 30'000'000;

constexpr char kFooter[] = R"(
Sends every sealed bucket to the cluster's table of the same name, and has it confirmed once the
cluster has it on disk. What is repeated after an interruption does no harm. Of passwords the
command line and the file name the file alone.

  cistern sync status   what waits, and since when
  cistern sync retry    lets parked buckets be sent again
  cistern sync resend   sends once more what was confirmed

Examples:
  cistern sync --store S --contact db-1 --contact db-2
  cistern sync --store S --contact db-1 --tls --user edge --password-file pw --bandwidth 256KiB/s
  cistern sync --config /etc/cistern/sync.toml --check
  cistern sync --config /etc/cistern/sync.toml --follow

Exit codes: 0 all is confirmed, or --follow was ended by a signal; 4 the store cannot note what was
acknowledged, as on a full disk, for --away-after; 6 what is left is not in the outbox any more, or
all is confirmed and a proof found rows shadowed upstream; 7 some needs a person: parked buckets,
refused or not readable here, tables that differ; 8 the cluster is away, or lets nobody in; 130, 143
ended by SIGINT or SIGTERM; others: see cistern --help)";

class SyncCommand {
 public:
  SyncCommand(SyncPlan plan, const SyncOptions& options)
      : plan_(std::move(plan)),
        is_following_(options.follow),
        is_quiet_(options.quiet),
        is_json_(options.json),
        is_keyspace_of_file_(options.is_keyspace_of_file),
        progress_(!options.quiet && !options.json) {}

  int Run() {
    for (const std::string& warning : plan_.contact.warnings) Complain(warning);
    Result<std::unique_ptr<Engine>> opened = OpenStore(plan_.store, Access::kWrite, plan_.engine);
    if (!opened.ok()) return FailOpen(opened.status());
    engine_ = std::move(*opened);
    const Status checked = CheckKeyspace();
    const int code = checked.ok() ? RunOpen() : FailUsage(checked);
    service_.reset();  // it must not outlive the engine
    const Status closed = engine_->Close();
    return closed.ok() || code != kExitOk ? code : Fail(closed);
  }

 private:
  int RunOpen() {
    if (plan_.seal) {
      const Status sealed = SealDue();
      if (!sealed.ok()) return Fail(sealed);
    }
    const Result<OutboxStatus> outbox = GetOutboxStatus(engine_.get());
    // Damage in one window is no reason to leave the others here; it shows again where it is read.
    if (!outbox.ok()) Complain(outbox.status().message());
    if (outbox.ok()) waiting_ = *outbox;
    const bool is_over = outbox.ok() && waiting_.seals_waiting == 0 && !is_following_;
    if (is_over) return ReportNothing();
    Result<replicate::ReplicatorOptions> replicator =
        PlanReplicator(plan_.replication, SeedOf(SystemClock().get()));
    if (!replicator.ok()) return FailUsage(replicator.status());
    Result<std::unique_ptr<ReplicationService>> service = ReplicationService::Start(
        engine_.get(), {plan_.contact.session, *std::move(replicator)});
    if (!service.ok()) return Fail(service.status());
    service_ = std::move(*service);
    return is_following_ ? Follow() : RunOnce();
  }

  // An option that nothing needs; of a daemon's tables some may come later.
  [[nodiscard]] Status CheckKeyspace() const {
    const std::string& keyspace = plan_.replication.keyspace;
    if (keyspace.empty() || is_following_ || is_keyspace_of_file_) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(const Tables tables, ChooseTables(*engine_, {}));
    const bool is_needed = tables.empty() || std::ranges::any_of(tables, [](const auto& table) {
      return table->keyspace.empty();
    });
    if (is_needed) return Status::Ok();
    return Status::InvalidArgument(kKeyspaceUnused);
  }

  // What is due, before anything is sent. While others are sent the engine goes on with it.
  Status SealDue() {
    const Result<SealReport> report = engine_->Seal({.due_only = true});
    const Status ended = report.ok() ? report->stopped : report.status();
    const bool lacks_room = ended.code() == StatusCode::kNoSpace;
    if (report.ok()) {
      for (const std::string& problem : report->problems) Complain(problem);
      has_seal_problems_ = !report->problems.empty();
    }
    if (!ended.ok() && !lacks_room && ended.code() != StatusCode::kBusy) return ended;
    // A full disk is made room on by what is sent.
    if (!ended.ok()) Complain(ended.message() + "; what is sealed already is sent");
    return Status::Ok();
  }

  int RunOnce() {
    if (waiting_.seals_unlisted > 0) Complain(UnlistedText(waiting_.seals_unlisted));
    SyncRunSettings settings;
    settings.step = [this](int64_t wait_us) { return service_->Run(wait_us); };
    settings.is_interrupted = [] { return InterruptSignal() != 0; };
    settings.complain = [](const std::string& line) { Complain(line); };
    settings.connect_timeout_us = plan_.contact.connect_timeout_us;
    settings.away_after_us = plan_.away_after_us;
    settings.seals_waiting = waiting_.seals_waiting;
    settings.versions_waiting = waiting_.versions_waiting;
    const bool has_bar = is_quiet_ || isatty(STDERR_FILENO) != 0;
    settings.line_every_us = has_bar ? 0 : kLineEveryUs;
    const int64_t began_us = settings.clock->MonotonicMicros();
    const std::shared_ptr<Clock> clock = settings.clock;
    const SyncOutcome outcome = SyncRun(std::move(settings), &progress_).Run();
    progress_.Clear();
    const int said = Report(outcome, clock->MonotonicMicros() - began_us);
    const int code = CodeOf(outcome);
    return code == kExitOk ? said : code;
  }

  int Follow() {
    const auto say = [this](const std::string& line) {
      is_json_ ? (void)Say(line) : Complain(line);
    };
    const auto say_event = [this, say](const std::string& event) {
      say(is_json_ ? FollowEventJson(SystemClock()->WallMicros(), event) : event);
    };
    say_event(fmt::format("following {}: {} of {} {}, {} parked", plan_.store,
                          Counted(waiting_.seals_waiting, "seal"),
                          Counted(waiting_.versions_waiting, "row version"),
                          waiting_.seals_waiting == 1 ? "waits" : "wait",
                          waiting_.seals_parked));
    SyncFollowSettings settings;
    settings.step = [this](int64_t wait_us) { return service_->Run(wait_us); };
    settings.list_parked = [this] { return ListParked(engine_.get()); };
    settings.is_interrupted = [] { return InterruptSignal() != 0; };
    settings.pause = PauseUnlessInterrupted;
    settings.metrics = [this] { return engine_->GetMetrics(); };
    settings.say = say;
    settings.is_json = is_json_;
    const bool has_bar = !is_json_ && isatty(STDERR_FILENO) != 0;
    if (!is_quiet_ && has_bar) settings.progress = &progress_;
    if (!is_quiet_ && !has_bar) settings.line_every_us = kLineEveryUs;
    const ReplicationStatus last = SyncFollow(std::move(settings)).Run();
    progress_.Clear();
    say_event(fmt::format("ended: {} confirmed{}", Counted(last.counters.seals_confirmed, "seal"),
                          HeldBackText(last)));
    return kExitOk;
  }

  // --- what is told at the end

  // Rows that nobody has sealed are not sent.
  [[nodiscard]] std::string OpenText() const {
    const uint64_t open = engine_->GetMetrics().versions_open;
    return open == 0 ? std::string()
                     : fmt::format("; {} in open buckets", Counted(open, "row version"));
  }

  int ReportNothing() {
    std::string text = OpenText();
    if (!text.empty()) text += ", which `cistern seal` seals: with --due it tells when";
    const uint64_t parked = waiting_.seals_parked;
    if (parked > 0) {
      text = fmt::format("; {} {} parked{}", Counted(parked, "seal"), parked == 1 ? "is" : "are",
                         text);
    }
    const int said =
        is_quiet_ ? static_cast<int>(kExitOk)
                  : SayResult(is_json_, "nothing waits" + text,
                              JsonLine().Text("end", "nothing waits")
                                  .Number("seals_parked", parked)
                                  .Number("versions_open", engine_->GetMetrics().versions_open));
    if (waiting_.seals_parked == 0) return has_seal_problems_ ? kExitPartial : said;
    ReportParked();
    return kExitBlocked;
  }

  int Report(const SyncOutcome& outcome, int64_t spent_us) {
    if (!outcome.failure.ok()) Complain(outcome.failure.message());
    if (outcome.end == SyncEnd::kAway) {
      Complain("the cluster is away: " + AwayText(outcome.last));
    }
    const bool is_told = outcome.end == SyncEnd::kAway &&
                         outcome.last.refused.message() == outcome.last.away.message();
    if (outcome.end != SyncEnd::kConfirmed && !outcome.last.refused.ok() && !is_told) {
      Complain("the last refusal: " + OneLine(outcome.last.refused.message()));
    }
    if (outcome.end == SyncEnd::kStuck) ReportParked();
    const uint64_t shadowed = outcome.last.counters.rows_shadowed;
    if (shadowed > 0) Complain(ShadowedText(shadowed));
    if (is_quiet_) return kExitOk;
    return SayResult(is_json_, SyncOutcomeText(outcome, spent_us) + OpenText(),
                     SyncOutcomeJson(outcome, spent_us)
                         .Number("versions_open", engine_->GetMetrics().versions_open));
  }

  void ReportParked() {
    const Result<std::vector<ParkedSeal>> parked = ListParked(engine_.get());
    if (!parked.ok()) {
      Complain(parked.status().message());
      return;
    }
    for (size_t i = 0; i < std::min(parked->size(), kParkedShownMax); ++i) {
      Complain("parked: " + ParkedText((*parked)[i]));
    }
    if (parked->size() > kParkedShownMax) {
      Complain(fmt::format("{} more are parked: `cistern sync status` names them all",
                           parked->size() - kParkedShownMax));
    }
    has_parked_ = !parked->empty();
    if (has_parked_) {
      Complain("`cistern sync retry` lets parked ones be sent again, once the reason is gone; "
               "`cistern verify` names those that cannot be read here");
    }
  }

  [[nodiscard]] int CodeOf(const SyncOutcome& outcome) const {
    switch (outcome.end) {
      case SyncEnd::kConfirmed:
        if (outcome.last.counters.rows_shadowed > 0) return kExitMissing;
        return has_seal_problems_ ? kExitPartial : kExitOk;
      case SyncEnd::kStuck:
        return has_parked_ || !outcome.last.held.empty() ? kExitBlocked : kExitMissing;
      case SyncEnd::kAway: return kExitAway;
      case SyncEnd::kInterrupted: return 128 + InterruptSignal();
      case SyncEnd::kFailed: return ExitCodeOf(outcome.failure);
    }
    return kExitInternal;
  }

  const SyncPlan plan_;
  const bool is_following_;
  const bool is_quiet_;
  const bool is_json_;
  const bool is_keyspace_of_file_;
  Progress progress_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ReplicationService> service_;
  OutboxStatus waiting_;  // when it began
  bool has_seal_problems_ = false;
  bool has_parked_ = false;
};

int SayChecked(const SyncPlan& plan, const SyncOptions& options) {
  for (const std::string& warning : plan.contact.warnings) Complain(warning);
  const std::string what = options.config.empty() ? "the command line" : options.config;
  return SayResult(options.json, what + " is right, as far as that shows before anything is opened",
                   JsonLine().Text("checked", what).Number("warnings",
                                                           plan.contact.warnings.size()));
}

int RunSync(SyncOptions options) {
  if (const auto misfit = FindMisfit(options)) {
    return FailUsage(Status::InvalidArgument(misfit->why));
  }
  // A file may have both: its rules say to status what is overdue, whoever seals.
  const std::string seals = GivenSealOption(options.engine);
  if (!options.config.empty()) {
    Result<SyncOptions> file = ReadSyncConfig(options.config);
    if (!file.ok()) return FailUsage(file.status());
    options.is_keyspace_of_file = options.keyspace.empty();
    options = Overlaid(std::move(options), *std::move(file));
  }
  if (!seals.empty() && options.seal == "false") {
    return FailUsage(Status::InvalidArgument(fmt::format(
        "{} says when buckets are due, and --no-seal{} seals none; leave one out", seals,
        options.config.empty() ? "" : fmt::format(" (or seal of {})", options.config))));
  }
  Result<SyncPlan> plan = PlanSync(options);
  if (!plan.ok()) return FailUsage(plan.status());
  if (options.check) return SayChecked(*plan, options);
  CatchInterrupts();
  return SyncCommand(*std::move(plan), options).Run();
}

}  // namespace

void AddSync(CLI::App* app, Action* action) {
  auto options = std::make_shared<SyncOptions>();
  CLI::App* command =
      app->add_subcommand("sync", "Send sealed buckets to a cluster; once, or all the time");
  AddSyncOptions(command, options.get());
  AddJsonOption(command, &options->json);
  AddSyncOutbox(command, action);
  command->require_subcommand(0, 1);
  command->footer(kFooter);
  // Comes after that of a subcommand, which has said what to do.
  command->callback([options, action, command] {
    const std::vector<CLI::App*> subcommands = command->get_subcommands();
    if (subcommands.empty()) {
      *action = [options] { return RunSync(*options); };
      return;
    }
    RefuseOptionsBefore(*command, *subcommands.front());
  });
}

}  // namespace cistern::tool
