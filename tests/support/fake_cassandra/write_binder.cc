#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "lib/base/check.h"
#include "lib/cql/wire_value.h"
#include "tests/support/fake_cassandra/prepared_statement.h"

namespace cistern::fake_cassandra {
namespace {

using testing::SentValue;
using Kind = Statement::Kind;
using Operator = Relation::Operator;

int64_t BigEndian(const std::string& bytes) {
  uint64_t value = bytes.empty() || static_cast<int8_t>(bytes[0]) >= 0 ? 0 : ~uint64_t{0};
  for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return static_cast<int64_t>(value);
}

// Which rows of the partition a statement names.
struct RowSelection {
  std::vector<ClusteringKey> prefixes{{}};  // all columns: rows
  std::optional<RangeBound> lower;
  std::optional<RangeBound> upper;
  [[nodiscard]] bool has_bounds() const { return lower.has_value() || upper.has_value(); }
};

class WriteBinder {
 public:
  WriteBinder(const PreparedStatement& prepared, Values values, const WriteContext& context)
      : prepared_(prepared), statement_(prepared.statement), table_(*prepared.table),
        values_(values), context_(context) {}

  Result<Mutation> Bind() {
    CISTERN_ASSIGN_OR_RETURN(timestamp_us_, Timestamp());
    CISTERN_ASSIGN_OR_RETURN(ttl_s_, Ttl());
    Mutation out{prepared_.table, {}, Partition(table_.order)};
    CISTERN_ASSIGN_OR_RETURN(out.partition_key, PartitionKeyOf());
    CISTERN_ASSIGN_OR_RETURN(const RowSelection rows, Rows());
    if (statement_.kind == Kind::kDelete && statement_.deleted_columns.empty()) {
      Delete(rows, &out.change);
      return out;
    }
    CISTERN_ASSIGN_OR_RETURN(StoredRow row, Cells());
    out.change.MergeStatics(TakeStatics(&row));
    for (const ClusteringKey& key : rows.prefixes) {
      if (key.size() != table_.clustering_count || rows.has_bounds()) {
        return Status::InvalidArgument("Slice restrictions are not supported on the clustering "
                                       "columns in UPDATE statements");
      }
      out.change.MergeRow(key, row);
    }
    return out;
  }

 private:
  Result<int64_t> Timestamp() const {
    const int64_t fallback = context_.default_timestamp_us.value_or(context_.server_now_us);
    if (!statement_.timestamp.has_value()) return fallback;
    CISTERN_ASSIGN_OR_RETURN(
        const SentValue value,
        Evaluate(*statement_.timestamp, ColumnType{CqlType::kBigint, {}}, values_));
    if (value.kind == SentValue::Kind::kUnset) return fallback;
    if (value.kind == SentValue::Kind::kNull) {
      return Status::InvalidArgument("Invalid null value of timestamp");
    }
    const int64_t timestamp_us = BigEndian(value.bytes);
    if (timestamp_us == std::numeric_limits<int64_t>::min()) {
      return Status::InvalidArgument("Out of bound timestamp");
    }
    return timestamp_us;
  }

  Result<uint32_t> Ttl() const {
    if (statement_.kind == Kind::kDelete) return 0u;
    TtlRequest request;
    if (statement_.ttl.has_value()) {
      CISTERN_ASSIGN_OR_RETURN(
          const SentValue value,
          Evaluate(*statement_.ttl, ColumnType{CqlType::kInt, {}}, values_));
      request.kind = value.kind == SentValue::Kind::kNull    ? TtlRequest::Kind::kNull
                     : value.kind == SentValue::Kind::kUnset ? TtlRequest::Kind::kUnset
                                                             : TtlRequest::Kind::kValue;
      request.ttl_s = static_cast<int32_t>(BigEndian(value.bytes));
    }
    return ResolveTtl(table_, request, context_.server_now_us / 1'000'000, context_.compatibility);
  }

  // The terms that `column` is compared with; null: nothing is said of it.
  Result<std::vector<std::string>> EqualTo(size_t column, const Relation** slice_lower,
                                           const Relation** slice_upper) const {
    const ColumnDefinition& definition = table_.columns[column];
    std::vector<std::string> out;
    for (const auto& [name, term] : statement_.assignments) {
      if (statement_.kind != Kind::kInsert || name != definition.name) continue;
      CISTERN_ASSIGN_OR_RETURN(std::string value, EvaluateKey(term, definition, values_));
      out.push_back(std::move(value));
    }
    for (const Relation& relation : statement_.where) {
      if (relation.columns.size() > 1 || relation.of_token) {
        return Status::InvalidArgument("Tuples and tokens are not for this statement");
      }
      if (relation.columns[0] != definition.name) continue;
      if (relation.op == Operator::kLess || relation.op == Operator::kLessOrEqual) {
        *slice_upper = &relation;
      } else if (relation.op == Operator::kGreater || relation.op == Operator::kGreaterOrEqual) {
        *slice_lower = &relation;
      } else {
        CISTERN_ASSIGN_OR_RETURN(out, EvaluateRelation(relation, definition, values_));
      }
    }
    return out;
  }

  Result<std::vector<std::string>> PartitionKeyOf() const {
    std::vector<std::string> key;
    const Relation* slice = nullptr;
    for (size_t i = 0; i < table_.partition_key_count; ++i) {
      CISTERN_ASSIGN_OR_RETURN(std::vector<std::string> found, EqualTo(i, &slice, &slice));
      if (found.size() != 1 || slice != nullptr) {
        return Status::InvalidArgument("Only one partition can be written at once");
      }
      key.push_back(std::move(found[0]));
    }
    if (key.size() == 1 && key[0].empty()) return Status::InvalidArgument("Key may not be empty");
    return key;
  }

  Result<CellValue> Parsed(size_t column, const std::string& bytes) const {
    CellValue value;
    CISTERN_RETURN_IF_ERROR(ParseWireValue(table_.columns[column].type, bytes, &value));
    return value;
  }

  Result<std::optional<RangeBound>> Bound(const Relation* relation, size_t column) const {
    if (relation == nullptr) return std::optional<RangeBound>();
    CISTERN_ASSIGN_OR_RETURN(const std::vector<std::string> bytes,
                             EvaluateRelation(*relation, table_.columns[column], values_));
    CISTERN_ASSIGN_OR_RETURN(CellValue value, Parsed(column, bytes.at(0)));
    const bool inclusive =
        relation->op == Operator::kLessOrEqual || relation->op == Operator::kGreaterOrEqual;
    return std::optional<RangeBound>(RangeBound{std::move(value), inclusive});
  }

  Result<RowSelection> Rows() const {
    RowSelection out;
    bool ended = false;
    for (size_t i = table_.partition_key_count; i < table_.first_regular(); ++i) {
      const Relation* lower = nullptr;
      const Relation* upper = nullptr;
      CISTERN_ASSIGN_OR_RETURN(const std::vector<std::string> equal, EqualTo(i, &lower, &upper));
      const bool is_said = !equal.empty() || lower != nullptr || upper != nullptr;
      if (is_said && ended) {
        return Status::InvalidArgument("PRIMARY KEY column \"" + table_.columns[i].name +
                                       "\" cannot be restricted as preceding column is not "
                                       "restricted");
      }
      ended = equal.empty();
      CISTERN_ASSIGN_OR_RETURN(std::optional<RangeBound> from, Bound(lower, i));
      CISTERN_ASSIGN_OR_RETURN(std::optional<RangeBound> to, Bound(upper, i));
      if (from.has_value()) out.lower = std::move(from);
      if (to.has_value()) out.upper = std::move(to);
      if (ended) continue;
      std::vector<ClusteringKey> longer;
      for (const ClusteringKey& prefix : out.prefixes) {
        for (const std::string& bytes : equal) {
          CISTERN_ASSIGN_OR_RETURN(CellValue value, Parsed(i, bytes));
          longer.push_back(prefix);
          longer.back().push_back(std::move(value));
        }
      }
      out.prefixes = std::move(longer);
    }
    return out;
  }

  void Delete(const RowSelection& rows, Partition* change) const {
    const Deletion deletion{timestamp_us_, context_.now_s()};
    for (const ClusteringKey& prefix : rows.prefixes) {
      if (prefix.empty() && !rows.has_bounds()) {
        change->MergeDeletion(deletion);
      } else if (prefix.size() == table_.clustering_count) {
        StoredRow row;
        row.deletion = deletion;
        change->MergeRow(prefix, row);
      } else {
        change->MergeRange({prefix, rows.lower, rows.upper, deletion});
      }
    }
  }

  // The row as it stands after this statement alone.
  Result<StoredRow> Cells() const {
    StoredRow row;
    const int64_t now_s = context_.now_s();
    const int64_t expiry_s = ExpiryOf(now_s, ttl_s_, context_.compatibility);
    if (statement_.kind == Kind::kInsert) row.marker = {timestamp_us_, ttl_s_, expiry_s};
    for (const std::string& name : statement_.deleted_columns) {
      if (table_.columns[*table_.Find(name)].type.is_multicell) {
        row.collections[name].deletion = {timestamp_us_, now_s};
      } else {
        row.cells[name] = {timestamp_us_, 0, now_s, ""};
      }
    }
    for (const auto& [name, term] : statement_.assignments) {
      const std::optional<size_t> at = table_.Find(name);
      CISTERN_CHECK(at.has_value());  // PrepareStatement looked
      if (*at < table_.first_regular()) continue;
      CISTERN_ASSIGN_OR_RETURN(SentValue value,
                               Evaluate(term, table_.columns[*at].type, values_));
      if (value.kind == SentValue::Kind::kUnset) continue;
      if (table_.columns[*at].type.is_multicell) {
        CISTERN_ASSIGN_OR_RETURN(row.collections[name],
                                 Elements(table_.columns[*at].type, value, now_s, expiry_s));
      } else if (value.kind == SentValue::Kind::kNull) {
        row.cells[name] = {timestamp_us_, 0, now_s, ""};
      } else {
        row.cells[name] = {timestamp_us_, ttl_s_, expiry_s, std::move(value.bytes)};
      }
    }
    return row;
  }

  // The cells of the row that all rows of its partition share.
  std::map<std::string, StoredCell> TakeStatics(StoredRow* row) const {
    std::map<std::string, StoredCell> statics;
    for (const ColumnDefinition& column : table_.columns) {
      if (column.kind != ColumnKind::kStatic) continue;
      const auto at = row->cells.find(column.name);
      if (at != row->cells.end()) statics.insert(row->cells.extract(at));
    }
    return statics;
  }

  // A whole value, or null: what was there before goes.
  Result<StoredElements> Elements(const ColumnType& type, const SentValue& value, int64_t now_s,
                                  int64_t expiry_s) const {
    StoredElements out;
    out.deletion = {timestamp_us_ - 1, now_s};
    if (value.kind == SentValue::Kind::kNull) return out;
    std::vector<std::string_view> parts;
    CISTERN_RETURN_IF_ERROR(SplitCollection(type, value.bytes, &parts));
    const size_t width = type.arguments.size();
    for (size_t i = 0; i < parts.size(); i += width) {
      out.cells[std::string(parts[i])] = {timestamp_us_, ttl_s_, expiry_s,
                                          std::string(width > 1 ? parts[i + 1] : "")};
    }
    return out;
  }

  const PreparedStatement& prepared_;
  const Statement& statement_;
  const TableDefinition& table_;
  Values values_;
  const WriteContext& context_;
  int64_t timestamp_us_ = 0;
  uint32_t ttl_s_ = 0;
};

}  // namespace

Result<Mutation> BindWrite(const PreparedStatement& prepared, Values values,
                           const WriteContext& context) {
  return WriteBinder(prepared, values, context).Bind();
}

}  // namespace cistern::fake_cassandra
