#include "storage/head.h"

#include <algorithm>

#include "lib/base/check.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {

// Compares clustering keys column by column; `get` gives the values of side a and b.
template <typename GetA, typename GetB>
std::strong_ordering CompareKeys(const HeadLayout& layout, GetA get_a, GetB get_b) {
  const TableSchema& schema = *layout.schema;
  const bool first_descending = schema.columns[layout.columns[0].column].descending;
  for (size_t k = 0; k < layout.clustering_count; ++k) {
    const ColumnSpec& spec = schema.columns[layout.columns[k].column];
    const auto [fixed_a, text_a] = get_a(layout.columns[k]);
    const auto [fixed_b, text_b] = get_b(layout.columns[k]);
    auto order = CompareValues(spec.type, fixed_a, text_a, fixed_b, text_b);
    if (k > 0 && spec.descending != first_descending) order = 0 <=> order;
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

using Value = std::pair<int64_t, std::string_view>;

auto RunValues(const HeadRun& run, size_t i) {
  return [&run, i](const HeadLayout::Column& c) {
    return c.is_text ? Value(0, run.Text(c, i)) : Value(run.Fixed(c, i), {});
  };
}
auto ColumnValues(const VersionColumns& rows, size_t i) {
  return [&rows, i](const HeadLayout::Column& c) {
    const ColumnData& data = rows.columns[c.column];
    return c.is_text ? Value(0, data.bytes(i)) : Value(data.fixed[i], {});
  };
}
auto BatchValues(const RowBatch& batch, size_t row) {
  return [&batch, row](const HeadLayout::Column& c) {
    return c.is_text ? Value(0, batch.bytes(row, c.column)) : Value(batch.fixed(row, c.column), {});
  };
}

// First index in [0, n) for which `is_before` is false.
template <typename IsBefore>
uint32_t LowerBound(uint32_t n, IsBefore is_before) {
  uint32_t low = 0;
  while (low < n) {
    const uint32_t middle = low + (n - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      n = middle;
    }
  }
  return low;
}

}  // namespace

Head::~Head() = default;

void Head::AddOwnBytes(size_t bytes) {
  own_bytes_ += bytes;
  // In steps, so that the budget's shared counter is touched rarely.
  if (own_bytes_ > charge_.bytes()) charge_.Set(own_bytes_ + 4096);
}

EntitySlot* Head::FindOrAddEntity(uint32_t table_id,
                                  const std::shared_ptr<const TableSchema>& schema,
                                  std::string_view entity) {
  if (last_table_ == nullptr || last_table_id_ != table_id) {
    last_table_ = &tables_[table_id];
    last_table_id_ = table_id;
    if (!last_table_->layout) last_table_->layout = std::make_unique<HeadLayout>(schema);
  }
  if (const auto it = last_table_->entities.find(entity); it != last_table_->entities.end()) {
    return it->second;
  }
  EntitySlot& slot = entities_.emplace_back();
  slot.number_ = static_cast<uint32_t>(entities_.size() - 1);
  slot.table_id_ = table_id;
  slot.layout_ = last_table_->layout.get();
  const char* copy = arena_.CopyText(entity);
  slot.entity_ = {copy + sizeof(uint32_t), entity.size()};
  last_table_->entities.emplace(slot.entity_, &slot);
  AddOwnBytes(sizeof(EntitySlot) + 64);
  return &slot;
}

HeadBucket* Head::FindOrAddBucket(EntitySlot* entity, int64_t start_s, uint32_t split) {
  if (HeadBucket* last = entity->last_;
      last != nullptr && last->start_s_ == start_s && last->split_ == split) {
    return last;
  }
  auto& buckets = entity->buckets_;
  const auto at = std::lower_bound(
      buckets.begin(), buckets.end(), std::pair(start_s, split),
      [](const HeadBucket* b, const auto& key) { return std::pair(b->start_s_, b->split_) < key; });
  if (at == buckets.end() || (*at)->start_s_ != start_s || (*at)->split_ != split) {
    HeadBucket* bucket = &buckets_.emplace_back(entity, start_s, split);
    AddOwnBytes(sizeof(HeadBucket) + 2 * sizeof(void*));
    entity->last_ = *buckets.insert(at, bucket);
  } else {
    entity->last_ = *at;
  }
  return entity->last_;
}

void Head::Note(HeadBucket* bucket) {
  if (bucket->journal_first_ == 0) bucket->journal_first_ = sequence_;
  bucket->journal_last_ = sequence_;
  ++version_count_;
}

bool Head::IsLate(const HeadBucket& bucket, const RowBatch& batch, size_t row) const {
  const HeadRun& main = bucket.main_;
  if (main.size() == 0) return false;
  const HeadLayout& layout = *bucket.entity_->layout_;
  if (!layout.columns[0].is_text && layout.clustering_count == 1) {
    return batch.fixed(row, layout.columns[0].column) <
           main.Fixed(layout.columns[0], main.size() - 1);
  }
  return CompareKeys(layout, BatchValues(batch, row), RunValues(main, main.size() - 1)) < 0;
}

void Head::AppendRow(HeadBucket* bucket, const RowBatch& batch, size_t row, const RowStamp& stamp) {
  const HeadLayout& layout = *bucket->entity_->layout_;
  HeadRun& run = IsLate(*bucket, batch, row) ? bucket->late_ : bucket->main_;
  if (&run == &bucket->late_) AddOwnBytes(sizeof(uint32_t));
  run.Append(layout, &arena_, batch, row, stamp);
  const int64_t time = run.EventTimeOf(layout, run.size() - 1);
  const bool is_first = bucket->row_count() == 1;
  bucket->first_time_ = is_first ? time : std::min(bucket->first_time_, time);
  bucket->last_time_ = is_first ? time : std::max(bucket->last_time_, time);
  Note(bucket);
}

void Head::AddRangeDelete(HeadBucket* bucket, const RangeDelete& range) {
  bucket->deletes_.push_back(range);
  AddOwnBytes(sizeof(RangeDelete));
  Note(bucket);
}

const EntitySlot* Head::FindEntity(uint32_t table_id, std::string_view entity) const {
  const auto table = tables_.find(table_id);
  if (table == tables_.end()) return nullptr;
  const auto it = table->second.entities.find(entity);
  return it == table->second.entities.end() ? nullptr : it->second;
}

const HeadBucket* Head::FindBucket(uint32_t table_id, std::string_view entity, int64_t start_s,
                                   uint32_t split) const {
  const EntitySlot* slot = FindEntity(table_id, entity);
  if (slot == nullptr) return nullptr;
  for (const HeadBucket* b : slot->buckets_) {
    if (b->start_s_ == start_s && b->split_ == split) return b;
  }
  return nullptr;
}

std::optional<int64_t> Head::NextBucketStart(uint32_t table_id, std::string_view entity,
                                             int64_t at_s) const {
  const EntitySlot* slot = FindEntity(table_id, entity);
  if (slot == nullptr) return std::nullopt;
  const auto it = std::lower_bound(slot->buckets_.begin(), slot->buckets_.end(), at_s,
                                   [](const HeadBucket* b, int64_t s) { return b->start_s_ < s; });
  if (it == slot->buckets_.end()) return std::nullopt;
  return (*it)->start_s_;
}

std::optional<int64_t> Head::PreviousBucketStart(uint32_t table_id, std::string_view entity,
                                                 int64_t at_s) const {
  const EntitySlot* slot = FindEntity(table_id, entity);
  if (slot == nullptr) return std::nullopt;
  const auto it = std::upper_bound(slot->buckets_.begin(), slot->buckets_.end(), at_s,
                                   [](int64_t s, const HeadBucket* b) { return s < b->start_s_; });
  if (it == slot->buckets_.begin()) return std::nullopt;
  return (*std::prev(it))->start_s_;
}

// Brings late_order_ up to the rows of late_: the new ones are sorted and merged in.
void Head::SortLate(const HeadBucket& bucket) const {
  const std::lock_guard lock(sort_mutex_);
  std::vector<uint32_t>& order = bucket.late_order_;
  const HeadRun& late = bucket.late_;
  if (order.size() == late.size()) return;
  const HeadLayout& layout = *bucket.entity_->layout_;
  const auto before = [&](uint32_t a, uint32_t b) {
    return CompareKeys(layout, RunValues(late, a), RunValues(late, b)) < 0;
  };
  const auto sorted = static_cast<ptrdiff_t>(order.size());
  for (auto i = static_cast<uint32_t>(order.size()); i < late.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin() + sorted, order.end(), before);
  std::inplace_merge(order.begin(), order.begin() + sorted, order.end(), before);
}

// The rows of the chunk, ascending: a two-way merge of main run and sorted late rows.
std::vector<Head::Place> Head::SelectRows(const HeadBucket& bucket,
                                          const CopyRequest& request) const {
  SortLate(bucket);
  const HeadLayout& layout = *bucket.entity_->layout_;
  const HeadRun& main = bucket.main_;
  const HeadRun& late = bucket.late_;
  const std::vector<uint32_t>& order = bucket.late_order_;
  // Bounds [begin, end) of a sorted run, from the span and from the position.
  const auto bound = [&](const HeadRun& run, auto row_at, uint32_t n, bool upper) {
    return LowerBound(n, [&](uint32_t i) {
      const size_t row = row_at(i);
      const int64_t time = run.EventTimeOf(layout, row);
      if (!upper && time < request.from) return true;
      if (upper && !request.unbounded_to && time >= request.to) return false;
      if (request.after == nullptr || request.descending != upper) return upper;
      const auto order_to_after =
          CompareKeys(layout, RunValues(run, row), ColumnValues(*request.after, request.after_row));
      const bool skip_equal = upper ? request.inclusive : !request.inclusive;
      return order_to_after < 0 || (order_to_after == 0 && skip_equal);
    });
  };
  const auto main_row = [](uint32_t i) { return i; };
  const auto late_row = [&](uint32_t i) { return order[i]; };
  uint32_t m = bound(main, main_row, main.size(), false);
  uint32_t m_end = std::max(m, bound(main, main_row, main.size(), true));
  uint32_t l = bound(late, late_row, late.size(), false);
  uint32_t l_end = std::max(l, bound(late, late_row, late.size(), true));

  std::vector<Place> places;
  const auto compare_places = [&](const Place& a, const Place& b) {
    return CompareKeys(layout, RunValues(a.late ? late : main, a.index),
                       RunValues(b.late ? late : main, b.index));
  };
  const auto add = [&](Place place) {
    if (places.size() >= request.max_rows && compare_places(places.back(), place) != 0)
      return false;
    places.push_back(place);
    return true;
  };
  while (m < m_end || l < l_end) {
    const bool up = !request.descending;
    const Place from_main{false, m < m_end ? (up ? m : m_end - 1) : 0};
    const Place from_late{true, l < l_end ? order[up ? l : l_end - 1] : 0};
    bool take_main = l >= l_end;
    if (m < m_end && l < l_end) {
      const auto c = compare_places(from_main, from_late);
      take_main = up ? c <= 0 : c > 0;
    }
    if (!add(take_main ? from_main : from_late)) break;
    if (take_main) {
      up ? ++m : --m_end;
    } else {
      up ? ++l : --l_end;
    }
  }
  if (request.descending) std::reverse(places.begin(), places.end());
  return places;
}

VersionColumns Head::CopyRows(const HeadBucket& bucket, const CopyRequest& request) const {
  const HeadLayout& layout = *bucket.entity_->layout_;
  VersionColumns out = VersionColumns::For(*layout.schema);
  const std::vector<Place> places = SelectRows(bucket, request);
  out.row_count = places.size();
  const auto run_of = [&](const Place& p) -> const HeadRun& {
    return p.late ? bucket.late_ : bucket.main_;
  };
  bool any_expiry = false;
  bool any_boot = false;
  for (const Place& p : places) {
    const HeadRun& run = run_of(p);
    out.write_us.push_back(run.write_us(p.index));
    out.flags.push_back(run.flags(layout, p.index));
    any_expiry = any_expiry || run.expiry_s(p.index) != 0;
    any_boot = any_boot || run.boot(p.index) != 0;
  }
  if (any_expiry) {
    for (const Place& p : places) out.expiry_s.push_back(run_of(p).expiry_s(p.index));
  }
  if (any_boot) {
    for (const Place& p : places) out.boot.push_back(run_of(p).boot(p.index));
  }
  std::vector<uint32_t> indices;
  for (size_t k = 0; k < layout.columns.size(); ++k) {
    const size_t column = layout.columns[k].column;
    const bool wanted =
        k < layout.clustering_count || request.wanted == nullptr || (*request.wanted)[column];
    const bool has_states = bucket.main_.has_states() || bucket.late_.has_states();
    if (!wanted && !has_states) continue;
    // Runs of rows from one side are copied together.
    for (size_t begin = 0; begin < places.size();) {
      indices.clear();
      size_t end = begin;
      while (end < places.size() && places[end].late == places[begin].late) {
        indices.push_back(places[end++].index);
      }
      run_of(places[begin]).CopyColumn(layout, k, indices, wanted, &out.columns[column]);
      begin = end;
    }
    auto& states = out.columns[column].states;
    const bool all_values = std::all_of(states.begin(), states.end(),
                                        [](CellState s) { return s == CellState::kValue; });
    if (all_values) states.clear();
  }
  return out;
}

std::vector<const HeadBucket*> Head::SortedBuckets() const {
  std::vector<const HeadBucket*> out;
  out.reserve(buckets_.size());
  for (const HeadBucket& b : buckets_) out.push_back(&b);
  std::sort(out.begin(), out.end(), [](const HeadBucket* a, const HeadBucket* b) {
    if (a->table_id() != b->table_id()) return a->table_id() < b->table_id();
    // As in bucket keys: the entity's length comes before its bytes.
    if (a->entity().size() != b->entity().size()) return a->entity().size() < b->entity().size();
    if (a->entity() != b->entity()) return a->entity() < b->entity();
    return std::pair(a->start_s(), a->split()) < std::pair(b->start_s(), b->split());
  });
  return out;
}

}  // namespace cistern
