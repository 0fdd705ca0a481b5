#include "storage/head.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "lib/base/short_bytes.h"
#include "lib/row/row_order.h"
#include "storage/head_reader.h"

namespace cistern {

namespace {

// The first bucket that is not before (start_s, split).
HeadBucket* const* LowerBound(std::span<HeadBucket* const> buckets, int64_t start_s,
                              uint32_t split) {
  return std::lower_bound(buckets.data(), buckets.data() + buckets.size(),
                          std::pair(start_s, split), [](const HeadBucket* b, const auto& key) {
                            return std::pair(b->start_s(), b->split()) < key;
                          });
}

}  // namespace

// The budget's shared counter is touched only when a container grew.
void Head::SetOwnBytes(size_t bytes) {
  if (bytes == own_bytes_) return;
  own_bytes_ = bytes;
  charge_.Set(bytes);
}

const HeadLayout* Head::LayoutOf(uint32_t table_id,
                                 const std::shared_ptr<const TableSchema>& schema) {
  auto& layout = layouts_[table_id];
  if (!layout) {
    layout = std::make_unique<HeadLayout>(schema);
    side_bytes_ += sizeof(HeadLayout) + 3 * layout->columns.size() * sizeof(HeadLayout::Column);
  }
  return layout.get();
}

EntitySlot* Head::FindOrAddEntity(uint32_t table_id,
                                  const std::shared_ptr<const TableSchema>& schema,
                                  std::string_view entity) {
  // Gateways ask their sensors in turn: mostly the one comes that came last time.
  EntitySlot* slot = newest_ == nullptr ? nullptr : newest_->successor_;
  if (slot != nullptr && slot->table_id() == table_id && EqualBytes(slot->entity(), entity)) {
    newest_ = slot;
    PrefetchSlots(*slot);
    return slot;
  }
  const uint64_t hash = HeadEntityMap::Hash(table_id, entity);
  slot = entities_.Find(hash, table_id, entity);
  if (slot == nullptr) slot = AddEntity(hash, table_id, schema, entity);
  if (newest_ != nullptr) newest_->successor_ = slot;
  newest_ = slot;
  PrefetchSlots(*slot);
  return slot;
}

// That of the row, and of the entity that comes next.
void Head::PrefetchSlots(const EntitySlot& slot) {
  if (slot.successor_ != nullptr) {
    __builtin_prefetch(slot.successor_);
    __builtin_prefetch(reinterpret_cast<const char*>(slot.successor_) + 64);
  }
  PrefetchRow(slot);
}

// Entities come interleaved, and their rows are appended after the whole group was encoded:
// until then the lines that the append touches are on their way from memory, and the next entity's.
// A group has more of them than the first cache holds, so who appends asks again, a few rows ahead:
// rows are stored in turn, and each store would wait for its line.
void Head::PrefetchRow(const EntitySlot& slot) {
  if (slot.last_row_ == nullptr) return;
  const char* const bucket = reinterpret_cast<const char*>(slot.last_);
  __builtin_prefetch(bucket, 1);
  __builtin_prefetch(bucket + 64, 1);
  __builtin_prefetch(bucket + sizeof(HeadBucket) - 1, 1);
  // The next row is put behind the last one, but at the end of a chunk.
  const char* const next = slot.last_row_ + slot.layout_->row_bytes;
  __builtin_prefetch(next - 1, 1);
  __builtin_prefetch(next + slot.layout_->row_bytes - 1, 1);
}

EntitySlot* Head::AddEntity(uint64_t hash, uint32_t table_id,
                            const std::shared_ptr<const TableSchema>& schema,
                            std::string_view entity) {
  // The key lies behind its slot, so that comparing it touches no other line.
  char* memory = arena_.AllocateOnce(sizeof(EntitySlot) + entity.size());
  char* key = memory + sizeof(EntitySlot);
  std::copy(entity.begin(), entity.end(), key);
  auto* slot = new (memory) EntitySlot(static_cast<uint32_t>(entities_.slots().size()), table_id,
                                       LayoutOf(table_id, schema), {key, entity.size()});
  entities_.Add(hash, slot);
  SetOwnBytes(entities_.memory_bytes() + side_bytes_);
  return slot;
}

HeadBucket* Head::FindOrAddOtherBucket(EntitySlot* entity, int64_t start_s, uint32_t split) {
  HeadBucket* const* found = LowerBound(entity->buckets(), start_s, split);
  const auto at = static_cast<size_t>(found - entity->buckets_);
  if (at < entity->bucket_count_ && (*found)->start_s_ == start_s && (*found)->split_ == split) {
    return entity->last_ = *found;
  }
  if (entity->bucket_count_ == entity->bucket_room_) {
    const size_t bytes =
        HeadArena::ClassBytes((size_t{entity->bucket_room_} + 1) * sizeof(HeadBucket*));
    auto** grown = reinterpret_cast<HeadBucket**>(arena_.Allocate(bytes));
    std::copy(entity->buckets_, entity->buckets_ + entity->bucket_count_, grown);
    if (entity->buckets_ != nullptr) {
      arena_.Free(reinterpret_cast<char*>(entity->buckets_),
                  entity->bucket_room_ * sizeof(HeadBucket*));
    }
    entity->buckets_ = grown;
    entity->bucket_room_ = static_cast<uint32_t>(bytes / sizeof(HeadBucket*));
  }
  HeadBucket** const place = entity->buckets_ + at;
  HeadBucket** const end = entity->buckets_ + entity->bucket_count_;
  std::copy_backward(place, end, end + 1);
  *place = arena_.New<HeadBucket>(entity, start_s, split);
  ++entity->bucket_count_;
  ++bucket_count_;
  bucket_starts_.Note(entity->table_id(), start_s);
  return entity->last_ = *place;
}

void Head::Note(HeadBucket* bucket) {
  if (bucket->journal_first_ == 0) bucket->journal_first_ = sequence_;
  bucket->journal_last_ = sequence_;
  ++version_count_;
}

HeadBucket::Side* Head::SideOf(HeadBucket* bucket) {
  if (bucket->side_ == nullptr) {
    bucket->side_ = &sides_.emplace_back();
    side_bytes_ += sizeof(HeadBucket::Side);
  }
  return bucket->side_;
}

bool Head::IsLate(const HeadBucket& bucket, const RowBatch& batch, size_t row, int64_t time) const {
  if (bucket.main_.size() == 0 || time > bucket.last_time_) return false;
  if (time < bucket.last_time_) return true;
  const HeadLayout& layout = bucket.layout();
  if (layout.clustering_count == 1 && !layout.columns[0].is_text) return false;
  return CompareHeadRow(layout, bucket.main_.last_row(), batch, row) > 0;
}

void Head::AppendRow(HeadBucket* bucket, const RowBatch& batch, size_t row, const RowStamp& stamp) {
  const HeadLayout& layout = bucket->layout();
  const HeadLayout::Column& c = layout.columns[0];
  const int64_t time =
      c.is_text ? TimeuuidTicks(batch.bytes(row, c.column)) : batch.fixed(row, c.column);
  if (IsLate(*bucket, batch, row, time)) {
    HeadBucket::Side* side = SideOf(bucket);
    side->late.Append(layout, &arena_, batch, row, stamp);
    side_bytes_ += sizeof(uint32_t);
    SetOwnBytes(entities_.memory_bytes() + side_bytes_);
    bucket->first_time_ = std::min(bucket->first_time_, time);
  } else {
    if (bucket->main_.size() == 0) {
      bucket->first_time_ = time;
    } else if (time == bucket->last_time_) {
      bucket->has_equal_times_ = true;
    }
    bucket->last_time_ = time;
    bucket->main_.Append(layout, &arena_, batch, row, stamp);
    bucket->entity_->last_row_ = bucket->main_.last_row();
  }
  Note(bucket);
}

void Head::AddRangeDelete(HeadBucket* bucket, const RangeDelete& range) {
  SideOf(bucket)->deletes.push_back(range);
  side_bytes_ += 2 * sizeof(RangeDelete);  // the vector doubles
  SetOwnBytes(entities_.memory_bytes() + side_bytes_);
  Note(bucket);
}

const EntitySlot* Head::FindEntity(uint32_t table_id, std::string_view entity) const {
  return entities_.Find(HeadEntityMap::Hash(table_id, entity), table_id, entity);
}

const HeadBucket* Head::FindBucket(uint32_t table_id, std::string_view entity, int64_t start_s,
                                   uint32_t split) const {
  const EntitySlot* slot = FindEntity(table_id, entity);
  if (slot == nullptr) return nullptr;
  HeadBucket* const* at = LowerBound(slot->buckets(), start_s, split);
  if (at == slot->buckets_ + slot->bucket_count_) return nullptr;
  return (*at)->start_s_ == start_s && (*at)->split_ == split ? *at : nullptr;
}

std::optional<int64_t> Head::NextBucketStart(uint32_t table_id, std::string_view entity,
                                             int64_t at_s) const {
  const EntitySlot* slot = FindEntity(table_id, entity);
  if (slot == nullptr) return std::nullopt;
  HeadBucket* const* at = LowerBound(slot->buckets(), at_s, 0);
  if (at == slot->buckets_ + slot->bucket_count_) return std::nullopt;
  return (*at)->start_s_;
}

std::optional<int64_t> Head::PreviousBucketStart(uint32_t table_id, std::string_view entity,
                                                 int64_t at_s) const {
  const EntitySlot* slot = FindEntity(table_id, entity);
  if (slot == nullptr) return std::nullopt;
  const auto buckets = slot->buckets();
  const auto at = std::upper_bound(buckets.begin(), buckets.end(), at_s,
                                   [](int64_t s, const HeadBucket* b) { return s < b->start_s_; });
  if (at == buckets.begin()) return std::nullopt;
  return (*std::prev(at))->start_s_;
}

std::vector<uint32_t> Head::SplitsOf(uint32_t table_id, std::string_view entity,
                                     int64_t start_s) const {
  std::vector<uint32_t> splits;
  const EntitySlot* slot = FindEntity(table_id, entity);
  if (slot == nullptr) return splits;
  HeadBucket* const* const end = slot->buckets_ + slot->bucket_count_;
  for (HeadBucket* const* at = LowerBound(slot->buckets(), start_s, 0);
       at != end && (*at)->start_s_ == start_s; ++at) {
    splits.push_back((*at)->split_);
  }
  return splits;
}

// Brings the order up to the late rows: the new ones are sorted and merged in. Equal keys
// keep their order of arrival.
void Head::SortLate(const HeadBucket& bucket) const {
  if (bucket.side_ == nullptr) return;
  const std::lock_guard lock(sort_mutex_);
  const HeadRun& late = bucket.side_->late;
  std::vector<uint32_t>& order = bucket.side_->order;
  if (order.size() == late.size()) return;
  const HeadLayout& layout = bucket.layout();
  const auto before = [&](uint32_t a, uint32_t b) {
    return CompareHeadRows(layout, late.At(layout, a).row, late.At(layout, b).row) < 0;
  };
  const auto sorted = static_cast<ptrdiff_t>(order.size());
  order.reserve(late.size());
  for (auto i = static_cast<uint32_t>(order.size()); i < late.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin() + sorted, order.end(), before);
  std::inplace_merge(order.begin(), order.begin() + sorted, order.end(), before);
}

VersionColumns Head::CopyRows(const HeadBucket& bucket, const CopyRequest& request) const {
  VersionColumns rows;
  CopyRows(bucket, request, &rows);
  return rows;
}

void Head::CopyRows(const HeadBucket& bucket, const CopyRequest& request,
                    VersionColumns* rows) const {
  SortLate(bucket);
  HeadReader(bucket, request).Copy(rows);
}

VersionColumns Head::ToSorted(const HeadBucket& bucket) const {
  CopyRequest all;
  all.max_rows = std::numeric_limits<size_t>::max();
  return CopyRows(bucket, all);
}

const std::vector<RangeDelete>& Head::deletes(const HeadBucket& bucket) const {
  static const std::vector<RangeDelete> kNone;
  return bucket.side_ == nullptr ? kNone : bucket.side_->deletes;
}

std::vector<const HeadBucket*> Head::SortedBuckets() const {
  std::vector<const EntitySlot*> slots(entities_.slots().begin(), entities_.slots().end());
  std::sort(slots.begin(), slots.end(), [](const EntitySlot* a, const EntitySlot* b) {
    if (a->table_id() != b->table_id()) return a->table_id() < b->table_id();
    if (a->entity().size() != b->entity().size()) return a->entity().size() < b->entity().size();
    return a->entity() < b->entity();
  });
  std::vector<const HeadBucket*> out;
  out.reserve(bucket_count_);
  for (const EntitySlot* slot : slots) {
    const auto buckets = slot->buckets();
    out.insert(out.end(), buckets.begin(), buckets.end());
  }
  return out;
}

}  // namespace cistern
