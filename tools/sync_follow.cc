#include "tools/sync_follow.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "tools/counted.h"
#include "tools/size_text.h"
#include "tools/sync_status.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr int64_t kWaitUs = 250'000;
constexpr int64_t kStorePauseUs = 1'000'000;
// A host that comes back at once is not worth a line.
constexpr int64_t kAwayToldUs = 5'000'000;
// One that has nothing to take is believed to be back after so long.
constexpr int64_t kBackToldUs = 5'000'000;
// Another reason is told so long after the last one.
constexpr int64_t kReasonToldUs = 60'000'000;
constexpr int64_t kMicrosPerSecond = 1'000'000;

// Nothing waits of what is sealed.
bool IsIdle(ReplicationPhase phase) {
  return phase == ReplicationPhase::kIdle || phase == ReplicationPhase::kCollecting;
}

bool HasDigit(std::string_view word) {
  return word.find_first_of("0123456789") != std::string_view::npos;
}

// What the hosts say, each thing once, without addresses, ports and counts: these change while the
// reason is the same.
std::set<std::string> KindsOf(const Status& away) {
  std::set<std::string> kinds;
  std::string kind;
  std::string word;
  for (const char c : OneLine(away.message()) + ";") {
    if (c != ' ' && c != ';') {
      word += c;
      continue;
    }
    if (!word.empty() && !HasDigit(word)) kind += word + ' ';
    word.clear();
    if (c == ';') kinds.insert(std::exchange(kind, {}));
  }
  return kinds;
}

uint64_t AnsweredBytes(const ReplicationStatus& status) {
  return status.counters.bytes_sent + status.counters.bytes_read_back;
}

std::string TimeText(int64_t wall_us) {
  return FormatTicks(wall_us / kMicrosPerSecond, TimeUnit::kSeconds);
}

std::string_view PhaseName(ReplicationPhase phase) {
  switch (phase) {
    case ReplicationPhase::kWorking: return "working";
    case ReplicationPhase::kAway: return "away";
    case ReplicationPhase::kHolding: return "holding";
    case ReplicationPhase::kStuck: return "stuck";
    case ReplicationPhase::kIdle: return "idle";
    case ReplicationPhase::kCollecting: break;
  }
  return "collecting";
}

}  // namespace

std::string FollowProgressText(const FollowProgress& progress) {
  const ReplicationCounters& done = progress.counters;
  std::string text = fmt::format("{} confirmed, {} sent in {}",
                                 Counted(done.seals_confirmed, "seal"),
                                 Counted(done.versions_sent, "row version"),
                                 FormatSize(done.bytes_sent));
  const bool is_working = progress.phase == ReplicationPhase::kWorking;
  if (is_working && progress.versions_per_s) {
    text += fmt::format(", {:.0f} a second", *progress.versions_per_s);
  }
  text += fmt::format("; {} {}", Counted(progress.versions_waiting, "row version"),
                      progress.versions_waiting == 1 ? "waits" : "wait");
  if (progress.versions_parked > 0) text += fmt::format(", {} parked", progress.versions_parked);
  if (progress.phase == ReplicationPhase::kHolding) {
    text += ", until the cluster has them on disk";
  }
  if (!progress.away.empty()) text += "; the cluster is away: " + progress.away;
  return text;
}

void AddFollowProgress(const FollowProgress& progress, JsonLine* json) {
  const ReplicationCounters& done = progress.counters;
  json->Text("phase", PhaseName(progress.phase)).Number("seals_confirmed", done.seals_confirmed)
      .Number("versions_sent", done.versions_sent).Number("bytes_sent", done.bytes_sent)
      .Number("versions_waiting", progress.versions_waiting)
      .Number("versions_parked", progress.versions_parked)
      .TextOrNull("away", progress.away.empty() ? std::nullopt : std::optional(progress.away));
}

std::string FollowEventJson(int64_t wall_us, const std::string& what) {
  return JsonLine().Text("time", TimeText(wall_us)).Text("event", what).object();
}

SyncFollow::SyncFollow(SyncFollowSettings settings)
    : settings_(std::move(settings)), watch_([this](const std::string& line) { Say(line); }) {}

ReplicationStatus SyncFollow::Run() {
  // What was parked before this run is no news.
  if (const auto parked = settings_.list_parked(); parked.ok()) {
    for (const ParkedSeal& seal : *parked) parked_.insert(seal.seal);
  }
  ReplicationStatus last;
  while (!settings_.is_interrupted()) {
    Result<ReplicationStatus> status = settings_.step(kWaitUs);
    NoteStore(status.status());
    if (!status.ok()) {
      settings_.pause(kStorePauseUs);
      continue;
    }
    last = *std::move(status);
    Note(last);
  }
  return last;
}

void SyncFollow::Note(const ReplicationStatus& status) {
  watch_.Note(status);
  NoteParked(status);
  NoteAway(status);
  NoteRest(status);
  NoteProgress(status);
}

void SyncFollow::NoteStore(const Status& status) {
  const std::string failure = status.ok() ? std::string() : OneLine(status.message());
  if (failure == store_failure_) return;
  Say(failure.empty() ? "the store works again" : failure + "; it is tried again");
  store_failure_ = failure;
}

void SyncFollow::NoteAway(const ReplicationStatus& status) {
  const int64_t now_us = settings_.clock->MonotonicMicros();
  if (!status.away.ok()) return NoteReason(status, now_us);
  if (!back_since_us_) back_since_us_ = now_us;
  if (contact_ == Contact::kUnknown) {
    Say("the cluster takes requests");
    contact_ = Contact::kUp;
  }
  // A replicator that was refused pauses, and is not away for the moment in which it tries anew.
  const bool has_answered = AnsweredBytes(status) != answered_bytes_;
  const bool has_work = status.phase == ReplicationPhase::kWorking;
  const bool is_steady = !has_work && now_us - *back_since_us_ >= kBackToldUs;
  if (!has_answered && !is_steady) return;
  if (contact_ == Contact::kAway) {
    const int64_t away_us = *back_since_us_ - away_since_us_.value_or(*back_since_us_);
    Say("the cluster takes requests again, after " + AgeText(away_us / kMicrosPerSecond));
  }
  contact_ = Contact::kUp;
  away_since_us_.reset();
}

// While nothing waits, too: a wrong password shows before it hurts.
void SyncFollow::NoteReason(const ReplicationStatus& status, int64_t now_us) {
  // What came before this moment is no sign that it is back.
  answered_bytes_ = AnsweredBytes(status);
  back_since_us_.reset();
  if (!away_since_us_) away_since_us_ = now_us;
  const bool is_told = contact_ == Contact::kAway;
  if (now_us - (is_told ? reason_told_us_ : *away_since_us_) <
      (is_told ? kReasonToldUs : kAwayToldUs)) {
    return;
  }
  std::set<std::string> kinds = KindsOf(status.away);
  if (is_told && kinds == reason_kinds_) return;
  const bool is_idle = IsIdle(status.phase);
  Say(std::string(is_told ? "the cluster is still away, for another reason: "
                          : "the cluster is away: ") +
      AwayText(status) + (is_idle ? "; nothing waits" : ""));
  contact_ = Contact::kAway;
  reason_told_us_ = now_us;
  reason_kinds_ = std::move(kinds);
}

void SyncFollow::NoteParked(const ReplicationStatus& status) {
  if (status.counters.seals_parked == parked_count_) return;
  const auto parked = settings_.list_parked();
  if (!parked.ok()) return;  // at the next turn
  std::set<uint64_t> now;
  for (const ParkedSeal& seal : *parked) {
    now.insert(seal.seal);
    if (parked_.contains(seal.seal)) continue;
    ++parked_count_;
    Say("parked: " + ParkedText(seal));
  }
  parked_ = std::move(now);
  // They are counted a little before they are listed.
  const bool is_listed = status.phase != ReplicationPhase::kWorking;
  if (is_listed) parked_count_ = status.counters.seals_parked;
}

// Nothing goes any more: what went, and what is left.
void SyncFollow::NoteRest(const ReplicationStatus& status) {
  const bool is_idle = IsIdle(status.phase);
  const bool was_at_rest = is_at_rest_;
  is_at_rest_ = is_idle || status.phase == ReplicationPhase::kStuck;
  // Rows that come to open buckets are no news.
  const ReplicationPhase phase = is_idle ? ReplicationPhase::kIdle : status.phase;
  if (!is_at_rest_ || (was_at_rest && rest_ == phase)) return;
  const ReplicationCounters& now = status.counters;
  const uint64_t seals = now.seals_confirmed - told_.seals_confirmed;
  if (seals == 0 && rest_ == phase) return;
  std::string text;
  if (seals > 0) {
    text = fmt::format("{} confirmed, {} sent in {}{}; ", Counted(seals, "seal"),
                       Counted(now.versions_sent - told_.versions_sent, "row version"),
                       FormatSize(now.bytes_sent - told_.bytes_sent), ProofText(now, told_));
  }
  const char* const left = status.held.empty()
                               ? "what is left waits for a person, see `cistern sync status`"
                               : "what is left waits for a person: of tables that differ, see "
                                 "`cistern schema diff`, of others `cistern sync status`";
  Say(text + (is_idle ? "nothing waits" : left));
  rest_ = phase;
  told_ = now;
}

// While something is on its way: a gateway at rest fills no log.
void SyncFollow::NoteProgress(const ReplicationStatus& status) {
  const bool has_bar = settings_.progress != nullptr;
  if (IsIdle(status.phase) || status.phase == ReplicationPhase::kStuck) {
    progress_us_.reset();
    if (has_bar) settings_.progress->Clear();
    return;
  }
  const int64_t now_us = settings_.clock->MonotonicMicros();
  pace_.Note(now_us, status.counters.versions_sent);
  if (!progress_us_) progress_us_ = now_us;
  const bool is_due =
      settings_.line_every_us > 0 && now_us - *progress_us_ >= settings_.line_every_us;
  if (!is_due && !has_bar) return;
  const std::string away = status.away.ok() ? std::string() : AwayText(status);
  const Metrics metrics = settings_.metrics();
  const FollowProgress progress{status.phase, status.counters, metrics.versions_waiting,
                                metrics.versions_parked, pace_.per_s(), away};
  const std::string text = FollowProgressText(progress);
  if (has_bar) settings_.progress->Draw(std::nullopt, text);
  if (!is_due) return;
  progress_us_ = now_us;
  SayLine(text, [&progress](JsonLine* json) { AddFollowProgress(progress, json); });
}

void SyncFollow::Say(const std::string& what) {
  SayLine(what, [&what](JsonLine* json) { json->Text("event", what); });
}

void SyncFollow::SayLine(const std::string& what,
                         const std::function<void(JsonLine*)>& add_members) {
  const std::string time = TimeText(settings_.clock->WallMicros());
  if (settings_.progress != nullptr) settings_.progress->Clear();
  if (!settings_.is_json) return settings_.say(time + " " + what);
  JsonLine json;
  json.Text("time", time);
  add_members(&json);
  settings_.say(json.object());
}

}  // namespace cistern::tool
