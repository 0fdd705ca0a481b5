#include "tools/duplicate_watch.h"

#include <algorithm>
#include <cstring>

#include "lib/base/checksum.h"
#include "tools/cell_text.h"

namespace cistern::tool {
namespace {

constexpr size_t kSlotsMin = 1024;
constexpr size_t kGroupColumns = 64;

// Neither an empty slot nor, but by chance, the key of another group of the same row.
uint64_t KeyOfGroup(uint64_t key, size_t group) {
  const uint64_t mixed = key + group * 0x9E3779B97F4A7C15ull;
  return mixed == 0 ? 1 : mixed;
}

void PackInteger(uint64_t value, std::string* packed) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  packed->append(bytes, sizeof value);
}

}  // namespace

DuplicateWatch::DuplicateWatch(std::shared_ptr<const TableSchema> schema, size_t rows_max)
    : schema_(std::move(schema)), rows_max_(rows_max) {
  young_.slots.resize(kSlotsMin);
}

DuplicateWatch::Slot* DuplicateWatch::Generation::Find(uint64_t key) {
  const size_t mask = slots.size() - 1;
  size_t i = static_cast<size_t>(key) & mask;
  while (slots[i].key != 0 && slots[i].key != key) i = (i + 1) & mask;
  return &slots[i];
}

void DuplicateWatch::PackKey(const RowBatch& batch, size_t row, size_t column) {
  if (schema_->columns[column].type.lane() == Lane::kFixed) {
    PackInteger(static_cast<uint64_t>(batch.fixed(row, column)), &packed_);
    return;
  }
  const std::string_view bytes = batch.bytes(row, column);
  PackInteger(bytes.size(), &packed_);
  packed_ += bytes;
}

DuplicateWatch::Row DuplicateWatch::Take(const RowBatch& batch, size_t row) {
  packed_.clear();
  for (const size_t column : schema_->entity_columns) PackKey(batch, row, column);
  const uint64_t entity = Checksum(packed_);
  for (const size_t column : schema_->clustering_columns) PackKey(batch, row, column);
  if (last_span_ == nullptr || entity != last_entity_) {
    const auto known = spans_.find(entity);
    last_entity_ = entity;
    if (known != spans_.end()) {
      last_span_ = &known->second;
    } else {
      last_span_ = spans_.size() < kEntitiesMax ? &spans_[entity] : nullptr;
    }
  }
  return {Checksum(packed_), last_span_, RowTime(batch, row)};
}

template <typename Visit>
void DuplicateWatch::ForEachGroup(const RowBatch& batch, size_t row, uint64_t key,
                                  const Visit& visit) const {
  const std::vector<size_t>& columns = schema_->regular_columns;
  for (size_t begin = 0; begin < columns.size(); begin += kGroupColumns) {
    const size_t end = std::min(columns.size(), begin + kGroupColumns);
    uint64_t set = 0;
    for (size_t i = begin; i < end; ++i) {
      const bool is_set = batch.state(row, columns[i]) != CellState::kAbsent;
      set |= uint64_t{is_set} << (i - begin);
    }
    if (set != 0) visit(KeyOfGroup(key, begin / kGroupColumns), set);
  }
}

DuplicateWatch::Verdict DuplicateWatch::Judge(const RowBatch& batch, size_t row,
                                              const Row& taken) {
  const Span* span = taken.span;
  if (span != nullptr && (taken.time > span->last || taken.time < span->first)) {
    return Verdict::kNew;
  }
  bool replaces = false;
  ForEachGroup(batch, row, taken.key, [&](uint64_t key, uint64_t columns) {
    replaces = replaces || (young_.Find(key)->columns & columns) != 0;
    if (!old_.slots.empty()) replaces = replaces || (old_.Find(key)->columns & columns) != 0;
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
  if (taken.span != nullptr) {
    taken.span->first = std::min(taken.span->first, taken.time);
    taken.span->last = std::max(taken.span->last, taken.time);
  }
  ForEachGroup(batch, row, taken.key,
               [this](uint64_t key, uint64_t columns) { Insert(key, columns); });
  return verdict;
}

void DuplicateWatch::Forget(const RowBatch& batch, size_t row) {
  const Row taken = Take(batch, row);
  ForEachGroup(batch, row, taken.key, [this](uint64_t key, uint64_t columns) {
    Slot* slot = young_.Find(key);
    slot->columns &= ~columns;  // a slot stays in use; an empty one has no columns
    if (!old_.slots.empty()) old_.Find(key)->columns &= ~columns;
  });
}

void DuplicateWatch::Insert(uint64_t key, uint64_t columns) {
  Slot* slot = young_.Find(key);
  if (slot->key == 0) {
    if (young_.used >= rows_max_ || (young_.used + 1) * 4 > young_.slots.size() * 3) {
      MakeRoom();
      slot = young_.Find(key);
    }
    slot->key = key;
    if (!old_.slots.empty()) columns |= old_.Find(key)->columns;
    ++young_.used;
  }
  slot->columns |= columns;
}

void DuplicateWatch::MakeRoom() {
  if (young_.used >= rows_max_) {
    has_forgotten_ = has_forgotten_ || !old_.slots.empty();
    old_ = std::move(young_);
    young_ = Generation();
    young_.slots.resize(kSlotsMin);
    return;
  }
  Generation larger;
  larger.slots.resize(young_.slots.size() * 2);
  for (const Slot& slot : young_.slots) {
    if (slot.key != 0) *larger.Find(slot.key) = slot;
  }
  larger.used = young_.used;
  young_ = std::move(larger);
}

}  // namespace cistern::tool
