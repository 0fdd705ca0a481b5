#include "tools/sync_follow.h"

#include <fmt/format.h>

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
constexpr int64_t kMicrosPerSecond = 1'000'000;

}  // namespace

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
}

void SyncFollow::NoteStore(const Status& status) {
  const std::string failure = status.ok() ? std::string() : OneLine(status.message());
  if (failure == store_failure_) return;
  Say(failure.empty() ? "the store works again" : failure + "; it is tried again");
  store_failure_ = failure;
}

void SyncFollow::NoteAway(const ReplicationStatus& status) {
  const int64_t now_us = settings_.clock->MonotonicMicros();
  if (!status.away.ok()) {  // while nothing waits, too: a wrong password shows before it hurts
    if (!away_since_us_) away_since_us_ = now_us;
    if (contact_ == Contact::kAway || now_us - *away_since_us_ < kAwayToldUs) return;
    contact_ = Contact::kAway;
    const bool is_idle = status.phase == ReplicationPhase::kIdle;
    Say("the cluster is away: " + OneLine(status.away.message()) +
        (is_idle ? "; nothing waits" : ""));
    return;
  }
  if (contact_ == Contact::kUnknown) Say("the cluster takes requests");
  if (contact_ == Contact::kAway) {
    const int64_t away_us = now_us - away_since_us_.value_or(now_us);
    Say("the cluster takes requests again, after " + AgeText(away_us / kMicrosPerSecond));
  }
  contact_ = Contact::kUp;
  away_since_us_.reset();
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
  const bool is_idle = status.phase == ReplicationPhase::kIdle;
  const bool was_at_rest = is_at_rest_;
  is_at_rest_ = is_idle || status.phase == ReplicationPhase::kStuck;
  if (!is_at_rest_ || (was_at_rest && rest_ == status.phase)) return;
  const ReplicationCounters& now = status.counters;
  const uint64_t seals = now.seals_confirmed - told_.seals_confirmed;
  if (seals == 0 && rest_ == status.phase) return;
  std::string text;
  if (seals > 0) {
    text = fmt::format("{} confirmed, {} sent in {}; ", Counted(seals, "seal"),
                       Counted(now.versions_sent - told_.versions_sent, "row version"),
                       FormatSize(now.bytes_sent - told_.bytes_sent));
  }
  const char* const left = status.held.empty()
                               ? "what is left waits for a person, see `cistern sync status`"
                               : "what is left waits for a person: of tables that differ, see "
                                 "`cistern schema diff`, of others `cistern sync status`";
  Say(text + (is_idle ? "nothing waits" : left));
  rest_ = status.phase;
  told_ = now;
}

void SyncFollow::Say(const std::string& what) {
  const int64_t now_s = settings_.clock->WallMicros() / kMicrosPerSecond;
  settings_.complain(fmt::format("{} {}", FormatTicks(now_s, TimeUnit::kSeconds), what));
}

}  // namespace cistern::tool
