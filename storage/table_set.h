// TableSet: the tables of a store, by number and by name.
#ifndef CISTERN_STORAGE_TABLE_SET_H_
#define CISTERN_STORAGE_TABLE_SET_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cistern/result.h"
#include "cistern/row_batch.h"
#include "cistern/schema.h"
#include "storage/column_map.h"
#include "storage/meta_records.h"

namespace cistern {

// What a table was declared as at one time.
struct TableVersion {
  std::shared_ptr<const TableSchema> schema;
  uint64_t journal_before = 0;  // last journal record whose rows are of a version before
};

// A table as of its last declaration, and all that it had before. Immutable: an altered table
// is a new one of the same number.
struct Table {
  Table(uint32_t number, std::vector<TableVersion> all_versions)
      : id(number),
        schema_version(static_cast<uint32_t>(all_versions.size() - 1)),
        schema(all_versions.back().schema),
        versions(std::move(all_versions)) {}

  uint32_t id = 0;
  uint32_t schema_version = 0;                // the last
  std::shared_ptr<const TableSchema> schema;  // of it
  std::vector<TableVersion> versions;         // from 0 on

  // The version that `declaration` is; nothing if it is none of this table's.
  [[nodiscard]] std::optional<uint32_t> VersionOf(const TableSchema& declaration) const;
  // The same table before it had the versions behind that one.
  [[nodiscard]] std::shared_ptr<const Table> AsOf(uint32_t version) const;
  // How rows of version `from` show under version `to`, newer or older. REQUIRES: both are known.
  [[nodiscard]] ColumnMap Map(uint32_t from, uint32_t to) const;
};
using TablePtr = std::shared_ptr<const Table>;

// Thread-safe. Table numbers begin at 1 and are never reused.
class TableSet {
 public:
  // Parses the records found at open. kCorruption names the table.
  [[nodiscard]] Status Load(const TableRecords& records);
  // A new table, or a new version of one.
  void Put(TablePtr table);

  // Tables may be among what this opening has lost: what is said of missing ones tells it.
  void NoteLoss() { loss_met_ = true; }

  // By name, or keyspace.name. kNotFound lists the tables there are; kInvalidArgument
  // when a bare name fits tables of several keyspaces.
  [[nodiscard]] Result<TablePtr> Find(std::string_view name) const;
  // The table that a batch was made for, by its schema.
  [[nodiscard]] Result<TablePtr> FindBatch(const RowBatch& batch) const;
  [[nodiscard]] TablePtr FindById(uint32_t id) const;  // null if unknown
  // What the table was declared as when a journal record was written; null if unknown.
  [[nodiscard]] std::shared_ptr<const TableSchema> SchemaAt(uint32_t id, uint64_t sequence) const;
  // The table that declares the same keyspace and name, null if none.
  [[nodiscard]] TablePtr FindDeclared(const TableSchema& schema) const;
  [[nodiscard]] std::vector<TablePtr> List() const;
  [[nodiscard]] uint32_t next_id() const;
  // How often a table was put: who remembers what follows from them asks whether it still holds.
  [[nodiscard]] uint64_t change_count() const { return change_count_; }

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint32_t, TablePtr> tables_;
  std::atomic<uint64_t> change_count_{0};
  std::atomic<bool> loss_met_{false};
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_TABLE_SET_H_
