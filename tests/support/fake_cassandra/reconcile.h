// What Cassandra keeps of a write, and which of two writes wins.
//
// Source: Apache Cassandra 5.0, db.rows.Cells.resolveRegular, db.LivenessInfo.supersedes,
// db.DeletionTime, db.rows.BufferCell. Written from these rules and not from lib/row, so that the
// one can judge the other.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_RECONCILE_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_RECONCILE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace cistern::fake_cassandra {

inline constexpr int64_t kNoTimestamp = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A cell as it is stored. Three kinds: plain (no TTL, no local deletion time), expiring (both) and
// tombstone (a local deletion time alone; no value).
struct StoredCell {
  int64_t timestamp_us = kNoTimestamp;
  uint32_t ttl_s = 0;
  int64_t local_deletion_s = kNever;  // expiring: the second from which on it is a tombstone
  std::string value;                  // as the protocol serialises it

  [[nodiscard]] bool is_expiring() const { return ttl_s != 0; }
  [[nodiscard]] bool is_tombstone() const { return ttl_s == 0 && local_deletion_s != kNever; }
  [[nodiscard]] bool IsLive(int64_t now_s) const {
    return local_deletion_s == kNever || (is_expiring() && now_s < local_deletion_s);
  }
  friend bool operator==(const StoredCell&, const StoredCell&) = default;
};

// The liveness of a primary key: what INSERT writes beside its cells, and UPDATE does not.
struct RowMarker {
  int64_t timestamp_us = kNoTimestamp;  // kNoTimestamp: there is none
  uint32_t ttl_s = 0;
  int64_t expiry_s = kNever;

  [[nodiscard]] bool exists() const { return timestamp_us != kNoTimestamp; }
  [[nodiscard]] bool IsLive(int64_t now_s) const { return exists() && now_s < expiry_s; }
  friend bool operator==(const RowMarker&, const RowMarker&) = default;
};

// A deletion of a row, a range or a partition: everything of it with a write timestamp at or
// below `timestamp_us` is gone, whatever the time.
struct Deletion {
  int64_t timestamp_us = kNoTimestamp;  // kNoTimestamp: nothing is deleted
  int64_t local_s = 0;  // when it was deleted by the server's clock: gc_grace counts from it

  [[nodiscard]] bool exists() const { return timestamp_us != kNoTimestamp; }
  [[nodiscard]] bool Deletes(int64_t write_timestamp_us) const {
    return exists() && write_timestamp_us <= timestamp_us;
  }
  friend bool operator==(const Deletion&, const Deletion&) = default;
};

// A set or map that is not frozen: a cell for each element, and the deletion that a write of the
// whole value leaves, a microsecond older than its own elements.
// Source: Apache Cassandra 5.0, db.rows.ComplexColumnData, cql3.UpdateParameters.
struct StoredElements {
  Deletion deletion;
  std::map<std::string, StoredCell> cells;  // by the element of a set, the key of a map

  [[nodiscard]] bool IsEmpty() const { return !deletion.exists() && cells.empty(); }
  friend bool operator==(const StoredElements&, const StoredElements&) = default;
};

// The one of two cells of the same column that stays. Commutative, associative and idempotent.
// Source: org.apache.cassandra.db.rows.Cells.resolveRegular of 5.0.8.
[[nodiscard]] const StoredCell& Winner(const StoredCell& a, const StoredCell& b);
[[nodiscard]] const RowMarker& Winner(const RowMarker& a, const RowMarker& b);
[[nodiscard]] const Deletion& Winner(const Deletion& a, const Deletion& b);

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_RECONCILE_H_
