// HeadEntityMap: finds the entities of a head generation by table and key.
#ifndef CISTERN_STORAGE_HEAD_ENTITY_MAP_H_
#define CISTERN_STORAGE_HEAD_ENTITY_MAP_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/head_bucket.h"

namespace cistern {

// Open addressing over eight-byte places, at most half full. Const methods may run at
// the same time.
class HeadEntityMap {
 public:
  [[nodiscard]] static uint64_t Hash(uint32_t table_id, std::string_view entity);

  // `hash` is that of table and entity. Null: not there.
  [[nodiscard]] EntitySlot* Find(uint64_t hash, uint32_t table_id, std::string_view entity) const;
  // Adds a slot that is not there; its number is slots().size().
  void Add(uint64_t hash, EntitySlot* slot);

  [[nodiscard]] const std::vector<EntitySlot*>& slots() const { return slots_; }
  [[nodiscard]] size_t memory_bytes() const {
    return places_.capacity() * sizeof(Place) + slots_.capacity() * sizeof(EntitySlot*);
  }

 private:
  struct Place {
    uint32_t tag = 0;     // high half of the hash
    uint32_t number = 0;  // of the slot, plus 1; 0: free
  };
  void Grow();
  void Insert(uint32_t tag, uint32_t number_plus_1);

  std::vector<Place> places_;  // a power of two; found by the tag alone
  std::vector<EntitySlot*> slots_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_ENTITY_MAP_H_
