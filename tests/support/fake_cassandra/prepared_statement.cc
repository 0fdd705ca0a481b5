#include "tests/support/fake_cassandra/prepared_statement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/cql/cql_type.h"
#include "lib/cql/value_text.h"
#include "tests/support/fake_cassandra/schema.h"
#include "tests/support/rng.h"

namespace cistern::fake_cassandra {
namespace {

using testing::SentValue;
using Kind = Statement::Kind;
using Function = Selector::Function;
using Aggregate = Selector::Aggregate;

// Finds the types of markers and columns of the result.
class Preparer {
 public:
  Preparer(Statement statement, TablePtr table) {
    out_.statement = std::move(statement);
    out_.table = std::move(table);
  }

  Result<PreparedStatement> Prepare() {
    const Statement& statement = out_.statement;
    out_.markers.resize(statement.marker_count);
    TakeMarker(statement.timestamp, "[timestamp]", CqlType::kBigint);
    TakeMarker(statement.ttl, "[ttl]", CqlType::kInt);
    TakeMarker(statement.limit, "[limit]", CqlType::kInt);
    TakeMarker(statement.partition_limit, "[per_partition_limit]", CqlType::kInt);
    for (const auto& [name, term] : statement.assignments) {
      CISTERN_ASSIGN_OR_RETURN(const size_t at, Column(name));
      TakeMarker(term, name, out_.table->columns[at].type);
      if (statement.kind == Kind::kUpdate && at < out_.table->first_regular()) {
        return Status::InvalidArgument("PRIMARY KEY part " + name + " found in SET part");
      }
      if (statement.kind == Kind::kInsert) NoteKey(at, term);
    }
    for (const std::string& name : statement.deleted_columns) {
      CISTERN_RETURN_IF_ERROR(Column(name).status());
    }
    for (const auto& [name, descending] : statement.ordering) {
      CISTERN_RETURN_IF_ERROR(Column(name).status());
    }
    for (const Relation& relation : statement.where) CISTERN_RETURN_IF_ERROR(Take(relation));
    CISTERN_RETURN_IF_ERROR(CheckKeys());
    if (statement.kind == Kind::kSelect) CISTERN_RETURN_IF_ERROR(TakeSelectors());
    FinishKey();
    return std::move(out_);
  }

 private:
  Result<size_t> Column(const std::string& name) const {
    const std::optional<size_t> at = out_.table->Find(name);
    if (at.has_value()) return *at;
    return Status::InvalidArgument("Undefined column name " + name + " in table " +
                                   out_.table->QualifiedName());
  }
  void TakeMarker(const Term& term, const std::string& name, const ColumnType& type) {
    if (term.kind == Term::Kind::kMarker) out_.markers[term.marker] = {name, type, false};
  }
  void TakeMarker(const std::optional<Term>& term, const std::string& name, CqlType kind) {
    if (term.has_value()) TakeMarker(*term, name, ColumnType{kind, {}});
  }
  void NoteKey(size_t column, const Term& term) {
    keys_.resize(out_.table->first_regular());
    if (column < keys_.size()) keys_[column] = &term;
  }

  Status Take(const Relation& relation) {
    for (size_t i = 0; i < relation.columns.size(); ++i) {
      const std::string& name = relation.columns[i];
      CISTERN_ASSIGN_OR_RETURN(const size_t at, Column(name));
      ColumnType type = out_.table->columns[at].type;
      if (relation.of_token) type = ColumnType{CqlType::kBigint, {}};
      if (relation.list_marker.has_value()) {
        out_.markers[*relation.list_marker] = {"in(" + name + ")", type, true};
      }
      for (const std::vector<Term>& terms : relation.values) {
        if (i < terms.size()) TakeMarker(terms[i], name, type);
      }
      const bool is_one = relation.op == Relation::Operator::kEqual && !relation.of_token;
      if (is_one && !relation.values.empty()) NoteKey(at, relation.values[0][i]);
    }
    return Status::Ok();
  }

  // A write names its partition, and but for deletes its row.
  Status CheckKeys() {
    const Statement& statement = out_.statement;
    if (!statement.is_write()) return Status::Ok();
    keys_.resize(out_.table->first_regular());
    const bool is_of_row = statement.kind != Kind::kDelete || !statement.deleted_columns.empty();
    for (size_t i = 0; i < keys_.size(); ++i) {
      const bool of_partition = i < out_.table->partition_key_count;
      if (keys_[i] != nullptr || !(of_partition || is_of_row)) continue;
      return Status::InvalidArgument(
          std::string(of_partition ? "Some partition key parts are missing: "
                                   : "Some clustering keys are missing: ") +
          out_.table->columns[i].name);
    }
    return Status::Ok();
  }

  void FinishKey() {
    keys_.resize(out_.table->first_regular());
    for (size_t i = 0; i < out_.table->partition_key_count; ++i) {
      if (keys_[i] == nullptr || keys_[i]->kind != Term::Kind::kMarker) {
        out_.key_markers.clear();
        return;
      }
      out_.key_markers.push_back(static_cast<uint16_t>(keys_[i]->marker));
    }
  }

  Status TakeSelectors() {
    if (out_.statement.selectors.empty()) {
      for (const ColumnDefinition& column : out_.table->columns) {
        out_.statement.selectors.push_back(
            {Aggregate::kNone, Function::kNone, {column.name}, column.name});
      }
    }
    for (const Selector& selector : out_.statement.selectors) {
      CISTERN_ASSIGN_OR_RETURN(std::string type, TypeOf(selector));
      out_.result.push_back({selector.alias, std::move(type)});
    }
    return Status::Ok();
  }

  Result<std::string> TypeOf(const Selector& selector) const {
    size_t at = 0;
    for (const std::string& name : selector.columns) {
      CISTERN_ASSIGN_OR_RETURN(at, Column(name));
      const bool of_cell =
          selector.function == Function::kWritetime || selector.function == Function::kTtl;
      if (of_cell && at < out_.table->first_regular()) {
        return Status::InvalidArgument("Cannot use selection function " +
                                       std::string(selector.function == Function::kTtl
                                                       ? "ttl" : "writetime") +
                                       " on PRIMARY KEY part " + name);
      }
      // As Cassandra 4 has it; 5 tells those of each element.
      if (of_cell && out_.table->columns[at].type.is_multicell) {
        return Status::InvalidArgument("Cannot use selection function " +
                                       std::string(selector.function == Function::kTtl
                                                       ? "ttl" : "writetime") +
                                       " on non-frozen collection " + name);
      }
    }
    if (selector.aggregate == Aggregate::kCount) return std::string("bigint");
    switch (selector.function) {
      case Function::kTtl: return std::string("int");
      case Function::kWritetime:
      case Function::kToken: return std::string("bigint");
      case Function::kNone: break;
    }
    return WireTypeText(out_.table->columns[at].type, out_.table->keyspace);
  }

  PreparedStatement out_;
  std::vector<const Term*> keys_;  // of each column of the primary key: what it equals
};

// [int] n, n times [bytes].
Result<std::vector<std::string>> SplitList(const std::string& bytes) {
  const auto read = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
    return value;
  };
  std::vector<std::string> out;
  if (bytes.size() < 4) return Status::InvalidArgument("Not enough bytes to read a list");
  size_t at = 4;
  for (uint32_t left = read(0); left > 0; --left) {
    if (bytes.size() - at < 4 || bytes.size() - at - 4 < read(at)) {
      return Status::InvalidArgument("Not enough bytes to read a list");
    }
    out.push_back(bytes.substr(at + 4, read(at)));
    at += 4 + out.back().size();
  }
  return out;
}

}  // namespace

Result<PreparedStatement> PrepareStatement(Statement statement, TablePtr table) {
  return Preparer(std::move(statement), std::move(table)).Prepare();
}

std::string MetadataIdOf(const PreparedStatement& prepared) {
  constexpr uint64_t kMetadataIds = 5;  // a family of uuids
  uint64_t hash = kMetadataIds;
  for (const cql::ColumnMetadata& column : prepared.result) {
    for (const char c : column.name + " " + column.type + ",") {
      hash = testing::Mix(hash ^ static_cast<uint8_t>(c));
    }
  }
  return UuidOf(kMetadataIds, hash);
}

namespace {

// Cassandra's own class of a type: so the protocol tells those that it has no word for.
std::string MarshalClass(const ColumnType& type) {
  static const std::map<CqlType, const char*> kClasses = {
      {CqlType::kInt, "Int32Type"}, {CqlType::kBigint, "LongType"}, {CqlType::kFloat, "FloatType"},
      {CqlType::kDouble, "DoubleType"}, {CqlType::kText, "UTF8Type"}};  // what tests have
  const std::string package = "org.apache.cassandra.db.marshal.";
  if (type.kind == CqlType::kVector) {
    return package + "VectorType(" + MarshalClass(type.arguments[0]) + " , " +
           std::to_string(type.dimension) + ")";
  }
  return package + kClasses.at(type.kind);
}

}  // namespace

std::string WireTypeText(const ColumnType& type, const std::string& keyspace) {
  if (type.kind == CqlType::kVector) return "'" + MarshalClass(type) + "'";
  if (type.kind == CqlType::kUserType) return keyspace + "." + type.name;  // without its fields
  std::string text(CqlTypeName(type.kind));
  for (size_t i = 0; i < type.arguments.size(); ++i) {
    text += (i == 0 ? "<" : ", ") + WireTypeText(type.arguments[i], keyspace);
  }
  return type.arguments.empty() ? text : text + ">";
}

Result<SentValue> Evaluate(const Term& term, const ColumnType& type, Values values) {
  if (term.kind == Term::Kind::kNull) return SentValue{SentValue::Kind::kNull, ""};
  if (term.kind == Term::Kind::kMarker) {
    if (term.marker >= values.size()) {
      return Status::InvalidArgument("Invalid amount of bind variables");
    }
    const SentValue& sent = values[term.marker];
    if (sent.kind == SentValue::Kind::kValue) {
      CISTERN_RETURN_IF_ERROR(CheckWireBytes(type, sent.bytes));
    }
    return sent;
  }
  CellValue value;
  CISTERN_RETURN_IF_ERROR(ParseValueText(type, term.text, &value));
  SentValue out{SentValue::Kind::kValue, ""};
  AppendWireValue(type, value.fixed, value.bytes, &out.bytes);
  return out;
}

Result<std::string> EvaluateKey(const Term& term, const ColumnDefinition& column, Values values) {
  CISTERN_ASSIGN_OR_RETURN(SentValue value, Evaluate(term, column.type, values));
  if (value.kind == SentValue::Kind::kNull) {
    return Status::InvalidArgument("Invalid null value in condition for column " + column.name);
  }
  if (value.kind == SentValue::Kind::kUnset) {
    return Status::InvalidArgument("Invalid unset value for column " + column.name);
  }
  if (column.kind == ColumnKind::kPartitionKey && value.bytes.size() > 65535) {
    return Status::InvalidArgument("Key length of " + std::to_string(value.bytes.size()) +
                                   " is longer than maximum of 65535");
  }
  return std::move(value.bytes);
}

Result<std::vector<std::string>> EvaluateRelation(const Relation& relation,
                                                  const ColumnDefinition& column, Values values) {
  std::vector<std::string> out;
  if (relation.list_marker.has_value()) {
    if (*relation.list_marker >= values.size()) {
      return Status::InvalidArgument("Invalid amount of bind variables");
    }
    CISTERN_ASSIGN_OR_RETURN(out, SplitList(values[*relation.list_marker].bytes));
    for (const std::string& value : out) {
      CISTERN_RETURN_IF_ERROR(CheckWireBytes(column.type, value));
    }
    return out;
  }
  for (const std::vector<Term>& terms : relation.values) {
    CISTERN_ASSIGN_OR_RETURN(std::string value, EvaluateKey(terms[0], column, values));
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace cistern::fake_cassandra
