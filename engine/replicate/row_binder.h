// RowBinder: row versions of one bucket as the values that the statements bind.
//
// A value is what the native protocol calls [value]: its length as i32, big-endian, and as many
// bytes as CQL serialises it to; -1 is null, -2 leaves the column as it is (UNSET).
// Source: native_protocol_v5.spec sections 3 and 6.
#ifndef CISTERN_ENGINE_REPLICATE_ROW_BINDER_H_
#define CISTERN_ENGINE_REPLICATE_ROW_BINDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "engine/replicate/push_statements.h"
#include "engine/replicate/row_emission.h"
#include "lib/row/version_columns.h"

namespace cistern::replicate {

// Which partition a bucket is.
struct PartitionName {
  std::string_view entity;  // the bytes of an EntityKey
  int64_t start_s = 0;      // start of the bucket, seconds since 1970
  uint32_t split = 0;
};

// Appends to the caller's string, which it makes longer once for each row and never copies; the
// partition's own values are serialised once. Immutable once made: several threads may bind.
class RowBinder {
 public:
  //   kCorruption  the entity does not parse by the schema, or no bucket starts at start_s
  [[nodiscard]] static Result<RowBinder> Make(std::shared_ptr<const PushStatements> statements,
                                              const PartitionName& partition);

  // The values of a statement of rows, or of kDeleteRow. `rows` has the schema of the
  // statements; `ttl_s` is used where the text has one. REQUIRES: the table has the statement.
  void BindRow(const Emission& emission, const VersionColumns& rows, size_t i,
               int64_t timestamp_us, int32_t ttl_s, std::string* values) const;

  // The range delete's statement and values: open ends, and ends that no event time of the
  // column can pass, are left out. Nothing is appended where the range is empty: false.
  [[nodiscard]] bool BindRange(const RangeDelete& range, StatementKind* kind,
                               std::string* values) const;

  [[nodiscard]] const PushStatements& statements() const { return *statements_; }
  // The bytes that the token of the partition is computed from (engine/cql/token.h).
  [[nodiscard]] const std::string& partition_key() const { return partition_key_; }
  // The values of the partition key's columns, in key order, as a statement binds them.
  [[nodiscard]] const std::string& partition_values() const { return partition_values_; }

 private:
  // One step of binding a row: all of the partition's values count as one.
  struct Step {
    enum class What : uint8_t { kPartition, kClustering, kRegular, kTimestamp, kTtl };
    What what = What::kPartition;
    uint8_t width = 0;   // bytes on the wire of a fixed-lane column
    bool biased = false;  // a date: days from 2^31
    bool is_multicell = false;  // its elements are cells upstream
    size_t column = 0;
  };

  RowBinder() = default;
  [[nodiscard]] Status TakePartition(const PartitionName& partition);
  [[nodiscard]] std::vector<Step> StepsOf(const PushStatement& statement) const;
  [[nodiscard]] size_t RoomFor(const std::vector<Step>& steps, const VersionColumns& rows,
                               size_t i) const;

  std::shared_ptr<const PushStatements> statements_;
  std::array<std::vector<Step>, kStatementKindCount> steps_;
  std::string partition_values_;  // in key order, as they are bound
  std::string partition_key_;
};

// The event time `ticks` as the column's type serialises it. Of a timeuuid: the least of that
// time. Nothing: the type has no such time; *is_below tells on which side.
[[nodiscard]] bool AppendEventTime(const TableSchema& schema, int64_t ticks, bool* is_below,
                                   std::string* out);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_ROW_BINDER_H_
