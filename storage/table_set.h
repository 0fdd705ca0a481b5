// TableSet: the tables of a store, by number and by name.
#ifndef CISTERN_STORAGE_TABLE_SET_H_
#define CISTERN_STORAGE_TABLE_SET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/row_batch.h"
#include "cistern/schema.h"
#include "storage/meta_records.h"

namespace cistern {

struct Table {
  uint32_t id = 0;
  uint32_t schema_version = 0;
  std::shared_ptr<const TableSchema> schema;
};
using TablePtr = std::shared_ptr<const Table>;

// Thread-safe. Table numbers begin at 1 and are never reused.
class TableSet {
 public:
  // Parses the records found at open. kCorruption names the table.
  [[nodiscard]] Status Load(const std::map<uint32_t, TableRecord>& records);
  void Add(TablePtr table);

  // By name, or keyspace.name. kNotFound lists the tables there are; kInvalidArgument
  // when a bare name fits tables of several keyspaces.
  [[nodiscard]] Result<TablePtr> Find(std::string_view name) const;
  // The table that a batch was made for, by its schema.
  [[nodiscard]] Result<TablePtr> FindBatch(const RowBatch& batch) const;
  [[nodiscard]] TablePtr FindById(uint32_t id) const;  // null if unknown
  // The table that declares the same keyspace and name, null if none.
  [[nodiscard]] TablePtr FindDeclared(const TableSchema& schema) const;
  [[nodiscard]] std::vector<TablePtr> List() const;
  [[nodiscard]] uint32_t next_id() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint32_t, TablePtr> tables_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_TABLE_SET_H_
