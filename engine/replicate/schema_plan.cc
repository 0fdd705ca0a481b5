#include "engine/replicate/schema_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/replicate/schema_statements.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"

namespace cistern::replicate {
namespace {

class SchemaPlanner {
 public:
  SchemaPlanner(const TableSchema& declared, const ClusterSchema& cluster,
                const std::map<std::string, std::string>& replication)
      : declared_(declared), cluster_(cluster), replication_(replication) {}

  SchemaPlan Plan(SchemaDrift drift) {
    for (SchemaDifference& one : drift.differences) Take(std::move(one));
    if (!columns_.empty()) {
      CreateTypes();
      plan_.statements.push_back(AddColumnsStatement(cluster_.CqlName(), columns_));
    }
    if (!options_.empty()) {
      plan_.statements.push_back(AlterOptionsStatement(cluster_, declared_, options_));
    }
    return std::move(plan_);
  }

 private:
  void Take(SchemaDifference one) {
    if (one.NeedsPerson()) {
      plan_.refusals.push_back(std::move(one));
      return;
    }
    switch (one.kind) {
      case DriftKind::kKeyspaceMissing: return CreateKeyspace(std::move(one));
      case DriftKind::kTableMissing: return CreateTable();
      case DriftKind::kColumnMissing:
        columns_.push_back(&declared_.columns[*declared_.FindColumn(one.subject)]);
        return;
      case DriftKind::kRuleMissing:
      case DriftKind::kDefaultTtl:
      case DriftKind::kGcGrace:
      case DriftKind::kCompaction:
      case DriftKind::kOption:
      case DriftKind::kBucketRule: return AlterOption(std::move(one.subject));
      default: plan_.remains.push_back(std::move(one)); return;
    }
  }

  // A comment may differ in two ways.
  void AlterOption(std::string name) {
    if (std::ranges::find(options_, name) == options_.end()) options_.push_back(std::move(name));
  }

  void CreateKeyspace(SchemaDifference missing) {
    if (replication_.empty()) {
      missing.advice = "Say how it is to be replicated, for example {'class': "
                       "'NetworkTopologyStrategy', 'dc1': 3} (--keyspace-replication), or "
                       "create it";
      plan_.refusals.push_back(std::move(missing));
      return;
    }
    plan_.statements.push_back(CreateKeyspaceStatement(cluster_.keyspace, replication_));
    CreateTable();
  }

  void CreateTable() {
    CreateTypes();
    plan_.statements.push_back(CreateTableStatement(cluster_.keyspace, declared_));
  }

  // Those that the cluster does not have yet.
  void CreateTypes() {
    std::vector<const ColumnType*> types = UserTypesOf(declared_);
    std::erase_if(types, [this](const ColumnType* type) {
      return cluster_.FindUserType(type->name) != nullptr;
    });
    for (std::string& statement : CreateTypeStatements(cluster_.keyspace, types)) {
      plan_.statements.push_back(std::move(statement));
    }
  }

  const TableSchema& declared_;
  const ClusterSchema& cluster_;
  const std::map<std::string, std::string>& replication_;
  std::vector<const ColumnSpec*> columns_;  // to be added
  std::vector<std::string> options_;        // to be altered
  SchemaPlan plan_;
};

}  // namespace

SchemaPlan PlanSchema(std::span<const std::shared_ptr<const TableSchema>> declared,
                      const ClusterSchema& cluster,
                      const std::map<std::string, std::string>& replication,
                      std::span<const AcceptedDrop> accepted) {
  SchemaDrift drift = CompareSchema(declared, cluster);
  drift.Accept(accepted);
  return SchemaPlanner(*declared.back(), cluster, replication).Plan(std::move(drift));
}

std::string PrintSchema(const TableSchema& declared, const std::string& keyspace,
                        const std::map<std::string, std::string>& replication) {
  std::string text;
  if (!replication.empty()) text = CreateKeyspaceStatement(keyspace, replication) + "\n";
  for (const std::string& statement : CreateTypeStatements(keyspace, UserTypesOf(declared))) {
    text += statement + "\n";
  }
  return Concat({text, CreateTableStatement(keyspace, declared), "\n"});
}

}  // namespace cistern::replicate
