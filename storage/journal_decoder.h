// JournalDecoder: turns journal records back into rows. Trusts nothing.
#ifndef CISTERN_STORAGE_JOURNAL_DECODER_H_
#define CISTERN_STORAGE_JOURNAL_DECODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cistern/row_batch.h"
#include "lib/base/coding.h"
#include "lib/base/memory_budget.h"
#include "lib/row/version_columns.h"
#include "storage/head.h"
#include "storage/journal_coder.h"

namespace cistern {

// Takes what a record held, in the order in which it was written.
class JournalSink {
 public:
  virtual ~JournalSink() = default;
  // The batch belongs to the decoder and is valid during the call.
  virtual void OnRow(uint32_t table_id, std::string_view entity, const RowBatch& batch, size_t row,
                     uint32_t split, const RowStamp& stamp) = 0;
  virtual void OnRangeDelete(uint32_t table_id, std::string_view entity, int64_t bucket_start_s,
                             uint32_t split, const RangeDelete& range) = 0;
};

// One decoder per journal family; its records in order. One thread at a time.
class JournalDecoder {
 public:
  // Finds what a table was declared as when a record was written; null if unknown. All records
  // of a family that name the table are of one declaration.
  using SchemaLookup =
      std::function<std::shared_ptr<const TableSchema>(uint32_t table_id, uint64_t sequence)>;
  // The coder's state is charged to `budget` (null: to nobody) in any case: what is in the
  // journal has to be read.
  JournalDecoder(SchemaLookup lookup, MemoryBudget* budget)
      : lookup_(std::move(lookup)), arena_(budget), charge_(budget) {}

  // kCorruption names the field; kTooNew: a record of a later format. The checksum is tested
  // before the sink is called; after an error the decoder must not be used for later records.
  [[nodiscard]] Status Decode(std::string_view record, uint64_t expected_sequence,
                              JournalSink* sink);
  // Whether the record says that it is the first one of its family, so that nothing before it is
  // needed to decode it. False: that is not known. Its checksum is not looked at.
  [[nodiscard]] static bool BeginsFamily(std::string_view record);

  [[nodiscard]] size_t memory_bytes() const { return arena_.memory_bytes() + charge_.bytes(); }

 private:
  struct TableState {
    std::unique_ptr<journal::TableCoder> coder;
    std::unique_ptr<RowBatch> batch;  // one row, reused
  };
  // An entity column's value: the fixed slot, or bytes of the key.
  struct KeyCell {
    int64_t fixed = 0;
    uint32_t offset = 0;
    uint32_t length = 0;
  };
  struct Entity {
    journal::EntityCoder* coder = nullptr;
    TableState* table = nullptr;
    KeyCell* cells = nullptr;  // by entity column, in key order
  };
  struct Chain {
    int64_t next_us = 0;  // of an operation that says nothing else
    int64_t step_us = 0;  // from one to the next
    uint32_t boot = 0;
    uint32_t expiry_s = 0;
  };
  void DecodeOperation(ByteReader* in, Chain* chain, JournalSink* sink);
  void DecodeRangeDelete(ByteReader* in, const Entity& entity, const RowStamp& stamp,
                         JournalSink* sink);
  void DecodeRow(ByteReader* in, const Entity& entity, uint8_t flags, const RowStamp& stamp,
                 JournalSink* sink);
  [[nodiscard]] size_t ReadEntity(ByteReader* in, uint8_t flags);
  void DefineEntity(ByteReader* in);
  [[nodiscard]] bool ParseKey(const TableSchema& schema, std::string_view key, KeyCell* cells);
  void ReadShape(ByteReader* in, journal::EntityCoder* coder);
  [[nodiscard]] int64_t ReadFixed(ByteReader* in, journal::CodedColumn* column, bool changed,
                                  int64_t last, int64_t* time_step);
  [[nodiscard]] int64_t ReadReal(ByteReader* in, journal::CodedColumn* column, int64_t last_bits,
                                 bool is_float);
  void ReadText(ByteReader* in, const ColumnType& type, bool changed, journal::CodedText* text);

  const SchemaLookup lookup_;
  std::unordered_map<uint32_t, TableState> tables_;
  HeadArena arena_;
  std::vector<Entity> entities_;  // by number
  size_t last_entity_ = 0;
  uint64_t sequence_ = 0;         // of the record at hand
  size_t table_bytes_ = 0;        // estimate of tables_
  MemoryCharge charge_;           // entities_ and tables_; the arena has its own
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_JOURNAL_DECODER_H_
