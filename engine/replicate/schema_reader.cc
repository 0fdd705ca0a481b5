#include "engine/replicate/schema_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "cistern/limits.h"
#include "engine/cql/rows.h"
#include "engine/replicate/page_watch.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/value_text.h"

namespace cistern::replicate {
namespace {

constexpr uint32_t kPageRows = 1'000;
constexpr int64_t kAgreementPauseUs = 200'000;  // as other clients wait between two looks
constexpr char kLocalQuery[] = "SELECT host_id, schema_version FROM system.local";
constexpr char kPeersQuery[] = "SELECT host_id, schema_version FROM system.peers_v2";
// Before Cassandra 4.0, and of other servers that speak the protocol.
constexpr char kOldPeersQuery[] = "SELECT host_id, schema_version FROM system.peers";

// A blank for each break of a line and what indents the next one.
std::string InOneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\n';
    if (is_blank && line.ends_with(' ')) continue;
    line += is_blank ? ' ' : c;
  }
  return line;
}

using HostRowsDone = std::function<void(const Result<SystemRows>&, const cql::Endpoint& host)>;

void AppendPage(const cql::RowsResult& page, SystemRows* rows) {
  if (rows->columns.empty()) {
    for (const cql::ColumnMetadata& column : page.metadata.columns) {
      rows->columns.push_back({column.name, column.type});
    }
  }
  cql::RowReader reader(page.rows);
  while (reader.Next()) {
    auto& row = rows->rows.emplace_back();
    for (size_t i = 0; i < page.rows.column_count(); ++i) {
      row.push_back(reader[i].has_value() ? std::optional(std::string(*reader[i])) : std::nullopt);
    }
  }
}

// One query with all its pages.
class RowsQuestion : public std::enable_shared_from_this<RowsQuestion> {
 public:
  RowsQuestion(cql::EventLoop& loop, cql::Session& session, std::string cql, cql::ValueRun values,
               bool asks_control, HostRowsDone done)
      : loop_(loop),
        session_(session),
        cql_(std::move(cql)),
        values_(std::move(values)),
        asks_control_(asks_control),
        done_(std::move(done)) {}

  void Ask(std::string paging_state) {
    cql::SessionQuery query;
    query.options.page_rows = kPageRows;
    query.paging_state = std::move(paging_state);
    query.asks_control = asks_control_;
    const Status begun =
        session_.Query(cql_, values_, std::move(query),
                       [self = shared_from_this()](const cql::Outcome& o) { self->OnPage(o); });
    if (begun.ok()) return;
    loop_.Post([self = shared_from_this(), begun] { self->Fail(begun); });
  }

 private:
  void OnPage(const cql::Outcome& outcome) {
    if (!outcome.status.ok()) {
      // That no host lets us in is no answer to the question.
      const bool is_answer = outcome.error_code.has_value();
      const bool is_refusal = outcome.status.code() == StatusCode::kInvalidArgument;
      if (is_answer || !is_refusal) return Fail(outcome.status);
      return Fail(Status::IoError(outcome.status.message()));
    }
    if (outcome.rows == nullptr) {
      return Fail(Status::Corruption("the cluster answered without rows"));
    }
    const cql::RowsView& page = outcome.rows->rows;
    byte_count_ += page.cells().size();
    if (rows_.rows.size() + page.row_count() > limits::kClusterColumnsMax) {
      return Fail(Status::TooLarge(Concat({"the cluster answered with more than ",
          limits::kClusterColumnsMax, " rows"})));
    }
    if (byte_count_ > limits::kClusterSchemaBytesMax) {
      return Fail(Status::TooLarge(Concat({"the cluster answered with more than ",
          limits::kClusterSchemaBytesMax, " bytes"})));
    }
    AppendPage(*outcome.rows, &rows_);
    const cql::RowsMetadata& metadata = outcome.rows->metadata;
    if (const Status leads_on = watch_.Take(metadata); !leads_on.ok()) return Fail(leads_on);
    if (outcome.rows->rows.row_count() > 0) watch_.NoteRow();
    if (metadata.has_more_pages) return Ask(metadata.paging_state);
    done_(std::move(rows_), outcome.host);
  }

  void Fail(const Status& why) {
    done_(Status(why.code(), Concat({"\"", cql_, "\": ", why.message()})), {});
  }

  cql::EventLoop& loop_;
  cql::Session& session_;
  const std::string cql_;
  const cql::ValueRun values_;
  const bool asks_control_;
  const HostRowsDone done_;
  SystemRows rows_;
  size_t byte_count_ = 0;
  PageWatch watch_;
};

// The six questions about a table, to the host that tells of changes: what it does not know yet it
// tells later. Another one may say that nothing has changed because it has not learned of it.
class SchemaReading : public std::enable_shared_from_this<SchemaReading> {
 public:
  SchemaReading(cql::EventLoop& loop, cql::Session& session, const std::string& keyspace,
                const std::string& table, SchemaDone done)
      : loop_(loop),
        session_(session),
        keyspace_(keyspace),
        table_(table),
        queries_(MakeSchemaQueries(keyspace, table)),
        done_(std::move(done)) {}

  void AskNext() {
    const std::array<std::pair<const std::string*, SystemRows*>, 6> questions = {{
        {&queries_.keyspaces, &answers_.keyspaces},
        {&queries_.types, &answers_.types},
        {&queries_.tables, &answers_.tables},
        {&queries_.columns, &answers_.columns},
        {&queries_.dropped_columns, &answers_.dropped_columns},
        {&queries_.views, &answers_.views},
    }};
    if (asked_ == questions.size()) {
      done_(ReadClusterSchema(keyspace_, table_, answers_));
      return;
    }
    const auto [query, answer] = questions[asked_++];
    std::make_shared<RowsQuestion>(
        loop_, session_, *query, cql::ValueRun(), /*asks_control=*/true,
        [self = shared_from_this(), to = answer](const auto& rows, const auto&) {
          if (!rows.ok()) return self->done_(rows.status());
          *to = *rows;
          self->AskNext();
        })
        ->Ask({});
  }

 private:
  cql::EventLoop& loop_;
  cql::Session& session_;
  const std::string keyspace_;
  const std::string table_;
  const SchemaQueries queries_;
  const SchemaDone done_;
  SchemaAnswers answers_;
  size_t asked_ = 0;
};

// Looks again and again whether all nodes agree, as the node that tells of changes sees it: its own
// version, and what its peers say that they have. Others may not have heard yet that it has another
// one, and believe that all have theirs.
class AgreementWait : public std::enable_shared_from_this<AgreementWait> {
 public:
  AgreementWait(cql::EventLoop& loop, cql::Session& session, int64_t timeout_us,
                AgreementDone done)
      : loop_(loop),
        session_(session),
        deadline_us_(loop.NowUs() + timeout_us),
        done_(std::move(done)) {}

  void Look() {
    answers_.clear();
    Ask(kLocalQuery, [this](const cql::Endpoint& first) {
      AskPeers([this, first](const cql::Endpoint& second) {
        if (first == second) return Judge();
        LookLater(Status::IoError("the node that tells of the cluster's schema is another one at "
                                  "each question"));
      });
    });
  }

 private:
  using Next = std::function<void(const cql::Endpoint&)>;  // called while this lives

  void Ask(const char* cql, Next next) {
    const auto told = [this, next = std::move(next)](const Result<SystemRows>& rows,
                                                     const cql::Endpoint& host) {
      if (!rows.ok()) return Fail(rows.status());
      answers_.push_back(*rows);
      next(host);
    };
    Question(cql, told)->Ask({});
  }

  void AskPeers(Next next) {
    const auto told = [this, next = std::move(next)](const Result<SystemRows>& rows,
                                                     const cql::Endpoint& host) {
      const bool is_older = rows.status().code() == StatusCode::kInvalidArgument;
      if (is_older) return Ask(kOldPeersQuery, next);
      if (!rows.ok()) return Fail(rows.status());
      answers_.push_back(*rows);
      next(host);
    };
    Question(kPeersQuery, told)->Ask({});
  }

  std::shared_ptr<RowsQuestion> Question(const char* cql, HostRowsDone told) {
    return std::make_shared<RowsQuestion>(
        loop_, session_, cql, cql::ValueRun(), /*asks_control=*/true,
        [self = shared_from_this(), told = std::move(told)](
            const Result<SystemRows>& rows, const cql::Endpoint& host) { told(rows, host); });
  }

  // What passes is asked again, in the time that there is. kBusy says that nodes do not agree, and
  // nothing else.
  void Fail(const Status& why) {
    switch (why.code()) {
      case StatusCode::kInvalidArgument:
      case StatusCode::kCorruption:
      case StatusCode::kTooLarge:
      case StatusCode::kClosed: return done_(why, false);
      default: LookLater(Status::IoError(why.message()));
    }
  }

  void Judge() {
    const Status agreed = CheckAgreement(answers_);
    if (agreed.code() == StatusCode::kBusy) return LookLater(agreed);
    done_(agreed, false);
  }

  void LookLater(const Status& why) {
    if (loop_.NowUs() >= deadline_us_) return done_(why, LagsOneThatIsUp());
    loop_.After(kAgreementPauseUs, [self = shared_from_this()] { self->Look(); });
  }

  [[nodiscard]] bool LagsOneThatIsUp() const {
    const std::vector<std::string> lagging = LaggingNodes(answers_);
    const auto& hosts = session_.cluster().pool().hosts();
    return std::any_of(hosts.begin(), hosts.end(), [&lagging](const auto& numbered) {
      const cql::Host& host = numbered.second;
      if (host.state != cql::HostState::kUp || !host.info) return false;
      std::string id;
      FormatValueText({CqlType::kUuid, {}}, 0, host.info->host_id, &id);
      return std::find(lagging.begin(), lagging.end(), id) != lagging.end();
    });
  }

  cql::EventLoop& loop_;
  cql::Session& session_;
  const int64_t deadline_us_;
  const AgreementDone done_;
  std::vector<SystemRows> answers_;  // of this look
};

class StatementRun : public std::enable_shared_from_this<StatementRun> {
 public:
  StatementRun(cql::EventLoop& loop, cql::Session& session, std::vector<std::string> statements,
               int64_t agreement_timeout_us, AppliedDone done)
      : loop_(loop),
        session_(session),
        statements_(std::move(statements)),
        agreement_timeout_us_(agreement_timeout_us),
        done_(std::move(done)) {}

  void RunNext() {
    if (begun_ == statements_.size()) return done_({});
    const std::string& statement = statements_[begun_++];
    cql::SessionQuery query;
    query.answer = cql::AnswerKind::kSchemaChange;
    query.asks_control = true;  // whose word for the agreement is asked then
    const Status begun = session_.Query(
        statement, {}, std::move(query),
        [self = shared_from_this()](const cql::Outcome& o) {
          self->OnAnswer({o.status, o.error_code});
        });
    if (!begun.ok()) loop_.Post([self = shared_from_this(), begun] { self->OnAnswer({begun}); });
  }

 private:
  void OnAnswer(const Applied& answer) {
    if (const Status& status = answer.status; !status.ok()) {
      const std::string shown = Shown(InOneLine(statements_[begun_ - 1]));
      return done_({Status(status.code(), Concat({"the statement ", shown, ": ",
          status.message()})), answer.error_code});
    }
    AwaitSchemaAgreement(loop_, session_, agreement_timeout_us_,
                         [self = shared_from_this()](const Status& agreed, bool) {
                           if (!agreed.ok()) return self->done_({agreed});
                           self->RunNext();
                         });
  }

  cql::EventLoop& loop_;
  cql::Session& session_;
  const std::vector<std::string> statements_;
  const int64_t agreement_timeout_us_;
  const AppliedDone done_;
  size_t begun_ = 0;
};

}  // namespace

Status CheckAgreement(const std::vector<SystemRows>& answers) {
  std::map<std::string, std::map<std::string, bool>> nodes_of;  // by version
  for (const SystemRows& rows : answers) {
    SystemRowReader row("system.local and system.peers_v2", rows);
    while (row.Next()) {
      // A node that is on its way in or out has neither.
      if (!row.Has("host_id") || !row.Has("schema_version")) continue;
      const std::string version = row.Uuid("schema_version");
      nodes_of[version].emplace(row.Uuid("host_id"), true);
    }
    CISTERN_RETURN_IF_ERROR(row.status());
  }
  if (nodes_of.size() <= 1) return Status::Ok();
  std::string text = "the nodes of the cluster have several versions of its schema: ";
  for (const auto& [version, nodes] : nodes_of) {
    text += Concat({(text.ends_with(": ") ? "" : "; "), version, " at"});
    for (const auto& [node, is_there] : nodes) text += " " + node;
  }
  return Status::Busy(Concat({text, ". A node that is down learns the schema when it is back; try "
      "again once all are up (nodetool describecluster)"}));
}

std::vector<std::string> LaggingNodes(const std::vector<SystemRows>& answers) {
  std::vector<std::string> lagging;
  std::string first;
  for (const SystemRows& rows : answers) {
    SystemRowReader row("system.local and system.peers_v2", rows);
    while (row.Next()) {
      if (!row.Has("host_id") || !row.Has("schema_version")) continue;
      const std::string version = row.Uuid("schema_version");
      if (first.empty()) first = version;
      if (version != first) lagging.push_back(row.Uuid("host_id"));
    }
  }
  return lagging;
}

void ReadSchema(cql::EventLoop& loop, cql::Session& session, const std::string& keyspace,
                const std::string& table, SchemaDone done) {
  std::make_shared<SchemaReading>(loop, session, keyspace, table, std::move(done))->AskNext();
}

void AskRows(cql::EventLoop& loop, cql::Session& session, const std::string& cql,
             cql::ValueRun values, RowsDone done) {
  std::make_shared<RowsQuestion>(
      loop, session, cql, std::move(values), /*asks_control=*/false,
      [done = std::move(done)](const auto& rows, const auto&) { done(rows); })
      ->Ask({});
}

void AwaitSchemaAgreement(cql::EventLoop& loop, cql::Session& session, int64_t timeout_us,
                          AgreementDone done) {
  std::make_shared<AgreementWait>(loop, session, timeout_us, std::move(done))->Look();
}

void ApplyStatements(cql::EventLoop& loop, cql::Session& session,
                     std::vector<std::string> statements, int64_t agreement_timeout_us,
                     AppliedDone done) {
  auto run = std::make_shared<StatementRun>(loop, session, std::move(statements),
                                            agreement_timeout_us, std::move(done));
  loop.Post([run] { run->RunNext(); });  // no statements: not from inside this call
}

}  // namespace cistern::replicate
