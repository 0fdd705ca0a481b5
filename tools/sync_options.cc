#include "tools/sync_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cistern/clock.h"
#include "cistern/limits.h"
#include "engine/cluster_access.h"
#include "engine/replicate/accepted_drop.h"
#include "engine/replication_plan.h"
#include "tools/name_list.h"
#include "tools/size_text.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

using Form = SyncSetting::Form;
using Target = SyncSetting::Target;

constexpr int64_t kAwaySecondsMax = 365 * 86'400;
constexpr int64_t kMicrosPerSecond = 1'000'000;

Status Wrong(std::string what) { return Status::InvalidArgument(std::move(what)); }

// --- what each setting says

Status TakeContact(std::string_view name, const std::string& text, SyncPlan*) {
  for (const std::string& contact : SplitNames(text)) {
    CISTERN_RETURN_IF_ERROR(ParseContact(name, contact).status());
  }
  return Status::Ok();
}

Status TakeConnectTimeout(std::string_view name, const std::string& text, SyncPlan*) {
  return ParseConnectTimeout(name, text).status();
}

Status TakeProtocol(std::string_view name, const std::string& text, SyncPlan*) {
  return ParseProtocol(name, text).status();
}

Status TakeCompression(std::string_view name, const std::string& text, SyncPlan*) {
  return ParseCompression(name, text).status();
}

Status TakeKeyspace(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_RETURN_IF_ERROR(CheckKeyspaceName(name, text));
  plan->replication.keyspace = text;
  return Status::Ok();
}

Status TakeConsistency(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_ASSIGN_OR_RETURN(plan->replication.consistency, ParseConsistency(name, text));
  return Status::Ok();
}

Status TakeDrain(std::string_view name, const std::string& text, SyncPlan* plan) {
  for (const auto& [word, mode] :
       {std::pair("oldest", DrainMode::kOldest), std::pair("newest", DrainMode::kNewest),
        std::pair("live-first", DrainMode::kLiveFirst)}) {
    if (text != word) continue;
    plan->replication.drain = mode;
    return Status::Ok();
  }
  return Wrong(fmt::format("{} '{}' is not one of oldest, newest, live-first", name, text));
}

Status TakeLiveSpan(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_ASSIGN_OR_RETURN(plan->replication.live_span_s,
                           ParseSpan(name, text, 1, limits::kLiveSpanSecondsMax));
  return Status::Ok();
}

Status TakeLivePercent(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_ASSIGN_OR_RETURN(const uint64_t percent, ParseCount(name, text, 1, 99));
  plan->replication.live_percent = static_cast<uint32_t>(percent);
  return Status::Ok();
}

Status TakeBandwidth(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_ASSIGN_OR_RETURN(plan->replication.bytes_per_s_max,
                           ParseRate(name, text, limits::kBandwidthMin, limits::kBandwidthMax));
  return Status::Ok();
}

Status TakeInFlight(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_ASSIGN_OR_RETURN(plan->replication.in_flight_bytes_max,
                           ParseSize(name, text, limits::kInFlightBytesMin,
                                     limits::kInFlightBytesMax));
  return Status::Ok();
}

Status TakeHold(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_ASSIGN_OR_RETURN(const int64_t hold_s,
                           ParseSpan(name, text, 0, limits::kHoldUsMax / kMicrosPerSecond));
  plan->replication.hold_us = hold_s * kMicrosPerSecond;
  return Status::Ok();
}

Status TakeProof(std::string_view name, const std::string& text, SyncPlan* plan) {
  using Level = ProofLevel;
  for (const auto& [word, level] :
       {std::pair("ack", Level::kAck), std::pair("count", Level::kCount),
        std::pair("rows", Level::kRows)}) {
    if (text != word) continue;
    plan->replication.proof = level;
    return Status::Ok();
  }
  return Wrong(fmt::format("{} '{}' is not one of ack, count, rows", name, text));
}

Status TakeAcceptHidden(std::string_view name, const std::string& text, SyncPlan* plan) {
  Result<AcceptedDrop> drop = replicate::ParseAcceptedDrop(text);
  if (!drop.ok()) return Wrong(fmt::format("{} {}", name, drop.status().message()));
  plan->replication.accepted_drops.push_back(*std::move(drop));
  return Status::Ok();
}

Status TakeBatchRows(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_ASSIGN_OR_RETURN(plan->replication.batch_rows_max,
                           ParseCount(name, text, 1, limits::kPushStatementsMax));
  return Status::Ok();
}

Status TakeBatchBytes(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_ASSIGN_OR_RETURN(plan->replication.batch_bytes_max,
                           ParseSize(name, text, limits::kPushBatchBytesMin,
                                     limits::kPushBatchBytesMax));
  return Status::Ok();
}

Status TakeAwayAfter(std::string_view name, const std::string& text, SyncPlan* plan) {
  CISTERN_ASSIGN_OR_RETURN(const int64_t away_s, ParseSpan(name, text, 1, kAwaySecondsMax));
  plan->away_after_us = away_s * kMicrosPerSecond;
  return Status::Ok();
}

Status TakeSeal(std::string_view, const std::string& text, SyncPlan* plan) {
  plan->seal = text == "true";
  plan->engine.seal_when_due = plan->seal;
  return Status::Ok();
}

template <auto Take>
Status TakeOfEngine(std::string_view name, const std::string& text, SyncPlan* plan) {
  return Take(name, text, &plan->engine);
}

// --- all of them

template <auto Member>
Target Of(SyncOptions* options) {
  return &(options->*Member);
}
template <auto Member>
Target OfContact(SyncOptions* options) {
  return &(options->contact.*Member);
}
template <auto Member>
Target OfEngine(SyncOptions* options) {
  return &(options->engine.*Member);
}

constexpr SyncSetting kSettings[] = {
    {"store", Form::kText, Of<&SyncOptions::store>, nullptr},
    {"contact", Form::kTexts, OfContact<&ContactOptions::contacts>, TakeContact},
    {"user", Form::kText, OfContact<&ContactOptions::user>, nullptr},
    {"password_file", Form::kText, OfContact<&ContactOptions::password_file>, nullptr},
    {"credentials_dir", Form::kText, OfContact<&ContactOptions::credentials_dir>, nullptr},
    {"tls", Form::kTruth, OfContact<&ContactOptions::tls>, nullptr},
    {"ca", Form::kText, OfContact<&ContactOptions::ca>, nullptr},
    {"client_cert", Form::kText, OfContact<&ContactOptions::client_cert>, nullptr},
    {"client_key", Form::kText, OfContact<&ContactOptions::client_key>, nullptr},
    {"allow_cleartext_password", Form::kTruth,
     OfContact<&ContactOptions::allow_cleartext_password>, nullptr},
    {"local_dc", Form::kText, OfContact<&ContactOptions::local_dc>, nullptr},
    {"connect_timeout", Form::kSpan, OfContact<&ContactOptions::connect_timeout>,
     TakeConnectTimeout},
    {"protocol", Form::kText, OfContact<&ContactOptions::protocol>, TakeProtocol},
    {"compression", Form::kText, OfContact<&ContactOptions::compression>, TakeCompression},
    {"keyspace", Form::kText, Of<&SyncOptions::keyspace>, TakeKeyspace},
    {"consistency", Form::kText, Of<&SyncOptions::consistency>, TakeConsistency},
    {"drain", Form::kText, Of<&SyncOptions::drain>, TakeDrain},
    {"live_span", Form::kSpan, Of<&SyncOptions::live_span>, TakeLiveSpan},
    {"live_percent", Form::kCount, Of<&SyncOptions::live_percent>, TakeLivePercent},
    {"bandwidth", Form::kRate, Of<&SyncOptions::bandwidth>, TakeBandwidth},
    {"in_flight", Form::kSize, Of<&SyncOptions::in_flight>, TakeInFlight},
    {"hold", Form::kSpan, Of<&SyncOptions::hold>, TakeHold},
    {"proof", Form::kText, Of<&SyncOptions::proof>, TakeProof},
    {"accept_hidden", Form::kTexts, Of<&SyncOptions::accept_hidden>, TakeAcceptHidden},
    {"batch_rows", Form::kCount, Of<&SyncOptions::batch_rows>, TakeBatchRows},
    {"batch_bytes", Form::kSize, Of<&SyncOptions::batch_bytes>, TakeBatchBytes},
    {"away_after", Form::kSpan, Of<&SyncOptions::away_after>, TakeAwayAfter},
    {"seal", Form::kTruth, Of<&SyncOptions::seal>, TakeSeal},
    {"memory_budget", Form::kSize, OfEngine<&EngineTexts::memory_budget>,
     TakeOfEngine<TakeMemoryBudget>},
    {"disk_budget", Form::kSize, OfEngine<&EngineTexts::disk_budget>, TakeOfEngine<TakeDiskBudget>},
    {"disk_shed", Form::kText, OfEngine<&EngineTexts::disk_shed>, TakeOfEngine<TakeDiskShed>},
    {"head_age", Form::kSpan, OfEngine<&EngineTexts::head_age>, TakeOfEngine<TakeHeadAge>},
    {"seal_grace", Form::kSpan, OfEngine<&EngineTexts::seal_grace>, TakeOfEngine<TakeSealGrace>},
    {"seal_idle", Form::kSpan, OfEngine<&EngineTexts::seal_idle>, TakeOfEngine<TakeSealIdle>},
    {"seal_age", Form::kSpan, OfEngine<&EngineTexts::seal_age>, TakeOfEngine<TakeSealAge>},
    {"seal_rows", Form::kCount, OfEngine<&EngineTexts::seal_rows>, TakeOfEngine<TakeSealRows>},
    {"seal_bytes", Form::kSize, OfEngine<&EngineTexts::seal_bytes>, TakeOfEngine<TakeSealBytes>},
    {"keep_confirmed", Form::kSpan, OfEngine<&EngineTexts::keep_confirmed>,
     TakeOfEngine<TakeKeepConfirmed>},
    {"keep_unconfirmed", Form::kSpan, OfEngine<&EngineTexts::keep_unconfirmed>,
     TakeOfEngine<TakeKeepUnconfirmed>},
};

// The texts that are given of it; none of a truth.
std::vector<std::string> TextsOf(const Target& target) {
  if (const auto* text = std::get_if<std::string*>(&target)) {
    return (*text)->empty() ? std::vector<std::string>() : std::vector{**text};
  }
  if (const auto* texts = std::get_if<std::vector<std::string>*>(&target)) return **texts;
  return {};
}

bool IsGiven(const Target& target) {
  if (const auto* truth = std::get_if<std::optional<bool>*>(&target)) {
    return (*truth)->has_value();
  }
  return !TextsOf(target).empty();
}

void AddSending(CLI::App* command, SyncOptions* o) {
  AddConsistencyOption(command, &o->consistency);
  command->add_option("--keyspace", o->keyspace,
                      "Keyspace of tables that were declared without one");
  command->add_option("--drain", o->drain,
                      "Which buckets go first: oldest, newest, or live-first (default): new ones "
                      "beside the backlog from its oldest on");
  command->add_option("--live-span", o->live_span,
                      "Of live-first: buckets that ended so long ago are new: 1h (default), 2d");
  command->add_option("--live-percent", o->live_percent,
                      "Of live-first: the share of new ones in what is sent (default 70)");
  command->add_option("--bandwidth", o->bandwidth,
                      "At most so much, before compression: 256KiB/s (default: no limit)");
  command->add_option("--in-flight", o->in_flight,
                      "Sent and not answered, at most: 4MiB (default), from 64KiB");
  command->add_option("--hold", o->hold,
                      "A bucket is confirmed so long after its last answer, when the cluster has "
                      "it on disk: 15s (default)");
  command->add_option("--proof", o->proof,
                      "How a bucket's arrival is proved before it is confirmed: ack (default), "
                      "count: the server counts its rows, rows: they are read back");
  command->add_option("--accept-hidden", o->accept_hidden,
                      "KEYSPACE.TABLE.COLUMN@TIME of a column that was dropped upstream and added "
                      "again: nobody has to see there what was written up to then; repeatable")
      ->allow_extra_args(false);
  command->add_option("--batch-rows", o->batch_rows, "Row versions of one batch (default 400)");
  command->add_option("--batch-bytes", o->batch_bytes,
                      "Bytes of one batch, about: 64KiB (default)");
}

void AddKeeping(CLI::App* command, SyncOptions* o) {
  AddTruth(command, "--no-seal", [o](bool is_true) { o->seal = is_true ? "false" : "true"; },
           "Send what is sealed, and seal nothing that is due");
  AddEngineOptions(command,
                   kMemoryOptions | kDiskOptions | kHeadOptions | kSealOptions | kKeepOptions,
                   &o->engine);
}

// What is no level at all is told by the setting itself.
std::optional<SyncMisfit> FindUnreadable(const SyncOptions& options) {
  const bool proves = !options.proof.empty() && options.proof != "ack";
  if (!proves || options.consistency.empty()) return std::nullopt;
  const Result<Consistency> level = ParseConsistency("--consistency", options.consistency);
  if (!level.ok() || *level != Consistency::kAny) return std::nullopt;
  return SyncMisfit{"proof",
                    fmt::format("--proof {} reads, and nothing can be read at --consistency {}: "
                                "take LOCAL_QUORUM or another one", options.proof,
                                options.consistency)};
}

// As the option is called, and where else than on the command line it may have been given.
Status WithFile(const SyncOptions& options, const Status& wrong) {
  if (options.config.empty()) return wrong;
  return Wrong(fmt::format("{} (with what {} says)", wrong.message(), options.config));
}

}  // namespace

std::span<const SyncSetting> SyncSettings() { return kSettings; }

std::string OptionOf(std::string_view key) {
  std::string option = "--" + std::string(key);
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

void AddSyncOptions(CLI::App* command, SyncOptions* options) {
  command->add_option("--config", options->config,
                      "TOML file of settings; what the command line says goes before it");
  command->add_option("--store", options->store, "Directory of the store");
  AddContactOptions(command, &options->contact);
  command->get_option("--contact")->required(false);  // the file may have it
  command->add_flag("--follow", options->follow,
                    "Go on until SIGTERM or SIGINT, whatever becomes of the cluster");
  command->add_option("--away-after", options->away_after,
                      "Give up once the cluster is away for so long: 30s (default)");
  AddSending(command, options);
  AddKeeping(command, options);
  command->add_flag("--quiet", options->quiet,
                    "No progress, no summary; with --follow what changes is told all the same");
  command->add_flag("--check", options->check,
                    "Say what is wrong with the options and the file; open and send nothing");
}

std::optional<SyncMisfit> FindMisfit(const SyncOptions& options) {
  const auto useless = [](std::string_view key, std::string_view why) {
    return SyncMisfit{key, fmt::format("{} {}; leave it out", OptionOf(key), why)};
  };
  if (!options.drain.empty() && options.drain != "live-first") {
    const std::string_view why = "is of --drain live-first";
    if (!options.live_span.empty()) return useless("live_span", why);
    if (!options.live_percent.empty()) return useless("live_percent", why);
  }
  if (auto unreadable = FindUnreadable(options)) return unreadable;
  if (options.quiet && options.json && !options.follow) {
    return useless("json", "is of the summary, which --quiet leaves out");
  }
  if (!options.follow) return std::nullopt;
  if (!options.away_after.empty()) {
    return useless("away_after", "does nothing beside --follow, which never gives up");
  }
  return std::nullopt;
}

SyncOptions Overlaid(SyncOptions command_line, SyncOptions file) {
  if (command_line.contact.tls == false) {  // what the file says of it is left aside with it
    file.contact.ca.clear();
    file.contact.client_cert.clear();
    file.contact.client_key.clear();
  }
  for (const SyncSetting& setting : kSettings) {
    const Target to = setting.target(&command_line);
    if (IsGiven(to)) continue;
    std::visit(
        [&](auto* value) {
          *value = std::move(*std::get<decltype(value)>(setting.target(&file)));
        },
        to);
  }
  return command_line;
}

Status CheckStore(const SyncOptions& options) {
  if (!options.store.empty()) return Status::Ok();
  return Wrong("which store? --store DIR says it, or store = \"DIR\" in the file of --config");
}

Status CheckPlaces(const SyncOptions& options) {
  CISTERN_RETURN_IF_ERROR(CheckStore(options));
  if (options.contact.contacts.empty()) {
    return Wrong("which cluster? --contact HOST[:PORT] names a node of it, or contact = [\"HOST\"] "
                 "in the file of --config");
  }
  return Status::Ok();
}

Result<SyncPlan> PlanSync(const SyncOptions& options) {
  CISTERN_RETURN_IF_ERROR(CheckPlaces(options));
  const auto plan = std::make_unique<SyncPlan>();
  SyncOptions given = options;
  for (const SyncSetting& setting : kSettings) {
    if (setting.take == nullptr) continue;
    for (const std::string& text : TextsOf(setting.target(&given))) {
      CISTERN_RETURN_IF_ERROR(setting.take(OptionOf(setting.key), text, plan.get()));
    }
  }
  if (const auto misfit = FindUnreadable(options)) return WithFile(options, Wrong(misfit->why));
  const Status planned = PlanReplicator(plan->replication, 0).status();
  if (!planned.ok()) return WithFile(options, planned);
  Result<ContactPlan> contact = PlanContact(options.contact);
  if (!contact.ok()) return WithFile(options, contact.status());
  plan->store = options.store;
  plan->contact = *std::move(contact);
  return std::move(*plan);
}

}  // namespace cistern::tool
