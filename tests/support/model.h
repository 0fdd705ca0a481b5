// Model: what a store must answer, kept in ordinary maps.
//
// Written from Cassandra's rules and the public contract, not from the engine. Two
// things make it small: operations come one after the other, so a later one always
// has the larger write timestamp and simply replaces cells; and an event time lies
// in one bucket, so that buckets only matter for a partition delete.
#ifndef CISTERN_TESTS_SUPPORT_MODEL_H_
#define CISTERN_TESTS_SUPPORT_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/schema.h"
#include "tests/support/cell.h"

namespace cistern::testing {

// Values of the clustering columns in key order.
using ClusteringKey = std::vector<Cell>;

// A row as a scan shows it: a cell per schema column, kValue or kNull. The split
// column is kAbsent: which split a row is in is the engine's to decide.
using VisibleRow = std::vector<Cell>;

// Compares two values as Cassandra's comparator of the type does; < 0, 0, > 0.
[[nodiscard]] int CompareCells(const ColumnType& type, const Cell& a, const Cell& b);

// 100 ns ticks since 1970 of a version 1 uuid's 16 bytes.
[[nodiscard]] int64_t TicksOfTimeuuid(std::string_view uuid);

// The entity columns as EntityKey holds them.
[[nodiscard]] std::string EntityBytes(const TableSchema& schema, const std::vector<Cell>& cells);

class ModelTable {
 public:
  explicit ModelTable(std::shared_ptr<const TableSchema> schema);

  // Applies one row written at second `now_s`.
  void Write(const WriteRow& row, int64_t now_s);
  // Deletes from <= event time < to of the entity.
  void DeleteRange(const std::string& entity, int64_t from, int64_t to);
  void DeleteBucket(const std::string& entity, int64_t time);
  // Columns that `next` does not have lose their cells for ever. The key is the same.
  void Alter(std::shared_ptr<const TableSchema> next);

  // Rows visible at `now_s` with min(from,to) <= time < max(from,to), ascending when
  // from < to, else descending. `after`: only rows that come later in that order.
  [[nodiscard]] std::vector<VisibleRow> Scan(const std::string& entity, int64_t from, int64_t to,
                                             int64_t now_s,
                                             const ClusteringKey* after = nullptr) const;

  // Every entity that was ever written or deleted, with whether it has visible rows.
  [[nodiscard]] std::map<std::string, bool> Entities(int64_t now_s) const;

  [[nodiscard]] int64_t TimeOf(const ClusteringKey& key) const;
  [[nodiscard]] ClusteringKey KeyOf(const std::vector<Cell>& cells) const;
  [[nodiscard]] const TableSchema& schema() const { return *schema_; }
  [[nodiscard]] const std::shared_ptr<const TableSchema>& shared_schema() const { return schema_; }
  [[nodiscard]] uint64_t versions() const { return versions_; }  // row versions written

 private:
  struct StoredCell {
    Cell value;             // kAbsent: never written or deleted with the row
    int64_t expiry_s = 0;   // 0: never
  };
  struct StoredRow {
    std::vector<StoredCell> regular;  // in the order of schema.regular_columns
    bool live = false;                // has a liveness marker
    int64_t live_expiry_s = 0;
  };
  // The order of rows: ascending event time; the other columns keep their declared
  // direction relative to the first.
  struct KeyLess {
    const TableSchema* schema;
    bool operator()(const ClusteringKey& a, const ClusteringKey& b) const;
  };
  using Rows = std::map<ClusteringKey, StoredRow, KeyLess>;
  struct Entity {
    std::vector<Cell> columns;  // values of the entity columns, in key order
    Rows rows;
  };

  Entity& EntityFor(const std::string& bytes);
  [[nodiscard]] bool Visible(const StoredRow& row, int64_t now_s) const;
  [[nodiscard]] VisibleRow Show(const Entity& entity, const ClusteringKey& key,
                                const StoredRow& row, int64_t now_s) const;

  std::shared_ptr<const TableSchema> schema_;
  std::vector<std::shared_ptr<const TableSchema>> before_;  // rows in maps are ordered by them
  std::map<std::string, Entity> entities_;
  uint64_t versions_ = 0;
};

// One line for people: "sensor=0x6101 ts=1700 value=null".
[[nodiscard]] std::string RowToText(const TableSchema& schema, const VisibleRow& row);

// Empty if equal in the columns of `columns`; else the first difference with the rows around it.
[[nodiscard]] std::string DiffRows(const TableSchema& schema, const std::vector<size_t>& columns,
                                   const std::vector<VisibleRow>& expected,
                                   const std::vector<VisibleRow>& actual);

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_MODEL_H_
