#include "tools/duplicate_watch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/checksum.h"
#include "tools/cell_text.h"

namespace cistern::tool {
namespace {

constexpr size_t kSlotsMin = 1024;
constexpr size_t kGroupColumns = 64;
constexpr size_t kListKept = 1024;  // rows; the memory of a longer list is given back

// Neither an empty slot nor, but by chance, the key of another group of the same row.
uint64_t KeyOfGroup(uint64_t key, size_t group) {
  const uint64_t mixed = key + group * 0x9E3779B97F4A7C15ull;
  return mixed == 0 ? 1 : mixed;
}

// One to one in either of its arguments, and every bit of them counts.
uint64_t Mix(uint64_t hash, uint64_t value) {
  uint64_t mixed = hash ^ (value * 0x9E3779B97F4A7C15ull);
  mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93ull;
  mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93ull;
  return mixed ^ (mixed >> 32);
}

void PackInteger(uint64_t value, std::string* packed) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  packed->append(bytes, sizeof value);
}

}  // namespace

// --- a generation

DuplicateWatch::Slot* DuplicateWatch::Generation::SlotOf(uint64_t key) {
  const size_t mask = slots_.size() - 1;
  size_t i = static_cast<size_t>(key) & mask;
  while (slots_[i].key != 0 && slots_[i].key != key) i = (i + 1) & mask;
  return &slots_[i];
}

// Makes room for one more row, too.
void DuplicateWatch::Generation::TakeList() {
  size_t wanted = std::max(kSlotsMin, slots_.size());
  while ((size() + 1) * 4 > wanted * 3) wanted *= 2;
  if (wanted != slots_.size()) {
    const std::vector<Slot> smaller = std::exchange(slots_, std::vector<Slot>(wanted));
    for (const Slot& slot : smaller) {
      if (slot.key != 0) *SlotOf(slot.key) = slot;
    }
  }
  for (const Slot& row : listed_) {
    Slot* slot = SlotOf(row.key);
    if (slot->key == 0) ++used_;
    slot->key = row.key;
    slot->columns |= row.columns;
  }
  if (listed_.size() > kListKept) std::vector<Slot>().swap(listed_);
  listed_.clear();
}

void DuplicateWatch::Generation::Insert(Slot row) {
  listed_.push_back(row);
  TakeList();
}

uint64_t* DuplicateWatch::Generation::Find(uint64_t key) {
  if (size() == 0) return nullptr;
  if (!listed_.empty()) TakeList();
  Slot* slot = SlotOf(key);
  return slot->key == 0 ? nullptr : &slot->columns;
}

// --- the watch

DuplicateWatch::DuplicateWatch(std::shared_ptr<const TableSchema> schema, size_t rows_max)
    : schema_(std::move(schema)), rows_max_(rows_max) {}

void DuplicateWatch::FindSpan(const RowBatch& batch, size_t row) {
  packed_.clear();
  for (const size_t column : schema_->entity_columns) {
    if (schema_->columns[column].type.lane() == Lane::kFixed) {
      PackInteger(static_cast<uint64_t>(batch.fixed(row, column)), &packed_);
    } else {
      const std::string_view bytes = batch.bytes(row, column);
      PackInteger(bytes.size(), &packed_);
      packed_ += bytes;
    }
  }
  if (last_span_ != nullptr && packed_ == last_packed_) return;
  last_packed_ = packed_;
  last_entity_ = Checksum(packed_);
  const auto known = spans_.find(last_entity_);
  if (known != spans_.end()) {
    last_span_ = &known->second;
  } else {
    last_span_ = spans_.size() < kEntitiesMax ? &spans_[last_entity_] : nullptr;
  }
}

DuplicateWatch::Row DuplicateWatch::Take(const RowBatch& batch, size_t row) {
  FindSpan(batch, row);
  uint64_t key = last_entity_;
  for (const size_t column : schema_->clustering_columns) {
    const bool is_fixed = schema_->columns[column].type.lane() == Lane::kFixed;
    key = Mix(key, is_fixed ? static_cast<uint64_t>(batch.fixed(row, column))
                            : Checksum(batch.bytes(row, column)));
  }
  return {key, last_span_, RowTime(batch, row)};
}

template <typename Visit>
void DuplicateWatch::ForEachGroup(const RowBatch& batch, size_t row, uint64_t key,
                                  const Visit& visit) const {
  const std::vector<size_t>& columns = schema_->regular_columns;
  const CellState* states = batch.states(row);
  for (size_t begin = 0; begin < columns.size(); begin += kGroupColumns) {
    const size_t end = std::min(columns.size(), begin + kGroupColumns);
    uint64_t set = 0;
    for (size_t i = begin; i < end; ++i) {
      const bool is_set = states[columns[i]] != CellState::kAbsent;
      set |= uint64_t{is_set} << (i - begin);
    }
    if (set != 0) visit(KeyOfGroup(key, begin / kGroupColumns), set);
  }
}

DuplicateWatch::Verdict DuplicateWatch::Judge(const RowBatch& batch, size_t row,
                                              const Row& taken) {
  if (IsBeyond(taken)) return Verdict::kNew;
  bool replaces = false;
  ForEachGroup(batch, row, taken.key, [&](uint64_t key, uint64_t columns) {
    for (Generation* generation : {&young_, &old_}) {
      const uint64_t* set = generation->Find(key);
      replaces = replaces || (set != nullptr && (*set & columns) != 0);
    }
  });
  if (replaces) return Verdict::kReplaces;
  return has_forgotten_ ? Verdict::kUnknown : Verdict::kNew;
}

DuplicateWatch::Verdict DuplicateWatch::Look(const RowBatch& batch, size_t row) {
  return Judge(batch, row, Take(batch, row));
}

DuplicateWatch::Verdict DuplicateWatch::Add(const RowBatch& batch, size_t row) {
  const Row taken = Take(batch, row);
  const Verdict verdict = Judge(batch, row, taken);
  const bool is_beyond = IsBeyond(taken);
  if (taken.span != nullptr) {
    taken.span->first = std::min(taken.span->first, taken.time);
    taken.span->last = std::max(taken.span->last, taken.time);
  }
  ForEachGroup(batch, row, taken.key, [&](uint64_t key, uint64_t columns) {
    Insert(key, columns, is_beyond);
  });
  return verdict;
}

void DuplicateWatch::Forget(const RowBatch& batch, size_t row) {
  const Row taken = Take(batch, row);
  ForEachGroup(batch, row, taken.key, [this](uint64_t key, uint64_t columns) {
    for (Generation* generation : {&young_, &old_}) {
      if (uint64_t* set = generation->Find(key)) *set &= ~columns;
    }
  });
}

// `is_beyond`: no row of the key was added before.
void DuplicateWatch::Insert(uint64_t key, uint64_t columns, bool is_beyond) {
  if (young_.size() >= rows_max_) {
    has_forgotten_ = has_forgotten_ || old_.size() > 0;
    old_ = std::exchange(young_, Generation());
  }
  if (is_beyond) {
    young_.List({key, columns});
    return;
  }
  // What the older generation knows of the key outlives it.
  if (const uint64_t* known = old_.Find(key)) columns |= *known;
  young_.Insert({key, columns});
}

}  // namespace cistern::tool
