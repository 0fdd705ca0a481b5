#include <algorithm>
#include <set>
#include <utility>

#include "lib/cql/cql_type.h"
#include "tests/support/fake_cassandra/prepared_statement.h"

namespace cistern::fake_cassandra {
namespace {

using testing::RowsAnswer;
using testing::SentValue;
using Aggregate = Selector::Aggregate;
using Function = Selector::Function;
using Operator = Relation::Operator;
using OptionalBytes = std::optional<std::string>;

template <typename Number>
std::string BigEndian(Number value) {
  std::string bytes;
  for (int shift = 8 * static_cast<int>(sizeof value) - 8; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

int CompareWire(const ColumnType& type, const std::string& a, const std::string& b) {
  CellValue left;
  CellValue right;
  if (IsOpaque(type.kind) || !ParseWireValue(type, a, &left).ok() ||
      !ParseWireValue(type, b, &right).ok()) {
    return a.compare(b);
  }
  return CompareValues(type, left, right);
}

bool Holds(Operator op, int compared) {
  switch (op) {
    case Operator::kLess: return compared < 0;
    case Operator::kLessOrEqual: return compared <= 0;
    case Operator::kGreater: return compared > 0;
    case Operator::kGreaterOrEqual: return compared >= 0;
    case Operator::kEqual:
    case Operator::kIn: return compared == 0;
  }
  return false;
}

constexpr uint32_t kUnlimited = 0xffffffff;

// A live row with its keys, as selectors see it.
struct SelectedRow {
  int64_t token = 0;
  std::vector<OptionalBytes> values;  // of every column of the table
  const StoredRow* stored = nullptr;
  const std::map<std::string, StoredCell>* statics = nullptr;  // of its partition
};

// Where the next page begins: behind this row. On the wire: u32 rows left of the limit, then of
// each value of the primary key u32 length and bytes.
struct PagePosition {
  uint32_t rows_left = 0;
  std::vector<std::string> key;
};

std::string EncodePosition(const PagePosition& position) {
  std::string out = BigEndian(position.rows_left);
  for (const std::string& value : position.key) {
    out += BigEndian(static_cast<uint32_t>(value.size())) + value;
  }
  return out;
}

Result<PagePosition> DecodePosition(std::string_view bytes) {
  const Status bad = Status::InvalidArgument("Invalid value for the paging state");
  const auto take = [&bytes](uint32_t* value) {
    if (bytes.size() < 4) return false;
    *value = 0;
    for (size_t i = 0; i < 4; ++i) *value = *value << 8 | static_cast<uint8_t>(bytes[i]);
    bytes.remove_prefix(4);
    return true;
  };
  PagePosition out;
  if (!take(&out.rows_left)) return bad;
  while (!bytes.empty()) {
    uint32_t length = 0;
    if (!take(&length) || length > bytes.size()) return bad;
    out.key.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return out;
}

// A condition with its values; of each value as many as columns.
struct Condition {
  std::vector<size_t> columns;
  bool of_token = false;
  Operator op = Operator::kEqual;
  std::vector<std::vector<std::string>> values;
};

class SelectRunner {
 public:
  SelectRunner(const PreparedStatement& prepared, Values values, const PageRequest& page)
      : prepared_(prepared), statement_(prepared.statement), table_(*prepared.table),
        values_(values), page_(page) {}

  Result<RowsAnswer> Run(const ReadPartitions& read) {
    CISTERN_RETURN_IF_ERROR(TakeConditions());
    CISTERN_RETURN_IF_ERROR(TakeLimits());
    NoteQueried();
    CISTERN_ASSIGN_OR_RETURN(PartitionStore store, read(prepared_.table, Key()));
    store.HideDropped(table_);
    answer_.metadata.keyspace = table_.keyspace;
    answer_.metadata.table = table_.name;
    answer_.metadata.columns = prepared_.result;
    answer_.metadata.column_count = prepared_.result.size();
    for (const auto& [name, entry] : store.partitions(table_)) {
      if (!Scan(name.token, entry)) break;
    }
    if (is_aggregate()) FinishAggregates();
    return std::move(answer_);
  }

 private:
  [[nodiscard]] bool is_aggregate() const {
    return std::any_of(
        statement_.selectors.begin(), statement_.selectors.end(),
        [](const Selector& selector) { return selector.aggregate != Aggregate::kNone; });
  }

  Status TakeConditions() {
    for (const Relation& relation : statement_.where) {
      Condition& out = conditions_.emplace_back();
      out.of_token = relation.of_token;
      out.op = relation.op;
      for (const std::string& name : relation.columns) out.columns.push_back(*table_.Find(name));
      if (relation.of_token) {
        CISTERN_ASSIGN_OR_RETURN(
            const SentValue token,
            Evaluate(relation.values[0][0], ColumnType{CqlType::kBigint, {}}, values_));
        out.values.push_back({token.bytes});
      } else if (relation.columns.size() == 1) {
        CISTERN_ASSIGN_OR_RETURN(
            const std::vector<std::string> found,
            EvaluateRelation(relation, table_.columns[out.columns[0]], values_));
        for (const std::string& value : found) out.values.push_back({value});
      } else {
        for (const std::vector<Term>& terms : relation.values) {
          std::vector<std::string>& tuple = out.values.emplace_back();
          for (size_t i = 0; i < terms.size(); ++i) {
            CISTERN_ASSIGN_OR_RETURN(
                std::string value,
                EvaluateKey(terms[i], table_.columns[out.columns[i]], values_));
            tuple.push_back(std::move(value));
          }
        }
      }
    }
    return Status::Ok();
  }

  // The rows that a limit allows.
  Result<uint32_t> LimitOf(const std::optional<Term>& term) const {
    if (!term.has_value()) return kUnlimited;
    CISTERN_ASSIGN_OR_RETURN(const SentValue limit,
                             Evaluate(*term, ColumnType{CqlType::kInt, {}}, values_));
    CellValue value;
    if (limit.kind != SentValue::Kind::kValue) return kUnlimited;
    CISTERN_RETURN_IF_ERROR(ParseWireValue({CqlType::kInt, {}}, limit.bytes, &value));
    if (value.fixed <= 0) return Status::InvalidArgument("LIMIT must be strictly positive");
    return static_cast<uint32_t>(value.fixed);
  }

  Status TakeLimits() {
    CISTERN_ASSIGN_OR_RETURN(rows_left_, LimitOf(statement_.limit));
    CISTERN_ASSIGN_OR_RETURN(partition_rows_max_, LimitOf(statement_.partition_limit));
    page_rows_left_ = kUnlimited;
    if (page_.page_rows.value_or(0) > 0) page_rows_left_ = static_cast<uint32_t>(*page_.page_rows);
    if (page_.paging_state.empty()) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(after_, DecodePosition(page_.paging_state));
    if (after_->key.size() != table_.first_regular()) {
      return Status::InvalidArgument("Invalid value for the paging state");
    }
    rows_left_ = after_->rows_left;
    return Status::Ok();
  }

  void NoteQueried() {
    const auto note = [this](const std::string& name) {
      if (*table_.Find(name) >= table_.first_regular()) queried_.insert(name);
    };
    for (const Selector& selector : statement_.selectors) {
      for (const std::string& name : selector.columns) note(name);
    }
    for (const Relation& relation : statement_.where) {
      for (const std::string& name : relation.columns) note(name);
    }
  }

  // Whether the row is there. Of cells that nobody asked for Cassandra reads only those that are
  // not older than the row's marker: with it expired, such a row is missed, where a SELECT of
  // other columns, or of keys alone, shows it. Seen on 5.0.8, and in BTreeRow.filter.
  [[nodiscard]] bool IsShown(const StoredRow& row) const {
    if (row.marker.IsLive(page_.now_s)) return true;
    const auto shows = [&](const std::string& name, const StoredCell& cell) {
      const bool is_read = queried_.empty() || queried_.count(name) != 0 ||
                           cell.timestamp_us >= row.marker.timestamp_us;
      return is_read && cell.IsLive(page_.now_s);
    };
    for (const auto& [name, cell] : row.cells) {
      if (shows(name, cell)) return true;
    }
    for (const auto& [name, elements] : row.collections) {
      for (const auto& [element, cell] : elements.cells) {
        if (shows(name, cell)) return true;
      }
    }
    return false;
  }

  // The one partition, if the conditions name it.
  std::optional<PartitionKey> Key() const {
    PartitionKey key;
    for (size_t i = 0; i < table_.partition_key_count; ++i) {
      for (const Condition& condition : conditions_) {
        const bool is_one = condition.columns[0] == i && condition.columns.size() == 1 &&
                            !condition.of_token && condition.op == Operator::kEqual;
        if (is_one && key.size() == i) key.push_back(condition.values[0][0]);
      }
      if (key.size() != i + 1) return std::nullopt;
    }
    return key;
  }

  // Whether rows stand in the reverse of their table's order.
  [[nodiscard]] bool is_reversed() const {
    if (statement_.ordering.empty()) return false;
    const auto& [name, descending] = statement_.ordering.front();
    return table_.columns[*table_.Find(name)].descending != descending;
  }

  // False: the page is full.
  bool Scan(int64_t token, const PartitionStore::Entry& entry) {
    if (after_.has_value()) {
      const std::vector<std::string> key(
          after_->key.begin(),
          after_->key.begin() + static_cast<std::ptrdiff_t>(table_.partition_key_count));
      const auto of_page = NameOf(key);
      const auto here = NameOf(entry.key);
      if (here < of_page) return true;
      if (of_page < here) after_.reset();
    }
    const Partition::Rows& rows = entry.partition.rows();
    partition_rows_left_ = partition_rows_max_;  // no page of a statement that has it is followed
    const auto visit = [&](const auto& row) {
      return Visit(token, entry.key, entry.partition.statics(), row.first, row.second);
    };
    if (is_reversed()) return std::all_of(rows.rbegin(), rows.rend(), visit);
    return std::all_of(rows.begin(), rows.end(), visit);
  }

  // A partition that has static cells alone is not shown: Cassandra shows it as a row without keys.
  bool Visit(int64_t token, const std::vector<std::string>& partition,
             const std::map<std::string, StoredCell>& statics, const ClusteringKey& key,
             const StoredRow& stored) {
    if (!IsShown(stored)) return true;
    SelectedRow row;
    row.token = token;
    row.stored = &stored;
    row.statics = &statics;
    row.values.assign(partition.begin(), partition.end());
    for (size_t i = 0; i < key.size(); ++i) {
      std::string bytes;
      AppendWireValue((*table_.order)[i].type, key[i].fixed, key[i].bytes, &bytes);
      row.values.emplace_back(std::move(bytes));
    }
    for (size_t i = table_.first_regular(); i < table_.columns.size(); ++i) {
      const StoredCell* cell = LiveCell(row, i);
      row.values.push_back(cell == nullptr ? LiveElements(row, i) : OptionalBytes(cell->value));
    }
    if (after_.has_value() && !IsBehind(row)) return true;
    if (!Matches(row)) return true;
    if (rows_left_ == 0) return false;
    if (partition_rows_left_ == 0) return true;
    if (page_rows_left_ == 0 && !is_aggregate()) {
      answer_.metadata.has_more_pages = true;
      answer_.metadata.paging_state = EncodePosition({rows_left_, last_key_});
      return false;
    }
    Emit(row);
    return true;
  }

  // Whether the row comes after the last one of the page before.
  [[nodiscard]] bool IsBehind(const SelectedRow& row) const {
    for (size_t i = table_.partition_key_count; i < table_.first_regular(); ++i) {
      const ColumnDefinition& column = table_.columns[i];
      const int compared = CompareWire(column.type, *row.values[i], after_->key[i]);
      if (compared != 0) return (compared > 0) != (column.descending != is_reversed());
    }
    return false;
  }

  [[nodiscard]] bool Matches(const SelectedRow& row) const {
    return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
      return std::any_of(
          condition.values.begin(), condition.values.end(),
          [&](const std::vector<std::string>& values) { return Agrees(row, condition, values); });
    });
  }
  [[nodiscard]] bool Agrees(const SelectedRow& row, const Condition& condition,
                            const std::vector<std::string>& values) const {
    if (condition.of_token) {
      const ColumnType bigint{CqlType::kBigint, {}};
      return Holds(condition.op, CompareWire(bigint, BigEndian(row.token), values[0]));
    }
    int compared = 0;
    for (size_t i = 0; i < condition.columns.size() && compared == 0; ++i) {
      const size_t column = condition.columns[i];
      if (!row.values[column].has_value()) return false;
      compared = CompareWire(table_.columns[column].type, *row.values[column], values[i]);
    }
    return Holds(condition.op, compared);
  }

  [[nodiscard]] const StoredCell* LiveCell(const SelectedRow& row, size_t column) const {
    const bool is_static = table_.columns[column].kind == ColumnKind::kStatic;
    const auto& cells = is_static ? *row.statics : row.stored->cells;
    const auto at = cells.find(table_.columns[column].name);
    return at == cells.end() || !at->second.IsLive(page_.now_s) ? nullptr : &at->second;
  }

  [[nodiscard]] OptionalBytes LiveElements(const SelectedRow& row, size_t column) const {
    const auto at = row.stored->collections.find(table_.columns[column].name);
    if (at == row.stored->collections.end()) return std::nullopt;
    return WireOfElements(table_.columns[column].type, at->second, page_.now_s);
  }

  OptionalBytes ValueOf(const Selector& selector, const SelectedRow& row) const {
    if (selector.columns.empty()) return std::string();  // count(*) counts every row
    const size_t column = *table_.Find(selector.columns[0]);
    if (selector.function == Function::kToken) return BigEndian(row.token);
    if (selector.function == Function::kNone) return row.values[column];
    const StoredCell* cell = LiveCell(row, column);
    if (cell == nullptr) return std::nullopt;
    if (selector.function == Function::kWritetime) return BigEndian(cell->timestamp_us);
    if (!cell->is_expiring()) return std::nullopt;
    return BigEndian(static_cast<int32_t>(cell->local_deletion_s - page_.now_s));
  }
  [[nodiscard]] ColumnType TypeOf(const Selector& selector) const {
    if (selector.function == Function::kTtl) return {CqlType::kInt, {}};
    if (selector.function != Function::kNone) return {CqlType::kBigint, {}};
    return table_.columns[*table_.Find(selector.columns[0])].type;
  }

  void Emit(const SelectedRow& row) {
    std::vector<OptionalBytes> cells;
    for (const Selector& selector : statement_.selectors) cells.push_back(ValueOf(selector, row));
    if (is_aggregate()) {
      Accumulate(std::move(cells));
      return;
    }
    answer_.rows.push_back(std::move(cells));
    --rows_left_;
    --partition_rows_left_;
    --page_rows_left_;
    last_key_.clear();
    for (size_t i = 0; i < table_.first_regular(); ++i) last_key_.push_back(*row.values[i]);
  }

  void Accumulate(std::vector<OptionalBytes> cells) {
    counts_.resize(cells.size());
    if (best_.empty()) best_ = cells;  // what is not aggregated shows the first row
    for (size_t i = 0; i < cells.size(); ++i) {
      const Selector& selector = statement_.selectors[i];
      if (!cells[i].has_value()) continue;
      ++counts_[i];
      if (selector.aggregate == Aggregate::kNone || selector.aggregate == Aggregate::kCount) {
        continue;
      }
      const int compared =
          best_[i].has_value() ? CompareWire(TypeOf(selector), *cells[i], *best_[i]) : 0;
      const bool is_better = selector.aggregate == Aggregate::kMin ? compared < 0 : compared > 0;
      if (!best_[i].has_value() || is_better) best_[i] = std::move(cells[i]);
    }
  }

  void FinishAggregates() {
    best_.resize(statement_.selectors.size());
    counts_.resize(statement_.selectors.size());
    for (size_t i = 0; i < best_.size(); ++i) {
      if (statement_.selectors[i].aggregate == Aggregate::kCount) best_[i] = BigEndian(counts_[i]);
    }
    answer_.rows.push_back(std::move(best_));
  }

  const PreparedStatement& prepared_;
  const Statement& statement_;
  const TableDefinition& table_;
  Values values_;
  const PageRequest& page_;
  std::vector<Condition> conditions_;
  std::set<std::string> queried_;  // regular columns that are named
  uint32_t rows_left_ = 0;       // of LIMIT
  uint32_t partition_rows_max_ = 0;  // of PER PARTITION LIMIT
  uint32_t partition_rows_left_ = 0;
  uint32_t page_rows_left_ = 0;
  std::optional<PagePosition> after_;
  std::vector<std::string> last_key_;
  std::vector<OptionalBytes> best_;  // of aggregates, so far
  std::vector<int64_t> counts_;
  RowsAnswer answer_;
};

}  // namespace

Result<RowsAnswer> RunSelect(const PreparedStatement& prepared, Values values,
                             const PageRequest& page, const ReadPartitions& read) {
  return SelectRunner(prepared, values, page).Run(read);
}

}  // namespace cistern::fake_cassandra
