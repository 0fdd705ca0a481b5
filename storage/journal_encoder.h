// JournalEncoder: turns commit groups into journal records.
#ifndef CISTERN_STORAGE_JOURNAL_ENCODER_H_
#define CISTERN_STORAGE_JOURNAL_ENCODER_H_

#include <cstdint>
#include <deque>
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
  explicit JournalEncoder(MemoryBudget* budget) : charge_(budget) {}

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

  [[nodiscard]] size_t memory_bytes() const { return charge_.bytes(); }

 private:
  struct Operation {
    uint8_t kind = 0;
    uint32_t split = 0;
    int64_t write_us = 0;
    uint32_t boot = 0;
    uint32_t expiry_s = 0;
  };
  journal::EntityCoder* Find(const EntitySlot& entity, bool* is_new);
  void PutOperation(const EntitySlot& entity, journal::EntityCoder* coder, bool is_new,
                    bool new_shape, const Operation& operation);
  [[nodiscard]] bool ShapeDiffers(const journal::EntityCoder& coder, const CellState* states) const;
  void PutShape(journal::EntityCoder* coder, const CellState* states);
  void PutRow(journal::EntityCoder* coder, const RowBatch& batch, size_t row);
  [[nodiscard]] bool PutColumn(journal::EntityCoder* coder, size_t index, const RowBatch& batch,
                               size_t row);
  [[nodiscard]] bool PutTime(journal::EntityCoder* coder, int64_t value);
  void PutReal(journal::CodedColumn* column, int64_t bits, int64_t last_bits, bool is_float);
  void PutVarint(uint64_t value) {
    while (value >= 0x80) {
      *out_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *out_++ = static_cast<char>(value);
  }
  void PutSigned(int64_t value);
  void PutBytes(std::string_view bytes);
  void Reserve(size_t bytes);

  std::unordered_map<uint32_t, std::unique_ptr<journal::TableCoder>> tables_;
  static constexpr uint32_t kNoNumber = UINT32_MAX;
  std::vector<uint32_t> numbers_;              // by slot: number in the family, or kNoNumber
  size_t number_bytes_ = 0;                    // of numbers_, part of state_bytes_
  std::deque<journal::EntityCoder> entities_;  // by number
  MemoryCharge charge_;
  size_t state_bytes_ = 0;

  std::string header_;
  std::string body_;  // operations; bytes up to out_ count
  char* out_ = nullptr;
  uint64_t sequence_ = 0;
  uint64_t count_ = 0;
  int64_t first_us_ = 0;
  uint32_t boot_ = 0;
  uint32_t first_expiry_s_ = 0;
  int64_t next_us_ = 0;
  uint32_t expiry_s_ = 0;
  uint32_t last_entity_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_JOURNAL_ENCODER_H_
