// ServerConnection: the server's end of one connection of the fake cluster, without a socket.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_SERVER_CONNECTION_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_SERVER_CONNECTION_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "engine/cql/envelope_stream.h"
#include "tests/support/cql_server_codec.h"
#include "tests/support/fake_cassandra/cluster_state.h"
#include "tests/support/fake_cassandra/fault_script.h"

namespace cistern::fake_cassandra {

// What a run met. All only grow.
struct ClusterCounters {
  uint64_t connections = 0;
  uint64_t requests = 0;
  uint64_t writes = 0;              // requests that write
  uint64_t batches = 0;
  uint64_t statements_written = 0;  // sent, that is: executed or not
  uint64_t prepares = 0;
  uint64_t refused_logins = 0;
  uint64_t protocol_errors = 0;     // of the client: damaged bytes, messages out of place
  uint64_t errors = 0;              // answered, planned ones included
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  std::array<uint64_t, kFaultCount> faults{};

  [[nodiscard]] uint64_t of(Fault fault) const { return faults[static_cast<size_t>(fault)]; }
  [[nodiscard]] uint64_t fault_count() const;
  // One line for each fault that was met.
  [[nodiscard]] std::string ToString() const;
};

// What a connection needs of its cluster.
struct ConnectionContext {
  ClusterState& state;
  ClusterCounters& counters;
  std::function<FaultStep(const RequestFacts&)> next_step;  // runs the step's event
  // Once the connection has done with the request: the node crashes and comes back later.
  std::function<void(size_t node, CommitLog commit_log, int64_t back_after_us)> take_down;
  std::function<void(size_t node, int64_t back_after_us)> cut_power;  // the same, in silence
};

// One thread at a time.
class ServerConnection {
 public:
  enum class End { kOpen, kClose, kReset, kBlackHole };  // kClose: once all was sent

  ServerConnection(ConnectionContext context, size_t node);

  // Decodes and answers.
  void Feed(std::string_view bytes);
  void SendSchemaChange(const cql::SchemaChange& change);
  void SendNodeEvent(const cql::NodeEvent& event);

  // Nothing is read or sent any more.
  void FallSilent() { end_ = End::kBlackHole; }

  // Bytes that may be sent at `now_us` of the monotonic clock; call Sent for those that were.
  // Of a split reply one by one.
  [[nodiscard]] std::string_view Output(int64_t now_us);
  void Sent(size_t bytes);
  // Whether bytes wait for the clock or the peer.
  [[nodiscard]] bool has_output() const { return !queue_.empty() || !sending_.empty(); }
  [[nodiscard]] End end() const { return end_; }
  [[nodiscard]] size_t node() const { return node_; }
  [[nodiscard]] bool is_registered() const { return is_registered_; }

 private:
  enum class Phase { kNew, kAuthenticating, kReady };
  struct Outgoing {
    int64_t due_us = 0;
    size_t single_bytes = 0;  // so many at the begin go one by one
    std::string bytes;
  };

  void OnEnvelope(const cql::Envelope& envelope);
  // The envelope of the answer to a request that meets no fault; empty: there is none.
  std::string AnswerTo(const testing::ResponseHead& head, const testing::RequestMessage& request,
                       size_t replicas_max);
  std::string AnswerToStartup(const testing::ResponseHead& head,
                              const testing::StartupRequest& request);
  std::string AnswerToLogin(const testing::ResponseHead& head,
                            const testing::AuthResponseRequest& request);
  [[nodiscard]] bool SpeaksV5() const;
  bool RefusesVersion(const cql::Envelope& envelope);
  void ActOn(const FaultStep& step, const testing::ResponseHead& head,
             const testing::RequestMessage& request, bool is_statement);
  // True: the fault is an error of the server's, and was answered.
  bool ActAsServer(Fault fault, const testing::ResponseHead& head,
                   const testing::RequestMessage& request);
  std::string ErrorText(const testing::ResponseHead& head, cql::ErrorCode code,
                        std::string message);
  void Queue(std::string_view envelope, int64_t delay_us = 0, size_t single_bytes = 0);
  void EstablishIfReady();

  ConnectionContext context_;
  size_t node_;
  cql::EnvelopeDecoder decoder_;
  cql::EnvelopeEncoder encoder_;
  Phase phase_ = Phase::kNew;
  bool is_established_ = false;
  bool establishes_ = false;  // after the answer that is being made
  cql::ProtocolVersion version_ = cql::ProtocolVersion::kV5;
  cql::Compression compression_ = cql::Compression::kNone;
  std::string keyspace_;
  bool is_registered_ = false;
  End end_ = End::kOpen;
  std::deque<Outgoing> queue_;
  std::string sending_;
  size_t single_bytes_ = 0;  // at the begin of sending_
};

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_SERVER_CONNECTION_H_
