#include "lib/cql/schema_check.h"

#include <algorithm>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/base/guard.h"
#include "lib/cql/bucket_rule.h"
#include "lib/cql/comment_rule.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_lexer.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/table_options.h"
#include "lib/cql/wire_value.h"

namespace cistern {
namespace {

constexpr std::string_view kKeyShape = "PRIMARY KEY ((entity, bucket), event_time)";

class SchemaChecker {
 public:
  SchemaChecker(std::string_view source, const DdlTable& ddl)
      : source_(source), ddl_(ddl), schema_(std::make_shared<TableSchema>()) {}

  Result<std::shared_ptr<const TableSchema>> Check() {
    CISTERN_RETURN_IF_ERROR(CheckUserTypes());
    CISTERN_RETURN_IF_ERROR(TakeTableName());
    CISTERN_RETURN_IF_ERROR(TakeColumns());
    CISTERN_RETURN_IF_ERROR(TakeKeys());
    CISTERN_RETURN_IF_ERROR(TakeOrder());
    Token comment;
    CISTERN_RETURN_IF_ERROR(TakeTableOptions(source_, ddl_.options, schema_.get(), &comment));
    CISTERN_ASSIGN_OR_RETURN(const CommentRule rule, ParseCommentRule(source_, comment));
    CISTERN_RETURN_IF_ERROR(TakeSplit(rule));
    CISTERN_RETURN_IF_ERROR(TakeBucket(rule));
    CISTERN_RETURN_IF_ERROR(TakeTime(rule));
    CISTERN_RETURN_IF_ERROR(TakeRoles());
    CISTERN_RETURN_IF_ERROR(CheckMulticell());
    CISTERN_RETURN_IF_ERROR(CheckStatic());
    return std::shared_ptr<const TableSchema>(std::move(schema_));
  }

 private:
  [[nodiscard]] Status Invalid(size_t offset, const std::string& what) const {
    return ErrorAt(StatusCode::kInvalidArgument, source_, offset, what);
  }
  [[nodiscard]] CqlType TypeOf(size_t column) const { return schema_->columns[column].type.kind; }
  [[nodiscard]] std::string NameOf(size_t column) const {
    return Concat({"column '", schema_->columns[column].name, "'"});
  }

  Status CheckName(const DdlName& name, const std::string& of) const {
    if (name.text.empty()) return Invalid(name.offset, Concat({"the name of ", of, " is empty"}));
    if (name.text.size() > limits::kNameBytesMax) {
      return ErrorAt(StatusCode::kTooLarge, source_, name.offset, Concat({"the name of ", of,
          " has ", name.text.size(), " bytes, at most ", limits::kNameBytesMax, " are allowed"}));
    }
    const bool control = std::any_of(name.text.begin(), name.text.end(),
                                     [](char c) { return c >= 0 && (c < ' ' || c == 0x7f); });
    if (control || !IsUtf8(name.text)) {
      return Invalid(name.offset, Concat({"the name of ", of, " must be UTF-8 without control "
          "characters"}));
    }
    return Status::Ok();
  }

  Status CheckUserTypes() const {
    for (const DdlUserType& user : ddl_.types) {
      CISTERN_RETURN_IF_ERROR(CheckName(user.name, "a type"));
      for (const DdlName& field : user.fields) {
        CISTERN_RETURN_IF_ERROR(CheckName(field, "a field"));
      }
      // Those of other keyspaces are of other tables, in a file of several.
      const bool is_foreign = !user.keyspace.text.empty() && ddl_.keyspace.text.empty();
      if (!is_foreign || !IsUsed(user.name.text)) continue;
      return Invalid(user.keyspace.offset, Concat({"the type '", user.name.text,
          "' is in keyspace ", user.keyspace.text, ", and the table in none: both have to say the "
          "same"}));
    }
    return Status::Ok();
  }

  [[nodiscard]] bool IsUsed(std::string_view user_type) const {
    return std::any_of(ddl_.columns.begin(), ddl_.columns.end(), [&](const DdlColumn& column) {
      return Mentions(column.type, user_type);
    });
  }
  [[nodiscard]] static bool Mentions(const ColumnType& type, std::string_view user_type) {
    return type.name == user_type ||
           std::any_of(type.arguments.begin(), type.arguments.end(),
                       [&](const ColumnType& inside) { return Mentions(inside, user_type); });
  }

  Status TakeTableName() {
    for (const DdlName* name : {&ddl_.keyspace, &ddl_.name}) {
      const std::string of = name == &ddl_.name ? "the table" : "the keyspace";
      if (name == &ddl_.keyspace && name->text.empty() && name->offset == 0) continue;  // not given
      CISTERN_RETURN_IF_ERROR(CheckName(*name, of));
      if (!std::ranges::all_of(name->text, IsNamePart)) {
        return Invalid(name->offset, Concat({"the name of ", of, " may have letters, digits and "
            "'_' only"}));
      }
    }
    schema_->keyspace = ddl_.keyspace.text;
    schema_->name = ddl_.name.text;
    return Status::Ok();
  }

  Status TakeColumns() {
    for (const DdlColumn& column : ddl_.columns) {
      CISTERN_RETURN_IF_ERROR(CheckName(column.name, "a column"));
      if (schema_->FindColumn(column.name.text).has_value()) {
        return Invalid(column.name.offset, Concat({"the column '", column.name.text,
            "' is declared twice"}));
      }
      ColumnSpec spec;
      spec.name = column.name.text;
      spec.type = column.type;
      spec.is_static = column.static_offset != 0;
      schema_->columns.push_back(std::move(spec));
    }
    return Status::Ok();
  }

  // Finds a key's column and refuses those that cannot be in a key.
  Status TakeKeyColumn(const DdlName& name, ColumnRole role, std::vector<size_t>* key) {
    const std::optional<size_t> column = schema_->FindColumn(name.text);
    if (!column.has_value()) {
      return Invalid(name.offset, Concat({"the primary key names '", name.text,
          "', which is not a column"}));
    }
    ColumnSpec& spec = schema_->columns[*column];
    if (spec.role != ColumnRole::kRegular) {
      return Invalid(name.offset, Concat({"the primary key names '", name.text, "' twice"}));
    }
    if (spec.is_static) {
      return Invalid(name.offset, Concat({NameOf(*column), " is static and cannot be in a key"}));
    }
    if (IsOpaque(spec.type.kind)) {
      return ErrorAt(StatusCode::kNotSupported, source_, name.offset, Concat({NameOf(*column),
          " is a ", spec.type.ToCql(), ": values of this type are not ordered here and cannot be "
          "in a key"}));
    }
    spec.role = role;
    key->push_back(*column);
    return Status::Ok();
  }

  Status TakeKeys() {
    for (const DdlName& name : ddl_.partition_key) {
      CISTERN_RETURN_IF_ERROR(TakeKeyColumn(name, ColumnRole::kEntity, &schema_->partition_key));
    }
    for (const DdlName& name : ddl_.clustering_key) {
      CISTERN_RETURN_IF_ERROR(
          TakeKeyColumn(name, ColumnRole::kClustering, &schema_->clustering_columns));
    }
    if (schema_->partition_key.size() < 2) {
      return Invalid(ddl_.partition_key.front().offset,
                     "the partition key needs an entity and a bucket column: expected " +
                         std::string(kKeyShape));
    }
    if (schema_->clustering_columns.empty()) {
      return Invalid(
          ddl_.partition_key.back().offset,
          "the first clustering column is the event time: expected " + std::string(kKeyShape));
    }
    return Status::Ok();
  }

  // Cassandra wants every clustering column, in key order, or no CLUSTERING ORDER at all.
  Status TakeOrder() {
    for (size_t i = 0; i < ddl_.order.size(); ++i) {
      const DdlOrder& order = ddl_.order[i];
      const bool more = i < schema_->clustering_columns.size();
      if (!more || schema_->columns[schema_->clustering_columns[i]].name != order.column.text) {
        return Invalid(order.column.offset, Concat({"CLUSTERING ORDER BY names the clustering "
            "columns in key order: expected ",
            (more ? "'" + schema_->columns[schema_->clustering_columns[i]].name + "'"
                  : std::string("')'")),
            ", got '", order.column.text, "'"}));
      }
      schema_->columns[schema_->clustering_columns[i]].descending = order.descending;
    }
    if (!ddl_.order.empty() && ddl_.order.size() < schema_->clustering_columns.size()) {
      return Invalid(ddl_.order_offset, "CLUSTERING ORDER BY leaves out " +
                                            NameOf(schema_->clustering_columns[ddl_.order.size()]));
    }
    return Status::Ok();
  }

  // The partition-key column that a clause of the comment names.
  Status FindKeyColumn(const DdlName& name, size_t* out) const {
    const std::optional<size_t> column = schema_->FindColumn(name.text);
    if (!column.has_value() || schema_->columns[*column].role != ColumnRole::kEntity) {
      return Invalid(name.offset, Concat({"expected a column of the partition key, got '",
          name.text, "'"}));
    }
    *out = *column;
    return Status::Ok();
  }

  Status TakeSplit(const CommentRule& rule) {
    if (!rule.split.has_value()) return Status::Ok();
    size_t column = 0;
    CISTERN_RETURN_IF_ERROR(FindKeyColumn(rule.split->column, &column));
    if (!IsInteger(TypeOf(column))) {
      return Invalid(rule.split->column.offset, Concat({"a split column is a tinyint, smallint, "
          "int or bigint, but ", NameOf(column), " is a ", schema_->columns[column].type.ToCql()}));
    }
    if (int64_t{rule.split->rule.count} - 1 > FixedRangeOf(TypeOf(column)).max) {
      return Invalid(rule.split->column.offset, Concat({rule.split->rule.count,
          " splits do not fit ", NameOf(column), ", a ", schema_->columns[column].type.ToCql()}));
    }
    schema_->columns[column].role = ColumnRole::kSplit;
    schema_->split_column = column;
    schema_->split = rule.split->rule;
    return Status::Ok();
  }

  Status TakeBucket(const CommentRule& rule) {
    size_t column = 0;
    if (!rule.bucket.has_value()) {
      CISTERN_RETURN_IF_ERROR(InferBucket(&column));
    } else {
      CISTERN_RETURN_IF_ERROR(FindKeyColumn(rule.bucket->column, &column));
      for (const CommentRule::Width& width : rule.bucket->widths) {
        CISTERN_RETURN_IF_ERROR(TakeWidth(width, column));
      }
      CISTERN_RETURN_IF_ERROR(CheckWidths(rule.bucket->widths));
    }
    schema_->columns[column].role = ColumnRole::kBucket;
    schema_->bucket_column = column;
    return Status::Ok();
  }

  // The last one holds from now on, those before until their dates.
  Status TakeWidth(const CommentRule::Width& width, size_t column) {
    auto made = MakeBucketRule(TypeOf(column), width.unit, width.count, width.form);
    if (!made.ok()) {
      return Invalid(width.offset, Concat({NameOf(column), ": ", made.status().message()}));
    }
    schema_->bucket = *made;
    if (width.until_offset != 0) schema_->former_buckets.push_back({*made, width.until_s});
    return Status::Ok();
  }

  // A bucket is in one width only, and its value names it whatever the width.
  Status CheckWidths(const std::vector<CommentRule::Width>& widths) const {
    const std::vector<FormerBucketRule>& former = schema_->former_buckets;
    for (size_t i = 0; i < former.size(); ++i) {
      const BucketRule& next = i + 1 < former.size() ? former[i + 1].rule : schema_->bucket;
      if (former[i].rule.encoding == BucketEncoding::kSinceEpoch ||
          next.encoding == BucketEncoding::kSinceEpoch) {
        return Invalid(widths[i].until_offset,
                       "a count since 1970 ('as epoch') cannot have widths that follow one "
                       "another: the same number would be two buckets");
      }
      if (former[i].rule == next) {
        return Invalid(widths[i + 1].offset, "the width is the same as before: " + WidthText(next));
      }
      if (i > 0 && former[i].until_s <= former[i - 1].until_s) {
        return Invalid(widths[i].until_offset, "the dates after 'until' must rise");
      }
      for (const BucketRule& rule : {former[i].rule, next}) {
        if (IsBucketStart(rule, former[i].until_s)) continue;
        return Invalid(widths[i].until_offset, Concat({"on the date after 'until' a bucket of "
            "both widths must begin, and none of ", WidthText(rule), " does"}));
      }
    }
    return CheckNumbersDiffer(widths);
  }

  // Texts have another length for each unit. So have numbers of the calendar, with years of four
  // digits, except weeks and months: 202702 is one of each.
  Status CheckNumbersDiffer(const std::vector<CommentRule::Width>& widths) const {
    if (schema_->bucket.encoding != BucketEncoding::kCalendarNumber) return Status::Ok();
    const auto is_of = [](BucketUnit unit) {
      return [unit](const CommentRule::Width& width) { return width.unit == unit; };
    };
    const auto week = std::find_if(widths.begin(), widths.end(), is_of(BucketUnit::kIsoWeek));
    const auto month = std::find_if(widths.begin(), widths.end(), is_of(BucketUnit::kMonth));
    if (week == widths.end() || month == widths.end()) return Status::Ok();
    return Invalid(std::max(week, month)->offset,
                   "weeks and months 'as calendar' cannot be widths of one table: 202702 would be "
                   "a week and a month");
  }

  // Without a bucket clause only the last column of the partition key can be the bucket.
  Status InferBucket(size_t* out) {
    std::vector<size_t> candidates = schema_->partition_key;
    std::erase_if(candidates, [this](size_t c) { return schema_->split_column == c; });
    const size_t last = candidates.back();
    const ColumnSpec& spec = schema_->columns[last];
    if (const auto rule = InferBucketRule(spec.type.kind, spec.name)) {
      schema_->bucket = *rule;
      *out = last;
      return Status::Ok();
    }
    const size_t offset = ddl_.partition_key.back().offset;
    if (!IsBucketType(spec.type.kind)) {
      return Invalid(offset, Concat({"no bucket column: the last column of the partition key, '",
          spec.name, "', is a ", spec.type.ToCql(), ", but a bucket is a date, timestamp, text, "
          "int or bigint"}));
    }
    return Invalid(offset, Concat({"which column is the bucket, and how wide? It does not follow "
        "from ", NameOf(last), " of type ", spec.type.ToCql(), "; say it in the table's comment, "
        "for example: comment = ",
        QuoteString("cistern: " + ExampleClause(spec.type.kind, spec.name))}));
  }

  Status TakeTime(const CommentRule& rule) {
    const size_t column = schema_->time_column();
    const CqlType type = TypeOf(column);
    const std::string& name = schema_->columns[column].name;
    const DdlName& key_name = ddl_.clustering_key.front();
    if (type != CqlType::kTimestamp && type != CqlType::kTimeuuid && type != CqlType::kBigint) {
      return Invalid(key_name.offset, Concat({"the first clustering column is the event time and "
          "must be a timestamp, timeuuid or bigint, but ", NameOf(column), " is a ",
          schema_->columns[column].type.ToCql()}));
    }
    schema_->time_unit = type == CqlType::kTimeuuid ? TimeUnit::kTicks100ns : TimeUnit::kMillis;
    schema_->timestamps = rule.timestamps.value_or(TimestampMode::kWriteTime);
    if (!rule.time.has_value()) {
      if (type != CqlType::kBigint) return Status::Ok();
      return Invalid(key_name.offset, Concat({"the unit of the bigint event time '", name,
          "' must be in the table's comment, for example: ",
          QuoteString(Concat({"cistern: time ", QuoteName(name), " = us"})),
          " (s, ms, us or ns)"}));
    }
    if (rule.time->column.text != name) {
      return Invalid(rule.time->column.offset, Concat({"expected the event time '", name,
          "', got '", rule.time->column.text, "'"}));
    }
    if (type == CqlType::kTimeuuid) {
      return Invalid(rule.time->unit_offset,
                     "a timeuuid has its own unit; leave the time clause out");
    }
    if (type == CqlType::kTimestamp && rule.time->unit != TimeUnit::kMillis) {
      return Invalid(rule.time->unit_offset,
                     "a timestamp counts milliseconds; use a bigint for another unit");
    }
    schema_->time_unit = rule.time->unit;
    return Status::Ok();
  }

  Status TakeRoles() {
    for (const size_t column : schema_->partition_key) {
      if (schema_->columns[column].role == ColumnRole::kEntity) {
        schema_->entity_columns.push_back(column);
      }
    }
    if (schema_->entity_columns.empty()) {
      return Invalid(ddl_.partition_key.front().offset,
                     "the partition key has no entity column beside bucket and split: expected " +
                         std::string(kKeyShape));
    }
    for (size_t i = 0; i < schema_->columns.size(); ++i) {
      if (schema_->columns[i].role == ColumnRole::kRegular) schema_->regular_columns.push_back(i);
    }
    return Status::Ok();
  }

  // Upstream a value replaces what is older than it. Of two of one timestamp all elements stay.
  Status CheckMulticell() const {
    if (schema_->timestamps != TimestampMode::kEventTime) return Status::Ok();
    for (const size_t column : schema_->regular_columns) {
      const ColumnType& type = schema_->columns[column].type;
      if (!type.is_multicell) continue;
      return Invalid(ddl_.columns[column].type_offset, Concat({NameOf(column), " must be frozen<",
          type.ToCql(), "> where timestamps = event: all writes of a row have one timestamp there, "
          "and Cassandra would mix the elements of two"}));
    }
    return Status::Ok();
  }

  // Rows of a bucket may share a write timestamp (docs/schema.md), so that of two values of one
  // batch the larger would stay upstream, not the later. Those of events tell them apart.
  Status CheckStatic() const {
    const DdlColumn* first = nullptr;
    bool has_other = false;
    for (const size_t column : schema_->regular_columns) {
      has_other |= !schema_->columns[column].is_static;
      if (schema_->columns[column].is_static && first == nullptr) first = &ddl_.columns[column];
    }
    if (first == nullptr) return Status::Ok();
    if (schema_->timestamps != TimestampMode::kEventTime) {
      return ErrorAt(StatusCode::kNotSupported, source_, first->static_offset, Concat({
          "the static column '", first->name.text, "' needs timestamps = event in the comment: "
          "rows that are written together may have one timestamp otherwise, and the cluster would "
          "keep the larger of their values. Or leave it out: rows leave it as it is"}));
    }
    if (has_other) return Status::Ok();
    return Invalid(first->static_offset, "a table needs a column that is neither static nor of its "
                                         "key");
  }

  std::string_view source_;
  const DdlTable& ddl_;
  std::shared_ptr<TableSchema> schema_;
};

}  // namespace

Result<std::shared_ptr<const TableSchema>> CheckSchema(std::string_view source,
                                                       const DdlTable& ddl) {
  return SchemaChecker(source, ddl).Check();
}

namespace {

Result<DdlTable> ParseBounded(std::string_view cql) {
  if (cql.size() > limits::kDdlBytesMax) {
    return Status::TooLarge(Concat({"a CREATE TABLE text has at most ", limits::kDdlBytesMax,
        " bytes, got ", cql.size()}));
  }
  return ParseDdl(cql);
}

}  // namespace

Result<std::shared_ptr<const TableSchema>> ParseCreateTable(std::string_view cql) {
  return Guarded([&]() -> Result<std::shared_ptr<const TableSchema>> {
    CISTERN_ASSIGN_OR_RETURN(const DdlTable ddl, ParseBounded(cql));
    CISTERN_RETURN_IF_ERROR(CheckOptionNames(cql, ddl.options));
    CISTERN_ASSIGN_OR_RETURN(auto schema, CheckSchema(cql, ddl));
    // It is read again as it is printed, which may be longer: frozen<a> for a field of type a.
    const size_t printed_bytes = schema->ToCql().size();
    if (printed_bytes > limits::kDdlBytesMax) {
      return Status::TooLarge(Concat({"the table has ", printed_bytes, " bytes with its types and "
          "options written out; at most ", limits::kDdlBytesMax, " are allowed"}));
    }
    return schema;
  });
}

Result<std::shared_ptr<const TableSchema>> ParseStoredTable(std::string_view cql) {
  CISTERN_ASSIGN_OR_RETURN(const DdlTable ddl, ParseBounded(cql));
  return CheckSchema(cql, ddl);
}

}  // namespace cistern
