#include "engine/replicate/push_statements.h"

#include <utility>

#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"

namespace cistern::replicate {
namespace {

using What = Bind::What;

// Writes one text and notes what each `?` stands for.
class StatementText {
 public:
  explicit StatementText(const TableSchema& schema) : schema_(schema) {}

  StatementText& Add(std::string_view text) {
    statement_.cql += text;
    return *this;
  }
  StatementText& Mark(Bind bind) {
    statement_.cql += '?';
    statement_.binds.push_back(bind);
    return *this;
  }
  StatementText& Name(size_t column) { return Add(QuoteName(schema_.columns[column].name)); }
  // "a = ?, b = ?"
  StatementText& Equations(const std::vector<size_t>& columns, std::string_view between) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) Add(between);
      Name(columns[i]).Add(" = ").Mark({What::kColumn, columns[i]});
    }
    return *this;
  }
  StatementText& UsingTimestamp() {
    return Add(" USING TIMESTAMP ").Mark({What::kTimestamp, 0});
  }
  // TTL 0 holds against a default_time_to_live of the table, which anybody may set while we send:
  // in the text it is the same for all rows and costs no byte.
  StatementText& Using(bool has_ttl) {
    UsingTimestamp().Add(" AND TTL ");
    return has_ttl ? Mark({What::kTtl, 0}) : Add("0");
  }
  [[nodiscard]] PushStatement Take() { return std::move(statement_); }

 private:
  const TableSchema& schema_;
  PushStatement statement_;
};

std::vector<size_t> Joined(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  std::vector<size_t> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

bool IsMeasured(const ColumnSpec& column) {
  return column.type.kind == CqlType::kDouble || column.type.kind == CqlType::kFloat;
}

// The order in which an INSERT binds: what seldom differs from the row before stands together with
// the partition key, where LZ4 takes it at once; event time and measured values come behind it.
std::vector<size_t> InsertOrder(const TableSchema& schema) {
  std::vector<size_t> columns = schema.partition_key;
  std::vector<size_t> measured;
  for (const size_t c : schema.regular_columns) {
    (IsMeasured(schema.columns[c]) ? measured : columns).push_back(c);
  }
  return Joined(Joined(columns, schema.clustering_columns), measured);
}

}  // namespace

void PushStatements::AddInsert(const std::string& table) {
  const std::vector<size_t> columns = InsertOrder(*schema_);
  for (const bool has_ttl : {false, true}) {
    StatementText text(*schema_);
    text.Add("INSERT INTO ").Add(table).Add(" (");
    for (size_t i = 0; i < columns.size(); ++i) text.Add(i > 0 ? ", " : "").Name(columns[i]);
    text.Add(") VALUES (");
    for (size_t i = 0; i < columns.size(); ++i) {
      text.Add(i > 0 ? ", " : "").Mark({What::kColumn, columns[i]});
    }
    text.Add(")").Using(has_ttl);
    At(has_ttl ? StatementKind::kInsertTtl : StatementKind::kInsert) = text.Take();
  }
}

void PushStatements::AddUpdate(const std::string& table) {
  if (schema_->regular_columns.empty()) return;  // nothing to set
  for (const bool has_ttl : {false, true}) {
    StatementText text(*schema_);
    text.Add("UPDATE ").Add(table).Using(has_ttl).Add(" SET ");
    text.Equations(schema_->regular_columns, ", ").Add(" WHERE ");
    text.Equations(Joined(schema_->partition_key, schema_->clustering_columns), " AND ");
    At(has_ttl ? StatementKind::kUpdateTtl : StatementKind::kUpdate) = text.Take();
  }
}

void PushStatements::AddDeletes(const std::string& table) {
  const size_t time = schema_->time_column();
  for (const StatementKind kind :
       {StatementKind::kDeleteRow, StatementKind::kDeleteRange, StatementKind::kDeleteFrom,
        StatementKind::kDeleteBefore, StatementKind::kDeletePartition}) {
    StatementText text(*schema_);
    text.Add("DELETE FROM ").Add(table).UsingTimestamp().Add(" WHERE ");
    text.Equations(schema_->partition_key, " AND ");
    if (kind == StatementKind::kDeleteRow) {
      text.Add(" AND ").Equations(schema_->clustering_columns, " AND ");
    }
    if (kind == StatementKind::kDeleteRange || kind == StatementKind::kDeleteFrom) {
      text.Add(" AND ").Name(time).Add(" >= ").Mark({What::kFrom, time});
    }
    if (kind == StatementKind::kDeleteRange || kind == StatementKind::kDeleteBefore) {
      text.Add(" AND ").Name(time).Add(" < ").Mark({What::kTo, time});
    }
    At(kind) = text.Take();
  }
}

Result<std::shared_ptr<const PushStatements>> PushStatements::Make(
    std::shared_ptr<const TableSchema> schema, std::string_view keyspace) {
  std::shared_ptr<PushStatements> made(new PushStatements());
  made->keyspace_ = schema->keyspace.empty() ? std::string(keyspace) : schema->keyspace;
  if (made->keyspace_.empty()) {
    return Status::InvalidArgument(Concat({"table ", schema->name, " was declared without a "
        "keyspace: say in which keyspace of the cluster it is"}));
  }
  const std::string table = Concat({QuoteName(made->keyspace_), ".", QuoteName(schema->name)});
  made->schema_ = std::move(schema);
  made->AddInsert(table);
  made->AddUpdate(table);
  made->AddDeletes(table);
  return std::shared_ptr<const PushStatements>(std::move(made));
}

}  // namespace cistern::replicate
