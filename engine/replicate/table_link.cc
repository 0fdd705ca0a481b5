#include "engine/replicate/table_link.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/cql/readable.h"
#include "engine/replicate/protocol_name.h"
#include "engine/replicate/schema_reader.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"

namespace cistern::replicate {
namespace {

// A cluster that is busy for a while answers before; and a gateway that slept has not tried.
constexpr int64_t kInVainUs = 60'000'000;
constexpr uint32_t kInVainTriesMin = 5;
// Nodes that are up agree on a schema in some seconds.
constexpr int64_t kAgreementUs = 10'000'000;

std::vector<std::shared_ptr<const TableSchema>> DeclarationsOf(const Table& table) {
  std::vector<std::shared_ptr<const TableSchema>> declared;
  for (const TableVersion& version : table.versions) declared.push_back(version.schema);
  return declared;
}

// Finds whether this user may read the table and costs the cluster next to nothing: a partition of
// this token is likely not there. Permissions are looked at before anything is read.
std::string ProbeText(const PushStatements& statements) {
  const TableSchema& schema = statements.schema();
  std::string key;
  for (const size_t c : schema.partition_key) {
    key += (key.empty() ? "" : ", ") + QuoteName(schema.columns[c].name);
  }
  const std::string first = QuoteName(schema.columns[schema.partition_key.front()].name);
  return Concat({"SELECT ", first, " FROM ", QuoteName(statements.keyspace()), ".",
      QuoteName(schema.name), " WHERE token(", key, ") = 0 LIMIT 1"});
}

}  // namespace

TableLink::TableLink(cql::EventLoop& loop, cql::Session& session, TablePtr table,
                     TableLinkOptions options)
    : loop_(loop),
      session_(session),
      table_(std::move(table)),
      options_(std::move(options)),
      backoff_(options_.backoff, options_.seed),
      upstream_id_(options_.upstream_id),
      agreement_(options_.agreement),
      agreements_(options_.agreements) {
  auto made = PushStatements::Make(table_->schema, options_.keyspace);
  if (made.ok()) {
    statements_ = *std::move(made);
    MakeTexts();
  } else {
    // No answer of the cluster could help.
    state_ = State::kHeld;
    due_us_ = std::numeric_limits<int64_t>::max();
    why_ = made.status();
    reason_ = HeldReason::kNoKeyspace;
  }
}

void TableLink::MakeTexts() {
  for (size_t kind = 0; kind < kStatementKindCount; ++kind) {
    texts_[kind] = statements_->of(static_cast<StatementKind>(kind)).cql;
  }
  if (options_.proof == ProofLevel::kAck) return;
  auto proof = ProofTexts(*statements_);
  // Rows are read also where a count is not enough.
  if (options_.proof == ProofLevel::kRows) proof[static_cast<size_t>(ProofStatement::kCount)] = {};
  std::move(proof.begin(), proof.end(), texts_.begin() + kStatementKindCount);
}

bool TableLink::IsDueLater() const {
  // A drop does not go away: who agrees to it starts a new link, and another table is told of.
  if (state_ == State::kReady) return drift_->BlockedFrom().has_value();
  return state_ == State::kNew || state_ == State::kHeld;
}

bool TableLink::Step(int64_t now_us) {
  if (!session_.is_up()) NoteEnd();
  if (!IsDueLater() || now_us < due_us_ || !session_.is_up()) return false;
  Ask();
  return true;
}

int64_t TableLink::NextUs(int64_t now_us) const {
  const int64_t never = std::numeric_limits<int64_t>::max();
  if (!IsDueLater() || due_us_ == never || !session_.is_up()) return never;
  return due_us_ > now_us ? due_us_ - now_us : 0;
}

Status TableLink::MaySend(int64_t bucket_begin_s) const {
  if (state_ == State::kReady) return drift_->MaySend(bucket_begin_s);
  if (state_ == State::kHeld) return why_;
  return Status::Busy(why_.ok() ? std::string("the table is compared with the cluster's")
                                : why_.message());
}

TableLink::Held TableLink::held() const {
  if (state_ == State::kHeld || is_asking_in_vain()) return {why_, reason_};
  if (!write_denied_.ok()) return {write_denied_, HeldReason::kNotPermitted};
  if (!read_denied_.ok()) return {read_denied_, HeldReason::kNotPermitted};
  if (!drift_) return {};
  const std::optional<int64_t> blocked_from_s = drift_->BlockedFrom();
  return {blocked_from_s ? drift_->MaySend(*blocked_from_s) : Status::Ok(), HeldReason::kDiffers};
}

Status TableLink::CheckTaken(int64_t bucket_begin_s) const {
  return drift_ ? drift_->MaySend(bucket_begin_s) : Status::Ok();
}

bool TableLink::hides_values() const {
  return drift_ && options_.proof != ProofLevel::kRows && drift_->HiddenUpTo().has_value();
}

Status TableLink::CheckShown(int64_t write_us_first) const {
  return drift_->CheckShown(write_us_first);
}

std::vector<std::string> TableLink::warnings() const {
  std::vector<std::string> texts;
  if (!drift_) return texts;
  for (const SchemaDifference& difference : drift_->differences) {
    const bool is_proved = difference.drop && options_.proof == ProofLevel::kRows;
    if (difference.weight != DriftWeight::kWarns && !is_proved) continue;
    texts.push_back(Concat({"table ", drift_->table, ": ", difference.Text()}));
  }
  return texts;
}

void TableLink::AskAgain() {
  switch (state_) {
    case State::kAsking:
    case State::kPreparing:
    case State::kProbing: asks_again_ = true; break;
    case State::kNew: break;  // it asks in any case, at its time
    case State::kReady:
    case State::kHeld:
      if (!statements_) break;
      state_ = State::kNew;
      due_us_ = 0;
      break;
  }
}

void TableLink::DoubtAndAsk() {
  Doubt();
  AskAgain();
}

void TableLink::NoteHostCame() {
  if (agreement_ != Agreement::kBroken) return;
  is_another_ = true;
  if (!is_awaiting_) AskAgain();
}

void TableLink::Doubt() {
  if (agreement_ == Agreement::kReached) agreement_ = Agreement::kUnknown;
}

void TableLink::Deny(Status why, bool is_of_read) {
  (is_of_read ? read_denied_ : write_denied_) = why;
  if (state_ == State::kReady) Hold(std::move(why), HeldReason::kNotPermitted);
}

bool TableLink::IsMeant(const cql::SchemaChange& change) const {
  if (!statements_ || change.keyspace != statements_->keyspace()) return false;
  return change.target != "TABLE" || change.name == table_->schema->name;
}

void TableLink::Ask() {
  state_ = State::kAsking;
  asks_again_ = false;
  ReadSchema(loop_, session_, statements_->keyspace(), table_->schema->name,
             [this, alive = std::weak_ptr<int>(alive_)](const Result<ClusterSchema>& schema) {
               if (!alive.expired()) OnSchema(schema, loop_.NowUs());
             });
}

void TableLink::OnSchema(const Result<ClusterSchema>& schema, int64_t now_us) {
  if (!schema.ok()) {
    const StatusCode code = schema.status().code();
    const bool is_lasting = code == StatusCode::kCorruption || code == StatusCode::kTooLarge;
    return is_lasting ? Hold(schema.status(), HeldReason::kNotCompared)
                      : TryLater(schema.status());
  }
  const std::string id = schema->table ? schema->table->id : std::string();
  const bool is_another = !upstream_id_.empty() && id != upstream_id_;
  is_another_ |= is_another;
  if (is_another) agreement_ = Agreement::kBroken;
  upstream_id_ = id;
  drift_ = CompareSchema(DeclarationsOf(*table_), *schema);
  drift_->Accept(options_.accepted_drops);
  hidden_ = drift_->HiddenColumnsOf(*table_->schema);
  const std::optional<int64_t> blocked_from_s = drift_->BlockedFrom();
  if (blocked_from_s == std::numeric_limits<int64_t>::min()) {
    return Hold(drift_->MaySend(std::numeric_limits<int64_t>::max()), HeldReason::kDiffers);
  }
  due_us_ = now_us + options_.schema_retry_us;
  state_ = State::kPreparing;
  return agreement_ == Agreement::kReached ? Prepare(0) : AwaitAgreement();
}

// A node that has not learned of this table yet takes rows for one that is gone.
void TableLink::AwaitAgreement() {
  is_awaiting_ = true;
  AwaitSchemaAgreement(loop_, session_, kAgreementUs,
                       [this, alive = std::weak_ptr<int>(alive_)](const Status& agreed,
                                                                  bool lags_up) {
                         if (!alive.expired()) OnAgreement(agreed, lags_up);
                       });
}

// One that is down learns of it before it takes any: it is not waited for much longer. Nor is one
// that is up, unless the table was seen to be another one: a cluster may differ for years. A server
// that refuses the question tells nobody; Cassandra answers every user.
void TableLink::OnAgreement(const Status& agreed, bool lags_up) {
  is_awaiting_ = false;
  const bool is_broken = agreement_ == Agreement::kBroken;
  const bool lags = agreed.code() == StatusCode::kBusy;
  const bool is_told = agreed.ok() || (lags && !(lags_up && is_broken)) ||
                       agreed.code() == StatusCode::kInvalidArgument;
  if (!is_told) return TryLater(agreed);
  // It may be cut off alone: it is waited for once it is here.
  if (!(lags && is_broken)) agreement_ = Agreement::kReached;
  Prepare(0);
}

// One after another: they are few, and prepared once in the life of a session.
void TableLink::Prepare(size_t kind) {
  while (kind < texts_.size() && texts_[kind].empty()) ++kind;
  if (kind == texts_.size()) {
    prepares_anew_ = false;
    if (asks_again_) return TryLater(Status::Busy("the table is altered while it is compared"));
    return options_.proof == ProofLevel::kAck ? NoteReady() : Probe();
  }
  const Status begun = session_.Prepare(
      texts_[kind],
      [this, kind, alive = std::weak_ptr<int>(alive_)](const cql::Outcome& outcome,
                                                       uint32_t number) {
        if (!alive.expired()) OnPrepared(kind, outcome, number);
      },
      prepares_anew_);
  if (begun.ok()) return;
  if (begun.code() == StatusCode::kBusy || begun.code() == StatusCode::kClosed) {
    return TryLater(begun);
  }
  Hold(begun, HeldReason::kNotCompared);
}

void TableLink::OnPrepared(size_t kind, const cql::Outcome& outcome, uint32_t number) {
  if (outcome.kind == cql::OutcomeKind::kRefused) {
    if (std::exchange(was_refused_, true)) {
      const bool is_denied = outcome.error_code == cql::ErrorCode::kUnauthorized;
      return Hold(outcome.status,
                  is_denied ? HeldReason::kNotPermitted : HeldReason::kNotCompared);
    }
    Doubt();  // that node may not know yet what another one has told
    return TryLater(outcome.status);
  }
  if (outcome.kind != cql::OutcomeKind::kDone) return TryLater(outcome.status);
  if (kind < kStatementKindCount) {
    const Status fit = CheckMarkers(static_cast<StatementKind>(kind), number);
    if (!fit.ok()) {
      prepares_anew_ = true;  // all of them: the one that does not fit may be any
      return TryLater(fit);
    }
    numbers_[kind] = number;
  } else {
    proof_numbers_[kind - kStatementKindCount] = number;
  }
  Prepare(kind + 1);
}

// The node that told of the schema and the one that prepared need not know the same. What is bound
// for other types of the same width no server refuses.
Status TableLink::CheckMarkers(StatementKind kind, uint32_t number) const {
  const std::vector<Bind>& binds = statements_->of(kind).binds;
  const std::vector<cql::ColumnMetadata>& markers = session_.statement(number).markers.columns;
  if (markers.size() != binds.size()) {
    return Status::Busy(Concat({"a node prepares \"", statements_->of(kind).cql, "\" with ",
        markers.size(), " values for ", binds.size()}));
  }
  for (size_t i = 0; i < binds.size(); ++i) {
    if (binds[i].what == Bind::What::kTimestamp || binds[i].what == Bind::What::kTtl) continue;
    const ColumnSpec& column = statements_->schema().columns[binds[i].column];
    const std::string type = ProtocolName(column.type, statements_->keyspace());
    if (markers[i].type == type) continue;
    return Status::Busy(Concat({"a node has column ", QuoteName(column.name), " of table ",
        table_->schema->name, " as ", Printable(markers[i].type), ", which is ", type,
        " here and in the schema that another one told: nothing is sent before they agree "
        "(nodetool describecluster)"}));
  }
  return Status::Ok();
}

void TableLink::Probe() {
  state_ = State::kProbing;
  cql::SessionQuery query;
  query.options.page_rows = 1;
  const Status begun = session_.Query(
      ProbeText(*statements_), {}, std::move(query),
      [this, alive = std::weak_ptr<int>(alive_)](const cql::Outcome& outcome) {
        if (!alive.expired()) OnProbed(outcome);
      });
  if (!begun.ok()) TryLater(begun);
}

// What else than a permission is in the way of a proof shows when it is made.
void TableLink::OnProbed(const cql::Outcome& outcome) {
  if (outcome.error_code == cql::ErrorCode::kUnauthorized) {
    read_denied_ = outcome.status;
    return Hold(outcome.status, HeldReason::kNotPermitted);
  }
  if (!outcome.status.ok() && !outcome.error_code) return TryLater(outcome.status);
  read_denied_ = Status::Ok();
  if (asks_again_) return TryLater(Status::Busy("the table is altered while it is compared"));
  NoteReady();
}

void TableLink::NoteReady() {
  NoteEnd();
  state_ = State::kReady;
  was_refused_ = false;
  why_ = Status::Ok();
  ++agreements_;
}

void TableLink::TryLater(Status why) {
  const int64_t now_us = loop_.NowUs();
  state_ = State::kNew;
  why_ = std::move(why);
  reason_ = HeldReason::kNotCompared;
  due_us_ = now_us + backoff_.NextPauseUs();
  if (!trying_since_us_) trying_since_us_ = now_us;
  is_failing_ = ++tries_ >= kInVainTriesMin && now_us - *trying_since_us_ >= kInVainUs;
}

void TableLink::NoteEnd() {
  backoff_.NoteSuccess();
  trying_since_us_.reset();
  tries_ = 0;
  is_failing_ = false;
}

// Unless somebody has altered the table since it was asked for: why may be mended.
void TableLink::Hold(Status why, HeldReason reason) {
  if (asks_again_) return TryLater(std::move(why));
  NoteEnd();
  state_ = State::kHeld;
  was_refused_ = false;
  why_ = std::move(why);
  reason_ = reason;
  due_us_ = loop_.NowUs() + options_.schema_retry_us;
}

}  // namespace cistern::replicate
