#include "tests/support/fake_cassandra/server_connection.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include "tests/support/rng.h"

namespace cistern::fake_cassandra {
namespace {

using cql::ErrorCode;
using cql::ErrorResponse;
using testing::ResponseHead;

// What a write may say that it was.
std::string WriteTypeOf(const testing::RequestMessage& request) {
  return std::holds_alternative<testing::BatchRequest>(request) ? "UNLOGGED_BATCH" : "SIMPLE";
}

ErrorResponse WriteError(ErrorCode code, const testing::RequestMessage& request) {
  ErrorResponse error;
  error.code = code;
  error.message = code == ErrorCode::kWriteTimeout ? "Operation timed out" : "Operation failed";
  error.consistency = cql::Consistency::kLocalQuorum;
  error.required = 1;
  error.write_type = WriteTypeOf(request);
  error.failure_count = code == ErrorCode::kWriteFailure ? 1 : 0;
  if (code == ErrorCode::kWriteFailure) {
    error.failures.push_back({std::string("\x7f\x00\x00\x01", 4), 0});
  }
  return error;
}

}  // namespace

uint64_t ClusterCounters::fault_count() const {
  return std::accumulate(faults.begin(), faults.end(), uint64_t{0});
}

std::string ClusterCounters::ToString() const {
  std::string text;
  for (size_t i = 0; i < kFaultCount; ++i) {
    if (faults[i] == 0) continue;
    text += FaultName(static_cast<Fault>(i));
    text += ": " + std::to_string(faults[i]) + "\n";
  }
  return text;
}

ServerConnection::ServerConnection(ConnectionContext context, size_t node)
    : context_(std::move(context)), node_(node), decoder_(cql::Direction::kRequest) {}

void ServerConnection::Feed(std::string_view bytes) {
  context_.counters.bytes_received += bytes.size();
  decoder_.Feed(bytes);
  while (end_ == End::kOpen) {
    const Result<std::optional<cql::Envelope>> next = decoder_.Next();
    if (!next.ok()) {
      // As Cassandra: a fatal error, then the end.
      ++context_.counters.protocol_errors;
      Queue(ErrorText({version_, 0}, ErrorCode::kProtocolError, next.status().message()));
      end_ = End::kClose;
    }
    if (!next.ok() || !next->has_value()) return;
    OnEnvelope(**next);
  }
}

bool ServerConnection::SpeaksV5() const {
  const ClusterOptions& options = context_.state.options();
  return options.speaks_v5 && !options.older_nodes.contains(node_);
}

bool ServerConnection::RefusesVersion(const cql::Envelope& envelope) {
  const ClusterOptions& options = context_.state.options();
  const bool speaks_v5 = SpeaksV5();
  const uint8_t asked = envelope.header.version;
  const bool is_known = (asked == 5 && speaks_v5) || (asked == 4 && options.speaks_v4);
  if (is_known) {
    if (!is_established_) version_ = static_cast<cql::ProtocolVersion>(asked);
    return false;
  }
  const std::string known = std::string(options.speaks_v4 ? "4/v4" : "") +
                            (options.speaks_v4 && speaks_v5 ? ", " : "") +
                            (speaks_v5 ? "5/v5" : "");
  const auto newest = speaks_v5 ? cql::ProtocolVersion::kV5 : cql::ProtocolVersion::kV4;
  Queue(ErrorText({newest, envelope.header.stream}, ErrorCode::kProtocolError,
                  "Invalid or unsupported protocol version (" + std::to_string(asked) +
                      "); supported versions are (" + known + ")"));
  end_ = End::kClose;
  return true;
}

void ServerConnection::OnEnvelope(const cql::Envelope& envelope) {
  ClusterCounters& counters = context_.counters;
  RequestFacts facts{counters.requests++, counters.writes, node_, envelope.header.opcode, false};
  if (RefusesVersion(envelope)) return;
  const ResponseHead head{version_, envelope.header.stream};
  const Result<testing::RequestMessage> request = testing::DecodeRequest(version_, envelope);
  if (!request.ok()) {
    ++counters.protocol_errors;
    Queue(ErrorText(head, ErrorCode::kProtocolError, request.status().message()));
    return;
  }
  const RequestTraits traits = context_.state.TraitsOf(node_, *request);
  facts.is_write = traits.is_write;
  facts.is_definition = traits.is_definition;
  facts.body = envelope.body;
  if (traits.is_write) {
    ++counters.writes;
    counters.statements_written += traits.statement_count;
  }
  if (facts.opcode == cql::Opcode::kBatch) ++counters.batches;
  if (facts.opcode == cql::Opcode::kPrepare) ++counters.prepares;
  const FaultStep step = context_.next_step(facts);
  const bool is_statement =
      facts.opcode == cql::Opcode::kQuery || facts.opcode == cql::Opcode::kPrepare ||
      facts.opcode == cql::Opcode::kExecute || facts.opcode == cql::Opcode::kBatch;
  ActOn(step, head, *request, is_statement);
  EstablishIfReady();
}

void ServerConnection::ActOn(const FaultStep& step, const ResponseHead& head,
                             const testing::RequestMessage& request, bool is_statement) {
  const Fault fault = step.fault;
  const bool is_of_server = fault >= Fault::kOverloaded && fault <= Fault::kWriteFailureApplied;
  const bool is_met = fault != Fault::kNone && (is_statement || !is_of_server);
  if (is_met) ++context_.counters.faults[static_cast<size_t>(fault)];
  if (is_met && is_of_server && ActAsServer(fault, head, request)) return;
  switch (is_met ? fault : Fault::kNone) {
    case Fault::kCloseBefore: end_ = End::kClose; return;
    case Fault::kResetBefore: end_ = End::kReset; return;
    case Fault::kSwallowBefore: return;
    case Fault::kBlackHole: end_ = End::kBlackHole; return;
    case Fault::kNodeDownBefore:
      context_.take_down(node_, CommitLog::kReplayed, step.delay_us);
      end_ = End::kReset;
      return;
    default: break;
  }
  const std::string answer = AnswerTo(head, request, std::numeric_limits<size_t>::max());
  switch (is_met ? fault : Fault::kNone) {
    case Fault::kCloseAfter: end_ = End::kClose; return;
    case Fault::kResetAfter: end_ = End::kReset; return;
    case Fault::kSwallowAfter: return;
    case Fault::kDelay: Queue(answer, step.delay_us); return;
    case Fault::kSplitReply: Queue(answer, 0, 64); return;
    case Fault::kCutReply:
      Queue(answer);
      if (!queue_.empty()) queue_.back().bytes.resize(queue_.back().bytes.size() / 2);
      end_ = End::kReset;
      return;
    case Fault::kGarbage: {
      testing::Rng rng(context_.counters.requests);
      std::string bytes;
      for (size_t i = 0; i < 64; ++i) bytes.push_back(static_cast<char>(rng.Below(256)));
      queue_.push_back({0, 0, std::move(bytes)});
      return;
    }
    case Fault::kNodeDownAfter:
    case Fault::kNodeLosesUnsynced:
      context_.take_down(node_, fault == Fault::kNodeDownAfter ? CommitLog::kReplayed
                                                               : CommitLog::kUnsyncedLost,
                         step.delay_us);
      end_ = End::kReset;
      return;
    case Fault::kNodeLosesPower:
      context_.cut_power(node_, step.delay_us);
      end_ = End::kBlackHole;
      return;
    default: Queue(answer); return;
  }
}

bool ServerConnection::ActAsServer(Fault fault, const ResponseHead& head,
                                   const testing::RequestMessage& request) {
  const auto answer = [&](ErrorCode code, std::string message) {
    Queue(ErrorText(head, code, std::move(message)));
    return true;
  };
  const auto answer_write = [&](ErrorCode code, size_t replicas_max) {
    if (replicas_max > 0) {
      const Answer done =
          context_.state.Execute(node_, version_, request, &keyspace_, replicas_max);
      // What is refused in earnest is refused.
      if (std::holds_alternative<ErrorResponse>(done)) return false;
    }
    std::string bytes;
    testing::AppendError(head, WriteError(code, request), &bytes);
    ++context_.counters.errors;
    Queue(bytes);
    return true;
  };
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  switch (fault) {
    case Fault::kOverloaded: return answer(ErrorCode::kOverloaded, "Request was shed");
    case Fault::kBootstrapping: return answer(ErrorCode::kBootstrapping, "Cannot read yet");
    case Fault::kUnauthorized:
      return answer(ErrorCode::kUnauthorized, "User has no MODIFY permission on the table");
    case Fault::kInvalid: return answer(ErrorCode::kInvalid, "Undefined column name state");
    case Fault::kServerError: return answer(ErrorCode::kServerError, "java.lang.AssertionError");
    case Fault::kUnavailable: {
      ErrorResponse error = WriteError(ErrorCode::kUnavailable, request);
      error.message = "Cannot achieve consistency level LOCAL_QUORUM";
      std::string bytes;
      testing::AppendError(head, error, &bytes);
      ++context_.counters.errors;
      Queue(bytes);
      return true;
    }
    case Fault::kUnprepared: context_.state.ForgetPrepared(node_); return false;
    case Fault::kWriteTimeout: return answer_write(ErrorCode::kWriteTimeout, 0);
    case Fault::kWriteTimeoutApplied: return answer_write(ErrorCode::kWriteTimeout, kAll);
    case Fault::kWriteTimeoutPartly: return answer_write(ErrorCode::kWriteTimeout, 1);
    case Fault::kWriteFailure: return answer_write(ErrorCode::kWriteFailure, 0);
    case Fault::kWriteFailureApplied: return answer_write(ErrorCode::kWriteFailure, kAll);
    default: return false;
  }
}

std::string ServerConnection::AnswerTo(const ResponseHead& head,
                                       const testing::RequestMessage& request,
                                       size_t replicas_max) {
  std::string out;
  if (std::holds_alternative<testing::OptionsRequest>(request)) {
    const ClusterOptions& options = context_.state.options();
    std::vector<std::string> versions;
    if (options.speaks_v4) versions.push_back("4/v4");
    if (SpeaksV5()) versions.push_back("5/v5");
    std::vector<std::string> compressions;
    if (options.knows_lz4) compressions.push_back("lz4");
    testing::AppendSupported(head, {{"CQL_VERSION", {"3.4.7"}}, {"COMPRESSION", compressions},
                                    {"PROTOCOL_VERSIONS", versions}}, &out);
    return out;
  }
  if (const auto* startup = std::get_if<testing::StartupRequest>(&request)) {
    return AnswerToStartup(head, *startup);
  }
  if (const auto* login = std::get_if<testing::AuthResponseRequest>(&request)) {
    return AnswerToLogin(head, *login);
  }
  if (phase_ != Phase::kReady) {
    ++context_.counters.protocol_errors;
    return ErrorText(head, ErrorCode::kProtocolError, "the connection is not ready");
  }
  if (std::holds_alternative<testing::RegisterRequest>(request)) {
    is_registered_ = true;
    testing::AppendReady(head, &out);
    return out;
  }
  const Answer answer = context_.state.Execute(node_, version_, request, &keyspace_, replicas_max);
  if (std::holds_alternative<ErrorResponse>(answer)) ++context_.counters.errors;
  AppendAnswer(head, answer, &out);
  return out;
}

std::string ServerConnection::AnswerToStartup(const ResponseHead& head,
                                              const testing::StartupRequest& request) {
  if (phase_ != Phase::kNew || request.options.count("CQL_VERSION") == 0) {
    ++context_.counters.protocol_errors;
    return ErrorText(head, ErrorCode::kProtocolError, "this is no STARTUP for a new connection");
  }
  if (const auto at = request.options.find("COMPRESSION"); at != request.options.end()) {
    if (at->second != "lz4" || !context_.state.options().knows_lz4) {
      return ErrorText(head, ErrorCode::kProtocolError,
                       "Unknown or unsupported compression algorithm: " + at->second);
    }
    compression_ = cql::Compression::kLz4;
  }
  std::string out;
  establishes_ = true;
  if (context_.state.options().user.empty()) {
    phase_ = Phase::kReady;
    testing::AppendReady(head, &out);
  } else {
    phase_ = Phase::kAuthenticating;
    testing::AppendAuthenticate(head, "org.apache.cassandra.auth.PasswordAuthenticator", &out);
  }
  return out;
}

std::string ServerConnection::AnswerToLogin(const ResponseHead& head,
                                            const testing::AuthResponseRequest& request) {
  if (phase_ != Phase::kAuthenticating) {
    ++context_.counters.protocol_errors;
    return ErrorText(head, ErrorCode::kProtocolError, "nobody asked for a password");
  }
  const std::optional<testing::PlainCredentials> given = testing::ParsePlainToken(request.token);
  const ClusterOptions& options = context_.state.options();
  if (!given.has_value() || given->user != options.user || given->password != options.password) {
    ++context_.counters.refused_logins;
    return ErrorText(head, ErrorCode::kBadCredentials,
                     "Provided username " + options.user + " and/or password are incorrect");
  }
  phase_ = Phase::kReady;
  std::string out;
  testing::AppendAuthSuccess(head, std::nullopt, &out);
  return out;
}

std::string ServerConnection::ErrorText(const ResponseHead& head, ErrorCode code,
                                        std::string message) {
  ++context_.counters.errors;
  ErrorResponse error;
  error.code = code;
  error.message = std::move(message);
  std::string out;
  testing::AppendError(head, error, &out);
  return out;
}

// Also where the answer itself was lost: the client is gone then.
void ServerConnection::EstablishIfReady() {
  if (!establishes_) return;
  establishes_ = false;
  is_established_ = true;
  decoder_.Establish(version_, compression_);
  encoder_.Establish(version_, compression_);
}

void ServerConnection::Queue(std::string_view envelope, int64_t delay_us, size_t single_bytes) {
  if (envelope.empty()) return;
  Outgoing out;
  if (delay_us > 0) {
    out.due_us = context_.state.options().clock->MonotonicMicros() + delay_us;
  }
  out.single_bytes = single_bytes;
  encoder_.Encode(envelope, &out.bytes);
  queue_.push_back(std::move(out));
}

void ServerConnection::SendSchemaChange(const cql::SchemaChange& change) {
  std::string out;
  testing::AppendSchemaChange({version_, cql::kEventStream}, change, &out);
  Queue(out);
}

void ServerConnection::SendNodeEvent(const cql::NodeEvent& event) {
  std::string out;
  testing::AppendNodeEvent({version_, cql::kEventStream}, event, &out);
  Queue(out);
}

std::string_view ServerConnection::Output(int64_t now_us) {
  for (auto at = queue_.begin(); at != queue_.end() && single_bytes_ == 0;) {
    if (at->due_us > now_us) {
      ++at;
      continue;
    }
    // What goes byte by byte begins only when all before it has left.
    if (at->single_bytes > 0 && !sending_.empty()) break;
    single_bytes_ = std::min(at->single_bytes, at->bytes.size());
    sending_ += at->bytes;
    at = queue_.erase(at);
  }
  return single_bytes_ > 0 ? std::string_view(sending_).substr(0, 1) : sending_;
}

void ServerConnection::Sent(size_t bytes) {
  context_.counters.bytes_sent += bytes;
  sending_.erase(0, bytes);
  single_bytes_ -= std::min(bytes, single_bytes_);
}

}  // namespace cistern::fake_cassandra
