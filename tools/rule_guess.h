// Which bucket rule the rows of a table lie by, as a sample of them tells. Pure.
//
// A rule fits where each event time lies in the bucket that its partition's key names. Few rows may
// fit several: those of one hour lie in a bucket of an hour, and of half an hour. So what is found
// is a guess, however many rows there are, and the others that fit are told with it.
#ifndef CISTERN_TOOLS_RULE_GUESS_H_
#define CISTERN_TOOLS_RULE_GUESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cistern/schema.h"
#include "engine/replicate/cluster_schema.h"
#include "lib/cql/wire_value.h"

namespace cistern::tool {

// A partition that the cluster has, and some of its rows.
struct PartitionSample {
  std::vector<CellValue> key;    // of the partition key's columns, in key order
  std::vector<CellValue> times;  // event times; at least one
};

// How a sample is asked for.
struct SampleQueries {
  std::string partitions;  // their keys, each with the event time of its first row
  std::string other_end;   // the event time of the last row of one, whose key is bound
};
// REQUIRES: CheckImport is OK, the table has a clustering key.
[[nodiscard]] SampleQueries MakeSampleQueries(const replicate::ClusterSchema& cluster,
                                              uint32_t partitions_max);
// A cell for each column of a query's answer, as the protocol has it.
using SampleRow = std::vector<std::optional<std::string>>;
// Nothing: a value is none of its type, or the partition has no row.
[[nodiscard]] std::optional<PartitionSample> TakeSample(const replicate::ClusterTable& table,
                                                        const SampleRow& row);
// Adds the event time of a row of `other_end`, unless it is none, or one that is there.
void AddTime(const replicate::ClusterTable& table, const SampleRow& row, PartitionSample* sample);

// Whether each row lies in the bucket that `schema` has for it.
[[nodiscard]] bool Fits(const TableSchema& schema, const std::vector<PartitionSample>& samples);

// The rules that fit as the comment has them, "bucket hour = 1 hour as epoch; time ts = us", the
// likeliest first: whose unit the column's name tells, then widths of one unit, then narrow ones.
// REQUIRES: CheckImport is OK, at least one sample.
[[nodiscard]] std::vector<std::string> FittingRules(const replicate::ClusterSchema& cluster,
                                                    const std::vector<PartitionSample>& samples);

// "hour = '2024-01-15', ts = 1705327530123": a partition and one of its rows, for messages.
[[nodiscard]] std::string Shown(const replicate::ClusterTable& table,
                                const PartitionSample& sample);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_RULE_GUESS_H_
