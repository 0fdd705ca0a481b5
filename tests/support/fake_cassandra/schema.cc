#include "tests/support/fake_cassandra/schema.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "lib/cql/ddl_parser.h"
#include "tests/support/rng.h"

namespace cistern::fake_cassandra {
namespace {

using Kind = Statement::Kind;

constexpr uint64_t kTableIds = 1;  // a family of uuids

Definition Nothing() { return {}; }

Definition Changed(std::string change, const std::string& target, const Statement& statement) {
  const std::string name = target == "KEYSPACE" ? "" : statement.table;
  Definition done;
  done.change = cql::SchemaChange{std::move(change), target, statement.keyspace, name};
  return done;
}

}  // namespace

size_t Keyspace::replication_factor() const {
  size_t sum = 0;
  for (const auto& [name, value] : replication) {
    if (name != "class") sum += std::strtoul(value.c_str(), nullptr, 10);
  }
  return sum;
}

Result<Definition> Schema::Apply(const Statement& statement, int64_t now_us) {
  Result<Definition> done = [&]() -> Result<Definition> {
    switch (statement.kind) {
      case Kind::kCreateKeyspace: return CreateKeyspace(statement);
      case Kind::kCreateType: return CreateType(statement);
      case Kind::kCreateTable: return CreateTable(statement);
      case Kind::kDropKeyspace: return DropKeyspace(statement);
      case Kind::kDropTable: return DropTable(statement);
      case Kind::kAddColumns:
      case Kind::kDropColumns: return AlterColumns(statement, now_us);
      case Kind::kRenameColumns: return RenameColumns(statement);
      case Kind::kAlterOptions: return AlterOptions(statement);
      default: return Status::Internal("this statement defines nothing");
    }
  }();
  if (done.ok() && done->change.has_value()) ++version_;
  return done;
}

Result<TablePtr> Schema::Find(const std::string& keyspace, const std::string& table) const {
  const Keyspace* found = FindKeyspace(keyspace);
  if (found == nullptr) {
    return Status::InvalidArgument("keyspace " + keyspace + " does not exist");
  }
  const auto at = found->tables.find(table);
  if (at == found->tables.end()) {
    return Status::InvalidArgument("table " + table + " does not exist");
  }
  return at->second;
}

const Keyspace* Schema::FindKeyspace(const std::string& name) const {
  const auto at = keyspaces_.find(name);
  return at == keyspaces_.end() ? nullptr : &at->second;
}

Result<Definition> Schema::CreateKeyspace(const Statement& statement) {
  if (FindKeyspace(statement.keyspace) != nullptr) {
    if (statement.if_exists) return Nothing();
    return Status::AlreadyExists("Cannot add existing keyspace \"" + statement.keyspace + "\"");
  }
  Keyspace keyspace{statement.replication, {}, {}};
  if (keyspace.replication_factor() == 0) {
    return Status::InvalidArgument("SimpleStrategy requires a replication_factor strategy option.");
  }
  std::string& strategy = keyspace.replication["class"];
  if (strategy.find('.') == std::string::npos) {
    strategy.insert(0, "org.apache.cassandra.locator.");
  }
  keyspaces_[statement.keyspace] = std::move(keyspace);
  return Changed("CREATED", "KEYSPACE", statement);
}

Result<Definition> Schema::CreateType(const Statement& statement) {
  const auto keyspace = keyspaces_.find(statement.keyspace);
  if (keyspace == keyspaces_.end()) {
    return Status::InvalidArgument("Keyspace '" + statement.keyspace + "' doesn't exist");
  }
  std::vector<ColumnType>& types = keyspace->second.types;
  for (const ColumnType& type : types) {
    if (type.name != statement.table) continue;
    if (statement.if_exists) return Nothing();
    return Status::InvalidArgument("A user type with name '" + statement.table +
                                   "' already exists");
  }
  // lib/cql has a type before a table.
  std::string text = statement.text;
  if (!text.ends_with(';')) text += ';';
  text += "CREATE TABLE k.t (key_of_no_table int PRIMARY KEY)";
  CISTERN_ASSIGN_OR_RETURN(const DdlTable ddl, ParseDdl(text, types));
  types.push_back(ddl.types.front().type);
  return Changed("CREATED", "TYPE", statement);
}

Result<Definition> Schema::CreateTable(const Statement& statement) {
  const auto keyspace = keyspaces_.find(statement.keyspace);
  if (keyspace == keyspaces_.end()) {
    return Status::InvalidArgument("Keyspace '" + statement.keyspace + "' doesn't exist");
  }
  if (keyspace->second.tables.count(statement.table) != 0) {
    if (statement.if_exists) return Nothing();
    return Status::AlreadyExists("Cannot add already existing table \"" + statement.table +
                                 "\" to keyspace \"" + statement.keyspace + "\"");
  }
  CISTERN_ASSIGN_OR_RETURN(TableDefinition table,
                           DefineTable(statement.text, keyspace->second.types));
  table.id = UuidOf(kTableIds, version_);
  keyspace->second.tables[statement.table] =
      std::make_shared<const TableDefinition>(std::move(table));
  return Changed("CREATED", "TABLE", statement);
}

Result<Definition> Schema::DropKeyspace(const Statement& statement) {
  const auto keyspace = keyspaces_.find(statement.keyspace);
  if (keyspace == keyspaces_.end()) {
    if (statement.if_exists) return Nothing();
    return Status::InvalidArgument("Keyspace '" + statement.keyspace + "' doesn't exist");
  }
  Definition done = Changed("DROPPED", "KEYSPACE", statement);
  for (const auto& [name, table] : keyspace->second.tables) done.dropped_tables.push_back(table);
  keyspaces_.erase(keyspace);
  return done;
}

Result<Definition> Schema::DropTable(const Statement& statement) {
  const Result<TablePtr> table = Find(statement.keyspace, statement.table);
  if (!table.ok()) {
    if (statement.if_exists) return Nothing();
    return Status::InvalidArgument("Table '" + statement.keyspace + "." + statement.table +
                                   "' doesn't exist");
  }
  Definition done = Changed("DROPPED", "TABLE", statement);
  done.dropped_tables.push_back(*table);
  keyspaces_[statement.keyspace].tables.erase(statement.table);
  return done;
}

Result<Definition> Schema::AlterColumns(const Statement& statement, int64_t now_us) {
  CISTERN_ASSIGN_OR_RETURN(const TablePtr before, Find(statement.keyspace, statement.table));
  TableDefinition next = *before;
  if (statement.kind == Kind::kAddColumns) {
    const std::vector<ColumnType>& types = keyspaces_[statement.keyspace].types;
    CISTERN_ASSIGN_OR_RETURN(const DdlTable ddl, ParseDdl(statement.text, types));
    for (size_t i = 1; i < ddl.columns.size(); ++i) {
      const std::string& name = ddl.columns[i].name.text;
      if (next.Find(name).has_value() && statement.if_exists) continue;
      CISTERN_ASSIGN_OR_RETURN(next, WithColumn(next, DefineColumn(ddl.columns[i])));
    }
  }
  int64_t dropped_us = now_us;
  if (statement.timestamp.has_value()) {
    dropped_us = std::strtoll(statement.timestamp->text.c_str(), nullptr, 10);
  }
  for (const std::string& name : statement.columns) {
    if (!next.Find(name).has_value() && statement.if_exists) continue;
    CISTERN_ASSIGN_OR_RETURN(next, WithoutColumn(next, name, dropped_us));
  }
  keyspaces_[statement.keyspace].tables[statement.table] =
      std::make_shared<const TableDefinition>(std::move(next));
  return Changed("UPDATED", "TABLE", statement);
}

Result<Definition> Schema::RenameColumns(const Statement& statement) {
  CISTERN_ASSIGN_OR_RETURN(const TablePtr before, Find(statement.keyspace, statement.table));
  TableDefinition next = *before;
  for (const auto& [from, to] : statement.renames) {
    CISTERN_ASSIGN_OR_RETURN(next, WithRenamed(next, from, to));
  }
  keyspaces_[statement.keyspace].tables[statement.table] =
      std::make_shared<const TableDefinition>(std::move(next));
  return Changed("UPDATED", "TABLE", statement);
}

Result<Definition> Schema::AlterOptions(const Statement& statement) {
  CISTERN_ASSIGN_OR_RETURN(const TablePtr before, Find(statement.keyspace, statement.table));
  CISTERN_ASSIGN_OR_RETURN(TableDefinition next, WithOptions(*before, statement.text));
  keyspaces_[statement.keyspace].tables[statement.table] =
      std::make_shared<const TableDefinition>(std::move(next));
  return Changed("UPDATED", "TABLE", statement);
}

std::string UuidOf(uint64_t family, uint64_t number) {
  std::string bytes;
  for (const uint64_t half : {testing::Mix(family * 1'000'003 + number), number}) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(half >> shift));
  }
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  return bytes;
}

}  // namespace cistern::fake_cassandra
