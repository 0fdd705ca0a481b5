// SyncRun: drives a replicator until nothing more can be done, and tells how it goes.
#ifndef CISTERN_TOOLS_SYNC_RUN_H_
#define CISTERN_TOOLS_SYNC_RUN_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cistern/clock.h"
#include "cistern/replication.h"
#include "cistern/result.h"
#include "tools/json_line.h"
#include "tools/progress.h"
#include "tools/sync_watch.h"

namespace cistern::tool {

struct SyncRunSettings {
  // ReplicationService::Run.
  std::function<Result<ReplicationStatus>(int64_t wait_us)> step;
  std::function<bool()> is_interrupted;
  std::function<void(const std::string&)> complain;  // prints one line for people
  std::shared_ptr<Clock> clock = SystemClock();
  // How long there may be no host that takes requests: at first, and later; and how long nothing
  // may go on because the store cannot note what was answered.
  int64_t connect_timeout_us = 10'000'000;
  int64_t away_after_us = 30'000'000;
  // What waited when it began, for the share that is done.
  uint64_t seals_waiting = 0;
  uint64_t versions_waiting = 0;
  // How often the progress is a line for people, where no bar shows it; 0: never.
  int64_t line_every_us = 0;
};

enum class SyncEnd : uint8_t {
  kConfirmed,  // nothing is left
  kStuck,      // what is left needs a person
  kAway,       // no host took requests for too long
  kInterrupted,
  kFailed,  // by the store, or it notes nothing for too long
};

struct SyncOutcome {
  SyncEnd end = SyncEnd::kConfirmed;
  Status failure;                     // with kFailed
  ReplicationStatus last;  // the last that was told
};
// "3 seals confirmed: 900 row versions sent in 1.2 MiB, 14.2 s", and what there is more to say.
[[nodiscard]] std::string SyncOutcomeText(const SyncOutcome& outcome, int64_t spent_us);
// "; 3 seals of 900 row versions acknowledged and not confirmed yet: ...", or nothing.
[[nodiscard]] std::string HeldBackText(const ReplicationStatus& last);
// An object with the end ("confirmed", "stuck", "away", "interrupted" or "failed") and what was
// done until then.
[[nodiscard]] JsonLine SyncOutcomeJson(const SyncOutcome& outcome, int64_t spent_us);

// How many of something are done a second, over the last quarter of a minute. One thread at a time.
class SyncPace {
 public:
  void Note(int64_t now_us, uint64_t done);
  // Nothing: not known yet.
  [[nodiscard]] std::optional<double> per_s() const;

 private:
  std::deque<std::pair<int64_t, uint64_t>> samples_;  // time and what was done, oldest first
};

// What a progress line tells.
struct SyncProgress {
  uint64_t versions_done = 0;
  uint64_t versions_total = 0;
  uint64_t seals_done = 0;
  uint64_t seals_total = 0;
  uint64_t bytes = 0;
  std::optional<double> versions_per_s;
  ReplicationPhase phase = ReplicationPhase::kWorking;
  std::string away;     // why, while it is away
  std::string refused;  // why something is sent again and again
  std::string store;    // why what was answered is not noted
};
// "340 of 1000 rows, 3 of 10 buckets, 1.2 MiB, 34 rows/s, 20 s left"
[[nodiscard]] std::string SyncProgressText(const SyncProgress& progress);

// One run. One thread.
class SyncRun {
 public:
  SyncRun(SyncRunSettings settings, Progress* progress);
  [[nodiscard]] SyncOutcome Run();

 private:
  // Whether it was away for too long. A moment in which it is only tried again does not count as
  // back.
  [[nodiscard]] bool NoteAway(const ReplicationStatus& status);
  // The same of a store that notes nothing, while nothing else goes on.
  [[nodiscard]] bool NoteStore(const ReplicationStatus& status);
  void Draw(const ReplicationStatus& status);
  void SayNowAndThen(int64_t now_us, const std::string& text);

  const SyncRunSettings settings_;
  Progress* const progress_;
  SyncWatch watch_;
  SyncPace pace_;
  bool was_up_ = false;
  std::optional<int64_t> away_since_us_;
  uint64_t answered_bytes_ = 0;  // by then
  std::optional<int64_t> unnoted_since_us_;
  uint64_t unnoted_bytes_ = 0;  // that were answered by then
  std::optional<int64_t> said_us_;  // or when it began
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SYNC_RUN_H_
