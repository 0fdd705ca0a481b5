// TableLink: a table here and its counterpart in the cluster: whether its seals may go, and by
// which prepared statements.
#ifndef CISTERN_ENGINE_REPLICATE_TABLE_LINK_H_
#define CISTERN_ENGINE_REPLICATE_TABLE_LINK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cistern/replication.h"
#include "cistern/replication_options.h"
#include "cistern/status.h"
#include "engine/cql/event_loop.h"
#include "engine/cql/session.h"
#include "engine/replicate/bound_batch.h"
#include "engine/replicate/hidden_columns.h"
#include "engine/replicate/proof_statements.h"
#include "engine/replicate/push_statements.h"
#include "engine/replicate/retry_backoff.h"
#include "engine/replicate/schema_drift.h"
#include "storage/table_set.h"

namespace cistern::replicate {

// Whether all nodes have the table that the one which was asked has.
enum class Agreement : uint8_t {
  kReached,
  kUnknown,  // nothing was altered that was seen: nodes that go on to differ are not waited for
  kBroken,   // it is another table now: a node that is up and lags is waited for
};

struct TableLinkOptions {
  std::string keyspace;  // of a table that names none
  BackoffLimits backoff;
  int64_t schema_retry_us = 0;  // a table that differs is compared anew after so long
  uint64_t seed = 1;
  ProofLevel proof = ProofLevel::kAck;  // by which its seals are proved
  std::vector<AcceptedDrop> accepted_drops = {};
  // As an earlier link of the table had them.
  std::string upstream_id = {};
  Agreement agreement = Agreement::kUnknown;
  uint64_t agreements = 0;
};

// Asks the cluster for the table's schema, compares, prepares the statements, and where arrival is
// proved by reading looks whether this user may; again when a server refuses what was prepared, and
// from time to time while something is in the way. Whether it may write shows when it does. The
// loop's thread. Must not outlive loop and session.
class TableLink {
 public:
  TableLink(cql::EventLoop& loop, cql::Session& session, TablePtr table, TableLinkOptions options);
  TableLink(const TableLink&) = delete;
  TableLink& operator=(const TableLink&) = delete;

  // Begins what is due. True: something was begun.
  bool Step(int64_t now_us);
  // From `now_us` until Step has something to do; INT64_MAX: an answer is waited for, or nothing
  // is to be done.
  [[nodiscard]] int64_t NextUs(int64_t now_us) const;

  // Whether seals of the bucket that begins at this second of event time may go.
  //   kBusy             not known yet
  //   kInvalidArgument  no: what differs, and what to do
  //   others            why the cluster could not be asked, or refuses
  [[nodiscard]] Status MaySend(int64_t bucket_begin_s) const;
  // The cluster is asked, or will be soon.
  [[nodiscard]] bool is_asking() const {
    return state_ == State::kNew || state_ == State::kAsking || state_ == State::kPreparing ||
           state_ == State::kProbing;
  }
  // The same, but it has been tried for long without an end: nobody should wait for it.
  [[nodiscard]] bool is_asking_in_vain() const { return is_asking() && is_failing_; }
  // Why some or all seals wait for a person, or for a cluster that answers others.
  struct Held {
    Status why;  // OK: none does
    HeldReason reason = HeldReason::kNotCompared;
  };
  [[nodiscard]] Held held() const;
  // OK: the cluster's table, as it was compared last, takes rows of that bucket. This is MaySend
  // without permissions and the network.
  [[nodiscard]] Status CheckTaken(int64_t bucket_begin_s) const;
  // True: the cluster hides values that a seal may have, nobody has agreed to it, and no row is
  // read back that would show it.
  [[nodiscard]] bool hides_values() const;
  // OK: all values of a seal are seen whose rows have write timestamps from this one on.
  // kInvalidArgument: which column may hide some, and what to do. REQUIRES: hides_values().
  [[nodiscard]] Status CheckShown(int64_t write_us_first) const;
  // The values that a proof expects not to see.
  [[nodiscard]] const HiddenColumns& hidden() const { return hidden_; }
  // What the cluster treats in another way than it was declared, for a person.
  [[nodiscard]] std::vector<std::string> warnings() const;

  // --- once something may be sent
  [[nodiscard]] const std::shared_ptr<const PushStatements>& statements() const {
    return statements_;
  }
  [[nodiscard]] const StatementNumbers& numbers() const { return numbers_; }
  // Of a statement that the level of proof asks for.
  [[nodiscard]] uint32_t number_of(ProofStatement statement) const {
    return proof_numbers_[static_cast<size_t>(statement)];
  }

  // Nothing is sent until the schema was compared again.
  void AskAgain();
  // The same where the table was altered, or a server refused a statement: not all may know what
  // the one knows that is asked.
  void DoubtAndAsk();
  // A host is there again. Where it was away while the table became another one it need not have
  // heard of it: what goes to the table is given up, and goes again once it has.
  void NoteHostCame();
  // A server does not permit this user to write to the table, or to read it: it is held, and asked
  // for again in a while.
  void Deny(Status why, bool is_of_read);
  // A server took a write.
  void NoteWritten() { write_denied_ = Status::Ok(); }
  // Whether what was altered is the table, or all of its keyspace.
  [[nodiscard]] bool IsMeant(const cql::SchemaChange& change) const;
  // The id that the cluster's table had when it was compared last; empty: that is not known. Who
  // drops a table and creates it again gets another one.
  [[nodiscard]] const std::string& upstream_id() const { return upstream_id_; }
  [[nodiscard]] Agreement agreement() const { return agreement_; }
  // Whether the cluster's table is another one than before, or there is none any more: what was
  // sent to it and is not confirmed has to be sent again. Told once.
  [[nodiscard]] bool TakeIsAnother() { return std::exchange(is_another_, false); }
  // How often it was, and nothing was in the way.
  [[nodiscard]] uint64_t agreements() const { return agreements_; }
  // The table as it was when the link was made.
  [[nodiscard]] const TablePtr& table() const { return table_; }

 private:
  enum class State : uint8_t {
    kNew,  // the cluster is to be asked at due_us_
    kAsking,
    kPreparing,
    kProbing,  // a row that is likely not there is read
    kReady,  // with buckets that may not go: asked anew at due_us_
    kHeld,   // why_ says why; asked anew at due_us_
  };
  // What stands in the way may have gone: it is asked at due_us_.
  [[nodiscard]] bool IsDueLater() const;
  void Ask();
  void OnSchema(const Result<ClusterSchema>& schema, int64_t now_us);
  void AwaitAgreement();
  void OnAgreement(const Status& agreed, bool lags_up);
  void Doubt();
  void MakeTexts();
  void Prepare(size_t kind);
  void OnPrepared(size_t kind, const cql::Outcome& outcome, uint32_t number);
  [[nodiscard]] Status CheckMarkers(StatementKind kind, uint32_t number) const;
  void Probe();
  void OnProbed(const cql::Outcome& outcome);
  void NoteReady();
  // The cluster did not answer, or says that it cannot now, or the table was altered meanwhile.
  void TryLater(Status why);
  void NoteEnd();  // of a comparison that says something
  void Hold(Status why, HeldReason reason);

  cql::EventLoop& loop_;
  cql::Session& session_;
  const TablePtr table_;
  const TableLinkOptions options_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  RetryBackoff backoff_;

  std::string upstream_id_;
  Agreement agreement_;
  bool prepares_anew_ = false;  // what is known of its statements cannot be true
  bool was_refused_ = false;    // a statement, by the node that was to prepare it
  bool is_awaiting_ = false;    // agreement, which is looked for again and again
  bool is_another_ = false;
  State state_ = State::kNew;
  int64_t due_us_ = 0;
  Status why_ = Status::Busy("the cluster was not asked for the table yet");
  HeldReason reason_ = HeldReason::kNotCompared;  // of why_
  // Until the opposite is known, so that who looks sees no table that is held now and then.
  // Since when no comparison has come to an end, though a host was up.
  std::optional<int64_t> trying_since_us_;
  uint32_t tries_ = 0;  // since then
  bool is_failing_ = false;
  Status write_denied_;
  Status read_denied_;
  bool asks_again_ = false;  // once what is under way has ended
  std::optional<SchemaDrift> drift_;
  HiddenColumns hidden_;  // by it
  std::shared_ptr<const PushStatements> statements_;
  // Statements by their kind, then those of the proof; empty: not needed.
  std::array<std::string, kStatementKindCount + kProofStatementCount> texts_;
  StatementNumbers numbers_ = {};
  std::array<uint32_t, kProofStatementCount> proof_numbers_ = {};
  uint64_t agreements_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_TABLE_LINK_H_
