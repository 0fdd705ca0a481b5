#include "engine/replicate/row_binder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/bucketing/bucket_value.h"
#include "engine/bucketing/bucketer.h"
#include "engine/cql/token.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/wire_value.h"

namespace cistern::replicate {
namespace {

constexpr int32_t kNullLength = -1;
constexpr int32_t kUnsetLength = -2;
constexpr size_t kLengthBytes = 4;
constexpr uint64_t kDateBias = uint64_t{1} << 31;

template <typename T>
char* PutBigAt(char* at, T value) {
  for (size_t i = sizeof(T); i-- > 0;) {
    *at++ = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  return at;
}

char* PutFixed(char* at, uint8_t width, uint64_t value) {
  at = PutBigAt<int32_t>(at, width);
  switch (width) {
    case 1: return PutBigAt(at, static_cast<uint8_t>(value));
    case 2: return PutBigAt(at, static_cast<uint16_t>(value));
    case 4: return PutBigAt(at, static_cast<uint32_t>(value));
    default: return PutBigAt(at, value);
  }
}

char* PutBytes(char* at, std::string_view bytes) {
  at = PutBigAt(at, static_cast<int32_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

void AppendValue(std::string_view bytes, std::string* values) {
  PutBig<int32_t>(values, static_cast<int32_t>(bytes.size()));
  values->append(bytes);
}

CellBind BindingOf(const CellBinding& cells, CellState state, bool is_multicell) {
  switch (state) {
    case CellState::kValue:
      return is_multicell && cells.deletes_alone() ? CellBind::kNull : cells.of_value;
    case CellState::kNull: return cells.of_null;
    case CellState::kAbsent: break;
  }
  return CellBind::kUnset;
}

}  // namespace

bool AppendEventTime(const TableSchema& schema, int64_t ticks, bool* is_below, std::string* out) {
  const ColumnType& type = schema.columns[schema.time_column()].type;
  if (type.kind != CqlType::kTimeuuid) {
    AppendWireValue(type, ticks, {}, out);
    return true;
  }
  // A version 1 uuid counts 60 bits of ticks from 1582-10-15. Its last eight bytes are
  // compared signed, so 0x80... are the least.
  constexpr int64_t kUuidEpochTicks = 0x01B21DD213814000;
  constexpr int64_t kUuidTicksEnd = int64_t{1} << 60;
  constexpr uint64_t kVersion1 = 0x1000;
  *is_below = ticks < -kUuidEpochTicks;
  if (*is_below || ticks >= kUuidTicksEnd - kUuidEpochTicks) return false;
  const auto uuid_ticks = static_cast<uint64_t>(ticks + kUuidEpochTicks);
  PutBig<uint64_t>(out, uuid_ticks << 32 | (uuid_ticks >> 16 & 0xffff0000u) | uuid_ticks >> 48 |
                            kVersion1);
  PutBig<uint64_t>(out, 0x8080808080808080u);
  return true;
}

Result<RowBinder> RowBinder::Make(std::shared_ptr<const PushStatements> statements,
                                  const PartitionName& partition) {
  RowBinder binder;
  binder.statements_ = std::move(statements);
  CISTERN_RETURN_IF_ERROR(binder.TakePartition(partition));
  for (size_t k = 0; k < kStatementKindCount; ++k) {
    binder.steps_[k] = binder.StepsOf(binder.statements_->of(static_cast<StatementKind>(k)));
  }
  return binder;
}

Status RowBinder::TakePartition(const PartitionName& partition) {
  const TableSchema& schema = statements_->schema();
  const std::string of_table = " of table " + schema.QualifiedName();
  if (!Bucketer(schema).IsStart(partition.start_s)) {
    return Status::Corruption(Concat({"no bucket", of_table, " starts at second ",
        partition.start_s}));
  }
  std::vector<std::string> parts(schema.columns.size());
  std::string_view rest = partition.entity;
  for (const size_t c : schema.entity_columns) {
    const size_t length = rest.size() < 2 ? 0 : GetBig<uint16_t>(rest.data());
    if (rest.size() < 2 + length) {
      return Status::Corruption(Concat({"the entity of a bucket", of_table,
          " ends inside column '", schema.columns[c].name, "'"}));
    }
    parts[c] = rest.substr(2, length);
    rest.remove_prefix(2 + length);
    const Status checked = CheckWireBytes(schema.columns[c].type, parts[c]);
    if (!checked.ok()) {
      return Status::Corruption(Concat({"the entity of a bucket", of_table, ", column '",
          schema.columns[c].name, "': ", checked.message()}));
    }
  }
  if (!rest.empty()) {
    return Status::Corruption(Concat({"the entity of a bucket", of_table, " has ", rest.size(),
        " bytes behind its last column"}));
  }
  const CellValue bucket = BucketValue(schema, partition.start_s);
  AppendWireValue(schema.columns[schema.bucket_column].type, bucket.fixed, bucket.bytes,
                  &parts[schema.bucket_column]);
  if (schema.split_column) {
    AppendWireValue(schema.columns[*schema.split_column].type, partition.split, {},
                    &parts[*schema.split_column]);
  }
  std::vector<std::string_view> key;
  for (const size_t c : schema.partition_key) {
    key.emplace_back(parts[c]);
    AppendValue(parts[c], &partition_values_);
  }
  partition_key_ = cql::PartitionKeyBytes(key);
  return Status::Ok();
}

std::vector<RowBinder::Step> RowBinder::StepsOf(const PushStatement& statement) const {
  const TableSchema& schema = statements_->schema();
  std::vector<Step> steps;
  size_t partition_columns = 0;
  for (const Bind& bind : statement.binds) {
    Step step;
    step.column = bind.column;
    switch (bind.what) {
      case Bind::What::kTimestamp: step.what = Step::What::kTimestamp; break;
      case Bind::What::kTtl: step.what = Step::What::kTtl; break;
      case Bind::What::kFrom:
      case Bind::What::kTo: continue;  // of BindRange
      case Bind::What::kColumn: {
        const ColumnSpec& column = schema.columns[bind.column];
        step.width = static_cast<uint8_t>(
            column.type.lane() == Lane::kFixed ? WireWidth(column.type.kind) : 0);
        step.biased = column.type.kind == CqlType::kDate;
        step.is_multicell = column.type.is_multicell;
        if (column.role == ColumnRole::kClustering) {
          step.what = Step::What::kClustering;
        } else if (column.role == ColumnRole::kRegular) {
          step.what = Step::What::kRegular;
        } else if (partition_columns++ > 0) {
          continue;
        }
        break;
      }
    }
    steps.push_back(step);
  }
  return steps;
}

// At least what the values take.
size_t RowBinder::RoomFor(const std::vector<Step>& steps, const VersionColumns& rows,
                          size_t i) const {
  size_t room = partition_values_.size() + steps.size() * (kLengthBytes + sizeof(int64_t));
  for (const Step& step : steps) {
    const bool is_cell =
        step.what == Step::What::kClustering || step.what == Step::What::kRegular;
    if (is_cell && step.width == 0) room += rows.columns[step.column].bytes(i).size();
  }
  return room;
}

void RowBinder::BindRow(const Emission& emission, const VersionColumns& rows, size_t i,
                        int64_t timestamp_us, int32_t ttl_s, std::string* values) const {
  const std::vector<Step>& steps = steps_[static_cast<size_t>(emission.kind)];
  CISTERN_CHECK(!steps.empty());
  const size_t begin = values->size();
  values->resize(begin + RoomFor(steps, rows, i));
  char* at = values->data() + begin;
  for (const Step& step : steps) {
    switch (step.what) {
      case Step::What::kPartition:
        std::memcpy(at, partition_values_.data(), partition_values_.size());
        at += partition_values_.size();
        continue;
      case Step::What::kTimestamp:
        at = PutFixed(at, sizeof(int64_t), static_cast<uint64_t>(timestamp_us));
        continue;
      case Step::What::kTtl:
        at = PutFixed(at, sizeof(int32_t), static_cast<uint64_t>(ttl_s));
        continue;
      case Step::What::kClustering:
      case Step::What::kRegular: break;
    }
    const ColumnData& column = rows.columns[step.column];
    const CellBind bound = step.what == Step::What::kClustering
                               ? CellBind::kItself
                               : BindingOf(emission.cells, column.state(i), step.is_multicell);
    if (bound != CellBind::kItself) {
      at = PutBigAt(at, bound == CellBind::kNull ? kNullLength : kUnsetLength);
    } else if (step.width == 0) {
      at = PutBytes(at, column.bytes(i));
    } else {
      const auto fixed = static_cast<uint64_t>(column.fixed[i]);
      at = PutFixed(at, step.width, step.biased ? fixed + kDateBias : fixed);
    }
  }
  values->resize(static_cast<size_t>(at - values->data()));
}

bool RowBinder::BindRange(const RangeDelete& range, StatementKind* kind,
                          std::string* values) const {
  const TableSchema& schema = statements_->schema();
  std::string from;
  std::string to;
  bool is_below = false;
  bool has_from = range.from != std::numeric_limits<int64_t>::min();
  bool has_to = range.to != std::numeric_limits<int64_t>::max();
  if (has_to && range.from >= range.to) return false;
  if (has_from && !AppendEventTime(schema, range.from, &is_below, &from)) {
    if (!is_below) return false;
    has_from = false;
  }
  if (has_to && !AppendEventTime(schema, range.to, &is_below, &to)) {
    if (is_below) return false;
    has_to = false;
  }
  if (has_from) {
    *kind = has_to ? StatementKind::kDeleteRange : StatementKind::kDeleteFrom;
  } else {
    *kind = has_to ? StatementKind::kDeleteBefore : StatementKind::kDeletePartition;
  }
  PutBig<int32_t>(values, sizeof(int64_t));
  PutBig<int64_t>(values, range.write_us);
  values->append(partition_values_);
  if (has_from) AppendValue(from, values);
  if (has_to) AppendValue(to, values);
  return true;
}

}  // namespace cistern::replicate
