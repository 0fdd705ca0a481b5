#include "engine/replicate/proof_statements.h"

#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"

namespace cistern::replicate {
namespace {

std::string FromPartition(const PushStatements& statements) {
  const TableSchema& schema = statements.schema();
  std::string text = Concat({" FROM ", QuoteName(statements.keyspace()), ".",
      QuoteName(schema.name), " WHERE "});
  for (const size_t c : schema.partition_key) {
    text += QuoteName(schema.columns[c].name) + " = ? AND ";
  }
  const std::string time = QuoteName(schema.columns[schema.time_column()].name);
  return Concat({text, time, " >= ? AND ", time, " <= ?"});
}

std::string CountText(const PushStatements& statements) {
  const TableSchema& schema = statements.schema();
  const std::string time = QuoteName(schema.columns[schema.time_column()].name);
  std::string text = Concat({"SELECT count(*), min(", time, "), max(", time, ")"});
  for (const size_t c : schema.regular_columns) {
    if (CountCellsOf(schema.columns[c].type) == 0) continue;
    const std::string name = QuoteName(schema.columns[c].name);
    text += Concat({", count(writetime(", name, ")), max(writetime(", name, "))"});
  }
  return text + FromPartition(statements);
}

std::string RowsText(const PushStatements& statements) {
  const TableSchema& schema = statements.schema();
  std::string text;
  for (const size_t c : schema.clustering_columns) {
    text += (text.empty() ? "SELECT " : ", ") + QuoteName(schema.columns[c].name);
  }
  for (const size_t c : schema.regular_columns) {
    const std::string name = QuoteName(schema.columns[c].name);
    text += ", " + name;
    if (RowCellsOf(schema.columns[c].type) == 1) continue;
    text += Concat({", writetime(", name, "), ttl(", name, ")"});
  }
  return text + FromPartition(statements);
}

}  // namespace

size_t CountAnswerWidth(const TableSchema& schema) {
  size_t width = kCountColumnsBegin;
  for (const size_t c : schema.regular_columns) width += CountCellsOf(schema.columns[c].type);
  return width;
}

size_t RowAnswerWidth(const TableSchema& schema) {
  size_t width = schema.clustering_columns.size();
  for (const size_t c : schema.regular_columns) width += RowCellsOf(schema.columns[c].type);
  return width;
}

std::array<std::string, kProofStatementCount> ProofTexts(const PushStatements& statements) {
  return {CountText(statements), RowsText(statements)};
}

}  // namespace cistern::replicate
