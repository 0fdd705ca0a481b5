#include "tests/engine/replicate/push_test_util.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cistern/limits.h"
#include "lib/cql/wire_value.h"

namespace cistern::replicate {

using fake_cassandra::ClusteringKey;
using fake_cassandra::Deletion;
using fake_cassandra::kNever;
using fake_cassandra::RangeBound;
using fake_cassandra::StoredCell;
using fake_cassandra::StoredRow;

namespace {

std::shared_ptr<const fake_cassandra::ClusteringOrder> OrderOf(const TableSchema& schema) {
  fake_cassandra::ClusteringOrder order;
  for (const size_t c : schema.clustering_columns) {
    order.push_back({schema.columns[c].type, schema.columns[c].descending});
  }
  return std::make_shared<const fake_cassandra::ClusteringOrder>(std::move(order));
}

CellValue ValueOf(const ColumnType& type, const BoundValue& bound) {
  CellValue value;
  EXPECT_TRUE(bound.bytes.has_value());
  const Status parsed = ParseWireValue(type, bound.bytes.value_or(""), &value);
  EXPECT_TRUE(parsed.ok()) << parsed.ToString();
  return value;
}

}  // namespace

struct ServerModel::Parts {
  std::vector<std::string> partition_key;
  ClusteringKey clustering;
  std::map<size_t, BoundValue> regular;
  std::optional<RangeBound> from;
  std::optional<RangeBound> to;
  int64_t timestamp_us = 0;
  std::optional<int32_t> ttl_s;
};

ServerModel::ServerModel(std::shared_ptr<const PushStatements> statements, uint32_t default_ttl_s)
    : statements_(std::move(statements)),
      default_ttl_s_(default_ttl_s),
      partition_(OrderOf(statements_->schema())) {}

ServerModel::Parts ServerModel::Take(const PushStatement& statement,
                                     std::string_view values) const {
  const TableSchema& schema = statements_->schema();
  const std::vector<BoundValue> bound = SplitValues(values);
  EXPECT_EQ(bound.size(), statement.binds.size());
  Parts parts;
  if (statement.cql.find(" AND TTL 0") != std::string::npos) parts.ttl_s = 0;
  for (size_t i = 0; i < statement.binds.size() && i < bound.size(); ++i) {
    const Bind& bind = statement.binds[i];
    const ColumnSpec& column = schema.columns[bind.column];
    switch (bind.what) {
      case Bind::What::kTimestamp:
        parts.timestamp_us = GetBig<int64_t>(bound[i].bytes.value_or(std::string(8, 0)).data());
        EXPECT_NE(parts.timestamp_us, std::numeric_limits<int64_t>::min());
        break;
      case Bind::What::kTtl:
        parts.ttl_s = GetBig<int32_t>(bound[i].bytes.value_or(std::string(4, 0)).data());
        EXPECT_GE(*parts.ttl_s, 0);
        EXPECT_LE(*parts.ttl_s, static_cast<int32_t>(limits::kTtlSecondsMax));
        break;
      case Bind::What::kFrom: parts.from = RangeBound{ValueOf(column.type, bound[i]), true}; break;
      case Bind::What::kTo: parts.to = RangeBound{ValueOf(column.type, bound[i]), false}; break;
      case Bind::What::kColumn:
        if (column.role == ColumnRole::kRegular) {
          parts.regular[bind.column] = bound[i];
        } else if (column.role == ColumnRole::kClustering) {
          parts.clustering.push_back(ValueOf(column.type, bound[i]));
        } else {
          parts.partition_key.push_back(bound[i].bytes.value_or("null"));
        }
    }
  }
  return parts;
}

void ServerModel::ApplySetting(const Parts& parts, bool has_marker, int64_t now_s) {
  const TableSchema& schema = statements_->schema();
  const auto ttl_s = static_cast<uint32_t>(parts.ttl_s.value_or(static_cast<int>(default_ttl_s_)));
  const int64_t expiry_s = ttl_s == 0 ? kNever : now_s + ttl_s;
  StoredRow row;
  if (has_marker) row.marker = {parts.timestamp_us, ttl_s, expiry_s};
  for (const auto& [c, bound] : parts.regular) {
    if (bound.is_unset) continue;
    StoredCell cell{parts.timestamp_us, 0, now_s, ""};
    if (bound.bytes) cell = {parts.timestamp_us, ttl_s, expiry_s, *bound.bytes};
    row.cells[schema.columns[c].name] = cell;
  }
  partition_.MergeRow(parts.clustering, row);
}

void ServerModel::ApplyDelete(StatementKind kind, const Parts& parts, int64_t now_s) {
  const Deletion deletion{parts.timestamp_us, now_s};
  if (kind == StatementKind::kDeletePartition) return partition_.MergeDeletion(deletion);
  if (kind == StatementKind::kDeleteRow) {
    StoredRow row;
    row.deletion = deletion;
    return partition_.MergeRow(parts.clustering, row);
  }
  partition_.MergeRange({{}, parts.from, parts.to, deletion});
}

void ServerModel::Apply(const PushBatch& batch, int64_t server_now_s) {
  const int64_t now_s = batch.now_in_seconds ? int64_t{*batch.now_in_seconds} : server_now_s;
  for (size_t i = 0; i < batch.entries().size(); ++i) {
    const StatementKind kind = batch.entries()[i].kind;
    const PushStatement& statement = statements_->of(kind);
    ASSERT_FALSE(statement.cql.empty());
    ASSERT_EQ(batch.entries()[i].value_count, statement.binds.size());
    const Parts parts = Take(statement, batch.values_of(i));
    if (key_.empty()) key_ = parts.partition_key;
    EXPECT_EQ(parts.partition_key, key_);
    switch (kind) {
      case StatementKind::kInsert:
      case StatementKind::kInsertTtl: ApplySetting(parts, true, now_s); break;
      case StatementKind::kUpdate:
      case StatementKind::kUpdateTtl: ApplySetting(parts, false, now_s); break;
      default:
        // The server counts gc_grace_seconds from its now: a deletion needs the real one.
        EXPECT_FALSE(batch.now_in_seconds.has_value());
        ApplyDelete(kind, parts, now_s);
    }
  }
}

}  // namespace cistern::replicate
