// Values bound to the markers of a statement, serialised once and sent as they are.
//
// On the wire each is a [value]: i32 length, then so many bytes; -1 is null, -2 unset.
#ifndef CISTERN_CQL_BOUND_VALUES_H_
#define CISTERN_CQL_BOUND_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/limits.h"
#include "cistern/schema.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/cql/wire_value.h"

namespace cistern::cql {

// [value]s one behind another.
struct ValueRun {
  std::string bytes;
  uint16_t count = 0;
};

// Appends values to a run, in the order of the markers. At most 65,535 of them. Writes where it
// was told to for as long as it lives; keeps nothing.
class ValueWriter {
 public:
  explicit ValueWriter(ValueRun* run) : ValueWriter(&run->bytes, &run->count) {}
  ValueWriter(std::string* bytes, uint16_t* count) : bytes_(bytes), count_(count) {}

  // Bytes as CQL serialises a value of the marker's type.
  void Value(std::string_view serialised) {
    CISTERN_CHECK(serialised.size() <= limits::kCqlRequestBytesMax);
    Length(static_cast<int32_t>(serialised.size()));
    bytes_->append(serialised);
  }
  // A value in Cistern's lanes, as AppendWireValue takes it.
  void Value(const ColumnType& type, int64_t fixed, std::string_view bytes);
  void Int(int32_t value) {
    Length(4);
    PutBig(bytes_, value);
  }
  void Bigint(int64_t value) {
    Length(8);
    PutBig(bytes_, value);
  }
  // Null deletes what the cell held: a tombstone.
  void Null() { Length(-1); }
  // Unset leaves the cell as it is: what an absent cell is sent as.
  void Unset() { Length(-2); }

 private:
  void Length(int32_t length) {
    CISTERN_CHECK(*count_ < std::numeric_limits<uint16_t>::max());
    ++*count_;
    PutBig(bytes_, length);
  }
  std::string* bytes_;
  uint16_t* count_;
};

// A prepared statement with its values. `statement` counts in a list of prepared statements that
// the caller keeps: a server's ids for them are looked up when it is sent, as every server may
// have its own.
struct BoundStatement {
  uint32_t statement = 0;
  ValueRun values;
};

// Many bound statements for one BATCH, their values in one run of bytes. Thread-compatible.
class BoundBatch {
 public:
  struct Entry {
    uint32_t statement = 0;
    uint16_t value_count = 0;
    size_t value_begin = 0;  // in values(); they end where those of the next entry begin
  };

  // Begins a statement; the writer is good until the next call of a method that is not const.
  [[nodiscard]] ValueWriter Begin(uint32_t statement);
  void Add(const BoundStatement& bound);
  // Forgets all, keeps the memory.
  void Clear();

  [[nodiscard]] size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  // Bytes that its entries take in a BATCH, with `id_bytes` for the id of each (16 in Cassandra).
  [[nodiscard]] size_t WireBytes(size_t id_bytes) const {
    return values_.size() + size() * (1 + 2 + id_bytes + 2);
  }
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  [[nodiscard]] std::string_view values() const { return values_; }

 private:
  std::vector<Entry> entries_;
  std::string values_;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_BOUND_VALUES_H_
