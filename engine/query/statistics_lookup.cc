#include "engine/query/statistics_lookup.h"

#include <algorithm>
#include <utility>

namespace cistern {

StatisticsLookup::StatisticsLookup(TablePtr table, const AggregatePlan* plan)
    : table_(std::move(table)), plan_(plan) {
  for (const AggregatePlan::Column& column : plan_->columns()) {
    if (column.is_time) time_ = &column;
  }
}

Result<bool> StatisticsLookup::Read(const StatisticsSource& source, RowStatistics* rows) {
  if (source.schema_version > table_->schema_version) return false;
  if (map_ == nullptr || source.schema_version != map_version_) {
    map_ = &MapOf(source.schema_version);
    map_version_ = source.schema_version;
  }
  VersionMap& map = *map_;
  CISTERN_RETURN_IF_ERROR(
      map.reader.Read({source.statistics, source.row_count}, rows, map.found));
  if (time_ != nullptr) SetTimes(source);
  for (size_t k = 0; k < map.told.size(); ++k) {
    if (!AggregatePlan::Suffices(plan_->columns()[k], *map.told[k])) return false;
  }
  return true;
}

// What bounds tell of the event time.
void StatisticsLookup::SetTimes(const StatisticsSource& source) {
  times_ = {};
  times_.count = source.row_count;
  if (time_->type.lane() != Lane::kFixed) return;
  times_.has_bounds = true;
  times_.min = times_.first = source.times.first;
  times_.max = times_.last = source.times.last;
}

StatisticsLookup::VersionMap& StatisticsLookup::MapOf(uint32_t version) {
  const auto known = maps_.find(version);
  if (known != maps_.end()) return known->second;
  std::vector<std::optional<size_t>> sources;  // by column of the plan; nothing: none
  std::vector<size_t> read;
  for (const AggregatePlan::Column& column : plan_->columns()) {
    sources.push_back(column.is_time ? std::nullopt : SourceOf(column.column, version));
    if (sources.back()) read.push_back(*sources.back());
  }
  std::sort(read.begin(), read.end());
  VersionMap& map =
      maps_.emplace(version, VersionMap{{*table_->versions[version].schema, read}, {}, {}})
          .first->second;
  map.found.resize(read.size());
  for (size_t k = 0; k < sources.size(); ++k) {
    if (plan_->columns()[k].is_time) {
      map.told.push_back(&times_);
    } else if (!sources[k]) {
      map.told.push_back(&none_);
    } else {
      const auto at = std::find(read.begin(), read.end(), *sources[k]);
      map.told.push_back(&map.found[static_cast<size_t>(at - read.begin())]);
    }
  }
  return map;
}

// Where a column of the table was in what was written under the version; nothing: it was not.
std::optional<size_t> StatisticsLookup::SourceOf(size_t column, uint32_t version) const {
  if (version == table_->schema_version) return column;
  std::vector<bool> wanted(table_->schema->columns.size());
  wanted[column] = true;
  const std::vector<bool> sources = table_->Map(version, table_->schema_version).Sources(wanted);
  const auto at = std::find(sources.begin(), sources.end(), true);
  if (at == sources.end()) return std::nullopt;
  return static_cast<size_t>(at - sources.begin());
}

}  // namespace cistern
