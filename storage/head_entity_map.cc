#include "storage/head_entity_map.h"

#include <cstring>
#include <utility>

#include "lib/base/short_bytes.h"

namespace cistern {

namespace {

constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio

uint64_t Mix(uint64_t v) {
  v *= kMultiplier;
  return v ^ v >> 32;
}

}  // namespace

uint64_t HeadEntityMap::Hash(uint32_t table_id, std::string_view entity) {
  const auto load = [](const char* at, size_t bytes) {
    uint64_t v = 0;
    std::memcpy(&v, at, bytes);
    return v;
  };
  uint64_t hash = Mix(uint64_t{table_id} << 32 | entity.size());
  const char* at = entity.data();
  size_t left = entity.size();
  for (; left > 8; left -= 8, at += 8) hash = Mix(hash ^ load(at, 8));
  return Mix(Mix(hash ^ load(at, left)));
}

EntitySlot* HeadEntityMap::Find(uint64_t hash, uint32_t table_id, std::string_view entity) const {
  if (places_.empty()) return nullptr;
  const size_t mask = places_.size() - 1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t i = tag & mask;; i = (i + 1) & mask) {
    const Place& place = places_[i];
    if (place.number == 0) return nullptr;
    if (place.tag != tag) continue;
    EntitySlot* slot = slots_[place.number - 1];
    if (slot->table_id() == table_id && EqualBytes(slot->entity(), entity)) return slot;
  }
}

void HeadEntityMap::Insert(uint32_t tag, uint32_t number_plus_1) {
  const size_t mask = places_.size() - 1;
  size_t i = tag & mask;
  while (places_[i].number != 0) i = (i + 1) & mask;
  places_[i] = {tag, number_plus_1};
}

void HeadEntityMap::Grow() {
  const std::vector<Place> old =
      std::exchange(places_, std::vector<Place>(places_.empty() ? 16 : places_.size() * 2));
  for (const Place& place : old) {
    if (place.number != 0) Insert(place.tag, place.number);
  }
}

void HeadEntityMap::Add(uint64_t hash, EntitySlot* slot) {
  slots_.push_back(slot);
  if (slots_.size() * 2 > places_.size()) Grow();
  Insert(static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(slots_.size()));
}

}  // namespace cistern
