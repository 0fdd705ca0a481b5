// The CQL texts by which a seal's rows are read back (seal_proof.h), and what their answers
// hold. Pure.
//
// Each binds the partition key in its order, then the lowest and the highest event time of the
// rows in question, both included.
//
//   kCount  one row, made by the server: count(*), min and max of the event time; then for each
//           regular column count(c), max(writetime(c))
//   kRows   a row for each: the clustering key; then for each regular column c, writetime(c),
//           ttl(c)
//
// All regular columns are named on purpose. Of columns that a SELECT does not name Cassandra reads
// only cells that are not older than the row's marker, so a row whose marker has expired is missed
// where its living cells are not asked for. One that names all misses none of ours.
//
// Source: the CQL reference of Apache Cassandra 5.0, "Data manipulation"; db.rows.BTreeRow.filter.
#ifndef CISTERN_ENGINE_REPLICATE_PROOF_STATEMENTS_H_
#define CISTERN_ENGINE_REPLICATE_PROOF_STATEMENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/replicate/push_statements.h"

namespace cistern::replicate {

enum class ProofStatement : uint8_t { kCount, kRows };
inline constexpr size_t kProofStatementCount = 2;

// By ProofStatement; none is empty. Of the same table and names as `statements`.
[[nodiscard]] std::array<std::string, kProofStatementCount> ProofTexts(
    const PushStatements& statements);

// Where the cells of the k-th regular column begin in a row of kCount.
inline constexpr size_t kCountColumnsBegin = 3;
inline constexpr size_t kCountCellsOfColumn = 2;
[[nodiscard]] inline size_t CountAnswerWidth(const TableSchema& schema) {
  return kCountColumnsBegin + kCountCellsOfColumn * schema.regular_columns.size();
}
// In a row of kRows those of the first begin behind the clustering columns.
inline constexpr size_t kRowCellsOfColumn = 3;
[[nodiscard]] inline size_t RowAnswerWidth(const TableSchema& schema) {
  return schema.clustering_columns.size() + kRowCellsOfColumn * schema.regular_columns.size();
}

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PROOF_STATEMENTS_H_
