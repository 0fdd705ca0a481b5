// JournalEncoder: turns commit groups into journal records.
#ifndef CISTERN_STORAGE_JOURNAL_ENCODER_H_
#define CISTERN_STORAGE_JOURNAL_ENCODER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cistern/row_batch.h"
#include "lib/base/memory_budget.h"
#include "storage/head.h"
#include "storage/journal_coder.h"

namespace cistern {

// One encoder per journal family. Its state advances as rows are added: if the record
// cannot be written, the family has ended. One thread at a time.
class JournalEncoder {
 public:
  explicit JournalEncoder(MemoryBudget* budget) : arena_(budget), charge_(budget) {}

  void Begin(uint64_t sequence);
  // Entities are known by EntitySlot::number(). In the records they are numbered by their
  // first use in this family: a head that was replayed has slots that no row used yet.
  void AddRow(const EntitySlot& entity, const RowBatch& batch, size_t row, uint32_t split,
              const RowStamp& stamp);
  // `range` carries the write timestamp and boot.
  void AddRangeDelete(const EntitySlot& entity, int64_t bucket_start_s, uint32_t split,
                      const RangeDelete& range);
  // The record. Valid until the next Begin().
  [[nodiscard]] std::string_view Finish();

  [[nodiscard]] size_t memory_bytes() const { return arena_.memory_bytes() + charge_.bytes(); }

 private:
  struct Operation {
    uint8_t kind = 0;
    uint32_t split = 0;
    int64_t write_us = 0;
    uint32_t boot = 0;
    uint32_t expiry_s = 0;
  };
  [[nodiscard]] journal::EntityCoder* Find(const EntitySlot& entity, bool* is_new);
  void Reserve(size_t bytes);
  // Each Put writes at `out`, where room was reserved, and returns the end.
  [[nodiscard]] char* PutOperation(char* out, const EntitySlot& entity,
                                   journal::EntityCoder* coder, bool is_new, bool new_shape,
                                   const Operation& operation);
  [[nodiscard]] char* PutShape(char* out, journal::EntityCoder* coder, const CellState* states);
  [[nodiscard]] char* PutRow(char* out, journal::EntityCoder* coder, const RowBatch& batch,
                             size_t row, uint32_t with_value);

  std::unordered_map<uint32_t, std::unique_ptr<journal::TableCoder>> tables_;
  std::vector<journal::EntityCoder*> coders_;  // by slot; null: not in this family yet
  HeadArena arena_;                            // what they point to
  MemoryCharge charge_;                        // the buffers
  uint32_t entity_count_ = 0;                  // of the family

  std::string header_;
  std::string body_;  // operations; bytes up to out_ count
  char* out_ = nullptr;
  uint64_t sequence_ = 0;
  uint64_t count_ = 0;
  int64_t first_us_ = 0;
  uint32_t boot_ = 0;
  uint32_t first_expiry_s_ = 0;
  int64_t last_us_ = 0;
  uint32_t expiry_s_ = 0;
  uint32_t last_entity_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_JOURNAL_ENCODER_H_
