// The life of a request: host after host, round after round, until its outcome.
#include "engine/cql/session.h"

#include <algorithm>
#include <utility>

#include "engine/cql/session_work.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

// A statement that a host forgets at once again is not prepared for ever.
constexpr uint32_t kPrepareAgainMax = 8;

}  // namespace

Session::Session(EventLoop& loop, SessionOptions options)
    : loop_(loop), options_(std::move(options)) {
  cluster_ = std::make_unique<Cluster>(
      loop_, options_.cluster,
      ClusterEvents{.host_came = [this](HostId) { NoteHostCame(); },
                    .host_went = [this](HostId host) { NoteHostWent(host); },
                    .described = [this] { EndWaits(false); },
                    .schema_changed =
                        [this](const SchemaChange* change) { TellChange(change); }});
}

Session::~Session() { Close(); }

bool Session::is_up() const {
  return !cluster_->Plan(std::nullopt, {}).empty();
}

std::optional<ProtocolVersion> Session::version() const {
  std::optional<ProtocolVersion> oldest;
  for (const auto& [id, host] : cluster_->pool().hosts()) {
    const Connection* connection = cluster_->at(id);
    if (connection == nullptr) continue;
    oldest = std::min(oldest.value_or(connection->version()), connection->version());
  }
  return oldest;
}

void Session::WhenReady(int64_t timeout_us, std::function<void(const Status&)> done) {
  if (is_closed_) {
    loop_.Post([done = std::move(done)] { done(Status::Closed("the session was closed")); });
    return;
  }
  const auto wait = std::make_shared<Wait>();
  wait->done = std::move(done);
  waits_.push_back(wait);
  wait->timer = loop_.After(timeout_us, [this, wait] {
    wait->timer = 0;
    const Status why = is_up() ? Status::Ok() : away();
    std::erase(waits_, wait);
    wait->done(why);
  });
  loop_.Post([this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) EndWaits(false);
  });
}

// Tells those that wait, if there is something to tell.
void Session::EndWaits(bool is_closed) {
  if (waits_.empty()) return;
  Status status = Status::Closed("the session was closed");
  if (!is_closed) {
    const bool is_ready = is_up() && cluster_->is_described();
    // What stays so until somebody changes it is not waited for.
    const bool is_refused = !is_up() && away().code() == StatusCode::kInvalidArgument;
    if (!is_ready && !is_refused) return;
    status = is_ready ? Status::Ok() : away();
  }
  const auto waits = std::exchange(waits_, {});
  for (const auto& wait : waits) {
    if (wait->timer != 0) loop_.Cancel(wait->timer);
    loop_.Post([wait, status] { wait->done(status); });
  }
}

Status Session::Begin(WorkPtr work) {
  if (is_closed_) return Status::Closed("the session was closed");
  const bool has_room = works_.size() < options_.requests_max &&
                        (works_.empty() || bytes_in_flight_ + work->bytes <= options_.bytes_max);
  if (!has_room) {
    return Status::Busy(Concat({works_.size(), " requests with ", bytes_in_flight_,
        " bytes are in flight; try again when one of them has ended"}));
  }
  work->number = ++work_last_;
  const Status sent = TrySend(work);
  if (!sent.ok() && sent.code() != StatusCode::kNotFound) return sent;
  bytes_in_flight_ += work->bytes;
  works_.emplace(work->number, work);
  if (sent.ok()) return sent;
  // No host is up. Told as every other outcome, and at once: the caller knows when to come again.
  loop_.Post([this, alive = std::weak_ptr<int>(alive_), work] {
    if (alive.expired() || work->is_ended) return;
    Outcome outcome;
    outcome.status = away();
    Finish(work, std::move(outcome));
  });
  return Status::Ok();
}

// Sends to the first host of the plan that has room and a version that can say it. kBusy: none has
// room; kNotSupported: those that are up have an older version; kNotFound: none is up.
Status Session::TrySend(const WorkPtr& work) {
  if (work->plan_next >= work->plan.size()) {
    work->plan = work->asks_control ? cluster_->ControlPlan()
                                    : cluster_->Plan(work->token, work->keyspace);
    work->plan_next = 0;
  }
  Status refused = Status::NotFound("no host is up");
  while (work->plan_next < work->plan.size()) {
    const Status sent = SendTo(work->plan[work->plan_next++], work);
    switch (sent.code()) {
      case StatusCode::kBusy: refused = sent; break;
      case StatusCode::kNotSupported:
        if (refused.code() != StatusCode::kBusy) refused = sent;
        break;
      case StatusCode::kClosed: break;
      default: return sent;
    }
  }
  return refused;
}

Status Session::SendTo(HostId host, const WorkPtr& work) {
  Connection* connection = cluster_->at(host);
  if (connection == nullptr) return Status::Closed("the host is gone");
  if (!host_statements_.IsTold(host, work->statements)) return SendOnceTold(host, work);
  CISTERN_RETURN_IF_ERROR(connection->Send(
      [this, host, &work](const RequestHead& head, std::string* out) {
        return work->encode(head, IdsOf(host), out);
      },
      work->asked, work->timeout_us,
      [this, alive = std::weak_ptr<int>(alive_), work, host](const Answer& answer) {
        if (!alive.expired() && !work->is_ended) OnAnswer(work, host, answer);
      }));
  const auto known = work->prepared ? numbers_.find(work->cql) : numbers_.end();
  if (known != numbers_.end()) work->asking = host_statements_.Begin(host, known->second);
  ++work->attempts;
  work->outcome.host = connection->endpoint();
  return Status::Ok();
}

// Its statements are prepared there first; or it waits for what the host is asked already.
Status Session::SendOnceTold(HostId host, const WorkPtr& work) {
  if (work->prepare_again_count >= kPrepareAgainMax) {
    return Status::Busy("the host has not told for which types it has the statement");
  }
  if (host_statements_.IsAsked(host)) {
    undecided_.emplace(work->number, std::pair(work, host));
    return Status::Ok();
  }
  const Status sent = PrepareAgain(work, host);
  if (sent.ok()) ++work->prepare_again_count;
  return sent;
}

void Session::OnAnswer(const WorkPtr& work, HostId host, const Answer& answer) {
  const ErrorResponse* error =
      answer.response == nullptr ? nullptr : std::get_if<ErrorResponse>(&answer.response->message);
  const RetryDecision decision =
      DecideRetry(answer.fate, error == nullptr ? std::nullopt : std::optional(error->code));
  work->kind = MergeKinds(work->kind, decision.kind);
  const auto asking = std::exchange(work->asking, {});
  const Status kept = asking.telling == nullptr
                          ? Status::Ok()
                          : TakePrepared(host, numbers_.at(work->cql), asking, answer);
  Outcome& outcome = work->outcome;
  outcome.error_code.reset();
  outcome.status = answer.status;
  if (answer.response != nullptr) outcome.warnings = answer.response->warnings;
  if (error != nullptr) {
    outcome.error_code = error->code;
    const std::string words = Concat({EndpointText(outcome.host), " answered: ",
        DescribeError(*error)});
    const bool is_refused = decision.kind == OutcomeKind::kRefused;
    outcome.status = is_refused ? Status::InvalidArgument(words) : Status::IoError(words);
  }
  if (decision.is_prepared_again) NoteForgotten(*work, host);
  if (decision.is_prepared_again && work->prepare_again_count < kPrepareAgainMax) {
    ++work->prepare_again_count;
    if (!PrepareAgain(work, host).ok()) Retry(work);
    return;
  }
  if (decision.is_retried) return Retry(work);
  if (decision.kind == OutcomeKind::kDone) {
    const auto* prepared = std::get_if<PreparedResult>(&answer.response->message);
    if (prepared != nullptr && work->prepared) {
      if (!kept.ok()) return Refuse(work, kept);
      return FinishPrepare(work, *prepared, host, asking.telling != nullptr);
    }
    outcome.rows = std::get_if<RowsResult>(&answer.response->message);
    if (outcome.rows != nullptr) NoteMetadata(*work, *outcome.rows, host);
  }
  Finish(work, std::exchange(outcome, Outcome()));
}

// Whichever of them it is: their tables may be other ones now.
void Session::NoteForgotten(const Work& work, HostId host) {
  for (const uint32_t statement : work.statements) {
    host_statements_.NoteForgotten(host, statement);
    TellAltered(statement);
  }
}

// The host has forgotten what it prepared, after a restart or to make room, or because the table is
// another one now: all statements of the request are prepared there again, then it goes to the same
// host. Until an answer is read nobody knows for which types the host takes their values.
Status Session::PrepareAgain(const WorkPtr& work, HostId host) {
  if (work->statements.empty()) return Status::Corruption("it asks for a statement that has none");
  const auto left = std::make_shared<size_t>(work->statements.size());
  for (const uint32_t statement : work->statements) {
    const Status sent = PrepareAgain(work, host, statement, left);
    if (sent.ok()) continue;
    *left = 0;
    return sent;
  }
  return Status::Ok();
}

// One of them. `left`: how many of the request's are not answered; 0: it goes on without them.
Status Session::PrepareAgain(const WorkPtr& work, HostId host, uint32_t statement,
                             std::shared_ptr<size_t> left) {
  Connection* connection = cluster_->at(host);
  if (connection == nullptr) return Status::Closed("the host is gone");
  const auto asking = std::make_shared<HostStatements::Asking>();
  CISTERN_RETURN_IF_ERROR(connection->Send(
      [&](const RequestHead& head, std::string* out) {
        return AppendPrepare(head, statements_[statement].cql, out);
      },
      AnswerKind::kPrepared, work->timeout_us,
      [this, alive = std::weak_ptr<int>(alive_), work, host, statement, asking,
       left = std::move(left)](const Answer& answer) {
        if (alive.expired()) return;
        const Status kept = TakePrepared(host, statement, *asking, answer);
        if (work->is_ended || *left == 0) return;
        const bool is_prepared = answer.response != nullptr &&
                                 std::holds_alternative<PreparedResult>(answer.response->message);
        if (!is_prepared || !kept.ok()) *left = 0;
        if (!kept.ok()) return Refuse(work, kept);
        if (!is_prepared || --*left == 0) OnPreparedAgain(work, host, statement, answer);
      }));
  work->outcome.host = connection->endpoint();
  *asking = host_statements_.Begin(host, statement);
  return Status::Ok();
}

// Also where the request that asked for it is over.
Status Session::TakePrepared(HostId host, uint32_t statement,
                             const HostStatements::Asking& asking, const Answer& answer) {
  const uint32_t revision = statements_[statement].revision;
  const auto* prepared = answer.response == nullptr
                             ? nullptr
                             : std::get_if<PreparedResult>(&answer.response->message);
  const auto* error = answer.response == nullptr
                          ? nullptr
                          : std::get_if<ErrorResponse>(&answer.response->message);
  const Status kept =
      prepared == nullptr ? Status::Ok() : KeepAgain(host, statement, *prepared);
  PrepareWord word = PrepareWord::kLost;
  if (prepared != nullptr && kept.ok()) {
    const bool is_same = statements_[statement].revision == revision;
    word = is_same ? PrepareWord::kSame : PrepareWord::kOther;
  } else if (error != nullptr) {
    const bool is_unknown = DecideRetry(answer.fate, error->code).kind == OutcomeKind::kUnknown;
    word = is_unknown ? PrepareWord::kLost : PrepareWord::kNone;
  }
  host_statements_.End(asking, word);
  if (!undecided_.empty()) {
    const bool is_lost = word == PrepareWord::kLost;
    loop_.Post([this, host, is_lost, alive = std::weak_ptr<int>(alive_)] {
      if (!alive.expired()) GoOnUndecided(host, is_lost);
    });
  }
  return kept;
}

void Session::NoteHostCame() {
  EndWaits(false);
  if (host_came_) host_came_();
}

void Session::NoteHostWent(HostId host) {
  host_ids_.erase(host);
  host_statements_.Forget(host);
  loop_.Post([this, host, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) GoOnUndecided(host, true);
  });
  EndWaits(false);
}

void Session::OnPreparedAgain(const WorkPtr& work, HostId host, uint32_t statement,
                              const Answer& answer) {
  const bool is_prepared = answer.response != nullptr &&
                           std::holds_alternative<PreparedResult>(answer.response->message);
  if (!is_prepared) {
    // Its words are those of the statement: a table that was dropped is told here.
    const auto* error = answer.response == nullptr
                            ? nullptr
                            : std::get_if<ErrorResponse>(&answer.response->message);
    Outcome& outcome = work->outcome;
    if (error == nullptr) {
      outcome.status = answer.status;
      outcome.error_code.reset();
    }
    if (error == nullptr || error->code == ErrorCode::kUnprepared) return Retry(work);
    const RetryDecision decision = DecideRetry(answer.fate, error->code);
    outcome.error_code = error->code;
    outcome.status = Status::InvalidArgument(Concat({EndpointText(outcome.host),
        " does not prepare \"", statements_[statement].cql, "\": ", DescribeError(*error)}));
    if (decision.is_retried) return Retry(work);
    work->kind = MergeKinds(work->kind, decision.kind);
    return Finish(work, std::exchange(outcome, Outcome()));
  }
  // Where others have theirs prepared again as well all go on together, in the order in which they
  // were sent and without a pause, which would shuffle them.
  undecided_.emplace(work->number, std::pair(work, host));
  GoOnUndecided(host, false);
}

// Its statements are known again to the host.
void Session::GoOn(const WorkPtr& work, HostId host) {
  if (!IsBoundForNow(*work)) return RefuseBound(work);
  if (IsStale(*work)) return Finish(work, std::exchange(work->outcome, Outcome()));
  const Status sent = SendTo(host, work);
  if (!sent.ok()) Retry(work);
}

// Those that wait for the host, once nothing is asked there any more. Where an answer is lost they
// go elsewhere, since each of them would lose its own.
void Session::GoOnUndecided(HostId host, bool is_lost) {
  if (host_statements_.IsAsked(host) && !is_lost) return;
  std::vector<WorkPtr> works;
  std::erase_if(undecided_, [&](const auto& numbered) {
    const auto& [work, waits_for] = numbered.second;
    if (waits_for == host) works.push_back(work);
    return waits_for == host;
  });
  const std::weak_ptr<int> alive = alive_;  // what one of them completes may destroy the session
  for (const WorkPtr& work : works) {
    if (alive.expired()) return;
    if (work->is_ended) continue;
    if (is_lost) Retry(work);
    else GoOn(work, host);
  }
}

// Its values are of a table that is not there any more.
void Session::RefuseBound(const WorkPtr& work) {
  Outcome& outcome = work->outcome;
  outcome.error_code.reset();
  outcome.status = Status::NotSupported(Concat({"columns of \"",
      statements_[work->statements[0]].cql, "\" have other types than when values were bound: the "
      "table was made anew"}));
  work->kind = MergeKinds(work->kind, OutcomeKind::kRefused);
  Finish(work, std::exchange(outcome, Outcome()));
}

// As if the server had.
void Session::Refuse(const WorkPtr& work, const Status& why) {
  Outcome& outcome = work->outcome;
  outcome.error_code = ErrorCode::kInvalid;
  outcome.status = why;
  work->kind = MergeKinds(work->kind, OutcomeKind::kRefused);
  Finish(work, std::exchange(outcome, Outcome()));
}

void Session::TellChange(const SchemaChange* change) {
  if (schema_changed_) schema_changed_(change);
}

// The table of a statement may be another one now.
void Session::TellAltered(uint32_t statement) {
  const RowsMetadata& markers = statements_[statement].markers;
  const SchemaChange change{"UPDATED", "TABLE", markers.keyspace, markers.table};
  if (!change.name.empty()) TellChange(&change);
}

// Whether its values hold no more, so that who asked binds it anew.
bool Session::IsStale(const Work& work) const { return loop_.NowUs() > work.fresh_until_us; }

// The next host of the round at once; a new round after a pause; the end after attempts_max.
void Session::Retry(const WorkPtr& work) {
  if (work->attempts >= options_.attempts_max || IsStale(*work)) {
    return Finish(work, std::exchange(work->outcome, Outcome()));
  }
  if (!IsBoundForNow(*work)) return RefuseBound(work);
  if (work->plan_next >= work->plan.size()) return TryLater(work);
  const Status sent = TrySend(work);
  if (!sent.ok()) TryLater(work);
}

void Session::TryLater(const WorkPtr& work) {
  if (work->backoff.failure_count() >= options_.attempts_max || IsStale(*work)) {
    return Finish(work, std::exchange(work->outcome, Outcome()));
  }
  work->plan_next = work->plan.size();  // hosts may have come and gone
  work->retry_timer = loop_.After(work->backoff.NextUs(), [this, work] {
    work->retry_timer = 0;
    if (!IsBoundForNow(*work)) return RefuseBound(work);
    if (IsStale(*work)) return Finish(work, std::exchange(work->outcome, Outcome()));
    const Status sent = TrySend(work);
    if (sent.ok()) return;
    const bool is_later = sent.code() == StatusCode::kBusy || sent.code() == StatusCode::kNotFound;
    if (is_later) return TryLater(work);
    work->outcome.status = sent;  // it cannot be encoded for any host that is up
    work->outcome.error_code.reset();
    Finish(work, std::exchange(work->outcome, Outcome()));
  });
}

void Session::Finish(const WorkPtr& work, Outcome outcome) {
  if (std::exchange(work->is_ended, true)) return;
  if (work->retry_timer != 0) loop_.Cancel(std::exchange(work->retry_timer, 0));
  outcome.kind = work->kind.value_or(OutcomeKind::kAway);
  if (outcome.kind != OutcomeKind::kDone && outcome.status.ok()) {
    outcome.status = Status::IoError("it was not sent: no host has told in time for which types it "
                                     "has the statement");
  }
  outcome.attempts = work->attempts;
  bytes_in_flight_ -= work->bytes;
  works_.erase(work->number);
  // The last: it may destroy the session.
  if (work->prepared) return work->prepared(outcome, 0);
  work->done(outcome);
}

void Session::Close() {
  if (std::exchange(is_closed_, true)) return;
  EndWaits(true);
  undecided_.clear();
  const auto works = std::exchange(works_, {});
  bytes_in_flight_ = 0;
  for (const auto& numbered : works) {
    const WorkPtr work = numbered.second;
    work->is_ended = true;
    if (work->retry_timer != 0) loop_.Cancel(std::exchange(work->retry_timer, 0));
    // What was sent and not answered may be executed.
    const OutcomeKind kind = work->attempts == 0 ? OutcomeKind::kAway : OutcomeKind::kUnknown;
    loop_.Post([work, kind] {
      Outcome outcome;
      outcome.kind = kind;
      outcome.status = Status::Closed("the session was closed");
      outcome.attempts = work->attempts;
      if (work->prepared) work->prepared(outcome, 0);
      else work->done(outcome);
    });
  }
  cluster_->Close();
}

}  // namespace cistern::cql
