// What a session sends: statements with their values, where they go, and the ids of servers.
#include <algorithm>
#include <limits>
#include <utility>

#include "cistern/limits.h"
#include "engine/cql/session.h"
#include "engine/cql/session_work.h"
#include "engine/cql/token.h"
#include "engine/cql/wire_reader.h"
#include "lib/base/check.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

size_t BytesOf(const RowsMetadata& metadata) {
  size_t bytes = sizeof(metadata) + metadata.keyspace.size() + metadata.table.size();
  for (const ColumnMetadata& column : metadata.columns) {
    bytes += sizeof(column) + column.name.size() + column.type.size();
  }
  return bytes;
}

Status CheckIds(const PreparedIds& ids) {
  if (ids.id.size() <= limits::kStatementIdBytesMax &&
      ids.metadata_id.size() <= limits::kStatementIdBytesMax) {
    return Status::Ok();
  }
  return Status::TooLarge(Concat({"a server names a prepared statement by more than ",
      limits::kStatementIdBytesMax, " bytes; a sound one by 16"}));
}

}  // namespace

const PreparedStatement& Session::statement(uint32_t number) const {
  CISTERN_CHECK(number < statements_.size());
  return statements_[number];
}

Status Session::Check(uint32_t statement) const {
  if (statement < statements_.size()) return Status::Ok();
  return Status::InvalidArgument(Concat({"statement ", statement, " was not prepared by this "
      "session; prepare it first"}));
}

// Those of the host where it has others than the last server that was asked.
const std::vector<PreparedIds>& Session::IdsOf(HostId host) {
  const auto found = host_ids_.find(host);
  if (found == host_ids_.end()) return ids_;
  std::vector<PreparedIds>& own = found->second;
  // Statements that were prepared since.
  own.insert(own.end(), ids_.begin() + static_cast<std::ptrdiff_t>(own.size()), ids_.end());
  return own;
}

void Session::KeepIds(HostId host, uint32_t statement, const PreparedIds& ids) {
  const PreparedIds& known = IdsOf(host)[statement];
  if (known.id == ids.id && known.metadata_id == ids.metadata_id) return;
  const auto own = host_ids_.try_emplace(host, ids_).first;
  own->second[statement] = ids;
}

// The columns have changed: what came with the rows is true from now on.
void Session::NoteMetadata(const Work& work, const RowsResult& rows, HostId host) {
  if (rows.metadata.new_metadata_id.empty() || work.statements.size() != 1) return;
  const uint32_t statement = work.statements[0];
  RowsMetadata& known = statements_[statement].result;
  PreparedIds ids{IdsOf(host)[statement].id, rows.metadata.new_metadata_id};
  if (!CheckIds(ids).ok()) return;
  if (!TakeMetadata(BytesOf(rows.metadata), BytesOf(known)).ok()) return;
  KeepIds(host, statement, ids);
  known = rows.metadata;
}

// Counts what is kept of servers' words, instead of what was.
Status Session::TakeMetadata(size_t bytes, size_t instead_of_bytes) {
  const size_t left_bytes = metadata_bytes_ - instead_of_bytes;
  if (bytes > options_.metadata_bytes_max - std::min(left_bytes, options_.metadata_bytes_max)) {
    return Status::TooLarge(Concat({"servers have told more than ", options_.metadata_bytes_max,
        " bytes about the columns of statements; a sound one tells some hundreds for each"}));
  }
  metadata_bytes_ = left_bytes + bytes;
  return Status::Ok();
}

// A host prepared a statement that is known: before its first values, after a restart, or because
// its table was altered, and perhaps is another one now.
Status Session::KeepAgain(HostId host, uint32_t statement, const PreparedResult& prepared) {
  PreparedStatement& known = statements_[statement];
  const bool is_same = known.markers.columns == prepared.markers.columns &&
                       known.key_markers == prepared.key_markers &&
                       known.result.columns == prepared.result.columns;
  CISTERN_RETURN_IF_ERROR(CheckIds(prepared.ids));
  const size_t bytes = BytesOf(prepared.markers) + BytesOf(prepared.result);
  CISTERN_RETURN_IF_ERROR(TakeMetadata(bytes, BytesOf(known.markers) + BytesOf(known.result)));
  known.markers = prepared.markers;
  known.key_markers = prepared.key_markers;
  known.result = prepared.result;
  if (!is_same) {
    ++known.revision;
    host_statements_.NoteOtherTypes(host, statement);
  }
  KeepIds(host, statement, prepared.ids);
  if (!is_same) TellAltered(statement);
  return Status::Ok();
}

// Whether its values are of the types that its statements have now.
bool Session::IsBoundForNow(const Work& work) const {
  for (size_t i = 0; i < work.statements.size(); ++i) {
    if (statements_[work.statements[i]].revision != work.revisions[i]) return false;
  }
  return true;
}

// Of the partition that the values name; nullopt where they do not tell it.
std::optional<int64_t> Session::TokenOfValues(uint32_t statement, std::string_view values,
                                              size_t count) const {
  const std::vector<uint16_t>& key_markers = statements_[statement].key_markers;
  if (key_markers.empty()) return std::nullopt;
  WireReader reader(values, "values");
  std::vector<std::optional<std::string_view>> all;
  const size_t needed = size_t{*std::max_element(key_markers.begin(), key_markers.end())} + 1;
  if (needed > count) return std::nullopt;
  for (size_t i = 0; i < needed; ++i) all.push_back(reader.Bytes("value"));
  if (!reader.ok()) return std::nullopt;
  std::vector<std::string_view> key;
  for (const uint16_t marker : key_markers) {
    const auto& value = all[marker];
    if (!value || value->size() > std::numeric_limits<uint16_t>::max()) return std::nullopt;
    key.push_back(*value);
  }
  return TokenOf(PartitionKeyBytes(key));
}

Status Session::Prepare(std::string cql, PrepareCompletion done, bool anew) {
  if (is_closed_) return Status::Closed("the session was closed");
  if (const auto known = numbers_.find(cql); known != numbers_.end() && !anew) {
    loop_.Post([done = std::move(done), number = known->second] {
      Outcome outcome;
      outcome.kind = OutcomeKind::kDone;
      done(outcome, number);
    });
    return Status::Ok();
  }
  if (statements_.size() >= options_.statements_max && !numbers_.contains(cql)) {
    return Status::TooLarge(Concat({"this session has prepared ", statements_.size(),
        " statements, at most ", options_.statements_max, "; use values instead of texts that "
        "differ"}));
  }
  auto work = std::make_shared<Work>(
      [cql](const RequestHead& head, std::span<const PreparedIds>, std::string* out) {
        return AppendPrepare(head, cql, out);
      },
      Completion(), options_.retry_first_us, options_.retry_max_us, work_last_);
  work->asked = AnswerKind::kPrepared;
  work->bytes = cql.size();
  work->cql = std::move(cql);
  work->prepared = std::move(done);
  return Begin(std::move(work));
}

void Session::FinishPrepare(const WorkPtr& work, const PreparedResult& prepared, HostId host,
                            bool is_kept) {
  if (const Status fit = CheckIds(prepared.ids); !fit.ok()) return Refuse(work, fit);
  const auto [same, is_new] =
      numbers_.try_emplace(work->cql, static_cast<uint32_t>(statements_.size()));
  const uint32_t number = same->second;
  if (is_new) {
    if (Status taken = TakeMetadata(BytesOf(prepared.markers) + BytesOf(prepared.result), 0);
        !taken.ok()) {
      numbers_.erase(same);
      return Refuse(work, taken);
    }
    statements_.push_back({.cql = work->cql, .markers = prepared.markers,
                           .key_markers = prepared.key_markers, .result = prepared.result});
    ids_.push_back(prepared.ids);
    // An earlier attempt may be executed after this one, and what another one asks as well.
    const auto asks_too = [&work](const auto& numbered) {
      return numbered.second != work && numbered.second->prepared &&
             numbered.second->cql == work->cql;
    };
    const bool is_only = work->attempts == 1 && std::ranges::none_of(works_, asks_too);
    if (is_only) host_statements_.NoteTold(host, number);
  } else if (!is_kept) {
    // Two have prepared it for the first time, and nobody knows which one the host did last.
    if (const Status kept = KeepAgain(host, number, prepared); !kept.ok()) {
      return Refuse(work, kept);
    }
    host_statements_.End(host_statements_.Begin(host, number), PrepareWord::kLost);
  }
  const PrepareCompletion done = std::exchange(work->prepared, PrepareCompletion());
  work->done = [done, number](const Outcome& outcome) { done(outcome, number); };
  Finish(work, std::exchange(work->outcome, Outcome()));
}

Status Session::Execute(BoundStatement bound, SessionQuery query, Completion done) {
  CISTERN_RETURN_IF_ERROR(Check(bound.statement));
  const uint32_t statement = bound.statement;
  const auto token = TokenOfValues(statement, bound.values.bytes, bound.values.count);
  const size_t bytes = bound.values.bytes.size() + query.paging_state.size();
  const int64_t timeout_us = query.timeout_us;
  const AnswerKind asked = query.answer;
  auto work = std::make_shared<Work>(
      [bound = std::move(bound), query = std::move(query)](
          const RequestHead& head, std::span<const PreparedIds> ids, std::string* out) {
        QueryOptions options = query.options;
        options.paging_state = query.paging_state;
        return AppendExecute(head, ids[bound.statement], options, bound.values, out);
      },
      std::move(done), options_.retry_first_us, options_.retry_max_us, work_last_);
  work->asked = asked;
  work->statements = {statement};
  work->revisions = {statements_[statement].revision};
  work->token = token;
  work->keyspace = statements_[statement].markers.keyspace;
  work->bytes = bytes;
  work->timeout_us = timeout_us;
  return Begin(std::move(work));
}

Status Session::Batch(BoundBatch batch, BatchOptions options, Completion done,
                      int64_t timeout_us, int64_t fresh_us) {
  if (batch.empty()) {
    return Status::InvalidArgument("a batch without statements; do not send it");
  }
  std::vector<uint32_t> statements;
  for (const BoundBatch::Entry& entry : batch.entries()) {
    CISTERN_RETURN_IF_ERROR(Check(entry.statement));
    const bool is_new = std::find(statements.begin(), statements.end(), entry.statement) ==
                        statements.end();
    if (is_new) statements.push_back(entry.statement);
  }
  const BoundBatch::Entry first = batch.entries()[0];
  const auto token = TokenOfValues(first.statement, batch.values().substr(first.value_begin),
                                   first.value_count);
  const size_t bytes = batch.WireBytes(ids_[first.statement].id.size());
  // Shared, not copied: a batch is large, and the function that holds it may be copied.
  auto work = std::make_shared<Work>(
      [batch = std::make_shared<const BoundBatch>(std::move(batch)), options](
          const RequestHead& head, std::span<const PreparedIds> ids, std::string* out) {
        return AppendBatch(head, ids, *batch, options, out);
      },
      std::move(done), options_.retry_first_us, options_.retry_max_us, work_last_);
  for (const uint32_t one : statements) work->revisions.push_back(statements_[one].revision);
  work->statements = std::move(statements);
  work->token = token;
  work->keyspace = statements_[first.statement].markers.keyspace;
  work->bytes = bytes;
  work->timeout_us = timeout_us;
  if (fresh_us > 0) work->fresh_until_us = loop_.NowUs() + fresh_us;
  return Begin(std::move(work));
}

Status Session::Query(std::string cql, ValueRun values, SessionQuery query, Completion done) {
  const size_t bytes = cql.size() + values.bytes.size() + query.paging_state.size();
  const int64_t timeout_us = query.timeout_us;
  const AnswerKind asked = query.answer;
  const bool asks_control = query.asks_control;
  auto work = std::make_shared<Work>(
      [cql = std::move(cql), values = std::move(values), query = std::move(query)](
          const RequestHead& head, std::span<const PreparedIds>, std::string* out) {
        QueryOptions options = query.options;
        options.paging_state = query.paging_state;
        return AppendQuery(head, cql, options, values, out);
      },
      std::move(done), options_.retry_first_us, options_.retry_max_us, work_last_);
  work->asked = asked;
  work->asks_control = asks_control;
  work->bytes = bytes;
  work->timeout_us = timeout_us;
  return Begin(std::move(work));
}

}  // namespace cistern::cql
