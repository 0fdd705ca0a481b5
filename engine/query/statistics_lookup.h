// StatisticsLookup: what statistics tell of the columns that an aggregate asks for, whichever
// version of the table they were written under.
#ifndef CISTERN_ENGINE_QUERY_STATISTICS_LOOKUP_H_
#define CISTERN_ENGINE_QUERY_STATISTICS_LOOKUP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "engine/query/aggregate_plan.h"
#include "engine/query/stretches.h"
#include "lib/segment/page_statistics.h"
#include "storage/table_set.h"

namespace cistern {

// Statistics, and what they are of.
struct StatisticsSource {
  std::string_view statistics;
  uint32_t schema_version = 0;  // that the rows were written under
  uint64_t row_count = 0;
  TimeExtent times;
};

// One thread at a time.
class StatisticsLookup {
 public:
  // The plan, of `table` as it is declared now, must outlive this.
  StatisticsLookup(TablePtr table, const AggregatePlan* plan);
  StatisticsLookup(const StatisticsLookup&) = delete;
  StatisticsLookup& operator=(const StatisticsLookup&) = delete;

  // Whether they tell all that is asked of every column; then column() has it, until the next
  // call. *rows is what they tell of the rows as such. kCorruption as ReadColumnStatistics.
  [[nodiscard]] Result<bool> Read(const StatisticsSource& source, RowStatistics* rows);
  // By column of the plan.
  [[nodiscard]] const ColumnStatistics& column(size_t k) const { return *map_->told[k]; }

 private:
  // How the columns of the plan are found in what was written under one version.
  struct VersionMap {
    StatisticsReader reader;
    std::vector<ColumnStatistics> found;         // by what the reader reads
    std::vector<const ColumnStatistics*> told;   // of those, or times_ or none_, by column
  };
  [[nodiscard]] VersionMap& MapOf(uint32_t version);
  [[nodiscard]] std::optional<size_t> SourceOf(size_t column, uint32_t version) const;
  void SetTimes(const StatisticsSource& source);

  const TablePtr table_;
  const AggregatePlan* const plan_;
  const AggregatePlan::Column* time_ = nullptr;  // of the plan, if it asks for the event time
  std::map<uint32_t, VersionMap> maps_;
  ColumnStatistics times_;       // of the event time
  const ColumnStatistics none_;  // of a column that was not there yet
  VersionMap* map_ = nullptr;  // of the call before, mostly that of the next one
  uint32_t map_version_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_STATISTICS_LOOKUP_H_
