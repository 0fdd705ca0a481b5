// The CQL texts by which a seal's rows are read back (seal_proof.h), and what their answers
// hold. Pure.
//
// Each binds the partition key in its order, then the lowest and the highest event time of the
// rows in question, both included.
//
//   kCount  one row, made by the server: count(*), min and max of the event time; then for each
//           regular column count(writetime(c)), max(writetime(c))
//   kRows   a row for each: the clustering key; then for each regular column c, writetime(c),
//           ttl(c)
//
// Of a collection that is not frozen Cassandra 4 tells neither write time nor TTL, and Cassandra 5
// tells those of each element. So kCount has nothing of it, and kRows the value alone. Cells are
// counted by their write times, as Cassandra 4 counts the values of its own scalar types only.
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

// Where the cells of the first regular column begin in a row of kCount, and how many are of one.
inline constexpr size_t kCountColumnsBegin = 3;
[[nodiscard]] inline size_t CountCellsOf(const ColumnType& type) {
  return type.is_multicell ? 0 : 2;
}
// In a row of kRows those of the first begin behind the clustering columns.
[[nodiscard]] inline size_t RowCellsOf(const ColumnType& type) { return type.is_multicell ? 1 : 3; }

// How many cells such a row has.
[[nodiscard]] size_t CountAnswerWidth(const TableSchema& schema);
[[nodiscard]] size_t RowAnswerWidth(const TableSchema& schema);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PROOF_STATEMENTS_H_
