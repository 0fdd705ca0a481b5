#include "tests/support/fake_cassandra/partition_store.h"

#include <algorithm>
#include <string_view>

#include "cistern/limits.h"
#include "engine/cql/token.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/value_text.h"

namespace cistern::fake_cassandra {
namespace {

constexpr int64_t kExpiryMaxOfCassandra4 = 2'147'483'646;
constexpr int64_t kExpiryMaxOfCassandra5 = 4'294'967'293;

// "@1700000000000000"
void AppendTimestamp(int64_t timestamp_us, std::string* out) {
  out->push_back('@');
  *out += std::to_string(timestamp_us);
}

void AppendDeletion(std::string_view what, const Deletion& deletion, std::string* out) {
  if (!deletion.exists()) return;
  *out += what;
  AppendTimestamp(deletion.timestamp_us, out);
}

std::string BoundText(const ColumnType& type, const RangeBound& bound, bool is_lower) {
  const std::string sign = is_lower ? " >" : " <";
  return sign + (bound.inclusive ? "= " : " ") + LiteralOf(type, bound.value);
}

class Dumper {
 public:
  Dumper(const TableDefinition& table, DumpKind kind, int64_t now_s)
      : table_(table), kind_(kind), now_s_(now_s) {}

  void Add(const PartitionStore::Entry& entry) {
    partition_ = table_.QualifiedName();
    for (size_t i = 0; i < table_.partition_key_count; ++i) {
      partition_ += (i == 0 ? " " : ", ") + table_.columns[i].name + "=" +
                    LiteralOfWire(table_.columns[i].type, entry.key[i]);
    }
    if (kind_ == DumpKind::kEverything) AddDeletions(entry.partition);
    if (!entry.partition.statics().empty()) {
      std::string line;
      for (const auto& [name, cell] : entry.partition.statics()) AddCell(name, cell, &line);
      if (!line.empty()) text_ += partition_ + " | static" + line + "\n";
    }
    for (const auto& [key, row] : entry.partition.rows()) AddRow(key, row);
  }
  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  void AddDeletions(const Partition& partition) {
    std::vector<std::string> lines;
    std::string whole;
    AppendDeletion(" partition-deleted", partition.deletion(), &whole);
    if (!whole.empty()) lines.push_back(partition_ + " |" + whole);
    for (const RangeTombstone& range : partition.ranges()) lines.push_back(RangeText(range));
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines) text_ += line + "\n";
  }

  std::string RangeText(const RangeTombstone& range) const {
    std::string line = partition_ + " | range";
    for (size_t i = 0; i < range.prefix.size(); ++i) {
      const ColumnDefinition& column = table_.columns[table_.partition_key_count + i];
      line += " " + column.name + " = " + LiteralOf(column.type, range.prefix[i]);
    }
    const size_t next = table_.partition_key_count + range.prefix.size();
    if (range.lower.has_value() || range.upper.has_value()) line += " " + table_.columns[next].name;
    if (range.lower.has_value()) line += BoundText(table_.columns[next].type, *range.lower, true);
    if (range.upper.has_value()) line += BoundText(table_.columns[next].type, *range.upper, false);
    AppendDeletion(" deleted", range.deletion, &line);
    return line;
  }

  void AddRow(const ClusteringKey& key, const StoredRow& row) {
    const bool everything = kind_ == DumpKind::kEverything;
    if (!everything && !row.IsLive(now_s_)) return;
    std::string line = partition_ + " |";
    for (size_t i = 0; i < key.size(); ++i) {
      const ColumnDefinition& column = table_.columns[table_.partition_key_count + i];
      line += " " + column.name + "=" + LiteralOf(column.type, key[i]);
    }
    line += " |";
    if (everything) {
      AppendDeletion(" row-deleted", row.deletion, &line);
      if (row.marker.exists()) {
        line += " marker";
        AppendTimestamp(row.marker.timestamp_us, &line);
        if (row.marker.expiry_s != kNever) line += " until " + std::to_string(row.marker.expiry_s);
      }
    }
    for (const auto& [name, cell] : row.cells) AddCell(name, cell, &line);
    for (const auto& [name, elements] : row.collections) AddElements(name, elements, &line);
    text_ += line + "\n";
  }

  void AddCell(const std::string& name, const StoredCell& cell, std::string* line) const {
    const bool everything = kind_ == DumpKind::kEverything;
    const std::optional<size_t> column = table_.Find(name);
    if (!column.has_value() || (!everything && !cell.IsLive(now_s_))) return;
    *line += " " + name + "=";
    *line += cell.is_tombstone() ? "tombstone"
                                 : LiteralOfWire(table_.columns[*column].type, cell.value);
    AppendTimestamp(cell.timestamp_us, line);
    if (cell.is_expiring()) *line += " until " + std::to_string(cell.local_deletion_s);
  }

  // What a client reads is the value alone.
  void AddElements(const std::string& name, const StoredElements& elements,
                   std::string* line) const {
    const std::optional<size_t> column = table_.Find(name);
    if (!column.has_value()) return;
    const ColumnType& type = table_.columns[*column].type;
    if (kind_ == DumpKind::kVisible) {
      const std::optional<std::string> value = WireOfElements(type, elements, now_s_);
      if (value.has_value()) *line += " " + name + "=" + LiteralOfWire(type, *value);
      return;
    }
    AppendDeletion(" " + name + "-deleted", elements.deletion, line);
    for (const auto& [element, cell] : elements.cells) {
      *line += " " + name + "[" + LiteralOfWire(type.arguments[0], element) + "]";
      if (type.arguments.size() > 1) *line += "=" + LiteralOfWire(type.arguments[1], cell.value);
      AppendTimestamp(cell.timestamp_us, line);
      if (cell.is_expiring()) *line += " until " + std::to_string(cell.local_deletion_s);
    }
  }

  const TableDefinition& table_;
  DumpKind kind_;
  int64_t now_s_;
  std::string partition_;
  std::string text_;
};

}  // namespace

int64_t ExpirySecondsMax(StorageCompatibility mode) {
  return mode == StorageCompatibility::kNone ? kExpiryMaxOfCassandra5 : kExpiryMaxOfCassandra4;
}

Result<uint32_t> ResolveTtl(const TableDefinition& table, const TtlRequest& request,
                            int64_t server_now_s, StorageCompatibility mode) {
  if (request.kind == TtlRequest::Kind::kNull) return 0u;
  if (request.kind == TtlRequest::Kind::kUnset) return table.default_ttl_s;
  const bool is_default = request.kind == TtlRequest::Kind::kAbsent;
  const int64_t ttl_s = is_default ? int64_t{table.default_ttl_s} : int64_t{request.ttl_s};
  if (ttl_s < 0) {
    return Status::InvalidArgument("A TTL must be greater or equal to 0, but was " +
                                   std::to_string(ttl_s));
  }
  if (ttl_s > limits::kTtlSecondsMax) {
    return Status::InvalidArgument("ttl is too large. requested (" + std::to_string(ttl_s) +
                                   ") maximum (" + std::to_string(limits::kTtlSecondsMax) + ")");
  }
  if (ttl_s != 0 && ttl_s + server_now_s > ExpirySecondsMax(mode)) {
    const std::string date = mode == StorageCompatibility::kNone ? "2106-02-07T06:28:13+00:00"
                                                                 : "2038-01-19T03:14:06+00:00";
    return Status::InvalidArgument(
        "Request on table " + table.QualifiedName() + " with " + (is_default ? "default " : "") +
        "ttl of " + std::to_string(ttl_s) +
        " seconds exceeds maximum supported expiration date of " + date +
        ". In order to avoid this use a lower TTL, change the expiration date overflow policy or "
        "upgrade to a version where this limitation is fixed. See CASSANDRA-14092 and "
        "CASSANDRA-14227 for more details.");
  }
  return static_cast<uint32_t>(ttl_s);
}

int64_t ExpiryOf(int64_t now_s, uint32_t ttl_s, StorageCompatibility mode) {
  if (ttl_s == 0) return kNever;
  return std::min(now_s + ttl_s, ExpirySecondsMax(mode));
}

PartitionStore::PartitionName NameOf(const std::vector<std::string>& partition_key) {
  const std::vector<std::string_view> views(partition_key.begin(), partition_key.end());
  std::string bytes = cql::PartitionKeyBytes(views);
  const int64_t token = cql::TokenOf(bytes);
  return {token, std::move(bytes)};
}

void PartitionStore::Apply(const Mutation& mutation) {
  Partitions& partitions = tables_[mutation.table->id];
  const auto at = partitions.try_emplace(
      NameOf(mutation.partition_key),
      Entry{mutation.partition_key, Partition(mutation.table->order)}).first;
  at->second.partition.Merge(mutation.change);
}

const Partition* PartitionStore::Find(const TableDefinition& table,
                                      const std::vector<std::string>& partition_key) const {
  const Partitions& all = partitions(table);
  const auto at = all.find(NameOf(partition_key));
  return at == all.end() ? nullptr : &at->second.partition;
}

const PartitionStore::Partitions& PartitionStore::partitions(const TableDefinition& table) const {
  static const Partitions kNone;
  const auto at = tables_.find(table.id);
  return at == tables_.end() ? kNone : at->second;
}

void PartitionStore::MergeTable(const TableDefinition& table, const PartitionStore& other) {
  Partitions& mine = tables_[table.id];
  for (const auto& [name, entry] : other.partitions(table)) {
    const auto [at, is_new] = mine.try_emplace(name, entry);
    if (!is_new) at->second.partition.Merge(entry.partition);
  }
}

void PartitionStore::DropTable(const TableDefinition& table) { tables_.erase(table.id); }

void PartitionStore::HideDropped(const TableDefinition& table) {
  if (table.dropped.empty()) return;
  for (auto& [name, entry] : tables_[table.id]) entry.partition.HideDropped(table);
}

void PartitionStore::Purge(const TableDefinition& table, int64_t now_s) {
  HideDropped(table);
  Partitions& mine = tables_[table.id];
  for (auto& [name, entry] : mine) entry.partition.Purge(now_s, table.gc_grace_s);
  std::erase_if(mine, [](const auto& entry) { return entry.second.partition.IsEmpty(); });
}

std::string PartitionStore::Dump(const TableDefinition& table, DumpKind kind,
                                 int64_t now_s) const {
  if (kind == DumpKind::kVisible && !table.dropped.empty()) {
    PartitionStore shown = *this;
    shown.HideDropped(table);
    Dumper dumper(table, kind, now_s);
    for (const auto& [name, entry] : shown.partitions(table)) dumper.Add(entry);
    return dumper.Take();
  }
  Dumper dumper(table, kind, now_s);
  for (const auto& [name, entry] : partitions(table)) dumper.Add(entry);
  return dumper.Take();
}

std::string LiteralOf(const ColumnType& type, const CellValue& value) {
  std::string text;
  FormatValueText(type, value.fixed, value.bytes, &text);
  const bool is_text = type.kind == CqlType::kText || type.kind == CqlType::kAscii;
  return is_text ? QuoteString(text) : text;
}

std::string LiteralOfWire(const ColumnType& type, std::string_view bytes) {
  CellValue value;
  const Status parsed = ParseWireValue(type, bytes, &value);
  CISTERN_CHECK(parsed.ok());  // what is stored was checked when it was bound
  return LiteralOf(type, value);
}

std::optional<std::string> WireOfElements(const ColumnType& type, const StoredElements& elements,
                                          int64_t now_s) {
  int32_t count = 0;
  std::string parts;
  const auto add = [&parts](const std::string& part) {
    PutBig<int32_t>(&parts, static_cast<int32_t>(part.size()));
    parts += part;
  };
  for (const auto& [element, cell] : elements.cells) {
    if (!cell.IsLive(now_s)) continue;
    ++count;
    add(element);
    if (type.arguments.size() > 1) add(cell.value);
  }
  if (count == 0) return std::nullopt;
  std::string bytes;
  PutBig<int32_t>(&bytes, count);
  return bytes + parts;
}

}  // namespace cistern::fake_cassandra
