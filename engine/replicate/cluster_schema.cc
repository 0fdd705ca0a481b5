#include "engine/replicate/cluster_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_parser.h"
#include "lib/cql/ddl_print.h"

namespace cistern::replicate {
namespace {

// A column of a key with its place there.
struct PlacedColumn {
  int32_t position = 0;
  ClusterColumn column;
};

// Columns of system_schema.tables that are options of a table too, under the same name. The two
// policies are not here: the cluster keeps them in words of its own ("99p", "50.00ms").
constexpr std::array<std::string_view, 12> kOptionColumns = {
    "allow_auto_snapshot", "bloom_filter_fp_chance", "caching", "cdc", "compression",
    "crc_check_chance", "incremental_backups", "max_index_interval", "memtable",
    "memtable_flush_period_in_ms", "min_index_interval", "read_repair"};

std::string NumberText(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

void ReadOption(SystemRowReader* row, std::string_view column, ClusterTable* table) {
  if (!row->Has(column)) return;
  const std::string_view type = row->TypeOf(column);
  OptionValue value;
  if (type == "text") {
    value.constant = row->Text(column);
  } else if (type == "int") {
    value.constant = std::to_string(row->Int(column));
  } else if (type == "double") {
    value.constant = NumberText(row->Double(column));
  } else if (type == "boolean") {
    value.constant = row->Boolean(column) ? "true" : "false";
  } else if (type == "map<text, text>") {
    value.is_map = true;
    value.entries = row->TextMap(column);
  } else {
    return;  // of a version that we do not know: it says nothing about rows
  }
  table->other_options.emplace(column, std::move(value));
}

bool HasFlag(const std::vector<std::string>& flags, std::string_view flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

uint32_t ReadSeconds(SystemRowReader* row, std::string_view column) {
  const int32_t seconds = row->Int(column);
  if (seconds < 0) row->Fail(Concat({"its ", column, " is ", seconds}));
  return static_cast<uint32_t>(std::max(seconds, 0));
}

// The columns of one table, sorted into its keys.
class ColumnCollector {
 public:
  ColumnCollector(const std::vector<ColumnType>& user_types, ClusterTable* table)
      : user_types_(user_types), table_(table) {}

  void Add(SystemRowReader* row) {
    PlacedColumn placed;
    ClusterColumn& column = placed.column;
    column.name = row->Text("column_name");
    column.type_text = row->Text("type");
    column.type = ParseClusterType(column.type_text, user_types_);
    placed.position = row->Int("position");
    if (column.name.empty() && row->status().ok()) row->Fail("the name of a column is empty");
    ReadKind(row, &column);
    ReadOrder(row, &column);
    switch (column.kind) {
      case ClusterColumnKind::kPartitionKey: partition_key_.push_back(std::move(placed)); break;
      case ClusterColumnKind::kClustering: clustering_.push_back(std::move(placed)); break;
      case ClusterColumnKind::kStatic:
      case ClusterColumnKind::kRegular: table_->others.push_back(std::move(column)); break;
    }
  }

  void Finish(SystemRowReader* row) {
    Place(row, &partition_key_, &table_->partition_key);
    Place(row, &clustering_, &table_->clustering);
    if (table_->partition_key.empty()) row->Fail("no column is of the partition key");
    std::vector<std::string_view> names;
    for (const auto* columns : {&table_->partition_key, &table_->clustering, &table_->others}) {
      for (const ClusterColumn& column : *columns) names.push_back(column.name);
    }
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
      row->Fail(Concat({"the column ", Shown(*twice), " is there twice"}));
    }
    std::sort(table_->others.begin(), table_->others.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }

 private:
  static void ReadKind(SystemRowReader* row, ClusterColumn* column) {
    const std::string kind = row->Text("kind");
    if (kind == "partition_key") {
      column->kind = ClusterColumnKind::kPartitionKey;
    } else if (kind == "clustering") {
      column->kind = ClusterColumnKind::kClustering;
    } else if (kind == "static") {
      column->kind = ClusterColumnKind::kStatic;
    } else if (kind != "regular") {
      row->Fail("the kind of a column is " + Shown(kind));
    }
  }

  static void ReadOrder(SystemRowReader* row, ClusterColumn* column) {
    const std::string order = row->Text("clustering_order");
    column->descending = order == "desc";
    const bool is_clustering = column->kind == ClusterColumnKind::kClustering;
    const bool known = is_clustering ? order == "asc" || order == "desc" : order == "none";
    if (!known) row->Fail("the clustering_order of a column is " + Shown(order));
  }

  // The positions of a key are 0, 1, ... each once.
  static void Place(SystemRowReader* row, std::vector<PlacedColumn>* placed,
                    std::vector<ClusterColumn>* key) {
    std::sort(placed->begin(), placed->end(),
              [](const auto& a, const auto& b) { return a.position < b.position; });
    for (PlacedColumn& one : *placed) {
      if (one.position != static_cast<int32_t>(key->size())) {
        row->Fail("the positions of a key's columns are not 0, 1 and so on");
      }
      key->push_back(std::move(one.column));
    }
  }

  const std::vector<ColumnType>& user_types_;
  ClusterTable* table_;
  std::vector<PlacedColumn> partition_key_;
  std::vector<PlacedColumn> clustering_;
};

class SchemaAnswerReader {
 public:
  SchemaAnswerReader(std::string_view keyspace, std::string_view table,
                     const SchemaAnswers& answers)
      : answers_(answers) {
    schema_.keyspace = keyspace;
    schema_.name = table;
  }

  Result<ClusterSchema> Read() {
    CISTERN_RETURN_IF_ERROR(CheckSizes());
    CISTERN_RETURN_IF_ERROR(ReadKeyspace());
    CISTERN_RETURN_IF_ERROR(ReadTypes());
    CISTERN_RETURN_IF_ERROR(ReadViews());
    CISTERN_RETURN_IF_ERROR(ReadTable());
    if (schema_.table.has_value()) {
      CISTERN_RETURN_IF_ERROR(ReadColumns());
      CISTERN_RETURN_IF_ERROR(ReadDropped());
    }
    return std::move(schema_);
  }

 private:
  [[nodiscard]] Status CheckSizes() const {
    for (const SystemRows* rows : {&answers_.columns, &answers_.dropped_columns}) {
      if (rows->rows.size() <= limits::kClusterColumnsMax) continue;
      return Status::TooLarge(Concat({"the cluster's table ", schema_.CqlName(), " has ",
          rows->rows.size(), " columns; at most ", limits::kClusterColumnsMax, " are read"}));
    }
    return Status::Ok();
  }

  // Whether the row is of the keyspace that was asked for, and of the table.
  void CheckNames(SystemRowReader* row, std::string_view table_column) const {
    if (row->Text("keyspace_name") != schema_.keyspace) row->Fail("it is of another keyspace");
    if (table_column.empty()) return;
    if (row->Text(table_column) != schema_.name) row->Fail("it is of another table");
  }

  Status ReadKeyspace() {
    SystemRowReader row("system_schema.keyspaces", answers_.keyspaces);
    while (row.Next()) {
      CheckNames(&row, {});
      if (schema_.has_keyspace) row.Fail("there are two of one keyspace");
      schema_.has_keyspace = true;
      schema_.replication = row.TextMap("replication");
      schema_.durable_writes = row.Boolean("durable_writes");
    }
    return row.status();
  }

  // A user-defined type with the texts of its fields' types.
  struct RawType {
    ColumnType type;
    std::string field_types;  // "int, frozen<list<text>>"
  };

  Status ReadTypes() {
    std::vector<RawType> raw;
    SystemRowReader row("system_schema.types", answers_.types);
    while (row.Next()) {
      CheckNames(&row, {});
      RawType& one = raw.emplace_back();
      one.type.kind = CqlType::kUserType;
      one.type.name = row.Text("type_name");
      one.type.field_names = row.TextList("field_names");
      for (const std::string& text : row.TextList("field_types")) {
        one.field_types += (one.field_types.empty() ? "" : ", ") + text;
      }
    }
    if (raw.size() <= limits::kUserTypesMax) Resolve(std::move(raw));
    return row.status();
  }

  // Types that others consist of come first. Those that are left name what Cistern does not have.
  void Resolve(std::vector<RawType> raw) {
    for (bool is_stuck = false; !is_stuck;) {
      is_stuck = true;
      std::vector<RawType> left;
      for (RawType& one : raw) {
        // All that is inside of a frozen type is frozen, whether it says so or not: as in a tuple.
        const auto fields = ParseClusterType(Concat({"frozen<tuple<", one.field_types, ">>"}),
                                             schema_.user_types);
        if (!fields || fields->arguments.size() != one.type.field_names.size()) {
          left.push_back(std::move(one));
          continue;
        }
        one.type.arguments = fields->arguments;
        schema_.user_types.push_back(std::move(one.type));
        is_stuck = false;
      }
      raw = std::move(left);
    }
  }

  Status ReadViews() {
    SystemRowReader row("system_schema.views", answers_.views);
    while (row.Next()) {
      CheckNames(&row, "view_name");
      schema_.is_view = true;
    }
    return row.status();
  }

  Status ReadTable() {
    SystemRowReader row("system_schema.tables", answers_.tables);
    while (row.Next()) {
      CheckNames(&row, "table_name");
      if (schema_.table.has_value()) row.Fail("there are two of one table");
      if (!schema_.has_keyspace) row.Fail("its keyspace is not in system_schema.keyspaces");
      ClusterTable& table = schema_.table.emplace();
      table.id = row.Uuid("id");
      const std::vector<std::string> flags = row.TextSet("flags");
      table.is_counter = HasFlag(flags, "counter");
      table.is_compact =
          HasFlag(flags, "dense") || HasFlag(flags, "super") || !HasFlag(flags, "compound");
      table.default_ttl_s = ReadSeconds(&row, "default_time_to_live");
      table.gc_grace_s = ReadSeconds(&row, "gc_grace_seconds");
      table.compaction = row.TextMap("compaction");
      table.comment = row.Text("comment");
      for (const std::string_view column : kOptionColumns) ReadOption(&row, column, &table);
    }
    return row.status();
  }

  Status ReadColumns() {
    SystemRowReader row("system_schema.columns", answers_.columns);
    ColumnCollector collector(schema_.user_types, &*schema_.table);
    while (row.Next()) {
      CheckNames(&row, "table_name");
      collector.Add(&row);
    }
    collector.Finish(&row);
    return row.status();
  }

  Status ReadDropped() {
    SystemRowReader row("system_schema.dropped_columns", answers_.dropped_columns);
    while (row.Next()) {
      CheckNames(&row, "table_name");
      DroppedColumn& dropped = schema_.table->dropped.emplace_back();
      dropped.name = row.Text("column_name");
      dropped.is_static = row.Text("kind") == "static";
      dropped.type_text = row.Text("type");
      dropped.type = ParseClusterType(dropped.type_text, schema_.user_types);
      dropped.dropped_ms = row.TimestampMs("dropped_time");
    }
    return row.status();
  }

  const SchemaAnswers& answers_;
  ClusterSchema schema_;
};

}  // namespace

const ClusterColumn* ClusterTable::FindColumn(std::string_view column_name) const {
  for (const auto* columns : {&partition_key, &clustering, &others}) {
    for (const ClusterColumn& column : *columns) {
      if (column.name == column_name) return &column;
    }
  }
  return nullptr;
}

const DroppedColumn* ClusterTable::FindDropped(std::string_view column_name) const {
  for (const DroppedColumn& column : dropped) {
    if (column.name == column_name) return &column;
  }
  return nullptr;
}

std::string ClusterSchema::CqlName() const {
  return Concat({QuoteName(keyspace), ".", QuoteName(name)});
}

const ColumnType* ClusterSchema::FindUserType(std::string_view type_name) const {
  for (const ColumnType& type : user_types) {
    if (type.name == type_name) return &type;
  }
  return nullptr;
}

SchemaQueries MakeSchemaQueries(std::string_view keyspace, std::string_view table) {
  const auto query = [&](std::string_view from, std::string_view name_column) {
    std::string text = Concat({"SELECT * FROM system_schema.", from, " WHERE keyspace_name = ",
        QuoteString(keyspace)});
    if (!name_column.empty()) {
      text += Concat({" AND ", name_column, " = ", QuoteString(table)});
    }
    return text;
  };
  return {query("keyspaces", ""), query("types", ""), query("tables", "table_name"),
          query("columns", "table_name"), query("dropped_columns", "table_name"),
          query("views", "view_name")};
}

Result<ClusterSchema> ReadClusterSchema(std::string_view keyspace, std::string_view table,
                                        const SchemaAnswers& answers) {
  return SchemaAnswerReader(keyspace, table, answers).Read();
}

std::optional<ColumnType> ParseClusterType(std::string_view text,
                                           std::span<const ColumnType> user_types) {
  if (text.size() > limits::kClusterTypeBytesMax) return std::nullopt;
  // A type is parsed where DDL has one. What would reach beyond it leaves another shape behind.
  const auto parsed =
      ParseDdl(Concat({"CREATE TABLE t (c ", text, ", PRIMARY KEY ((c)))"}), user_types);
  if (!parsed.ok() || parsed->columns.size() != 1) return std::nullopt;
  if (parsed->columns.front().static_offset != 0) return std::nullopt;
  return parsed->columns.front().type;
}

}  // namespace cistern::replicate
