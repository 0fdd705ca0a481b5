#include "engine/query/aggregate_groups.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <string_view>

#include "cistern/limits.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/row/column_summary.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {

constexpr size_t kMapNodeBytes = 64;  // of an entry of a hash table, beside its key's bytes

std::strong_ordering CompareCells(const ColumnType& type, const ColumnData& data, size_t a,
                                  size_t b) {
  const bool has_a = data.state(a) == CellState::kValue;
  const bool has_b = data.state(b) == CellState::kValue;
  if (!has_a || !has_b) return has_a <=> has_b;
  return data.lane == Lane::kFixed ? CompareValues(type, data.fixed[a], {}, data.fixed[b], {})
                                   : CompareValues(type, 0, data.bytes(a), 0, data.bytes(b));
}

// Equal for equal cells alone, whatever follows. Cells of any kind without a value are alike, and
// so is every NaN.
void PutCell(const ColumnType& type, const ColumnData& data, size_t i, std::string* key) {
  const bool has_value = data.state(i) == CellState::kValue;
  key->push_back(has_value ? '\1' : '\0');
  if (!has_value) return;
  if (data.lane == Lane::kFixed) {
    PutLittle<int64_t>(key, OrderKey(type.kind, data.fixed[i]));
    return;
  }
  PutVarint(key, data.bytes(i).size());
  key->append(data.bytes(i));
}

}  // namespace

AggregateGroups::AggregateGroups(const AggregatePlan* plan, const TableSchema& schema)
    : plan_(plan) {
  for (const size_t c : plan->group_columns()) types_.push_back(schema.columns[c].type);
  Clear();
}

void AggregateGroups::Clear() {
  for (size_t g = 0; g < size_; ++g) states_[g].Clear();
  groups_.clear();
  values_.assign(types_.size(), {});
  for (size_t k = 0; k < types_.size(); ++k) values_[k].lane = types_[k].lane();
  size_ = types_.empty() ? 1 : 0;
  if (states_.size() < size_) states_.emplace_back(plan_);
}

void AggregateGroups::AddRows(const VersionColumns& rows, size_t begin, size_t end) {
  CISTERN_CHECK(types_.empty());
  states_[0].AddRows(rows, begin, end, &dense_);
}

Result<size_t> AggregateGroups::AddPicked(const VersionColumns& rows,
                                          std::span<const uint32_t> picked) {
  if (types_.empty()) {
    states_[0].AddPicked(rows, picked, &dense_);
    return picked.size();
  }
  met_.clear();
  grown_bytes_ = 0;
  size_t added = 0;
  for (; added < picked.size() && grown_bytes_ < kGrowthBytes; ++added) {
    CISTERN_ASSIGN_OR_RETURN(const size_t group, GroupOf(rows, picked[added]));
    if (picked_[group].empty()) met_.push_back(group);
    picked_[group].push_back(picked[added]);
  }
  for (const size_t group : met_) {
    states_[group].AddPicked(rows, picked_[group], &dense_);
    picked_[group].clear();
  }
  return added;
}

Result<size_t> AggregateGroups::GroupOf(const VersionColumns& rows, size_t i) {
  key_.clear();
  for (size_t k = 0; k < types_.size(); ++k) {
    PutCell(types_[k], rows.columns[plan_->group_columns()[k]], i, &key_);
  }
  const auto [known, is_new] = groups_.try_emplace(key_, size_);
  if (!is_new) return known->second;
  if (size_ == limits::kAggregateGroupsMax) {
    return Status::TooLarge(Concat({"a step has more than ", limits::kAggregateGroupsMax,
        " groups: take smaller steps, group by fewer columns, or choose rows by conditions"}));
  }
  if (states_.size() == size_) grown_bytes_ += states_.emplace_back(plan_).MemoryBytes();
  if (picked_.size() == size_) picked_.emplace_back();
  for (size_t k = 0; k < types_.size(); ++k) {
    const ColumnData& data = rows.columns[plan_->group_columns()[k]];
    if (data.state(i) == CellState::kValue) values_[k].AppendFrom(data, i);
    else values_[k].AppendMissing(CellState::kNull);
  }
  return size_++;
}

void AggregateGroups::AddStatistics(size_t k, const ColumnStatistics& statistics) {
  CISTERN_CHECK(types_.empty());
  states_[0].AddStatistics(k, statistics);
}

bool AggregateGroups::IsBefore(size_t a, size_t b) const {
  for (size_t k = 0; k < types_.size(); ++k) {
    const auto order = CompareCells(types_[k], values_[k], a, b);
    if (order != 0) return order < 0;
  }
  return false;
}

Status AggregateGroups::Emit(AggregateBatch* out) {
  if (types_.empty()) {
    CISTERN_RETURN_IF_ERROR(states_[0].Emit(&out->columns));
    states_[0].Clear();
    return Status::Ok();
  }
  std::vector<size_t> order(size_);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [this](size_t a, size_t b) { return IsBefore(a, b); });
  for (const size_t group : order) {
    for (size_t k = 0; k < types_.size(); ++k) out->groups[k].AppendFrom(values_[k], group);
    CISTERN_RETURN_IF_ERROR(states_[group].Emit(&out->columns));
  }
  Clear();
  return Status::Ok();
}

size_t AggregateGroups::MemoryBytes() const {
  size_t bytes = key_.capacity();
  for (const ColumnData& data : values_) bytes += 2 * data.MemoryBytes();  // the map has them too
  bytes += groups_.size() * (kMapNodeBytes + types_.size() * 10);
  for (const AggregateState& state : states_) bytes += state.MemoryBytes();
  for (const std::vector<uint32_t>& rows : picked_) bytes += rows.capacity() * sizeof(uint32_t);
  return bytes;
}

}  // namespace cistern
