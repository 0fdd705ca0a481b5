// Replicator: sends the seals of the outbox to the cluster, and has them confirmed.
//
// A seal goes through these hands: the feed finds it (outbox_feed.h), the order chooses it
// (drain_order.h), its table's link says that it may go (table_link.h), a push makes batches of it
// and keeps count of their answers (seal_push.h). When all are acknowledged it is held for a while,
// as an acknowledgement is no fsync, then proved if that is asked for (seal_proof.h), and
// confirmed, which takes it out of the outbox. What a refusal means is judged in verdict.h. What
// must survive a crash goes through push_ledger.h; the rest is in memory, and a restart sends again
// what was not confirmed, which does no harm.
#ifndef CISTERN_ENGINE_REPLICATE_REPLICATOR_H_
#define CISTERN_ENGINE_REPLICATE_REPLICATOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cistern/replication.h"
#include "cistern/result.h"
#include "engine/cql/event_loop.h"
#include "engine/cql/session.h"
#include "engine/replicate/bandwidth_cap.h"
#include "engine/replicate/drain_order.h"
#include "engine/replicate/flow_control.h"
#include "engine/replicate/outbox_feed.h"
#include "engine/replicate/push_ledger.h"
#include "engine/replicate/push_memory.h"
#include "engine/replicate/replicator_options.h"
#include "engine/replicate/retry_backoff.h"
#include "engine/replicate/seal_push.h"
#include "engine/replicate/table_link.h"
#include "engine/replicate/verdict.h"
#include "lib/base/memory_budget.h"
#include "storage/seal_resend.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern::replicate {

// What a replicator works with; all of it outlives it.
struct ReplicatorParts {
  cql::EventLoop* loop = nullptr;
  cql::Session* session = nullptr;
  Store* store = nullptr;
  const TableSet* tables = nullptr;
  MemoryBudget* budget = nullptr;  // of which it takes a share: PushMemory
  PushLedger* ledger = nullptr;
  std::function<int64_t()> now_s;       // the second that is believed
  // The second that has certainly passed, not after now_s: what has not expired by it is sent.
  std::function<int64_t()> certain_s;
  std::function<bool()> clock_settled;  // now_s is trusted
};

// Of a batch in flight: the session's, and what the connection has to write of it.
inline constexpr size_t kFlightCopies = 3;
// Confirmations are synced writes, and hosts are asked for each: while more are to come they are
// gathered for so long.
inline constexpr int64_t kGatherUs = 1'000'000;

// The loop's thread only.
class Replicator {
 public:
  Replicator(ReplicatorParts parts, ReplicatorOptions options);
  Replicator(const Replicator&) = delete;
  Replicator& operator=(const Replicator&) = delete;
  ~Replicator();

  // Does what can be done now, in bounded steps. True: there is more to do at once; false: not
  // before an answer comes or NextUs() has passed. Errors are the store's.
  [[nodiscard]] Result<bool> Step();
  [[nodiscard]] int64_t NextUs() const;  // of the loop's clock, from now; at least 0

  // Parked seals were made to wait again, or confirmed ones, and tables that are held may have been
  // mended: all is looked at anew.
  void LookAgain();
  // The same; and what of it is on its way, or was held, is sent from its start.
  void BeginAnew(const SealResend& resend);

  [[nodiscard]] ReplicationStatus GetStatus() const;

 private:
  struct Way;      // a seal that is sent or proved, with what is known of its troubles
  struct Push;     // one that is sent
  struct Proof;    // one that was
  struct Trouble;  // of a seal that was refused
  struct Setback;  // of a seal that is sent again
  using PushPtr = std::shared_ptr<Push>;
  using ProofPtr = std::shared_ptr<Proof>;
  struct Holding {
    DrainItem item;
    uint64_t version_count = 0;
    int64_t due_us = 0;
  };
  struct Proven {
    DrainItem item;
    uint64_t version_count = 0;
    ProofLevel level = ProofLevel::kAck;
    int64_t since_us = 0;
  };

  // --- replicator.cc: which seals go, and what becomes of those that went
  void LookEverywhere();                 // what may not go was passed over: it may now
  void LookAt(const BucketKey& bucket);  // the bucket's earliest seal is another, or waits again
  void ChargeMemory();
  void BeginWay(const DrainItem& item);
  void EndWay(const BucketKey& bucket, uint64_t seal);
  [[nodiscard]] int64_t HoldUntilUs() const;
  [[nodiscard]] int64_t ConfirmAtUs() const;
  [[nodiscard]] Result<bool> ConfirmDue();
  [[nodiscard]] Result<bool> NoteRecords();
  [[nodiscard]] Result<bool> NoteWhatFits();
  [[nodiscard]] Result<bool> AwaitLedger(const Status& why);
  [[nodiscard]] bool HasParkedTooMany() const;
  [[nodiscard]] Result<bool> StepFeed();
  [[nodiscard]] bool MayGo(const DrainItem& item);
  [[nodiscard]] bool HasMemoryForPush() const;
  [[nodiscard]] Result<bool> StartPush();
  [[nodiscard]] Result<PushPtr> OpenPush(const DrainItem& item);
  // What a seal is sent from, and proved by.
  struct OpenedSource {
    SealSource source;
    uint64_t byte_count = 0;  // of the seal's pages
    bool is_newest = true;    // OpenedSeal
  };
  [[nodiscard]] Result<OpenedSource> OpenSource(const DrainItem& item, const TableLink& link);
  void LoadParked();
  void NoteParked(uint64_t seal, uint32_t table_id);
  void ParkUnread(const DrainItem& item, const Status& why);
  [[nodiscard]] bool EndPushes();
  void EndPush(Push* push);
  void EndParked(Way* way);
  void Hold(Holding held);
  [[nodiscard]] bool IsPaused() const;
  [[nodiscard]] ReplicationPhase Phase() const;

  // --- replicator_hosts.cc: what hosts that go take with them, and tables that are altered
  void OnSchemaChange(const cql::SchemaChange* change);
  void OnHostCame();
  [[nodiscard]] bool IsCompared(const DrainItem& item) const;
  [[nodiscard]] Status CheckShown(const DrainItem& item) const;
  [[nodiscard]] std::set<uint64_t> ConfirmedNext(std::vector<ProvenSeal>* seals) const;
  void TakeBack(const std::set<uint64_t>& seals);
  void NoteLostHosts();
  [[nodiscard]] bool StepLinks();
  [[nodiscard]] TableLink* LinkOf(uint32_t table_id);
  void NoteOtherTables();
  void SendAgainLater(const DrainItem& item);
  Setback& SetbackOf(const DrainItem& item);
  void Rest(const DrainItem& item, int64_t until_us);
  [[nodiscard]] bool Rests(uint64_t seal) const;
  void ForgetEnded();
  [[nodiscard]] Result<bool> WakeRested();
  [[nodiscard]] int64_t GatherUs() const;
  [[nodiscard]] int64_t AskAtUs() const;
  [[nodiscard]] bool NeedsLife() const;
  [[nodiscard]] Result<bool> AskHosts();

  // --- replicator_sends.cc: batches and their answers
  // A batch that was sent.
  struct Flight {
    PushPtr push;
    uint64_t ticket = 0;  // of the push
    PushTally tally;
    uint64_t number = 0;  // of the flow control
    uint64_t byte_count = 0;
    int64_t sent_us = 0;
  };
  [[nodiscard]] bool SendBatches();
  [[nodiscard]] bool SendBatch(const PushPtr& push);
  void OnNotMade(Push* push, const Status& why);
  void OnAnswer(const Flight& flight, const cql::Outcome& outcome);
  void LeavePlace(Push* push);
  struct RefusedRequest {
    uint64_t number = 0;
    uint64_t byte_count = 0;
    bool is_first = true;  // of those that were on their way together
    bool is_of_proof = false;
  };
  void OnRefused(Way* way, const RefusedRequest& request, const cql::Outcome& outcome);
  Trouble& TroubleOf(const DrainItem& item);
  [[nodiscard]] bool ReadsAgainLater(const DrainItem& item);
  [[nodiscard]] Verdict JudgeRefusal(const Way& way, const RefusedRequest& request,
                                     const cql::Outcome& outcome);
  void Park(Way* way, const Status& why, std::optional<cql::ErrorCode> error_code);
  void CountTally(const PushTally& tally);
  void NoteLanded();  // an answer: what is in flight takes less memory

  // --- replicator_proofs.cc: what is proved before it is confirmed
  [[nodiscard]] Result<bool> StepHolding();
  [[nodiscard]] bool MayStartProof() const;
  [[nodiscard]] Result<bool> StartProof();
  [[nodiscard]] Result<ProofPtr> OpenProof(const Holding& held,
                                           const std::shared_ptr<TableLink>& link);
  [[nodiscard]] bool StepProofs();
  [[nodiscard]] bool StepProof(const ProofPtr& proof);
  [[nodiscard]] bool AskForProof(const ProofPtr& proof);
  void OnProofAnswer(Proof* proof, uint64_t number, const cql::Outcome& outcome);
  void OnNotProved(Proof* proof, const Status& why);
  void OnProofEnd(const ProofPtr& proof);
  void SendOnceMore(const ProofPtr& proof);
  void EndProof(Proof* proof);

  const ReplicatorParts parts_;
  const ReplicatorOptions options_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  OutboxFeed feed_;
  DrainOrder order_;
  FlowControl flow_;
  const std::shared_ptr<PushMemory> memory_;
  PushCharge flight_charge_;  // of all batches in flight but one, whose room is always kept
  BandwidthCap cap_;
  RetryBackoff cluster_backoff_;

  std::map<uint32_t, std::shared_ptr<TableLink>> links_;  // by table
  std::vector<PushPtr> pushes_;                           // as they were begun
  std::deque<Holding> holding_;                           // by due_us
  std::vector<ProofPtr> proofs_;                          // as they were begun
  std::deque<Proven> proven_;                             // to be confirmed
  std::set<uint64_t> under_way_;                          // seals of the four
  size_t under_way_bytes_ = 0;                            // of memory, for what is known of them
  int64_t forget_at_us_ = 0;                              // then ended windows are looked for
  int64_t charge_at_us_ = 0;                              // then the base of memory_ is counted
  std::map<uint64_t, uint32_t> parked_;                   // seals, and their tables
  std::map<uint32_t, size_t> parked_count_;               // by table
  std::map<uint64_t, Trouble> troubles_;                  // by seal
  std::map<uint64_t, Setback> setbacks_;                  // by seal, until it is confirmed
  std::multimap<int64_t, uint64_t> resting_;              // seals, by when they may go again
  std::vector<std::pair<SealName, PushRecord>> to_note_;  // parked ones, not durable yet

  // Tables with seals that are not sent as the cluster would hide values of them: found since all
  // was looked at anew, and told of.
  std::set<uint32_t> hiding_;
  std::set<uint32_t> hiding_told_;
  std::map<uint32_t, std::string> overwritten_;  // by table, the first row that a proof met

  uint64_t hosts_lost_ = 0;
  // At that time of the loop's clock all hosts that were connected lived, and none was lost since:
  // what was held until then is confirmed.
  int64_t lives_at_us_ = -1;
  bool is_asking_hosts_ = false;
  int64_t asked_us_ = -kGatherUs;  // when they were last asked
  int64_t ask_at_us_ = 0;        // not all answered: not before
  uint64_t acks_ = 0;            // batches that were acknowledged
  int64_t paused_until_us_ = 0;  // the cluster as a whole refuses
  Status pause_why_;
  int32_t pause_error_code_ = 0;  // the server's; 0: none
  Status refusal_;  // the last one, of whatever seal
  int64_t ledger_at_us_ = 0;  // it was busy: not before
  Status ledger_why_;             // why it took nothing the last time, and
  int64_t ledger_since_us_ = 0;   // since when
  int64_t note_at_us_ = 0;    // the store has all the records that it may have: not before
  int64_t open_at_us_ = 0;    // there was no memory for a push: no other is begun before
  uint64_t agreements_ = 0;   // of all links, when they were looked at last
  bool has_outbox_ = true;    // as the last step began
  bool feed_has_more_ = true;
  bool has_waiting_ = false;  // something that may go, when last looked
  PushBatch batch_;           // filled again and again
  ReplicationCounters counters_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_REPLICATOR_H_
