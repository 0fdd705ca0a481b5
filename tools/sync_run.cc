#include "tools/sync_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tools/counted.h"
#include "tools/size_text.h"
#include "tools/sync_status.h"

namespace cistern::tool {
namespace {

constexpr int64_t kWaitUs = 100'000;
constexpr int64_t kSampleUs = 500'000;
constexpr int64_t kPaceUs = 15'000'000;

uint64_t VersionsLeftOut(const ReplicationCounters& counters) {
  return counters.versions_expired + counters.versions_shadowed + counters.versions_empty;
}

// Acknowledged, or with nothing left to say.
uint64_t VersionsDone(const ReplicationCounters& counters) {
  return counters.versions_sent + VersionsLeftOut(counters);
}

std::string_view EndName(SyncEnd end) {
  switch (end) {
    case SyncEnd::kConfirmed: return "confirmed";
    case SyncEnd::kStuck: return "stuck";
    case SyncEnd::kAway: return "away";
    case SyncEnd::kInterrupted: return "interrupted";
    case SyncEnd::kFailed: break;
  }
  return "failed";
}

}  // namespace

std::string SyncOutcomeText(const SyncOutcome& outcome, int64_t spent_us) {
  const ReplicationCounters& done = outcome.last.counters;
  std::string text = fmt::format("{} confirmed: {} sent in {}, {:.1f} s",
                                 Counted(done.seals_confirmed, "seal"),
                                 Counted(done.versions_sent, "row version"),
                                 FormatSize(done.bytes_sent), static_cast<double>(spent_us) / 1e6);
  const uint64_t left_out = VersionsLeftOut(done);
  if (left_out > 0) text += fmt::format(", {} expired or deleted before", left_out);
  text += ProofText(done, {});
  if (outcome.end == SyncEnd::kInterrupted) text += "; interrupted";
  const bool is_over = outcome.end == SyncEnd::kConfirmed || outcome.end == SyncEnd::kStuck;
  return is_over ? text : text + HeldBackText(outcome.last);
}

std::string HeldBackText(const ReplicationStatus& last) {
  if (last.seals_holding == 0) return {};
  return fmt::format("; {} of {} acknowledged and not confirmed yet: the next run sends them again",
                     Counted(last.seals_holding, "seal"),
                     Counted(last.versions_holding, "row version"));
}

JsonLine SyncOutcomeJson(const SyncOutcome& outcome, int64_t spent_us) {
  const ReplicationCounters& done = outcome.last.counters;
  JsonLine json;
  json.Text("end", EndName(outcome.end)).Number("seals_confirmed", done.seals_confirmed)
      .Number("seals_parked", done.seals_parked)
      .Number("seals_holding", outcome.last.seals_holding)
      .Number("versions_sent", done.versions_sent).Number("bytes_sent", done.bytes_sent)
      .Number("versions_left_out", VersionsLeftOut(done))
      .Number("seals_proved_by_count", done.seals_counted)
      .Number("seals_proved_by_rows", done.seals_read_back)
      .Number("rows_shadowed", done.rows_shadowed)
      .Number("rows_overwritten", done.rows_overwritten).Number("rows_hidden", done.rows_hidden)
      .Number("spent_ms", spent_us / 1000);
  return json;
}

void SyncPace::Note(int64_t now_us, uint64_t done) {
  if (!samples_.empty() && now_us - samples_.back().first < kSampleUs) return;
  samples_.emplace_back(now_us, done);
  while (samples_.size() > 2 && now_us - samples_.front().first > kPaceUs) samples_.pop_front();
}

std::optional<double> SyncPace::per_s() const {
  if (samples_.size() < 2) return std::nullopt;
  const auto& [from_us, from] = samples_.front();
  const auto& [to_us, to] = samples_.back();
  return static_cast<double>(to - from) * 1e6 / static_cast<double>(to_us - from_us);
}

std::string SyncProgressText(const SyncProgress& progress) {
  std::string text = fmt::format("{} of {} rows, {} of {} buckets, {}", progress.versions_done,
                                 progress.versions_total, progress.seals_done,
                                 progress.seals_total, FormatSize(progress.bytes));
  if (progress.phase == ReplicationPhase::kAway) return text + ", away: " + progress.away;
  if (!progress.store.empty()) return text + ", not noted: " + progress.store;
  if (progress.phase == ReplicationPhase::kHolding) {
    return text + ", until the cluster has them on disk";
  }
  if (!progress.refused.empty()) return text + ", refused: " + progress.refused;
  if (!progress.versions_per_s) return text;
  text += fmt::format(", {:.0f} rows/s", *progress.versions_per_s);
  const uint64_t left = progress.versions_total - progress.versions_done;
  if (left == 0 || *progress.versions_per_s < 1) return text;
  const double left_s = static_cast<double>(left) / *progress.versions_per_s;
  return text + fmt::format(", {} left", AgeText(static_cast<int64_t>(left_s) + 1));
}

SyncRun::SyncRun(SyncRunSettings settings, Progress* progress)
    : settings_(std::move(settings)),
      progress_(progress),
      watch_([this](const std::string& line) {
        progress_->Clear();
        settings_.complain(line);
      }) {}

SyncOutcome SyncRun::Run() {
  SyncOutcome outcome;
  while (!settings_.is_interrupted()) {
    Result<ReplicationStatus> status = settings_.step(kWaitUs);
    if (!status.ok()) {
      outcome.end = SyncEnd::kFailed;
      outcome.failure = status.status();
      return outcome;
    }
    outcome.last = *std::move(status);
    watch_.Note(outcome.last);
    Draw(outcome.last);
    const ReplicationPhase phase = outcome.last.phase;
    if (NoteAway(outcome.last)) outcome.end = SyncEnd::kAway;
    if (phase == ReplicationPhase::kStuck) outcome.end = SyncEnd::kStuck;
    if (NoteStore(outcome.last)) {
      outcome.end = SyncEnd::kFailed;
      outcome.failure = outcome.last.store;
    }
    const bool is_over =
        phase == ReplicationPhase::kIdle || phase == ReplicationPhase::kCollecting;
    if (is_over || outcome.end != SyncEnd::kConfirmed) return outcome;
  }
  outcome.end = SyncEnd::kInterrupted;
  return outcome;
}

bool SyncRun::NoteAway(const ReplicationStatus& status) {
  const uint64_t answered_bytes = status.counters.bytes_sent + status.counters.bytes_read_back;
  if (status.phase != ReplicationPhase::kAway) {
    was_up_ = true;
    const bool is_tried =
        status.phase == ReplicationPhase::kWorking && answered_bytes == answered_bytes_;
    if (!is_tried) away_since_us_.reset();
    answered_bytes_ = answered_bytes;
    return false;
  }
  answered_bytes_ = answered_bytes;
  const int64_t now_us = settings_.clock->MonotonicMicros();
  if (!away_since_us_) away_since_us_ = now_us;
  return now_us - *away_since_us_ >=
         (was_up_ ? settings_.away_after_us : settings_.connect_timeout_us);
}

bool SyncRun::NoteStore(const ReplicationStatus& status) {
  const uint64_t answered_bytes = status.counters.bytes_sent + status.counters.bytes_read_back;
  const bool goes_on = answered_bytes != std::exchange(unnoted_bytes_, answered_bytes);
  const int64_t now_us = settings_.clock->MonotonicMicros();
  if (status.store.ok() || goes_on) unnoted_since_us_.reset();
  if (status.store.ok()) return false;
  if (!unnoted_since_us_) unnoted_since_us_ = now_us;
  return now_us - *unnoted_since_us_ >= settings_.away_after_us;
}

void SyncRun::Draw(const ReplicationStatus& status) {
  SyncProgress progress;
  progress.versions_done = VersionsDone(status.counters);
  progress.versions_total = std::max(settings_.versions_waiting, progress.versions_done);
  progress.seals_done = status.counters.seals_confirmed + status.seals_holding;
  progress.seals_total = std::max(settings_.seals_waiting, progress.seals_done);
  progress.bytes = status.counters.bytes_sent;
  progress.phase = status.phase;
  progress.away = OneLine(status.away.message());
  progress.refused = OneLine(status.refused.message());
  progress.store = OneLine(status.store.message());
  const int64_t now_us = settings_.clock->MonotonicMicros();
  pace_.Note(now_us, progress.versions_done);
  progress.versions_per_s = pace_.per_s();
  std::optional<double> share;
  if (progress.versions_total > 0) {
    share = static_cast<double>(progress.versions_done) /
            static_cast<double>(progress.versions_total);
  }
  const std::string text = SyncProgressText(progress);
  progress_->Draw(share, text);
  SayNowAndThen(now_us, text);
}

void SyncRun::SayNowAndThen(int64_t now_us, const std::string& text) {
  if (settings_.line_every_us == 0) return;
  if (!said_us_) said_us_ = now_us;
  if (now_us - *said_us_ < settings_.line_every_us) return;
  said_us_ = now_us;
  settings_.complain(text);
}

}  // namespace cistern::tool
