// Session: statements to a cluster, whatever becomes of its hosts.
//
// Every request must be idempotent, and those of Cistern are: it is tried at other hosts, or again
// after a pause, as long as that may help (retry_decision.h). Its end is told once, as an Outcome.
#ifndef CISTERN_CQL_SESSION_H_
#define CISTERN_CQL_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cql/bound_values.h"
#include "engine/cql/cluster.h"
#include "engine/cql/host_statements.h"
#include "engine/cql/retry_decision.h"

namespace cistern::cql {

struct SessionOptions {
  ClusterOptions cluster = {};
  uint32_t attempts_max = 5;               // of one request, over all hosts
  int64_t retry_first_us = 50'000;         // once all hosts were tried: before the next round
  int64_t retry_max_us = 1'000'000;
  size_t requests_max = 4'096;             // not ended, over all hosts
  size_t bytes_max = 16 * 1024 * 1024;     // of their values; one alone may be longer
  // Prepared in the session's life: those of the tables that a store may have, and of their
  // alterations.
  size_t statements_max = 16 * 1024;
  size_t metadata_bytes_max = 32 * 1024 * 1024;  // of what servers tell of them
};

// How a request ended.
struct Outcome {
  OutcomeKind kind = OutcomeKind::kAway;
  // OK exactly when done. Otherwise in words, the server's among them. Without an error code:
  //   kNotFound         no host takes requests
  //   kInvalidArgument  none does, because of the password, the certificate or the version
  //   kIoError          the last connection was lost, or no answer came in time
  //   kClosed           the session was closed
  //   kCorruption       the last one answered with something else than what was asked for
  //   kNotSupported     those that speak a version new enough for it are gone
  Status status;
  std::optional<ErrorCode> error_code;   // of the last ERROR, if that was the last word
  uint32_t attempts = 0;                 // that reached a host
  Endpoint host;                         // of the last attempt
  std::vector<std::string> warnings;     // of the server
  // Of a query that gave rows; valid during the call. Without metadata (skip_metadata) its columns
  // are those of the statement. `metadata.paging_state` leads to the next page.
  const RowsResult* rows = nullptr;
};
using Completion = std::function<void(const Outcome&)>;

// What a server told of a statement when it prepared it.
struct PreparedStatement {
  std::string cql;
  RowsMetadata markers;                // keyspace, table, and each marker's name and type
  std::vector<uint16_t> key_markers;   // see PreparedResult
  RowsMetadata result;
  uint32_t revision = 0;  // of the types: another one each time that a server told of others
};
// `statement` is good for BoundStatement and BoundBatch; meaningful when done.
using PrepareCompletion = std::function<void(const Outcome&, uint32_t statement)>;

// What goes with values; an owned form of QueryOptions.
struct SessionQuery {
  QueryOptions options = {};     // its paging_state is ignored
  AnswerKind answer = AnswerKind::kRows;  // kVoid: a write; kSchemaChange: DDL
  std::string paging_state = {};  // of the page before; empty: from the first row
  int64_t timeout_us = 0;        // of each attempt; 0: that of the connection
  // To the host that tells of changes of the schema, while there is one: others may know less.
  bool asks_control = false;
};

// Begins to connect when made. The loop's thread only; must not outlive the loop. Completions come
// from the loop, once for each call that returned OK, never from inside a call, and may make
// further calls. While no host is up a request ends in the next turn: who sends it again pauses
// first, or the loop is never idle. All calls that take one return, and then it is never called:
//   kBusy          too many requests or bytes are in flight, here or at every host that is up
//   kClosed        after Close
//   kNotSupported  all hosts that are up speak too old a version for it; so may an outcome be
//   what request.h says of statements that cannot be sent
class Session {
 public:
  Session(EventLoop& loop, SessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();  // closes

  // Calls `done` once with OK when a host takes requests and the cluster has described itself, or
  // after `timeout_us` with why none does (kNotFound, kInvalidArgument), or kClosed.
  void WhenReady(int64_t timeout_us, std::function<void(const Status&)> done);

  // Prepares a statement, once in the session's life: later calls give the same number. `anew`: a
  // server is asked again, and what it tells is known from then on.
  // kTooLarge: statements_max are prepared.
  Status Prepare(std::string cql, PrepareCompletion done, bool anew = false);
  // The statement of this number, which Prepare gave.
  [[nodiscard]] const PreparedStatement& statement(uint32_t number) const;

  Status Execute(BoundStatement bound, SessionQuery query, Completion done);
  // All entries are of one partition, and go to where that of the first one lives. `fresh_us`: what
  // is bound does not hold for later, so nothing is sent again after so long; 0: it always does.
  Status Batch(BoundBatch batch, BatchOptions options, Completion done, int64_t timeout_us = 0,
               int64_t fresh_us = 0);
  // Not prepared: for what is asked once, such as the schema.
  Status Query(std::string cql, ValueRun values, SessionQuery query, Completion done);
  // Asks every host that is connected for a sign of life: `done` is called once, with whether all
  // gave one. One from which nothing comes in the time of a request is lost, as if its connection
  // had ended: Cluster::hosts_lost. kNotFound: none is connected. In host_check.cc.
  Status AskHosts(std::function<void(bool)> done);

  // Calls `changed` when the schema was altered, as far as the cluster tells; null: anything may
  // have been altered, since nothing was told for a while. From the loop, never from inside a call.
  // One watcher; an empty function: none any more.
  void WatchSchema(std::function<void(const SchemaChange*)> changed) {
    schema_changed_ = std::move(changed);
  }
  // Calls `came` when a host takes requests that did not before. As WatchSchema.
  void WatchHosts(std::function<void()> came) { host_came_ = std::move(came); }

  // True: a host takes requests.
  [[nodiscard]] bool is_up() const;
  // Why none does.
  [[nodiscard]] Status away() const { return cluster_->pool().Away(); }
  // The oldest version that a connected host speaks; nullopt: none is connected. What needs v5
  // (now_in_seconds) passes over the others.
  [[nodiscard]] std::optional<ProtocolVersion> version() const;
  [[nodiscard]] const Cluster& cluster() const { return *cluster_; }
  [[nodiscard]] size_t requests_in_flight() const { return works_.size(); }
  [[nodiscard]] size_t bytes_in_flight() const { return bytes_in_flight_; }
  // Of memory, for what servers told of the columns of statements.
  [[nodiscard]] size_t metadata_bytes() const { return metadata_bytes_; }

  // Ends all: what is in flight ends with kClosed in the next turn. Any number of times.
  void Close();

 private:
  struct Work;  // a request until its end
  using WorkPtr = std::shared_ptr<Work>;

  // --- session_requests.cc: what is sent
  [[nodiscard]] const std::vector<PreparedIds>& IdsOf(HostId host);
  [[nodiscard]] std::optional<int64_t> TokenOfValues(uint32_t statement, std::string_view values,
                                                     size_t count) const;
  Status Check(uint32_t statement) const;
  // `is_kept`: of a statement that was known when it was sent, so that its types are taken already.
  void FinishPrepare(const WorkPtr& work, const PreparedResult& prepared, HostId host,
                     bool is_kept);
  [[nodiscard]] Status TakeMetadata(size_t bytes, size_t instead_of_bytes);
  [[nodiscard]] Status KeepAgain(HostId host, uint32_t statement, const PreparedResult& prepared);
  void KeepIds(HostId host, uint32_t statement, const PreparedIds& ids);
  void NoteMetadata(const Work& work, const RowsResult& rows, HostId host);

  // --- session.cc: what becomes of it
  Status Begin(WorkPtr work);
  [[nodiscard]] Status TrySend(const WorkPtr& work);
  [[nodiscard]] Status SendTo(HostId host, const WorkPtr& work);
  [[nodiscard]] Status SendOnceTold(HostId host, const WorkPtr& work);
  void OnAnswer(const WorkPtr& work, HostId host, const Answer& answer);
  [[nodiscard]] Status PrepareAgain(const WorkPtr& work, HostId host);
  [[nodiscard]] Status PrepareAgain(const WorkPtr& work, HostId host, uint32_t statement,
                                    std::shared_ptr<size_t> left);
  void OnPreparedAgain(const WorkPtr& work, HostId host, uint32_t statement,
                       const Answer& answer);
  [[nodiscard]] bool IsBoundForNow(const Work& work) const;
  [[nodiscard]] bool IsStale(const Work& work) const;
  [[nodiscard]] Status TakePrepared(HostId host, uint32_t statement,
                                    const HostStatements::Asking& asking, const Answer& answer);
  void NoteHostCame();
  void NoteHostWent(HostId host);
  void NoteForgotten(const Work& work, HostId host);
  void GoOn(const WorkPtr& work, HostId host);
  void GoOnUndecided(HostId host, bool is_lost);
  void Retry(const WorkPtr& work);
  void TryLater(const WorkPtr& work);
  void RefuseBound(const WorkPtr& work);
  void Refuse(const WorkPtr& work, const Status& why);
  void TellChange(const SchemaChange* change);
  void TellAltered(uint32_t statement);
  void Finish(const WorkPtr& work, Outcome outcome);
  void EndWaits(bool is_closed);

  EventLoop& loop_;
  const SessionOptions options_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::unique_ptr<Cluster> cluster_;
  std::vector<PreparedStatement> statements_;
  std::map<std::string, uint32_t> numbers_;              // of statements, by their text
  size_t metadata_bytes_ = 0;                            // of all statements
  std::vector<PreparedIds> ids_;                         // as the last server gave them
  std::map<HostId, std::vector<PreparedIds>> host_ids_;  // of servers that have others
  HostStatements host_statements_;
  std::map<uint64_t, std::pair<WorkPtr, HostId>> undecided_;  // works that wait for PREPAREs
  std::map<uint64_t, WorkPtr> works_;                    // not ended, by their number
  uint64_t work_last_ = 0;
  size_t bytes_in_flight_ = 0;
  struct Wait {
    TimerId timer = 0;
    std::function<void(const Status&)> done;
  };
  std::vector<std::shared_ptr<Wait>> waits_;
  std::function<void(const SchemaChange*)> schema_changed_;
  std::function<void()> host_came_;
  bool is_closed_ = false;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_SESSION_H_
