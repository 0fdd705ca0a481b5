// TableSchema: what a CREATE TABLE text declares, and how its rows find their bucket.
#ifndef CISTERN_SCHEMA_H_
#define CISTERN_SCHEMA_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/export.h"
#include "cistern/result.h"

namespace cistern {

// CQL types. The values are persistent: append, never renumber.
enum class CqlType : uint8_t {
  kBoolean = 1, kTinyint = 2, kSmallint = 3, kInt = 4, kBigint = 5, kFloat = 6, kDouble = 7,
  kText = 8, kAscii = 9, kBlob = 10, kTimestamp = 11, kDate = 12, kTime = 13, kUuid = 14,
  kTimeuuid = 15, kInet = 16, kDecimal = 17, kVarint = 18, kList = 19, kSet = 20, kMap = 21,
  kDuration = 22, kTuple = 23, kVector = 24, kUserType = 25,
};

// How a column's values travel through Cistern.
//   kFixed  an int64: booleans 0/1, integers, timestamp (ms), date (days since
//           1970-01-01, signed), time (ns of day), double (its bit pattern),
//           float (its 32-bit pattern, zero-extended)
//   kBytes  the value's bytes as CQL's native protocol serialises them
enum class Lane : uint8_t { kFixed, kBytes };
[[nodiscard]] constexpr Lane LaneOf(CqlType kind) {
  const bool is_number = kind <= CqlType::kDouble;
  const bool is_time = kind >= CqlType::kTimestamp && kind <= CqlType::kTime;
  return is_number || is_time ? Lane::kFixed : Lane::kBytes;
}

struct ColumnType {
  CqlType kind = CqlType::kInt;
  // Of a list, set, map or vector: of its elements. Of a tuple or user-defined type: of its fields.
  std::vector<ColumnType> arguments;
  // A set or map that is not frozen. Here it is one value as any other; the cluster keeps a cell
  // for each element.
  bool is_multicell = false;
  uint32_t dimension = 0;  // of a vector: how many elements each has
  std::string name = {};   // of a user-defined type, as CQL holds it; its keyspace is the table's
  std::vector<std::string> field_names = {};  // of the same, one for each argument
  [[nodiscard]] Lane lane() const { return LaneOf(kind); }
  [[nodiscard]] std::string ToCql() const;  // "frozen<map<text, int>>", "map<text, int>"
  friend bool operator==(const ColumnType&, const ColumnType&) = default;
};

enum class ColumnRole : uint8_t { kEntity, kBucket, kSplit, kClustering, kRegular };

struct ColumnSpec {
  std::string name;  // as CQL holds it: lower case unless it was quoted
  ColumnType type;
  ColumnRole role = ColumnRole::kRegular;
  bool descending = false;  // clustering columns only
  // Of a regular one: the cluster has one value for all rows of a bucket, that of the newest event.
  // Here it is a column as any other, and each row keeps what it was written with.
  bool is_static = false;
  friend bool operator==(const ColumnSpec&, const ColumnSpec&) = default;
};

// Unit of the event time column. timeuuid counts 100 ns ticks.
enum class TimeUnit : uint8_t {
  kSeconds = 0,
  kMillis = 1,
  kMicros = 2,
  kTicks100ns = 3,
  kNanos = 4,
};
[[nodiscard]] CISTERN_EXPORT int64_t TicksPerSecond(TimeUnit unit);

enum class BucketUnit : uint8_t { kSecond, kMinute, kHour, kDay, kIsoWeek, kMonth, kYear };

// Which value the bucket column holds; see docs/schema.md for the valid pairs.
enum class BucketEncoding : uint8_t { kDate, kTimestamp, kText, kCalendarNumber, kSinceEpoch };

struct BucketRule {
  BucketUnit unit = BucketUnit::kDay;
  uint32_t count = 1;  // n of n seconds, minutes, hours
  BucketEncoding encoding = BucketEncoding::kDate;
  friend bool operator==(const BucketRule&, const BucketRule&) = default;
};

// A rule that holds for event times before `until_s`, the start of a bucket by it and by the
// one that follows.
struct FormerBucketRule {
  BucketRule rule;
  int64_t until_s = 0;  // seconds since 1970; a midnight
  friend bool operator==(const FormerBucketRule&, const FormerBucketRule&) = default;
};

enum class SplitKind : uint8_t { kNone, kHash, kRoundRobin };
struct SplitRule {
  SplitKind kind = SplitKind::kNone;
  uint32_t count = 1;
  friend bool operator==(const SplitRule&, const SplitRule&) = default;
};

// Which write timestamp a row version carries here and upstream (docs/schema.md, "Timestamps").
enum class TimestampMode : uint8_t {
  kWriteTime = 0,  // the time at which it was taken in: later writes win
  // Its event time, in microseconds rounded down: all versions of a row are of one age, and of two
  // values of a cell the one that Cassandra's rule for ties chooses shows. Nothing can be deleted.
  kEventTime = 1,
};

struct RowLayout;  // row_batch.h
struct TableSchema;

// Keeps what batches of a table need of its columns, worked out when the first of them is made.
// A copy begins empty, as the schema that it is part of may be changed. Thread-safe.
class CISTERN_EXPORT RowLayoutCell {
 public:
  RowLayoutCell() = default;
  RowLayoutCell(const RowLayoutCell& /*other*/) noexcept {}
  RowLayoutCell& operator=(const RowLayoutCell& other) noexcept;
  ~RowLayoutCell();
  // Lives as long as the cell. `schema` is the one that the cell is part of.
  [[nodiscard]] const RowLayout& Of(const TableSchema& schema) const;

 private:
  mutable std::atomic<const RowLayout*> layout_{nullptr};
};

// One table. Immutable once made by ParseCreateTable; shared between threads.
struct CISTERN_EXPORT TableSchema {
  std::string keyspace;  // empty if the text named none
  std::string name;
  std::vector<ColumnSpec> columns;  // in declared order; an index into it names a column everywhere

  std::vector<size_t> partition_key;  // entity, bucket and split columns in Cassandra's key order
  std::vector<size_t> entity_columns;      // partition key without bucket and split, in key order
  size_t bucket_column = 0;
  std::optional<size_t> split_column;
  std::vector<size_t> clustering_columns;  // in key order; the first is the event time
  std::vector<size_t> regular_columns;

  BucketRule bucket;  // of event times from the last of former_buckets on
  std::vector<FormerBucketRule> former_buckets;  // ascending; most tables have none
  SplitRule split;
  TimeUnit time_unit = TimeUnit::kMillis;
  TimestampMode timestamps = TimestampMode::kWriteTime;

  uint32_t default_ttl_s = 0;  // 0: rows live until their window is dropped
  uint32_t gc_grace_s = 864000;
  std::map<std::string, std::string> compaction;
  std::string comment;
  // Other WITH options as they were written, so that the printed text keeps them.
  std::map<std::string, std::string> other_options;

  RowLayoutCell row_layout;  // for RowBatch alone

  // "air", or "plant.air": how messages name the table, and the calls that take a name.
  [[nodiscard]] std::string QualifiedName() const;
  [[nodiscard]] size_t time_column() const { return clustering_columns.front(); }
  [[nodiscard]] std::optional<size_t> FindColumn(std::string_view name) const;
  // The rule for an event time, in seconds since 1970.
  [[nodiscard]] const BucketRule& BucketRuleAt(int64_t s) const;
  // Canonical CREATE TABLE text, behind a CREATE TYPE for each user-defined type that its columns
  // have; parses back to an equal schema.
  [[nodiscard]] std::string ToCql() const;
};

// Parses one CREATE TABLE statement, and any CREATE TYPE statements before it, each of which ends
// with a ';'. Errors carry line and column and say what was expected. Reads at most
// limits::kDdlBytesMax; never trips an assertion.
//   kInvalidArgument  not CQL, or CQL that cannot be a bucketed table, with the reason
//   kNotSupported     a feature that Cistern does not have (counter, masked columns, ...)
//   kTooLarge         beyond a limit of limits.h
[[nodiscard]] CISTERN_EXPORT Result<std::shared_ptr<const TableSchema>> ParseCreateTable(
    std::string_view cql);

}  // namespace cistern

#endif  // CISTERN_SCHEMA_H_
