#include "tests/support/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "tests/support/calendar.h"

namespace cistern::testing {

namespace {

uint64_t BigEndian(std::string_view bytes, size_t first, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<uint8_t>(bytes[first + i]);
  return value;
}

template <typename T>
int Order(T a, T b) {
  return a < b ? -1 : (a > b ? 1 : 0);
}

// Java's Double.compare: -0.0 before 0.0, NaN after everything.
int OrderDoubles(double a, double b) {
  if (a < b) return -1;
  if (a > b) return 1;
  const auto rank = [](double v) {
    return std::isnan(v) ? 2 : (v == 0 && !std::signbit(v) ? 1 : 0);
  };
  return std::isnan(a) || std::isnan(b) || a == 0 ? Order(rank(a), rank(b)) : 0;
}

// 60 bits of a version 1 uuid's time.
uint64_t UuidTime(std::string_view uuid) {
  return (BigEndian(uuid, 6, 2) & 0x0fff) << 48 | BigEndian(uuid, 4, 2) << 32 |
         BigEndian(uuid, 0, 4);
}

// TimeUUIDType: time, then the last eight bytes as signed bytes.
int OrderTimeuuids(std::string_view a, std::string_view b) {
  if (const int order = Order(UuidTime(a), UuidTime(b)); order != 0) return order;
  for (size_t i = 8; i < 16; ++i) {
    const int order = Order(static_cast<int8_t>(a[i]), static_cast<int8_t>(b[i]));
    if (order != 0) return order;
  }
  return 0;
}

// UUIDType: version, then time for version 1, then unsigned bytes.
int OrderUuids(std::string_view a, std::string_view b) {
  const int version_a = static_cast<uint8_t>(a[6]) >> 4;
  const int version_b = static_cast<uint8_t>(b[6]) >> 4;
  if (version_a != version_b) return Order(version_a, version_b);
  if (version_a == 1) {
    if (const int order = Order(UuidTime(a), UuidTime(b)); order != 0) return order;
    return Order(BigEndian(a, 8, 8), BigEndian(b, 8, 8));
  }
  return std::memcmp(a.data(), b.data(), 16);
}

// A fixed-lane value as the native protocol serialises it.
std::string Wire(const ColumnType& type, const Cell& cell) {
  if (type.lane() == Lane::kBytes) return cell.bytes;
  size_t width = 8;
  auto value = static_cast<uint64_t>(cell.fixed);
  switch (type.kind) {
    case CqlType::kBoolean: case CqlType::kTinyint: width = 1; break;
    case CqlType::kSmallint: width = 2; break;
    case CqlType::kInt: case CqlType::kFloat: width = 4; break;
    case CqlType::kDate: width = 4; value += 0x80000000u; break;
    default: break;
  }
  std::string out;
  for (size_t i = width; i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

}  // namespace

int CompareCells(const ColumnType& type, const Cell& a, const Cell& b) {
  switch (type.kind) {
    case CqlType::kDouble:
      return OrderDoubles(std::bit_cast<double>(a.fixed), std::bit_cast<double>(b.fixed));
    case CqlType::kFloat:
      return OrderDoubles(double{std::bit_cast<float>(static_cast<uint32_t>(a.fixed))},
                          double{std::bit_cast<float>(static_cast<uint32_t>(b.fixed))});
    case CqlType::kTimeuuid: return OrderTimeuuids(a.bytes, b.bytes);
    case CqlType::kUuid: return OrderUuids(a.bytes, b.bytes);
    default:
      if (type.lane() == Lane::kFixed) return Order(a.fixed, b.fixed);
      return a.bytes.compare(b.bytes);  // char_traits compares as unsigned char
  }
}

int64_t TicksOfTimeuuid(std::string_view uuid) {
  // 1582-10-15 to 1970-01-01 in 100 ns.
  return static_cast<int64_t>(UuidTime(uuid)) - 0x01b21dd213814000ll;
}

std::string EntityBytes(const TableSchema& schema, const std::vector<Cell>& cells) {
  std::string out;
  for (const size_t c : schema.entity_columns) {
    const std::string wire = Wire(schema.columns[c].type, cells[c]);
    out.push_back(static_cast<char>(wire.size() >> 8));
    out.push_back(static_cast<char>(wire.size()));
    out += wire;
  }
  return out;
}

ModelTable::ModelTable(std::shared_ptr<const TableSchema> schema) : schema_(std::move(schema)) {}

bool ModelTable::KeyLess::operator()(const ClusteringKey& a, const ClusteringKey& b) const {
  const bool flipped = schema->columns[schema->clustering_columns[0]].descending;
  for (size_t i = 0; i < a.size(); ++i) {
    const ColumnSpec& column = schema->columns[schema->clustering_columns[i]];
    const int order = CompareCells(column.type, a[i], b[i]);
    if (order != 0) return column.descending != flipped ? order > 0 : order < 0;
  }
  return false;
}

int64_t ModelTable::TimeOf(const ClusteringKey& key) const {
  return schema_->time_unit == TimeUnit::kTicks100ns ? TicksOfTimeuuid(key[0].bytes) : key[0].fixed;
}

ClusteringKey ModelTable::KeyOf(const std::vector<Cell>& cells) const {
  ClusteringKey key;
  for (const size_t c : schema_->clustering_columns) key.push_back(cells[c]);
  return key;
}

ModelTable::Entity& ModelTable::EntityFor(const std::string& bytes) {
  return entities_.try_emplace(bytes, Entity{{}, Rows(KeyLess{schema_.get()})}).first->second;
}

void ModelTable::Write(const WriteRow& row, int64_t now_s) {
  ++versions_;
  Entity& entity = EntityFor(EntityBytes(*schema_, row.cells));
  if (entity.columns.empty()) {
    for (const size_t c : schema_->entity_columns) entity.columns.push_back(row.cells[c]);
  }
  const ClusteringKey key = KeyOf(row.cells);
  if (row.kind == RowKind::kDeleteRow) {
    entity.rows.erase(key);
    return;
  }
  StoredRow& stored = entity.rows[key];
  stored.regular.resize(schema_->regular_columns.size());
  const uint32_t ttl_s = row.ttl_s.value_or(schema_->default_ttl_s);
  const int64_t expiry_s = ttl_s == 0 ? 0 : now_s + ttl_s;
  for (size_t i = 0; i < stored.regular.size(); ++i) {
    const Cell& cell = row.cells[schema_->regular_columns[i]];
    if (cell.state == CellState::kAbsent) continue;
    stored.regular[i] = {cell, cell.state == CellState::kNull ? 0 : expiry_s};
  }
  if (row.kind == RowKind::kInsert) {
    stored.live = true;
    stored.live_expiry_s = expiry_s;
  }
}

void ModelTable::DeleteRange(const std::string& entity, int64_t from, int64_t to) {
  Rows& rows = EntityFor(entity).rows;
  for (auto it = rows.begin(); it != rows.end();) {
    const int64_t time = TimeOf(it->first);
    it = time >= from && time < to ? rows.erase(it) : std::next(it);
  }
}

void ModelTable::DeleteBucket(const std::string& entity, int64_t time) {
  const int64_t ticks = TicksPerSecond(schema_->time_unit);
  const int64_t second = FloorDiv(time, ticks);
  const BucketSpan span = SpanOf(schema_->BucketRuleAt(second), second);
  DeleteRange(entity, span.start_s * ticks, span.end_s * ticks);
}

void ModelTable::Alter(std::shared_ptr<const TableSchema> next) {
  std::vector<std::optional<size_t>> sources;
  for (const size_t c : next->regular_columns) {
    const auto old = schema_->FindColumn(next->columns[c].name);
    const auto& regular = schema_->regular_columns;
    sources.push_back(old ? std::optional<size_t>(static_cast<size_t>(
                                std::find(regular.begin(), regular.end(), *old) - regular.begin()))
                          : std::nullopt);
  }
  for (auto& [bytes, entity] : entities_) {
    for (auto& [key, row] : entity.rows) {
      std::vector<StoredCell> cells(sources.size());
      for (size_t i = 0; i < sources.size(); ++i) {
        if (sources[i]) cells[i] = row.regular[*sources[i]];
      }
      row.regular = std::move(cells);
    }
  }
  before_.push_back(std::move(schema_));
  schema_ = std::move(next);
}

bool ModelTable::Visible(const StoredRow& row, int64_t now_s) const {
  const auto lives = [&](int64_t expiry_s) { return expiry_s == 0 || now_s < expiry_s; };
  if (row.live && lives(row.live_expiry_s)) return true;
  return std::any_of(row.regular.begin(), row.regular.end(), [&](const StoredCell& cell) {
    return cell.value.state == CellState::kValue && lives(cell.expiry_s);
  });
}

VisibleRow ModelTable::Show(const Entity& entity, const ClusteringKey& key, const StoredRow& row,
                            int64_t now_s) const {
  VisibleRow out(schema_->columns.size(), Cell::Null());
  for (size_t i = 0; i < schema_->entity_columns.size(); ++i) {
    out[schema_->entity_columns[i]] = entity.columns[i];
  }
  for (size_t i = 0; i < key.size(); ++i) out[schema_->clustering_columns[i]] = key[i];
  for (size_t i = 0; i < row.regular.size(); ++i) {
    const StoredCell& cell = row.regular[i];
    if (cell.value.state != CellState::kValue) continue;
    if (cell.expiry_s != 0 && now_s >= cell.expiry_s) continue;
    out[schema_->regular_columns[i]] = cell.value;
  }
  const int64_t second = FloorDiv(TimeOf(key), TicksPerSecond(schema_->time_unit));
  const BucketRule& rule = schema_->BucketRuleAt(second);
  out[schema_->bucket_column] = BucketValue(rule, SpanOf(rule, second).start_s);
  if (schema_->split_column.has_value()) out[*schema_->split_column] = Cell::Absent();
  return out;
}

std::vector<VisibleRow> ModelTable::Scan(const std::string& entity, int64_t from, int64_t to,
                                         int64_t now_s, const ClusteringKey* after) const {
  std::vector<VisibleRow> out;
  const auto found = entities_.find(entity);
  if (found == entities_.end()) return out;
  const bool ascending = from < to;
  const KeyLess less{schema_.get()};
  for (const auto& [key, row] : found->second.rows) {
    const int64_t time = TimeOf(key);
    // INT64_MAX means unbounded, so it is no bound for an event time of that value either.
    if (time < std::min(from, to)) continue;
    if (std::max(from, to) != INT64_MAX && time >= std::max(from, to)) continue;
    if (after != nullptr && !(ascending ? less(*after, key) : less(key, *after))) continue;
    if (Visible(row, now_s)) out.push_back(Show(found->second, key, row, now_s));
  }
  if (!ascending) std::reverse(out.begin(), out.end());
  return out;
}

std::map<std::string, bool> ModelTable::Entities(int64_t now_s) const {
  std::map<std::string, bool> out;
  for (const auto& [bytes, entity] : entities_) {
    out[bytes] = std::any_of(entity.rows.begin(), entity.rows.end(),
                             [&](const auto& row) { return Visible(row.second, now_s); });
  }
  return out;
}

std::string RowToText(const TableSchema& schema, const VisibleRow& row) {
  std::string out;
  for (size_t c = 0; c < row.size(); ++c) {
    const Cell& cell = row[c];
    if (cell.state == CellState::kAbsent) continue;
    out += (out.empty() ? "" : " ") + schema.columns[c].name + "=";
    if (cell.state == CellState::kNull) {
      out += "null";
    } else if (schema.columns[c].type.lane() == Lane::kFixed) {
      out += std::to_string(cell.fixed);
    } else {
      out += "0x";
      char hex[3];
      for (const char byte : cell.bytes.substr(0, 24)) {
        std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned>(static_cast<uint8_t>(byte)));
        out += hex;
      }
      if (cell.bytes.size() > 24) out += "...(" + std::to_string(cell.bytes.size()) + " bytes)";
    }
  }
  return out;
}

std::string DiffRows(const TableSchema& schema, const std::vector<size_t>& columns,
                     const std::vector<VisibleRow>& expected,
                     const std::vector<VisibleRow>& actual) {
  const auto equal = [&](const VisibleRow& a, const VisibleRow& b) {
    return std::all_of(columns.begin(), columns.end(), [&](size_t c) {
      return (schema.split_column.has_value() && c == *schema.split_column) || a[c] == b[c];
    });
  };
  size_t first = 0;
  while (first < expected.size() && first < actual.size() &&
         equal(expected[first], actual[first])) {
    ++first;
  }
  if (first == expected.size() && first == actual.size()) return "";
  std::string out = "rows differ at " + std::to_string(first) + ": expected " +
                    std::to_string(expected.size()) + " rows, got " +
                    std::to_string(actual.size()) + "\n";
  const auto show = [&](const char* label, const std::vector<VisibleRow>& rows) {
    for (size_t i = first == 0 ? 0 : first - 1; i < std::min(rows.size(), first + 3); ++i) {
      out += std::string(label) + (i == first ? " >" : "  ") + std::to_string(i) + "  " +
             RowToText(schema, rows[i]) + "\n";
    }
  };
  show("  expected", expected);
  show("  actual  ", actual);
  return out;
}

}  // namespace cistern::testing
