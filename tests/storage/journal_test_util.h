// Random operations for the journal's records, and what comes back.
#ifndef CISTERN_TESTS_STORAGE_JOURNAL_TEST_UTIL_H_
#define CISTERN_TESTS_STORAGE_JOURNAL_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cistern/row_batch.h"
#include "lib/cql/wire_value.h"
#include "storage/head.h"
#include "storage/journal_decoder.h"
#include "storage/journal_encoder.h"
#include "tests/lib/row/row_test_util.h"

namespace cistern::journal_test {

using SchemaPtr = std::shared_ptr<const TableSchema>;

// A row or delete as the sink saw it, or as it should see it.
struct Seen {
  uint32_t table_id = 0;
  std::string entity;
  uint32_t split = 0;
  bool is_range_delete = false;
  int64_t start_s = 0;
  RangeDelete range;
  RowKind kind = RowKind::kInsert;
  int64_t write_us = 0;
  uint32_t boot = 0;
  uint32_t expiry_s = 0;
  uint8_t flags = 0;
  std::vector<CellState> states;  // by column
  std::vector<int64_t> fixed;     // 0 on the other lane
  std::vector<std::string> bytes;
  friend bool operator==(const Seen&, const Seen&) = default;
};

inline Seen SeeRow(uint32_t table_id, std::string_view entity, const RowBatch& batch, size_t row,
                   uint32_t split, const RowStamp& stamp) {
  Seen s;
  s.table_id = table_id;
  s.entity = entity;
  s.split = split;
  s.kind = batch.kind(row);
  s.write_us = stamp.write_us;
  s.boot = stamp.boot;
  s.expiry_s = stamp.expiry_s;
  s.flags = stamp.flags;
  const auto& columns = batch.schema()->columns;
  for (size_t c = 0; c < columns.size(); ++c) {
    const bool value = batch.state(row, c) == CellState::kValue;
    const bool fixed = columns[c].type.lane() == Lane::kFixed;
    s.states.push_back(batch.state(row, c));
    s.fixed.push_back(value && fixed ? batch.fixed(row, c) : 0);
    s.bytes.emplace_back(value && !fixed ? batch.bytes(row, c) : std::string_view());
  }
  return s;
}

class RecordingSink : public JournalSink {
 public:
  void OnRow(uint32_t table_id, std::string_view entity, const RowBatch& batch, size_t row,
             uint32_t split, const RowStamp& stamp) override {
    seen.push_back(SeeRow(table_id, entity, batch, row, split, stamp));
  }
  void OnRangeDelete(uint32_t table_id, std::string_view entity, int64_t start_s, uint32_t split,
                     const RangeDelete& range) override {
    Seen s;
    s.table_id = table_id;
    s.entity = entity;
    s.split = split;
    s.is_range_delete = true;
    s.start_s = start_s;
    s.range = range;
    seen.push_back(s);
  }
  std::vector<Seen> seen;
};

// One table with every type that travels on its own, one with a timeuuid and texts in its
// key, one plain.
inline std::vector<SchemaPtr> Tables() {
  return {row_test::Parse(
              "CREATE TABLE every (id text, unit int, day date, ts timestamp, bo boolean, "
              "ti tinyint, si smallint, i int, l bigint, f float, d double, t text, a ascii, "
              "bl blob, da date, tm time, at timestamp, u uuid, tu timeuuid, ip inet, "
              "dec decimal, va varint, li frozen<list<int>>, "
              "PRIMARY KEY ((id, unit, day), ts))"),
          row_test::Parse("CREATE TABLE keyed (id bigint, day date, at timeuuid, name text, k int, "
                          "v double, PRIMARY KEY ((id, day), at, name, k))"),
          row_test::PlainTable()};
}

inline JournalDecoder::SchemaLookup LookupIn(const std::vector<SchemaPtr>& tables) {
  return [tables](uint32_t id, uint64_t /*sequence*/) {
    return id < tables.size() ? tables[id] : nullptr;
  };
}

// Values that trip coders: decimals, extremes, every kind of NaN, repeats.
class RandomRows {
 public:
  explicit RandomRows(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t n) { return random_() % n; }

  int64_t Int(int64_t min, int64_t max) {
    switch (Below(6)) {
      case 0: return min;
      case 1: return max;
      case 2: {
        const uint64_t width = static_cast<uint64_t>(max) - static_cast<uint64_t>(min);
        return static_cast<int64_t>(static_cast<uint64_t>(min) + random_() % width);
      }
      default: return std::clamp<int64_t>(static_cast<int64_t>(Below(7)), min, max);
    }
  }
  double Double() {
    static constexpr uint64_t kOdd[] = {
        0x0000000000000000, 0x8000000000000000, 0x7ff0000000000000, 0xfff0000000000000,
        0x7ff8000000000000, 0x7ff0000000000001, 0xffffffffffffffff, 0x0000000000000001,
        0x7fefffffffffffff, 0x4340000000000000, 0xc340000000000001, 0x433fffffffffffff};
    switch (Below(6)) {
      case 0: return std::bit_cast<double>(kOdd[Below(std::size(kOdd))]);
      case 1: return std::bit_cast<double>(random_());
      case 2: return static_cast<double>(static_cast<int64_t>(random_()) >> Below(64)) / 1000.0;
      default: return (static_cast<double>(Below(2000)) - 1000) / (Below(2) != 0 ? 10.0 : 100.0);
    }
  }
  float Float() {
    switch (Below(4)) {
      case 0: return std::bit_cast<float>(static_cast<uint32_t>(random_()));
      case 1: return std::bit_cast<float>(uint32_t{0x7f800001});
      default: return static_cast<float>(Below(500)) / 10.0f;
    }
  }
  std::string Bytes(CqlType kind) {
    std::string out;
    switch (kind) {
      case CqlType::kText:
      case CqlType::kAscii:
      case CqlType::kBlob: {
        static constexpr size_t kLengths[] = {0, 1, 11, 12, 13, 100, 3000};
        const size_t length = Below(3) == 0 ? kLengths[Below(std::size(kLengths))] : Below(4);
        return std::string(length, static_cast<char>('a' + Below(2)));
      }
      case CqlType::kUuid:
      case CqlType::kTimeuuid:
        for (int i = 0; i < 16; ++i) out.push_back(static_cast<char>(Below(4)));
        if (kind == CqlType::kTimeuuid) out[6] = 0x11;
        return out;
      case CqlType::kInet: return std::string(Below(2) != 0 ? 4 : 16, static_cast<char>(Below(3)));
      case CqlType::kDecimal: return std::string("\0\0\0\2", 4) + static_cast<char>(Below(3));
      case CqlType::kVarint: return std::string(1 + Below(2), static_cast<char>(1 + Below(3)));
      default: {  // a list of ints
        const auto count = static_cast<char>(Below(3));
        out = std::string("\0\0\0", 3) + count;
        for (char i = 0; i < count; ++i) {
          out.append("\0\0\0\4\0\0\0", 7).push_back(static_cast<char>(Below(3)));
        }
        return out;
      }
    }
  }

  // One row for the entity number `e`, with its key.
  RowBatch Row(const SchemaPtr& schema, uint64_t e, RowKind kind, std::string* key) {
    RowBatch batch(schema);
    batch.BeginRow(kind);
    key->clear();
    for (const size_t c : schema->entity_columns) {
      const ColumnType& type = schema->columns[c].type;
      const std::string name = "pump-" + std::to_string(e);
      const auto number = static_cast<int64_t>(e);
      const bool fixed = type.lane() == Lane::kFixed;
      EXPECT_TRUE((fixed ? batch.SetInt(c, number) : batch.SetBytes(c, name)).ok());
      std::string wire;
      AppendWireValue(type, number, name, &wire);
      key->push_back(static_cast<char>(wire.size() >> 8));
      key->push_back(static_cast<char>(wire.size()));
      key->append(wire);
    }
    for (const size_t c : schema->clustering_columns) Set(&batch, c);
    for (const size_t c : schema->regular_columns) {
      if (kind == RowKind::kDeleteRow || Below(8) == 0) continue;
      if (Below(8) == 0) {
        EXPECT_TRUE(batch.SetNull(c).ok());
      } else {
        Set(&batch, c);
      }
    }
    if (kind == RowKind::kUpdate) {  // must set something
      EXPECT_TRUE(batch.SetNull(schema->regular_columns[0]).ok());
    }
    EXPECT_TRUE(batch.EndRow().ok());
    return batch;
  }

 private:
  void Set(RowBatch* batch, size_t c) {
    const ColumnType& type = batch->schema()->columns[c].type;
    Status s;
    switch (type.kind) {
      case CqlType::kDouble: s = batch->SetDouble(c, Double()); break;
      case CqlType::kFloat: s = batch->SetFloat(c, Float()); break;
      case CqlType::kBoolean: s = batch->SetInt(c, static_cast<int64_t>(Below(2))); break;
      case CqlType::kTinyint: s = batch->SetInt(c, Int(INT8_MIN, INT8_MAX)); break;
      case CqlType::kSmallint: s = batch->SetInt(c, Int(INT16_MIN, INT16_MAX)); break;
      case CqlType::kInt:
      case CqlType::kDate: s = batch->SetInt(c, Int(INT32_MIN, INT32_MAX)); break;
      case CqlType::kTime: s = batch->SetInt(c, Int(0, 86'399'999'999'999)); break;
      case CqlType::kBigint: s = batch->SetInt(c, Int(INT64_MIN, INT64_MAX)); break;
      case CqlType::kTimestamp:
        time_ += 1000 + static_cast<int64_t>(Below(2));
        s = batch->SetInt(c, Below(10) == 0 ? Int(INT64_MIN, INT64_MAX) : time_);
        break;
      default: {
        const bool in_key = batch->schema()->columns[c].role == ColumnRole::kClustering;
        const std::string value = Bytes(type.kind);
        s = batch->SetBytes(c, in_key ? value.substr(0, 100) : value);
      }
    }
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
  std::mt19937_64 random_;
  int64_t time_ = 0;
};

// Writes records of random operations and keeps what they hold.
class RandomJournal {
 public:
  RandomJournal(uint64_t seed, const std::vector<SchemaPtr>& tables)
      : rows_(seed), tables_(tables) {}

  // The next record; `want` gets what a reader must see.
  std::string NextRecord(std::vector<Seen>* want) {
    encoder_.Begin(++sequence_);
    const uint32_t boot = rows_.Below(10) == 0 ? static_cast<uint32_t>(rows_.Below(5)) : 0;
    uint64_t count = rows_.Below(8);
    for (; count > 0; --count) AddOperation(boot, want);
    return std::string(encoder_.Finish());
  }
  [[nodiscard]] uint64_t sequence() const { return sequence_; }
  [[nodiscard]] const JournalEncoder& encoder() const { return encoder_; }

 private:
  void AddOperation(uint32_t boot, std::vector<Seen>* want) {
    const auto table_id = static_cast<uint32_t>(rows_.Below(tables_.size()));
    const auto kind = static_cast<RowKind>(rows_.Below(8) < 6 ? 0 : 1 + rows_.Below(2));
    std::string key;
    const RowBatch batch = rows_.Row(tables_[table_id], rows_.Below(20), kind, &key);
    EntitySlot* slot = head_.FindOrAddEntity(table_id, tables_[table_id], key);
    const auto split = static_cast<uint32_t>(rows_.Below(4) == 0 ? rows_.Below(3) : 0);
    write_us_ = rows_.Below(9) == 0 ? rows_.Int(INT64_MIN, INT64_MAX) : Next(write_us_);
    if (rows_.Below(10) == 0) {
      RangeDelete range;
      if (rows_.Below(2) == 0) range = {rows_.Int(INT64_MIN, 0), rows_.Int(0, INT64_MAX)};
      range.write_us = write_us_;
      range.boot = boot;
      const int64_t start_s = rows_.Int(INT32_MIN, INT32_MAX);
      encoder_.AddRangeDelete(*slot, start_s, split, range);
      Seen s;
      s.table_id = table_id;
      s.entity = key;
      s.split = split;
      s.is_range_delete = true;
      s.start_s = start_s;
      s.range = range;
      want->push_back(s);
      return;
    }
    RowStamp stamp{write_us_, boot, 0, 0};
    if (kind == RowKind::kInsert) stamp.flags = kVersionLiveness;
    if (kind == RowKind::kDeleteRow) stamp.flags = kVersionDeleteRow;
    if (kind != RowKind::kDeleteRow && rows_.Below(3) == 0) {
      stamp.expiry_s = static_cast<uint32_t>(rows_.Below(2) != 0 ? 60 : UINT32_MAX);
    }
    encoder_.AddRow(*slot, batch, 0, split, stamp);
    want->push_back(SeeRow(table_id, key, batch, 0, split, stamp));
  }
  static int64_t Next(int64_t v) { return static_cast<int64_t>(static_cast<uint64_t>(v) + 1); }

  RandomRows rows_;
  std::vector<SchemaPtr> tables_;
  Head head_{nullptr};
  JournalEncoder encoder_{nullptr};
  uint64_t sequence_ = 0;
  int64_t write_us_ = 1'700'000'000'000'000;
};

}  // namespace cistern::journal_test

#endif  // CISTERN_TESTS_STORAGE_JOURNAL_TEST_UTIL_H_
