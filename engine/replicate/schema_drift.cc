#include "engine/replicate/schema_drift.h"

#include <algorithm>
#include <utility>

#include "engine/replicate/option_drift.h"
#include "engine/replicate/rule_drift.h"
#include "engine/replicate/schema_statements.h"
#include "lib/base/concat.h"
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
      Add(DriftKind::kTableMissing, DriftWeight::kBlocks, "",
          "the cluster has no table " + cluster_.CqlName(),
          "`cistern schema apply` creates it, or this statement")
          .cql = CreateTableStatement(cluster_.keyspace, declared_);
      return false;
    }
    return true;
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
    if (type == column.type) return true;
    Add(DriftKind::kColumnType, DriftWeight::kBlocks, column.name, Concat({"the column ",
        Shown(column.name), " is ", column.type.ToCql(), " here and ",
        Printable(type_text.substr(0, kTypeShownBytesMax)), " in the cluster"}),
        advice);
    return false;
  }

  // A regular column of ours.
  void FindColumn(const ColumnSpec& column) {
    const ClusterColumn* theirs = cluster_.table->FindColumn(column.name);
    if (theirs == nullptr) return FindMissing(column);
    if (theirs->kind == ClusterColumnKind::kStatic) {
      Add(DriftKind::kColumnKind, DriftWeight::kBlocks, column.name, Concat({"the column ",
          Shown(column.name), " is static in the cluster"}),
          "The rows of a bucket would overwrite one another's: use another name here "
          "(`cistern alter`)");
      return;
    }
    if (theirs->kind != ClusterColumnKind::kRegular) return;  // the keys differ: said already
    if (!FindType(column, theirs->type, theirs->type_text,
                  "Types cannot be altered: drop the column here and add one of another name "
                  "(`cistern alter`), or create another table there")) {
      return;
    }
    const DroppedColumn* dropped = cluster_.table->FindDropped(column.name);
    if (dropped == nullptr) return;
    Add(DriftKind::kColumnRevived, DriftWeight::kWarns, column.name, Concat({"the column ",
        Shown(column.name), " was dropped in the cluster at ", TimeText(dropped->dropped_ms),
        " and added again"}),
        "The cluster hides its values that were written up to then, also those that are still to "
        "be sent; the rest of their rows is seen");
  }

  void FindMissing(const ColumnSpec& column) {
    const DroppedColumn* dropped = cluster_.table->FindDropped(column.name);
    if (dropped != nullptr && (dropped->is_static || dropped->type != column.type)) {
      Add(DriftKind::kColumnGone, DriftWeight::kBlocks, column.name, Concat({"the column ",
          Shown(column.name), " was dropped in the cluster, where it was ",
          (dropped->is_static ? "static " : ""),
          Printable(dropped->type_text.substr(0, kTypeShownBytesMax)), ", and is ",
          column.type.ToCql(), " here"}),
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
    missing.cql = AddColumnsStatement(cluster_.CqlName(), {&column});
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
    if (one.weight != DriftWeight::kBlocks) continue;
    from_s = std::min(from_s.value_or(INT64_MAX), one.from_s);
  }
  return from_s;
}

Status SchemaDrift::MaySend(int64_t bucket_begin_s) const {
  std::string reasons;
  const bool blocks_all = BlockedFrom() == INT64_MIN;
  for (const SchemaDifference& one : differences) {
    if (one.weight != DriftWeight::kBlocks || bucket_begin_s < one.from_s) continue;
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

SchemaDrift CompareSchema(std::span<const std::shared_ptr<const TableSchema>> declared,
                          const ClusterSchema& cluster) {
  return {cluster.CqlName(), DriftFinder(declared, cluster).Find()};
}

}  // namespace cistern::replicate
