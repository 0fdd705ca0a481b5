// Tells which clauses of a table's declaration will cost its cluster room or rows, and better ones.
// Pure.
//
// Source: Apache Cassandra 5.0 documentation, "Time Window Compaction Strategy" and "Tombstones";
// for windows and partitions the usual advice of its operators: some thirty windows within the
// time to live and not above fifty, partitions below 100 MB.
#ifndef CISTERN_TOOLS_TABLE_ADVICE_H_
#define CISTERN_TOOLS_TABLE_ADVICE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cistern/schema.h"

namespace cistern::tool {

// How a table is used, as a person says it; 0: not said.
struct TableExpectation {
  int64_t repair_interval_s = 0;  // between two repairs of the cluster
  uint64_t rows_per_day = 0;      // of one entity
};

struct TableAdvice {
  std::string what;    // "its compaction is LeveledCompactionStrategy, ..."
  std::string clause;  // to paste into its CREATE TABLE; empty: none alone helps
};

using CompactionMap = std::map<std::string, std::string>;

// `compaction`: what the cluster's table has; the declared one as a rule. Gives what is wrong with
// compaction, gc_grace_seconds and width of the buckets; nothing: all suits. A declaration that has
// all clauses gets no more advice of the same kind.
[[nodiscard]] std::vector<TableAdvice> AdviseTable(const TableSchema& table,
                                                   const CompactionMap& compaction,
                                                   const TableExpectation& expected);

// A line for a person: "table plant.air: WHAT; put this into its CREATE TABLE text: CLAUSE".
[[nodiscard]] std::string AdviceText(const std::string& table, const TableAdvice& advice);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TABLE_ADVICE_H_
