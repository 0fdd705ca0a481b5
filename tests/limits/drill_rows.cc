#include "tests/limits/drill_rows.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <utility>

#include "lib/base/coding.h"

namespace cistern::testing {
namespace {

using fake_cassandra::Partition;
using fake_cassandra::StoredCell;
using fake_cassandra::StoredRow;

constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kDayMs = 24 * kHourMs;

struct TableShape {
  const char* name;
  const char* cql;
  int64_t bucket_ms;
  uint32_t ttl_s;
};

constexpr std::array<TableShape, kDrillTableCount> kShapes = {{
    {"gw.readings",
     "CREATE TABLE gw.readings (sensor text, hour timestamp, ts timestamp, value double,"
     " load double, state int, PRIMARY KEY ((sensor, hour), ts))"
     " WITH gc_grace_seconds = 86400 AND comment = 'cistern: bucket hour = 1 hour'",
     kHourMs, 0},
    {"gw.events",
     "CREATE TABLE gw.events (device int, day date, ts timestamp, value double,"
     " load double, state int, PRIMARY KEY ((device, day), ts))"
     " WITH CLUSTERING ORDER BY (ts DESC) AND default_time_to_live = 2592000"
     " AND gc_grace_seconds = 86400 AND comment = 'cistern: bucket day = 1 day'",
     kDayMs, 2'592'000},
    {"gw.meters",
     "CREATE TABLE gw.meters (meter text, part timestamp, ts timestamp, value double,"
     " load double, state int, PRIMARY KEY ((meter, part), ts))"
     " WITH gc_grace_seconds = 86400 AND comment = 'cistern: bucket part = 6 hours'",
     6 * kHourMs, 0},
}};

const TableShape& ShapeOf(DrillTable table) { return kShapes[static_cast<size_t>(table)]; }

template <typename Int>
std::string Wire(Int value) {
  std::string bytes;
  PutBig(&bytes, value);
  return bytes;
}

std::vector<std::string> PartitionKeyOf(const DrillBucket& bucket) {
  if (bucket.table != DrillTable::kEvents) {
    return {DrillEntityText(bucket.table, bucket.entity), Wire(bucket.bucket_ms)};
  }
  const auto day = static_cast<uint32_t>(bucket.bucket_ms / kDayMs + (int64_t{1} << 31));
  return {Wire(bucket.entity), Wire(day)};
}

void MergeWrite(const DrillWrite& write, Partition* partition) {
  const fake_cassandra::Deletion deletion{write.write_us, write.write_s};
  if (write.range_end_ms != 0) {
    partition->MergeRange({{},
                           fake_cassandra::RangeBound{CellValue{write.ts_ms, ""}, true},
                           fake_cassandra::RangeBound{CellValue{write.range_end_ms, ""}, false},
                           deletion});
    return;
  }
  StoredRow row;
  if (write.kind == RowKind::kDeleteRow) {
    row.deletion = deletion;
  } else {
    const uint32_t ttl_s = write.ttl_s != 0 ? write.ttl_s : ShapeOf(write.table).ttl_s;
    const int64_t expiry_s = ttl_s == 0 ? fake_cassandra::kNever : write.write_s + ttl_s;
    if (write.kind == RowKind::kInsert) row.marker = {write.write_us, ttl_s, expiry_s};
    const auto set = [&](const char* name, std::string bytes) {
      row.cells[name] = {write.write_us, ttl_s, expiry_s, std::move(bytes)};
    };
    if (write.has_values) {
      set("value", Wire(std::bit_cast<uint64_t>(write.value)));
      set("load", Wire(std::bit_cast<uint64_t>(write.load)));
    }
    set("state", Wire(static_cast<uint32_t>(write.state)));
  }
  partition->MergeRow({CellValue{write.ts_ms, ""}}, row);
}

bool ShowsSameCells(const StoredRow& a, const StoredRow& b, int64_t now_s) {
  auto x = a.cells.begin();
  auto y = b.cells.begin();
  while (true) {
    while (x != a.cells.end() && !x->second.IsLive(now_s)) ++x;
    while (y != b.cells.end() && !y->second.IsLive(now_s)) ++y;
    if (x == a.cells.end() || y == b.cells.end()) break;
    const StoredCell& one = x->second;
    const StoredCell& other = y->second;
    if (x->first != y->first || one.timestamp_us != other.timestamp_us ||
        one.local_deletion_s != other.local_deletion_s || one.value != other.value) {
      return false;
    }
    ++x;
    ++y;
  }
  return x == a.cells.end() && y == b.cells.end();
}

// Whether a client sees the same, write times and expiries too. `in_part`: of a, b may lack rows.
bool ShowsSame(const Partition& a, const Partition& b, bool in_part, int64_t now_s) {
  auto x = a.rows().begin();
  auto y = b.rows().begin();
  while (true) {
    while (x != a.rows().end() && !x->second.IsLive(now_s)) ++x;
    while (y != b.rows().end() && !y->second.IsLive(now_s)) ++y;
    if (x == a.rows().end() || y == b.rows().end()) break;
    const bool is_same_key = x->first[0].fixed == y->first[0].fixed;
    if (!is_same_key && !in_part) return false;
    if (is_same_key && !ShowsSameCells(x->second, y->second, now_s)) return false;
    if (is_same_key) ++y;
    ++x;
  }
  return (in_part || x == a.rows().end()) && y == b.rows().end();
}

std::string DumpOf(const fake_cassandra::TablePtr& table, const std::vector<std::string>& key,
                   const Partition& partition, int64_t now_s) {
  constexpr size_t kShownBytes = 2'000;
  fake_cassandra::PartitionStore alone;
  alone.Apply({table, key, partition});
  return alone.Dump(*table, fake_cassandra::DumpKind::kVisible, now_s).substr(0, kShownBytes);
}

}  // namespace

const char* DrillCql(DrillTable table) { return ShapeOf(table).cql; }
const char* DrillTableName(DrillTable table) { return ShapeOf(table).name; }
int64_t DrillBucketMs(DrillTable table) { return ShapeOf(table).bucket_ms; }

std::string DrillEntityText(DrillTable table, uint32_t entity) {
  if (table == DrillTable::kEvents) return std::to_string(entity);
  return (table == DrillTable::kReadings ? "s" : "m") + std::to_string(entity);
}

Status AddDrillRow(const DrillWrite& write, RowBatch* batch) {
  batch->BeginRow(write.kind);
  if (write.table == DrillTable::kEvents) {
    CISTERN_RETURN_IF_ERROR(batch->SetInt(0, int64_t{write.entity}));
  } else {
    CISTERN_RETURN_IF_ERROR(batch->SetBytes(0, DrillEntityText(write.table, write.entity)));
  }
  CISTERN_RETURN_IF_ERROR(batch->SetInt(2, write.ts_ms));
  if (write.kind == RowKind::kDeleteRow) return batch->EndRow();
  if (write.has_values) {
    CISTERN_RETURN_IF_ERROR(batch->SetDouble(3, write.value));
    CISTERN_RETURN_IF_ERROR(batch->SetDouble(4, write.load));
  }
  CISTERN_RETURN_IF_ERROR(batch->SetInt(5, write.state));
  if (write.ttl_s != 0) CISTERN_RETURN_IF_ERROR(batch->SetTtl(write.ttl_s));
  return batch->EndRow();
}

// --- DrillLog: a count, then the writes.

DrillLog::DrillLog(size_t count_max) : count_max_(count_max) {
  memory_ = ::mmap(nullptr, (count_max_ + 1) * sizeof(DrillWrite), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) ::abort();
  new (memory_) std::atomic<size_t>(0);
  writes_ = static_cast<DrillWrite*>(memory_) + 1;
}

DrillLog::~DrillLog() { ::munmap(memory_, (count_max_ + 1) * sizeof(DrillWrite)); }

size_t DrillLog::size() const { return static_cast<std::atomic<size_t>*>(memory_)->load(); }

void DrillLog::Add(const DrillWrite& write) {
  const size_t at = size();
  if (at == count_max_) ::abort();
  new (writes_ + at) DrillWrite(write);
  static_cast<std::atomic<size_t>*>(memory_)->store(at + 1);
}

std::string CompareWithLog(const DrillLog& log, const DrillScope& scope,
                           const fake_cassandra::ClusterState& state, int64_t now_s) {
  std::array<fake_cassandra::TablePtr, kDrillTableCount> tables;
  for (size_t t = 0; t < kDrillTableCount; ++t) {
    const auto table = state.schema().Find("gw", kShapes[t].name + 3);
    if (!table.ok()) return table.status().message();
    tables[t] = *table;
  }
  std::map<DrillBucket, std::vector<size_t>> buckets;
  for (size_t i = 0; i < log.size(); ++i) {
    const int64_t bucket_ms = log[i].bucket_ms();
    if (bucket_ms >= scope.bucket_below_ms) continue;
    buckets[{log[i].table, log[i].entity, bucket_ms}].push_back(i);
  }
  std::array<size_t, kDrillTableCount> live{};
  for (const auto& [bucket, writes] : buckets) {
    const auto& table = tables[static_cast<size_t>(bucket.table)];
    const bool is_parked = scope.parked && scope.parked->bucket == bucket;
    Partition expected(table->order);
    for (const size_t i : writes) {
      if (!is_parked || log[i].write_us < scope.parked->sealed_us) MergeWrite(log[i], &expected);
    }
    const std::vector<std::string> key = PartitionKeyOf(bucket);
    const Partition empty(table->order);
    const Partition* found = state.store(0).Find(*table, key);
    const Partition& shown = found == nullptr ? empty : *found;
    if (!ShowsSame(expected, shown, is_parked, now_s)) {
      return "written:\n" + DumpOf(table, key, expected, now_s) + "\nupstream shows:\n" +
             DumpOf(table, key, shown, now_s);
    }
    if (shown.HasLiveRow(now_s)) ++live[static_cast<size_t>(bucket.table)];
  }
  const bool is_all = scope.bucket_below_ms == INT64_MAX;
  for (size_t t = 0; is_all && t < kDrillTableCount; ++t) {
    const auto& partitions = state.store(0).partitions(*tables[t]);
    const auto shown = static_cast<size_t>(
        std::count_if(partitions.begin(), partitions.end(),
                      [&](const auto& entry) { return entry.second.partition.HasLiveRow(now_s); }));
    if (shown == live[t]) continue;
    return std::string(kShapes[t].name) + ": upstream shows " + std::to_string(shown) +
           " partitions, and " + std::to_string(live[t]) + " of them were written";
  }
  return "";
}

}  // namespace cistern::testing
