#include "storage/table_set.h"

#include <algorithm>
#include <mutex>

#include "lib/base/concat.h"
#include "lib/cql/schema_check.h"

namespace cistern {

namespace {

// As `name == schema.QualifiedName()`, which is asked for each scan.
bool IsQualifiedName(const TableSchema& schema, std::string_view name) {
  const std::string& keyspace = schema.keyspace;
  if (keyspace.empty()) return name == schema.name;
  return name.size() == keyspace.size() + 1 + schema.name.size() && name.starts_with(keyspace) &&
         name[keyspace.size()] == '.' && name.ends_with(schema.name);
}

}  // namespace

std::optional<uint32_t> Table::VersionOf(const TableSchema& declaration) const {
  for (uint32_t v = 0; v <= schema_version; ++v) {
    if (versions[v].schema.get() == &declaration) return v;
  }
  return std::nullopt;
}

std::shared_ptr<const Table> Table::AsOf(uint32_t version) const {
  const auto end = versions.begin() + static_cast<ptrdiff_t>(version) + 1;
  return std::make_shared<const Table>(id, std::vector<TableVersion>(versions.begin(), end));
}

// A column that was not there all the time between is another one, whatever its name.
ColumnMap Table::Map(uint32_t from, uint32_t to) const {
  const auto [oldest, newest] = std::minmax(from, to);
  const auto lasts = [&, first = oldest, last = newest](const std::string& name) {
    for (uint32_t v = first; v <= last; ++v) {
      if (!versions[v].schema->FindColumn(name)) return false;
    }
    return true;
  };
  return {versions[from].schema, versions[to].schema, lasts};
}

Status TableSet::Load(const TableRecords& records) {
  for (const auto& [id, record_versions] : records) {
    std::vector<TableVersion> versions;
    for (const TableRecord& record : record_versions) {
      auto schema = ParseStoredTable(record.cql);
      if (!schema.ok()) {
        return Status::Corruption(Concat({"table ", id, " of the catalog does not parse: ",
            schema.status().message()}));
      }
      versions.push_back({*std::move(schema), record.journal_before});
    }
    Put(std::make_shared<const Table>(id, std::move(versions)));
  }
  return Status::Ok();
}

void TableSet::Put(TablePtr table) {
  const std::unique_lock lock(mutex_);
  tables_[table->id] = std::move(table);
  ++change_count_;
}

Result<TablePtr> TableSet::Find(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  TablePtr found;
  TablePtr other;
  for (const auto& [id, table] : tables_) {
    if (IsQualifiedName(*table->schema, name)) return table;
    if (table->schema->name == name) (found ? other : found) = table;
  }
  if (other) {
    return Status::InvalidArgument(Concat({"table name '", name, "' is in several keyspaces: "
        "say ", found->schema->QualifiedName(), " or ", other->schema->QualifiedName()}));
  }
  if (found) return found;
  std::string known;
  for (const auto& [id, table] : tables_) {
    known += (known.empty() ? "" : ", ") + table->schema->QualifiedName();
  }
  std::string has = known.empty() ? "no tables" : known;
  if (loss_met_) {
    has += ", and this opening of it found that acknowledged records are gone, which may have "
           "declared tables: an opening for writing, and salvage, take what CATALOG-1 and -2 have "
           "of them; where they have nothing, restore a backup, or declare it again for what is "
           "still to come";
  } else if (known.empty()) {
    has += ": create one first";
  }
  return Status::NotFound(Concat({"no table '", name, "'; the store has ", has}));
}

Result<TablePtr> TableSet::FindBatch(const RowBatch& batch) const {
  const TableSchema& schema = *batch.schema();
  const std::shared_lock lock(mutex_);
  for (const auto& [id, table] : tables_) {
    if (table->schema == batch.schema()) return table;
  }
  for (const auto& [id, table] : tables_) {
    if (table->schema->QualifiedName() != schema.QualifiedName()) continue;
    if (table->schema->ToCql() == schema.ToCql()) return table;
    return Status::InvalidArgument(Concat({"the batch was made for another declaration of table ",
        schema.QualifiedName(), ", which may have been altered since: use the schema that "
        "FindTable gives"}));
  }
  return Status::NotFound(Concat({"the batch is for table ", schema.QualifiedName(),
      ", which this store does not have: create it first"}));
}

TablePtr TableSet::FindById(uint32_t id) const {
  const std::shared_lock lock(mutex_);
  const auto it = tables_.find(id);
  return it == tables_.end() ? nullptr : it->second;
}

std::shared_ptr<const TableSchema> TableSet::SchemaAt(uint32_t id, uint64_t sequence) const {
  const TablePtr table = FindById(id);
  if (!table) return nullptr;
  uint32_t version = table->schema_version;
  while (version > 0 && table->versions[version].journal_before >= sequence) --version;
  return table->versions[version].schema;
}

TablePtr TableSet::FindDeclared(const TableSchema& schema) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [id, table] : tables_) {
    if (table->schema->QualifiedName() == schema.QualifiedName()) return table;
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
