// SyncFollow: drives a replicator for as long as nobody ends it, with a line for each change.
#ifndef CISTERN_TOOLS_SYNC_FOLLOW_H_
#define CISTERN_TOOLS_SYNC_FOLLOW_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cistern/clock.h"
#include "cistern/metrics.h"
#include "cistern/result.h"
#include "engine/replication_service.h"
#include "tools/json_line.h"
#include "tools/progress.h"
#include "tools/sync_run.h"
#include "tools/sync_watch.h"

namespace cistern::tool {

struct SyncFollowSettings {
  // ReplicationService::Run.
  std::function<Result<ReplicationStatus>(int64_t wait_us)> step;
  std::function<Result<std::vector<ParkedSeal>>()> list_parked;
  std::function<bool()> is_interrupted;
  std::function<void(int64_t wait_us)> pause;        // waits so long, or until it is interrupted
  // The engine's, of which progress tells what waits.
  std::function<Metrics()> metrics;
  std::function<void(const std::string&)> say;  // prints one line
  // Lines are objects of JSON: {"time":...,"event":...}, or with the members of progress.
  bool is_json = false;
  // How often a line of progress is said while something waits; 0: never.
  int64_t line_every_us = 0;
  Progress* progress = nullptr;  // the line of a terminal; null: there is none
  std::shared_ptr<Clock> clock = SystemClock();
};

// What a line of progress tells.
struct FollowProgress {
  ReplicationPhase phase = ReplicationPhase::kWorking;
  ReplicationCounters counters;
  uint64_t versions_waiting = 0;
  uint64_t versions_parked = 0;
  std::optional<double> versions_per_s;
  std::string away;  // why, while it is away
};
// "3 seals confirmed, 900 row versions sent in 1.2 MiB, 34 a second; 2100 row versions wait"
[[nodiscard]] std::string FollowProgressText(const FollowProgress& progress);
// The same as members of an object.
void AddFollowProgress(const FollowProgress& progress, JsonLine* json);

// {"time":"2024-05-24T07:03:50Z","event":"the cluster takes requests"}
[[nodiscard]] std::string FollowEventJson(int64_t wall_us, const std::string& what);

// One run. One thread.
class SyncFollow {
 public:
  explicit SyncFollow(SyncFollowSettings settings);

  // Returns once it is interrupted, with the last status. A store that fails is asked again: the
  // engine opens it anew by itself.
  ReplicationStatus Run();

 private:
  void Note(const ReplicationStatus& status);
  void NoteStore(const Status& status);
  void NoteAway(const ReplicationStatus& status);
  void NoteReason(const ReplicationStatus& status, int64_t now_us);
  void NoteParked(const ReplicationStatus& status);
  void NoteRest(const ReplicationStatus& status);
  void NoteProgress(const ReplicationStatus& status);
  void Say(const std::string& what);  // with the time
  void SayLine(const std::string& what, const std::function<void(JsonLine*)>& add_members);

  enum class Contact : uint8_t { kUnknown, kUp, kAway };

  const SyncFollowSettings settings_;
  SyncWatch watch_;
  std::string store_failure_;            // that was told; empty: it works
  Contact contact_ = Contact::kUnknown;  // that was told
  std::optional<int64_t> away_since_us_;  // with nothing answered since
  std::optional<int64_t> back_since_us_;  // not away since; nothing may be answered yet
  uint64_t answered_bytes_ = 0;           // when it was away last
  int64_t reason_told_us_ = 0;
  std::set<std::string> reason_kinds_;  // of the reason that was told
  uint64_t parked_count_ = 0;  // of those that were counted, how many were told
  std::set<uint64_t> parked_;  // seals that were told
  bool is_at_rest_ = false;
  std::optional<ReplicationPhase> rest_;  // the last one that was told
  ReplicationCounters told_;              // up to when confirmed ones were told
  SyncPace pace_;
  std::optional<int64_t> progress_us_;  // when the last line of it was said, or work began
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SYNC_FOLLOW_H_
