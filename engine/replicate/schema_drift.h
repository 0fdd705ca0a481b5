// What differs between a table as it is declared here and as a cluster has it, and what that means
// for sealed buckets that wait. Pure.
//
// Sealed buckets are sent under the table's last declaration, whichever they were written by. So
// that one is compared; those before it only tell what a column upstream was here.
#ifndef CISTERN_ENGINE_REPLICATE_SCHEMA_DRIFT_H_
#define CISTERN_ENGINE_REPLICATE_SCHEMA_DRIFT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/replication_options.h"
#include "cistern/schema.h"
#include "cistern/status.h"
#include "engine/replicate/cluster_schema.h"
#include "engine/replicate/hidden_columns.h"

namespace cistern::replicate {

enum class DriftWeight : uint8_t {
  kBlocks,    // rows would be refused, hidden, or be where no reader looks for them: none may go
  kWarns,     // rows arrive as they are, but the cluster treats them or others in another way
  kHarmless,  // nothing to do with the rows of this table
};

enum class DriftKind : uint8_t {
  kKeyspaceMissing,
  kTableMissing,
  kTableKind,        // a view, a table of counters, COMPACT STORAGE
  kKey,              // other key columns, or in another order
  kClusteringOrder,  // of one column
  kColumnType,
  kColumnKind,       // a column of ours is static upstream
  kColumnMissing,    // ADD makes it
  kColumnGone,       // ADD cannot make it: it was dropped, of another type
  kColumnRevived,    // dropped and added again: values written up to the drop are hidden
  kColumnAdded,      // the cluster has one more
  kStaticAdded,      // and it is static
  kBucketRule,       // width, form or column of the bucket
  kSplitRule,
  kTimeUnit,
  kTimestamps,       // of the write, or of the event
  kRuleUnreadable,   // upstream's comment has a rule that is none
  kRuleMissing,      // upstream's comment has none
  kComment,          // but for the rule
  kDefaultTtl,
  kGcGrace,
  kCompaction,
  kOption,           // any other
  kDurableWrites,
};

// One thing that differs.
struct SchemaDifference {
  DriftKind kind = DriftKind::kOption;
  DriftWeight weight = DriftWeight::kHarmless;
  std::string subject;  // the column or the option; else empty
  std::string what;     // "the column 'state' is a text, and in the cluster a blob"
  std::string advice;   // what to do; may be empty
  std::string cql;      // what to paste into cqlsh; empty where no statement alone is right
  // kBlocks: buckets that begin before this second of event time can go all the same.
  int64_t from_s = INT64_MIN;
  // kColumnRevived: the drop that a person would agree to. Rows that were written up to it are
  // blocked then (accepted_drop.h), and no others.
  std::optional<AcceptedDrop> drop = {};

  // Sentences for a person; with the statement in a line of its own.
  [[nodiscard]] std::string Text() const;
  // No statement that adds or alters something settles it.
  [[nodiscard]] bool NeedsPerson() const;
};

struct SchemaDrift {
  std::string table;  // "plant.readings", for messages
  std::vector<SchemaDifference> differences;  // what blocks first, what is harmless last

  [[nodiscard]] bool Has(DriftWeight weight) const;
  // Whether rows of the bucket that begins at this second of event time may be sent, whenever they
  // were written. kInvalidArgument: all that blocks it, and what to do.
  [[nodiscard]] Status MaySend(int64_t bucket_begin_s) const;
  // From this second of event time on nothing may be sent; INT64_MIN: nothing at all. Nothing: all
  // may go, but for what is hidden.
  [[nodiscard]] std::optional<int64_t> BlockedFrom() const;

  // --- values that the cluster would hide
  // A person has agreed to these: what they hide warns, and blocks no more. Later drops of the same
  // column are not meant.
  void Accept(std::span<const AcceptedDrop> drops);
  // Values that were written up to this timestamp may be hidden, and nobody has agreed to it. No
  // time: all are seen.
  [[nodiscard]] std::optional<int64_t> HiddenUpTo() const;
  // OK: rows with write timestamps from this one on are seen. kInvalidArgument: which column hides
  // them, and what to do.
  [[nodiscard]] Status CheckShown(int64_t write_us_first) const;
  // `schema`: the declared one.
  [[nodiscard]] HiddenColumns HiddenColumnsOf(const TableSchema& schema) const;
};

// `declared`: all declarations that the table had here, oldest first; at least one.
[[nodiscard]] SchemaDrift CompareSchema(
    std::span<const std::shared_ptr<const TableSchema>> declared, const ClusterSchema& cluster);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SCHEMA_DRIFT_H_
