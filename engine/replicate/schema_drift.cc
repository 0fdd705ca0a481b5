#include "engine/replicate/schema_drift.h"

#include <algorithm>
#include <utility>

#include "engine/replicate/accepted_drop.h"
#include "engine/replicate/option_drift.h"
#include "engine/replicate/rule_drift.h"
#include "engine/replicate/schema_statements.h"
#include "lib/base/concat.h"
#include "lib/base/shell_text.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/time_text.h"

namespace cistern::replicate {
namespace {

// Finds the differences of keyspace, table kind, keys and columns; the rule and the options have
// files of their own.
class DriftFinder {
 public:
  DriftFinder(std::span<const std::shared_ptr<const TableSchema>> declared,
              const ClusterSchema& cluster)
      : all_declared_(declared), declared_(*declared.back()), cluster_(cluster) {}

  std::vector<SchemaDifference> Find() {
    if (FindTable()) {
      FindTableKind();
      const bool same_partition_key = FindKey("partition", declared_.partition_key,
                                              cluster_.table->partition_key);
      const bool same_clustering = FindKey("clustering", declared_.clustering_columns,
                                           cluster_.table->clustering);
      for (const size_t column : declared_.regular_columns) {
        FindColumn(declared_.columns[column]);
      }
      for (const ClusterColumn& column : cluster_.table->others) FindAdded(column);
      if (same_partition_key && same_clustering) FindRuleDrift(declared_, cluster_, &found_);
      FindOptionDrift(declared_, cluster_, &found_);
    }
    FindDurability();
    if (std::ranges::any_of(found_, &SchemaDifference::NeedsPerson)) LeaveColumnsForLater();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.weight < b.weight; });
    return std::move(found_);
  }

 private:
  SchemaDifference& Add(DriftKind kind, DriftWeight weight, std::string subject,
                        std::string what, std::string advice) {
    return found_.emplace_back(SchemaDifference{kind, weight, std::move(subject), std::move(what),
                                                std::move(advice), "", INT64_MIN});
  }

  // Whether there is a table to compare.
  bool FindTable() {
    if (!cluster_.has_keyspace) {
      Add(DriftKind::kKeyspaceMissing, DriftWeight::kBlocks, "",
          "the cluster has no keyspace " + QuoteName(cluster_.keyspace),
          "`cistern schema apply` creates it with the replication that it is told");
      return false;
    }
    if (cluster_.is_view) {
      Add(DriftKind::kTableKind, DriftWeight::kBlocks, "", Concat({"in the cluster ",
          cluster_.CqlName(), " is a materialized view, which takes no rows"}),
          "Use another name here, or drop the view");
      return false;
    }
    if (!cluster_.table.has_value()) {
      const std::string types = TypeStatements(UserTypesOf(declared_));
      const bool is_one = types.empty();
      Add(DriftKind::kTableMissing, DriftWeight::kBlocks, "",
          "the cluster has no table " + cluster_.CqlName(), Concat({
          "`cistern schema apply` creates it, or ", (is_one ? "this statement" : "these")}))
          .cql = types + CreateTableStatement(cluster_.keyspace, declared_);
      for (const ColumnSpec& column : declared_.columns) FindOtherTypes(column.name, column.type);
      return false;
    }
    return true;
  }

  // User-defined types of a column that is not there, whose names the cluster has of others.
  void FindOtherTypes(const std::string& column, const ColumnType& type) {
    for (const ColumnType& inside : type.arguments) FindOtherTypes(column, inside);
    const ColumnType* theirs =
        type.kind == CqlType::kUserType ? cluster_.FindUserType(type.name) : nullptr;
    if (theirs != nullptr) {
      FindType(ColumnSpec{.name = column, .type = type}, *theirs, "", kOtherType);
    }
  }

  // CREATE TYPE of those that the cluster does not have, each with the end of its line.
  [[nodiscard]] std::string TypeStatements(std::vector<const ColumnType*> types) const {
    std::erase_if(types, [this](const ColumnType* type) {
      return cluster_.FindUserType(type->name) != nullptr;
    });
    std::string text;
    for (const std::string& statement : CreateTypeStatements(cluster_.keyspace, types)) {
      text += statement + "\n";
    }
    return text;
  }

  void FindTableKind() {
    if (cluster_.table->is_counter) {
      Add(DriftKind::kTableKind, DriftWeight::kBlocks, "",
          "in the cluster it is a table of counters, which take no write timestamps",
          "Use another name here, or another keyspace");
    }
    if (cluster_.table->is_compact) {
      Add(DriftKind::kTableKind, DriftWeight::kBlocks, "",
          "in the cluster it is a table of COMPACT STORAGE",
          "Use another name here, or another keyspace; or ALTER TABLE ... DROP COMPACT STORAGE, if "
          "nothing else needs it");
    }
  }

  // One of the two parts of the primary key; whether columns, order and types are the same.
  bool FindKey(const std::string& part, const std::vector<size_t>& ours,
               const std::vector<ClusterColumn>& theirs) {
    std::string our_names;
    std::string their_names;
    for (const size_t column : ours) {
      our_names += (our_names.empty() ? "" : ", ") + QuoteName(declared_.columns[column].name);
    }
    for (const ClusterColumn& column : theirs) {
      their_names += (their_names.empty() ? "" : ", ") + QuoteName(column.name);
    }
    if (our_names != their_names) {
      SchemaDifference& differs =
          Add(DriftKind::kKey, DriftWeight::kBlocks, "", Concat({"its ", part, " key is (",
              our_names, ") here and (", Printable(their_names), ") in the cluster"}),
              "Keys cannot be altered: create another table, here or there");
      differs.cql = RenamingOf(ours, theirs);
      if (!differs.cql.empty()) {
        differs.advice = "Its columns cannot be altered but for their names: where these are the "
                         "same ones, this statement renames them; else create another table, here "
                         "or there";
      }
      return false;
    }
    bool same = true;
    for (size_t i = 0; i < ours.size(); ++i) {
      const ColumnSpec& column = declared_.columns[ours[i]];
      same &= FindType(column, theirs[i].type, theirs[i].type_text,
                       "Keys cannot be altered: create another table, here or there");
      if (column.descending == theirs[i].descending) continue;
      Add(DriftKind::kClusteringOrder, DriftWeight::kBlocks, column.name, Concat({
          "the clustering order of ", Shown(column.name), " is ",
          (column.descending ? "DESC here and ASC" : "ASC here and DESC"), " in the cluster"}),
          "It cannot be altered: create another table, here or there");
    }
    return same;
  }

  // The statement after which their columns are ours; empty: names are not all that differs.
  [[nodiscard]] std::string RenamingOf(const std::vector<size_t>& ours,
                                       const std::vector<ClusterColumn>& theirs) const {
    if (ours.size() != theirs.size()) return {};
    std::vector<std::pair<std::string, std::string>> names;
    for (size_t i = 0; i < ours.size(); ++i) {
      const ColumnSpec& column = declared_.columns[ours[i]];
      if (theirs[i].type != column.type || theirs[i].descending != column.descending) return {};
      if (theirs[i].name == column.name) continue;
      const bool is_free = cluster_.table->FindColumn(column.name) == nullptr &&
                           !declared_.FindColumn(theirs[i].name).has_value();
      if (!is_free) return {};
      names.emplace_back(theirs[i].name, column.name);
    }
    return RenameColumnsStatement(cluster_.CqlName(), names);
  }

  bool FindType(const ColumnSpec& column, const std::optional<ColumnType>& type,
                const std::string& type_text, const std::string& advice) {
    if (type.has_value() && FitsInto(column.type, *type)) return true;
    if (type.has_value() && type->ToCql() == column.type.ToCql()) {
      FindFieldsThatDiffer(column.name, column.type, *type);
      return false;
    }
    Add(DriftKind::kColumnType, DriftWeight::kBlocks, column.name, Concat({"the column ",
        Shown(column.name), " is ", column.type.ToCql(), " here and ",
        Printable(type_text.substr(0, kTypeShownBytesMax)), " in the cluster"}),
        advice);
    return false;
  }

  // Two types that are written alike: user-defined ones in them have other fields.
  void FindFieldsThatDiffer(const std::string& column, const ColumnType& ours,
                            const ColumnType& theirs) {
    for (size_t i = 0; i < ours.arguments.size() && i < theirs.arguments.size(); ++i) {
      if (FitsInto(ours.arguments[i], theirs.arguments[i])) continue;
      if (ours.arguments[i].ToCql() != theirs.arguments[i].ToCql()) break;
      return FindFieldsThatDiffer(column, ours.arguments[i], theirs.arguments[i]);
    }
    const auto fields = [](const ColumnType& type) {
      return Printable(FieldsText(type).substr(0, kTypeShownBytesMax));
    };
    Add(DriftKind::kColumnType, DriftWeight::kBlocks, column, Concat({"the column ", Shown(column),
        " has values of the type ", Shown(ours.name), ", which is ", fields(ours), " here and ",
        fields(theirs), " in the cluster"}),
        kOtherType);
  }

  // A regular column of ours.
  void FindColumn(const ColumnSpec& column) {
    const ClusterColumn* theirs = cluster_.table->FindColumn(column.name);
    if (theirs == nullptr) return FindMissing(column);
    const bool is_static = theirs->kind == ClusterColumnKind::kStatic;
    if (!is_static && theirs->kind != ClusterColumnKind::kRegular) return;  // a key: said already
    if (is_static != column.is_static) {
      Add(DriftKind::kColumnKind, DriftWeight::kBlocks, column.name, Concat({"the column ",
          Shown(column.name), (is_static ? " is static in the cluster" : " is static here, and not "
          "in the cluster")}),
          is_static ? "The rows of a bucket would overwrite one another's: use another name here "
                      "(`cistern alter`)"
                    : "Columns cannot become static: use another name here (`cistern alter`)");
      return;
    }
    if (!FindType(column, theirs->type, theirs->type_text,
                  "Types cannot be altered: drop the column here and add one of another name "
                  "(`cistern alter`), or create another table there")) {
      return;
    }
    const DroppedColumn* dropped = cluster_.table->FindDropped(column.name);
    if (dropped == nullptr) return;
    const AcceptedDrop drop{Concat({cluster_.keyspace, ".", cluster_.name}), column.name,
                            dropped->dropped_ms};
    Add(DriftKind::kColumnRevived, DriftWeight::kBlocks, column.name, Concat({"the column ",
        Shown(column.name), " was dropped in the cluster at ", TimeText(dropped->dropped_ms),
        " and added again, and hides its values that were written up to then, whenever they "
        "arrive"}),
        Concat({"Sealed buckets with rows of that time are held. Agree that nobody sees these "
            "values there (`cistern sync --accept-hidden ", ShellWord(AcceptedDropText(drop)),
            "`), or have the rows read back (`cistern sync --proof rows`), which holds a bucket "
            "only where a value is hidden"}))
        .drop = drop;
  }

  void FindMissing(const ColumnSpec& column) {
    const DroppedColumn* dropped = cluster_.table->FindDropped(column.name);
    const bool is_another =
        dropped != nullptr &&
        (dropped->is_static != column.is_static || !ComesBack(column.type) ||
         dropped->type != ExpandUserTypes(column.type));
    if (is_another) {
      Add(DriftKind::kColumnGone, DriftWeight::kBlocks, column.name, Concat({"the column ",
          Shown(column.name), " was dropped in the cluster, where it was ",
          (dropped->is_static ? "static " : ""),
          Printable(dropped->type_text.substr(0, kTypeShownBytesMax)), ", and is ",
          (column.is_static ? "static " : ""), column.type.ToCql(), " here"}),
          "The cluster takes the name again as it was only: use another name here "
          "(`cistern alter`)");
      return;
    }
    SchemaDifference& missing =
        Add(DriftKind::kColumnMissing, DriftWeight::kBlocks, column.name, Concat({
            "the cluster has no column ", Shown(column.name), ", which rows may have"}),
            "`cistern schema apply` adds it, or this statement");
    if (dropped != nullptr) {
      missing.what += Concat({"; it was dropped there at ", TimeText(dropped->dropped_ms),
          ", and values written up to then stay hidden when it is back"});
    }
    TableSchema alone;
    alone.columns = {column};
    missing.cql = TypeStatements(UserTypesOf(alone)) +
                  AddColumnsStatement(cluster_.CqlName(), {&column});
    FindOtherTypes(column.name, column.type);
  }

  // The table may be another one than is meant: nothing is added to it.
  void LeaveColumnsForLater() {
    for (SchemaDifference& one : found_) {
      if (one.kind != DriftKind::kColumnMissing) continue;
      one.advice = "It can be added once what else blocks is settled";
      one.cql.clear();
    }
  }

  // A column that the cluster has besides its keys.
  void FindAdded(const ClusterColumn& column) {
    if (declared_.FindColumn(column.name).has_value()) return;
    if (column.kind == ClusterColumnKind::kStatic) {
      Add(DriftKind::kStaticAdded, DriftWeight::kWarns, column.name,
          "the cluster has the static column " + Shown(column.name),
          "It is not written from here, but a delete of a whole bucket deletes it too");
      return;
    }
    const bool was_here = std::any_of(
        all_declared_.begin(), all_declared_.end(),
        [&](const auto& schema) { return schema->FindColumn(column.name).has_value(); });
    Add(DriftKind::kColumnAdded, DriftWeight::kHarmless, column.name, Concat({
        "the cluster has the column ", Shown(column.name),
        (was_here ? ", which was dropped here" : ", which is not declared here")}),
        "Rows that are sent leave it as it is");
  }

  void FindDurability() {
    if (!cluster_.has_keyspace || cluster_.durable_writes) return;
    const std::string keyspace = QuoteName(cluster_.keyspace);
    Add(DriftKind::kDurableWrites, DriftWeight::kWarns, "durable_writes", Concat({"the keyspace ",
        keyspace, " has durable_writes = false"}),
        "What its nodes have acknowledged and not yet flushed is lost when they stop")
        .cql = Concat({"ALTER KEYSPACE ", keyspace, " WITH durable_writes = true;"});
  }

  static std::string TimeText(int64_t ms) {
    std::string text;
    FormatTimeText(ms, TimeUnit::kMillis, &text);
    return text;
  }

  static constexpr size_t kTypeShownBytesMax = 256;
  static constexpr const char* kOtherType =
      "Fields may be added there behind those that it has (ALTER TYPE ... ADD), and here by "
      "`cistern alter`; otherwise use another name here, for the type and for the column";
  const std::span<const std::shared_ptr<const TableSchema>> all_declared_;
  const TableSchema& declared_;  // the last
  const ClusterSchema& cluster_;
  std::vector<SchemaDifference> found_;
};

}  // namespace

std::string SchemaDifference::Text() const {
  std::string text = what;
  if (!advice.empty()) text += ". " + advice;
  if (!cql.empty()) text += ":\n" + cql;
  return text;
}

bool SchemaDifference::NeedsPerson() const {
  switch (kind) {
    case DriftKind::kTableKind:
    case DriftKind::kKey:
    case DriftKind::kClusteringOrder:
    case DriftKind::kColumnType:
    case DriftKind::kColumnKind:
    case DriftKind::kColumnGone:
    case DriftKind::kSplitRule:
    case DriftKind::kTimeUnit:
    case DriftKind::kTimestamps:
    case DriftKind::kRuleUnreadable: return true;
    case DriftKind::kBucketRule: return cql.empty();  // the rules contradict each other
    case DriftKind::kKeyspaceMissing:
    case DriftKind::kTableMissing:
    case DriftKind::kColumnMissing:
    case DriftKind::kColumnRevived:
    case DriftKind::kColumnAdded:
    case DriftKind::kStaticAdded:
    case DriftKind::kRuleMissing:
    case DriftKind::kComment:
    case DriftKind::kDefaultTtl:
    case DriftKind::kGcGrace:
    case DriftKind::kCompaction:
    case DriftKind::kOption:
    case DriftKind::kDurableWrites: break;
  }
  return false;
}

bool SchemaDrift::Has(DriftWeight weight) const {
  return std::any_of(differences.begin(), differences.end(),
                     [weight](const auto& one) { return one.weight == weight; });
}

std::optional<int64_t> SchemaDrift::BlockedFrom() const {
  std::optional<int64_t> from_s;
  for (const SchemaDifference& one : differences) {
    if (one.weight != DriftWeight::kBlocks || one.drop.has_value()) continue;
    from_s = std::min(from_s.value_or(INT64_MAX), one.from_s);
  }
  return from_s;
}

Status SchemaDrift::MaySend(int64_t bucket_begin_s) const {
  std::string reasons;
  const bool blocks_all = BlockedFrom() == INT64_MIN;
  for (const SchemaDifference& one : differences) {
    if (one.weight != DriftWeight::kBlocks || one.drop.has_value()) continue;
    if (bucket_begin_s < one.from_s) continue;
    // Its words tell of buckets that may go; it has its turn once some may.
    if (blocks_all && one.from_s != INT64_MIN) continue;
    if (!reasons.empty()) reasons += reasons.ends_with(';') ? "\n" : ";\n";
    reasons += one.Text();
  }
  if (reasons.empty()) return Status::Ok();
  std::string which = "no rows";
  if (!blocks_all) {
    which += " of buckets from ";
    FormatTimeText(*BlockedFrom(), TimeUnit::kSeconds, &which);
    which += " on";
  }
  return Status::InvalidArgument(Concat({which, " are sent to ", table, ": ", reasons}));
}

void SchemaDrift::Accept(std::span<const AcceptedDrop> drops) {
  for (SchemaDifference& one : differences) {
    if (!one.drop.has_value()) continue;
    const bool is_meant = std::any_of(drops.begin(), drops.end(), [&one](const auto& accepted) {
      return accepted.table == one.drop->table && accepted.column == one.drop->column &&
             accepted.dropped_ms >= one.drop->dropped_ms;
    });
    if (!is_meant) continue;
    one.weight = DriftWeight::kWarns;
    one.advice = "It was agreed that nobody sees these values there; the rest of their rows is "
                 "seen";
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const auto& a, const auto& b) { return a.weight < b.weight; });
}

std::optional<int64_t> SchemaDrift::HiddenUpTo() const {
  std::optional<int64_t> up_to_us;
  for (const SchemaDifference& one : differences) {
    if (one.weight != DriftWeight::kBlocks || !one.drop.has_value()) continue;
    up_to_us = std::max(up_to_us.value_or(INT64_MIN), HidesUpToUs(*one.drop));
  }
  return up_to_us;
}

Status SchemaDrift::CheckShown(int64_t write_us_first) const {
  std::string reasons;
  for (const SchemaDifference& one : differences) {
    if (one.weight != DriftWeight::kBlocks || !one.drop.has_value()) continue;
    if (HidesUpToUs(*one.drop) < write_us_first) continue;
    reasons += (reasons.empty() ? "" : ";\n") + one.Text();
  }
  if (reasons.empty()) return Status::Ok();
  return Status::InvalidArgument(Concat({"some buckets are not sent to ", table, ": ", reasons}));
}

HiddenColumns SchemaDrift::HiddenColumnsOf(const TableSchema& schema) const {
  HiddenColumns hidden;
  for (const SchemaDifference& one : differences) {
    if (!one.drop.has_value()) continue;
    hidden.resize(schema.regular_columns.size());
    for (size_t k = 0; k < hidden.size(); ++k) {
      if (schema.columns[schema.regular_columns[k]].name != one.subject) continue;
      hidden[k] = {HidesUpToUs(*one.drop), one.weight != DriftWeight::kBlocks,
                   AcceptedDropText(*one.drop)};
    }
  }
  return hidden;
}

SchemaDrift CompareSchema(std::span<const std::shared_ptr<const TableSchema>> declared,
                          const ClusterSchema& cluster) {
  return {cluster.CqlName(), DriftFinder(declared, cluster).Find()};
}

}  // namespace cistern::replicate
