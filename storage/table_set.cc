#include "storage/table_set.h"

#include <mutex>

namespace cistern {

namespace {
std::string FullName(const TableSchema& schema) {
  return schema.keyspace.empty() ? schema.name : schema.keyspace + "." + schema.name;
}
}  // namespace

Status TableSet::Load(const std::map<uint32_t, TableRecord>& records) {
  for (const auto& [id, record] : records) {
    auto schema = ParseCreateTable(record.cql);
    if (!schema.ok()) {
      return Status::Corruption("table " + std::to_string(id) +
                                " of the catalog does not parse: " + schema.status().message());
    }
    Add(std::make_shared<const Table>(Table{id, record.schema_version, *std::move(schema)}));
  }
  return Status::Ok();
}

void TableSet::Add(TablePtr table) {
  const std::unique_lock lock(mutex_);
  tables_[table->id] = std::move(table);
}

Result<TablePtr> TableSet::Find(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  TablePtr found;
  std::string known;
  for (const auto& [id, table] : tables_) {
    const std::string full = FullName(*table->schema);
    known += (known.empty() ? "" : ", ") + full;
    if (full == name) return table;
    if (table->schema->name != name) continue;
    if (found) {
      return Status::InvalidArgument("table name '" + std::string(name) +
                                     "' is in several keyspaces: say " + FullName(*found->schema) +
                                     " or " + full);
    }
    found = table;
  }
  if (found) return found;
  return Status::NotFound("no table '" + std::string(name) + "'; the store has " +
                          (known.empty() ? "no tables: create one first" : known));
}

Result<TablePtr> TableSet::FindBatch(const RowBatch& batch) const {
  const TableSchema& schema = *batch.schema();
  const std::shared_lock lock(mutex_);
  for (const auto& [id, table] : tables_) {
    if (table->schema == batch.schema()) return table;
  }
  for (const auto& [id, table] : tables_) {
    if (FullName(*table->schema) != FullName(schema)) continue;
    if (table->schema->ToCql() == schema.ToCql()) return table;
    return Status::InvalidArgument("the batch was made for another declaration of table " +
                                   FullName(schema) + ": use the schema that FindTable gives");
  }
  return Status::NotFound("the batch is for table " + FullName(schema) +
                          ", which this store does not have: create it first");
}

TablePtr TableSet::FindById(uint32_t id) const {
  const std::shared_lock lock(mutex_);
  const auto it = tables_.find(id);
  return it == tables_.end() ? nullptr : it->second;
}

TablePtr TableSet::FindDeclared(const TableSchema& schema) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [id, table] : tables_) {
    if (FullName(*table->schema) == FullName(schema)) return table;
  }
  return nullptr;
}

std::vector<TablePtr> TableSet::List() const {
  const std::shared_lock lock(mutex_);
  std::vector<TablePtr> out;
  for (const auto& [id, table] : tables_) out.push_back(table);
  return out;
}

uint32_t TableSet::next_id() const {
  const std::shared_lock lock(mutex_);
  return tables_.empty() ? 1 : tables_.rbegin()->first + 1;
}

}  // namespace cistern
