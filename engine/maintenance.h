// Maintenance: everything that happens behind the rows, as bounded steps.
#ifndef CISTERN_ENGINE_MAINTENANCE_H_
#define CISTERN_ENGINE_MAINTENANCE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "cistern/engine.h"
#include "engine/ingest/committer.h"
#include "engine/ingest/respill.h"
#include "engine/ingest/rotation.h"
#include "engine/retain/window_keeper.h"
#include "engine/retain/window_merger.h"
#include "engine/seal/sealer.h"
#include "lib/base/fair_mutex.h"
#include "lib/base/unwind_guard.h"
#include "lib/base/memory_budget.h"
#include "storage/window_files.h"

namespace cistern {

struct MaintenanceLimits {
  int64_t sync_interval_us = 1'000'000;
  int64_t head_age_us = 0;
  int64_t beacon_interval_us = 1'000'000;
  int64_t ballast_interval_us = 10'000'000;
  int64_t seal_interval_us = 60'000'000;  // between looks for buckets that are due; 0: never
  int64_t look_interval_us = 60'000'000;  // between looks at what is due by the wall clock or room
  int64_t retry_interval_us = 1'000'000;  // of what waits for room, or for a trusted clock
};

// The one maintenance actor: rotation, respill, seal rounds, merges and ends of windows, journal
// families, syncs, the beacon, the ballast. Steps never overlap. Thread-safe: threads and
// Tick only call it.
class Maintenance {
 public:
  Maintenance(Store* store, HeadSet* heads, Committer* committer, WriteClock* clock,
              Rotation* rotation, Respill* respill, Sealer* sealer, WindowKeeper* keeper,
              WindowMerger* merger, MemoryBudget* budget, MaintenanceLimits limits)
      : store_(store),
        heads_(heads),
        committer_(committer),
        clock_(clock),
        rotation_(rotation),
        respill_(respill),
        sealer_(sealer),
        keeper_(keeper),
        merger_(merger),
        limits_(limits),
        window_files_(&store->db()),
        record_charge_(budget) {
    ChargeRecords();
  }

  // Does up to budget.steps_max due steps. After an error that leaves the store's state
  // unknown the committer is failed, and only a reopen helps.
  [[nodiscard]] Result<TickReport> Tick(TickBudget budget);
  // For how long nothing will be due as long as nothing comes, in microseconds: as of the last Tick
  // that found nothing to do. INT64_MAX: until something comes.
  [[nodiscard]] int64_t idle_us() const { return idle_us_.load(); }
  // Makes the journal families that writing needs, and allows merges of meta, as far as there is
  // room; at open.
  [[nodiscard]] Status PrepareJournals();
  // Brings a waiting rotation forward until the head has room.
  [[nodiscard]] Status MakeRoom();
  // Rotates everything committed so far into segments.
  [[nodiscard]] Status RotateAll();
  // Does `step` while no row is in the head, and above the journal's floor none in the journal:
  // everything is rotated, and writes wait until it is done.
  [[nodiscard]] Status WithoutHead(const std::function<Status()>& step);
  // Seals what the scope names, to the end.
  [[nodiscard]] Result<SealReport> Seal(SealScope scope);
  // Why what is due is not sealed by itself: the failure of a write, kBusy (the clock is not
  // trusted), kNotFound (it is left to Seal), kNoSpace, kCorruption (a damaged bucket); OK: it is.
  // The last two as of the last Tick; at once, whatever a step does meanwhile.
  [[nodiscard]] Status WhyNotSealing() const;
  // --- what a replicator asks for (maintenance_push.cc). kNoSpace: nothing was done
  // Upstream has the rows of these seals: Store::ConfirmSeals. kBusy: the clock is not trusted,
  // or windows are being merged; nothing was done. Gives the numbers of those that were not passed
  // over.
  [[nodiscard]] Result<std::set<uint64_t>> Confirm(std::span<const ProvenSeal> seals);
  // How far seals are, or that they are parked: Store::PutPushes, kTooLarge as there.
  [[nodiscard]] Status NotePushes(std::span<const std::pair<SealName, PushRecord>> pushes);
  // These seals wait again: Store::ErasePushes.
  [[nodiscard]] Status ErasePushes(std::span<const uint64_t> seals);
  // One bounded step of putting confirmed seals back into the outbox, Store::ResendSome, or of
  // what stands before it; false: it is over. Writers go on between steps. kCorruption: manifests
  // or outbox entries cannot be read, and those behind them were not looked at.
  [[nodiscard]] Result<bool> Resend(SealResend* resend);
  // ---
  // Calls `look` with the last journal sequence while no step is taken and nothing is committed:
  // what is on the disk stays as it is meanwhile. Gives for how long that was, in microseconds.
  [[nodiscard]] Result<int64_t> WhileStill(const std::function<Status(uint64_t sequence)>& look);
  // By which windows end; from any thread.
  [[nodiscard]] RetentionTime retention_time() const {
    const bool settled = clock_->settled();
    return {clock_->now_s(), clock_->certain_s(), settled};
  }
  // Ends every window whose time is over.
  [[nodiscard]] Result<ExpireReport> Expire();
  // Remembers on the device what was acknowledged, and the time; at close.
  [[nodiscard]] Status WriteBeacon();
  // A person says that the wall clock is right: WriteClock::Confirm.
  [[nodiscard]] Status ConfirmClock();

 private:
  // What a new family, or a round, needs of the device beside what is written into it.
  static constexpr uint64_t kFamilyHeadroomBytes = 1 << 20;
  // Holds the actor. An exception that ends a turn leaves a step half done: only a reopen helps.
  class Turn {
   public:
    explicit Turn(Maintenance* of)
        : lock_(of->mutex_), half_done_(GiveUp{of->committer_}) {}

   private:
    struct GiveUp {
      Committer* committer;
      void operator()() const { committer->Fail(Status::OutOfMemory()); }
    };
    const std::lock_guard<FairMutex> lock_;
    const UnwindGuard<GiveUp> half_done_;
  };
  [[nodiscard]] int64_t IdleUs() const;
  [[nodiscard]] Result<bool> Step();
  [[nodiscard]] Result<bool> StepJournal();
  [[nodiscard]] Result<bool> StepRotation();
  [[nodiscard]] Status RoomForRotation();
  [[nodiscard]] Result<bool> StepSync();
  [[nodiscard]] Result<bool> StepMeta();
  [[nodiscard]] Result<bool> StepMetaMerges();
  [[nodiscard]] Result<bool> StepBallast();
  [[nodiscard]] Result<bool> StepSeal();
  [[nodiscard]] Result<bool> StepRewrite(Respill::Scope scope);
  [[nodiscard]] Result<bool> StepWindows();
  [[nodiscard]] Result<bool> StepDropSealed();
  [[nodiscard]] Result<bool> StepMerge();
  [[nodiscard]] Result<bool> StepFiles();
  [[nodiscard]] Result<bool> ExpireStep();
  [[nodiscard]] Result<bool> SealRoundStep();
  [[nodiscard]] Status StepRound();
  [[nodiscard]] bool EndedTheRoundAlone(const Status& s) const;
  [[nodiscard]] Status RotateAllLocked();
  struct SealByHand;
  [[nodiscard]] Status PrepareSeal(SealByHand* work);
  [[nodiscard]] Result<bool> SealByHandStep(SealByHand* work);
  [[nodiscard]] Status BeginRound(const SealScope& scope);
  [[nodiscard]] Status RoomToSeal() const;
  void NoteWhyNotSealing();
  [[nodiscard]] int64_t now_us() const { return clock_->now_s() * 1'000'000; }
  [[nodiscard]] Status GatherRotations();
  [[nodiscard]] Status WhyNotRotated() const;
  [[nodiscard]] Status Watch(const Status& status);
  [[nodiscard]] Status PublishPushes(Result<std::shared_ptr<const SpillView>> view);
  [[nodiscard]] Status RoomToNote();
  void ChargeRecords();

  Store* const store_;
  HeadSet* const heads_;
  Committer* const committer_;
  WriteClock* const clock_;
  Rotation* const rotation_;
  Respill* const respill_;
  Sealer* const sealer_;
  WindowKeeper* const keeper_;
  WindowMerger* const merger_;
  const MaintenanceLimits limits_;
  WindowFiles window_files_;

  std::mutex by_hand_mutex_;  // one Seal at a time; taken before the actor
  FairMutex mutex_;  // the actor; taken before the committer's and the heads' locks
  MemoryCharge record_charge_;  // of what is remembered of pushes and of the catalog
  bool by_hand_ = false;  // a Seal is under way: no rounds are begun but its own
  bool prepares_seal_ = false;  // its rotation is
  uint64_t files_seals_ = UINT64_MAX;  // buckets sealed when files of windows were looked at last
  int64_t files_us_ = 0;  // monotonic, before which they are merged no more
  int64_t meta_merges_us_ = 0;  // monotonic, before which no room is asked for merges of meta
  int64_t beacon_us_ = 0;
  int64_t ballast_us_ = 0;
  int64_t seal_us_ = 0;
  std::atomic<int64_t> idle_us_{0};
  int64_t room_asked_us_ = INT64_MIN / 2;  // for room_to_seal_
  Status room_to_seal_;
  mutable std::mutex stopped_mutex_;
  Status seals_stopped_;  // why nothing is sealed, beside the clock and a failure
  bool seal_more_ = false;  // what is due is not through: look again at once
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_MAINTENANCE_H_
