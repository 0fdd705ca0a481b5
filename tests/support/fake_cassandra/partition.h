// Partition: what one replica stores of one partition, and how a mutation merges into it.
//
// A partition is a state that only grows by merging: any order, repetition or grouping of the same
// mutations gives the same partition, until Purge forgets tombstones. That is what makes a repeat
// harmless, and what tests compare.
//
// Source: Apache Cassandra 5.0, db.rows.Row.Merger, db.partitions, db.RangeTombstone.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_PARTITION_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_PARTITION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cql/wire_value.h"
#include "tests/support/fake_cassandra/reconcile.h"
#include "tests/support/fake_cassandra/table_definition.h"

namespace cistern::fake_cassandra {

// Values of the clustering columns, or of the first of them, in key order.
using ClusteringKey = std::vector<CellValue>;

// As Cassandra's comparator of the type orders values: < 0, 0, > 0.
[[nodiscard]] int CompareValues(const ColumnType& type, const CellValue& a, const CellValue& b);

// The order in which rows stand: each column in its declared direction.
struct ClusteringLess {
  std::shared_ptr<const ClusteringOrder> order;
  bool operator()(const ClusteringKey& a, const ClusteringKey& b) const;
};

struct RangeBound {
  CellValue value;
  bool inclusive = false;
};

// A range tombstone: rows whose key begins with `prefix`, and whose next column lies within the
// bounds by the order of its values, whatever the direction of the rows.
struct RangeTombstone {
  ClusteringKey prefix;
  std::optional<RangeBound> lower;
  std::optional<RangeBound> upper;
  Deletion deletion;

  [[nodiscard]] bool Covers(const ClusteringOrder& order, const ClusteringKey& key) const;
};

struct StoredRow {
  RowMarker marker;
  Deletion deletion;
  std::map<std::string, StoredCell> cells;  // by the column's name
  std::map<std::string, StoredElements> collections;  // those that are not frozen, likewise

  // Whether a SELECT at second `now_s` shows the row: its marker or one of its cells lives.
  [[nodiscard]] bool IsLive(int64_t now_s) const;
  [[nodiscard]] bool IsEmpty() const {
    return !marker.exists() && !deletion.exists() && cells.empty() && collections.empty();
  }
};

// One thread at a time.
class Partition {
 public:
  using Rows = std::map<ClusteringKey, StoredRow, ClusteringLess>;

  explicit Partition(std::shared_ptr<const ClusteringOrder> order);

  void MergeRow(const ClusteringKey& key, const StoredRow& row);
  // Cells of static columns, which all rows share.
  void MergeStatics(const std::map<std::string, StoredCell>& cells);
  void MergeRange(const RangeTombstone& range);
  void MergeDeletion(const Deletion& deletion);
  void Merge(const Partition& other);

  // Cells of dropped columns are gone, but for those that are newer than the drop and whose column
  // is there again. Which of two cells wins is judged before: a hidden one never wins over a newer.
  void HideDropped(const TableDefinition& table);

  // What a major compaction does at second `now_s`: forgets deletions that are older than
  // `gc_grace_s`, and cells that had expired so long ago. What comes later with an older write
  // timestamp then lives.
  void Purge(int64_t now_s, int64_t gc_grace_s);

  [[nodiscard]] const Rows& rows() const { return rows_; }
  [[nodiscard]] const std::map<std::string, StoredCell>& statics() const { return statics_; }
  [[nodiscard]] const std::vector<RangeTombstone>& ranges() const { return ranges_; }
  [[nodiscard]] const Deletion& deletion() const { return deletion_; }
  [[nodiscard]] bool IsEmpty() const;
  [[nodiscard]] bool HasLiveRow(int64_t now_s) const;

 private:
  // The newest deletion of the partition and of ranges that covers the key.
  [[nodiscard]] Deletion DeletionOf(const ClusteringKey& key) const;
  // Takes out of the row what `covering` or its own deletion shadows.
  static void Shadow(const Deletion& covering, StoredRow* row);
  void ShadowAll();

  std::shared_ptr<const ClusteringOrder> order_;
  Deletion deletion_;
  std::vector<RangeTombstone> ranges_;
  Rows rows_;
  std::map<std::string, StoredCell> statics_;  // by the column's name
};

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_PARTITION_H_
