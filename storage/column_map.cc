#include "storage/column_map.h"

#include <utility>

namespace cistern {

namespace {

ColumnData AbsentCells(Lane lane, size_t row_count) {
  ColumnData column;
  column.lane = lane;
  column.states.assign(row_count, CellState::kAbsent);
  if (lane == Lane::kFixed) {
    column.fixed.assign(row_count, 0);
  } else {
    column.offsets.assign(row_count + 1, 0);
  }
  return column;
}

}  // namespace

ColumnMap::ColumnMap(std::shared_ptr<const TableSchema> from,
                     std::shared_ptr<const TableSchema> to,
                     const std::function<bool(const std::string&)>& lasts)
    : from_(std::move(from)), to_(std::move(to)) {
  for (const ColumnSpec& column : to_->columns) {
    sources_.push_back(lasts(column.name) ? from_->FindColumn(column.name) : std::nullopt);
  }
}

VersionColumns ColumnMap::Apply(VersionColumns rows) const {
  std::vector<ColumnData> columns;
  columns.reserve(sources_.size());
  for (size_t c = 0; c < sources_.size(); ++c) {
    columns.push_back(sources_[c] ? std::move(rows.columns[*sources_[c]])
                                  : AbsentCells(to_->columns[c].type.lane(), rows.row_count));
  }
  rows.columns = std::move(columns);
  return rows;
}

std::vector<bool> ColumnMap::Sources(const std::vector<bool>& wanted) const {
  std::vector<bool> sources(from_->columns.size(), false);
  for (size_t c = 0; c < sources_.size(); ++c) {
    if (sources_[c] && wanted[c]) sources[*sources_[c]] = true;
  }
  return sources;
}

}  // namespace cistern
