#include "tests/model/random_tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "lib/cql/vint.h"

namespace cistern::testing {

namespace {

constexpr size_t kEntityCount = 3;
constexpr size_t kKnownKeysMax = 400;
constexpr int64_t kUniqueFirst_s = 1'500'000'000;

std::string RandomBytes(size_t size, Rng* rng) {
  std::string out(size, '\0');
  for (char& byte : out) byte = static_cast<char>(rng->Next());
  return out;
}

std::string Numbered(char letter, uint64_t number) {
  std::string out(1, letter);
  out.append(std::to_string(number));
  return out;
}

std::string RandomText(Rng* rng, bool ascii) {
  static const char* const kWords[] = {"", "ok", "idle", "fault 7", "pump", "pump-1", "\t\"x',y\n"};
  static const char* const kWide[] = {"\xc3\xa9", "\xe6\xb8\xa9\xe5\xba\xa6", "\xf0\x9f\x94\xa5"};
  switch (rng->Below(8)) {
    case 0: return std::string(rng->Below(300), static_cast<char>('a' + rng->Below(26)));
    case 1: return ascii ? "A" : kWide[rng->Below(3)];
    case 2: return Numbered('n', rng->Below(1000));
    default: return kWords[rng->Below(7)];
  }
}

int64_t RandomInt(int64_t low, int64_t high, Rng* rng) {
  switch (rng->Below(12)) {
    case 0: return low;
    case 1: return high;
    case 2: {
      const auto span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
      const uint64_t offset = span == UINT64_MAX ? rng->Next() : rng->Below(span + 1);
      return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
    }
    default: return std::clamp<int64_t>(rng->Between(-20, 100), low, high);
  }
}

double RandomDouble(Rng* rng) {
  using Limits = std::numeric_limits<double>;
  switch (rng->Below(12)) {
    case 0: return -0.0;
    case 1: return Limits::infinity();
    case 2:
      return std::bit_cast<double>(0x7ff8000000000000ull | rng->Below(1000));  // a NaN's payload
    case 3: return Limits::denorm_min() * static_cast<double>(rng->Below(100));
    case 4: return static_cast<double>(rng->Next()) * 1e-7;
    case 5: return double{static_cast<float>(rng->Between(-99999, 99999)) / 7.0f};
    default: return static_cast<double>(rng->Between(-5000, 5000)) / 100.0;
  }
}

std::string RandomUuid(int version, Rng* rng) {
  std::string uuid = RandomBytes(16, rng);
  uuid[6] = static_cast<char>((static_cast<uint8_t>(uuid[6]) & 0x0f) | version << 4);
  uuid[8] = static_cast<char>((static_cast<uint8_t>(uuid[8]) & 0x3f) | 0x80);
  return uuid;
}

std::string TimeuuidAt(int64_t ticks_since_1970, std::string_view tail) {
  const auto time = static_cast<uint64_t>(ticks_since_1970 + 0x01b21dd213814000ll);
  std::string uuid(16, '\0');
  const uint64_t parts[] = {time & 0xffffffff, time >> 32 & 0xffff, (time >> 48 & 0x0fff) | 0x1000};
  const int widths[] = {4, 2, 2};
  size_t at = 0;
  for (int p = 0; p < 3; ++p) {
    for (int i = widths[p]; i-- > 0;) uuid[at++] = static_cast<char>(parts[p] >> (8 * i));
  }
  std::copy(tail.begin(), tail.end(), uuid.begin() + 8);
  uuid[8] = static_cast<char>((static_cast<uint8_t>(uuid[8]) & 0x3f) | 0x80);
  return uuid;
}

std::string BigEndian32(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
  return out;
}

// A frozen collection: a count, then elements with their lengths; sets and maps sorted.
std::string RandomCollection(const ColumnType& type, Rng* rng) {
  const auto count = static_cast<uint32_t>(rng->Below(4));
  std::string out = BigEndian32(count);
  for (uint32_t i = 0; i < count; ++i) {
    for (const ColumnType& argument : type.arguments) {
      // int elements count upwards, so that they are sorted; others are one letter.
      const std::string element = argument.kind == CqlType::kInt
                                      ? BigEndian32(i * 10)
                                      : std::string(1, static_cast<char>('a' + i));
      out += BigEndian32(static_cast<uint32_t>(element.size())) + element;
    }
  }
  return out;
}

}  // namespace

const std::vector<TableProfile>& TableProfiles() {
  static const std::vector<TableProfile> kProfiles = {
      {"CREATE TABLE m.readings (sensor text, day date, ts timestamp, temp double, hum float,"
       " count int, ok boolean, note text, PRIMARY KEY ((sensor, day), ts))"
       " WITH comment = 'cistern: bucket day = 1 month until 2025-06-01, 1 day'",
       600, false},
      {"CREATE TABLE m.channels (site int, device text, month int, ts timestamp, channel smallint,"
       " label text, v bigint, raw blob, dated date, tod time,"
       " PRIMARY KEY ((site, device, month), ts, channel, label))"
       " WITH CLUSTERING ORDER BY (ts DESC, channel ASC, label DESC)"
       " AND default_time_to_live = 900"
       " AND comment = 'cistern: bucket month = 1 month as calendar'",
       86400, false},
      {"CREATE TABLE m.events (device uuid, slot timestamp, id timeuuid, kind tinyint, body text,"
       " addr inet, amount decimal, PRIMARY KEY ((device, slot), id))"
       " WITH comment = 'cistern: bucket slot = 1 hour until 2025-06-01, 15 minutes'",
       60, false},
      {"CREATE TABLE m.fast (id bigint, hour text, shard int, t bigint, seq int, u uuid, x double,"
       " y frozen<list<int>>, PRIMARY KEY ((id, hour, shard), t, seq, u))"
       " WITH CLUSTERING ORDER BY (t ASC, seq DESC, u ASC)"
       " AND comment = 'cistern: bucket hour = 1 day until 2025-06-01, 1 hour;"
       " split shard = hash 4; time t = us'",
       300, false},
      {"CREATE TABLE m.robin (sensor ascii, week text, part int, t bigint, v int, w varint,"
       " PRIMARY KEY ((sensor, week, part), t))"
       " WITH comment = 'cistern: bucket week = 1 week; split part = round_robin 3; time t = s'",
       600, true},
      {"CREATE TABLE m.wide (addr inet, zone ascii, year int, ts timestamp, id timeuuid,"
       " c0 double, c1 double, c2 float, c3 tinyint, c4 smallint, c5 text, c6 blob, c7 boolean,"
       " c8 uuid, c9 frozen<map<text, int>>, c10 duration, c11 tuple<int, text>,"
       " c12 vector<float, 3>, PRIMARY KEY ((addr, zone, year), ts, id))"
       " WITH CLUSTERING ORDER BY (ts DESC, id DESC)"
       " AND comment = 'cistern: bucket year = 1 month as calendar until 2010-01-01, 1 year"
       " until 2020-01-01, 1 day as calendar'",
       40 * 86400, false},
      // Windows of a minute, whose rows soon expire.
      {"CREATE TABLE m.brief (sensor text, slot timestamp, ts timestamp, v int, w text,"
       " PRIMARY KEY ((sensor, slot), ts)) WITH default_time_to_live = 60"
       " AND comment = 'cistern: bucket slot = 1 minute'",
       20, false},
  };
  return kProfiles;
}

// Its fields, some of them null.
std::string RandomTuple(const ColumnType& type, Rng* rng) {
  std::string out;
  for (const ColumnType& field : type.arguments) {
    if (rng->OneIn(4)) {
      out += std::string(4, '\xff');
      continue;
    }
    const std::string bytes = field.kind == CqlType::kInt
                                  ? BigEndian32(static_cast<uint32_t>(rng->Next()))
                                  : RandomText(rng, false);
    out += BigEndian32(static_cast<uint32_t>(bytes.size())) + bytes;
  }
  return out;
}

Cell RandomValue(const ColumnType& type, Rng* rng) {
  switch (type.kind) {
    case CqlType::kBoolean: return Cell::Fixed(static_cast<int64_t>(rng->Below(2)));
    case CqlType::kTinyint: return Cell::Fixed(RandomInt(INT8_MIN, INT8_MAX, rng));
    case CqlType::kSmallint: return Cell::Fixed(RandomInt(INT16_MIN, INT16_MAX, rng));
    case CqlType::kInt: return Cell::Fixed(RandomInt(INT32_MIN, INT32_MAX, rng));
    case CqlType::kBigint: return Cell::Fixed(RandomInt(INT64_MIN, INT64_MAX, rng));
    case CqlType::kTimestamp: return Cell::Fixed(rng->Between(-1'000'000, 1'700'000'000'000));
    case CqlType::kDate: return Cell::Fixed(rng->Between(-1000, 30000));
    case CqlType::kTime: return Cell::Fixed(rng->Between(0, 86'399'999'999'999));
    case CqlType::kDouble: return Cell::Fixed(std::bit_cast<int64_t>(RandomDouble(rng)));
    case CqlType::kFloat: {
      const double wide = RandomDouble(rng);
      const float value = std::isnan(wide) ? std::numeric_limits<float>::quiet_NaN()
                                           : static_cast<float>(wide);
      return Cell::Fixed(int64_t{std::bit_cast<uint32_t>(value)});
    }
    case CqlType::kText: return Cell::Bytes(RandomText(rng, false));
    case CqlType::kAscii: return Cell::Bytes(RandomText(rng, true));
    case CqlType::kBlob: return Cell::Bytes(RandomBytes(rng->Below(40), rng));
    case CqlType::kUuid: return Cell::Bytes(RandomUuid(rng->OneIn(3) ? 1 : 4, rng));
    case CqlType::kTimeuuid: return Cell::Bytes(RandomUuid(1, rng));
    case CqlType::kInet: return Cell::Bytes(RandomBytes(rng->OneIn(2) ? 4 : 16, rng));
    case CqlType::kDecimal:
      return Cell::Bytes(BigEndian32(static_cast<uint32_t>(rng->Below(6))) +
                         std::string(1, static_cast<char>(rng->Next())));
    case CqlType::kVarint: return Cell::Bytes(std::string(1, static_cast<char>(rng->Next())));
    case CqlType::kList: case CqlType::kSet: case CqlType::kMap:
      return Cell::Bytes(RandomCollection(type, rng));
    case CqlType::kDuration: {
      std::string parts;
      for (int i = 0; i < 3; ++i) PutVint(&parts, rng->Between(0, 100'000));
      return Cell::Bytes(std::move(parts));
    }
    case CqlType::kTuple:
    case CqlType::kUserType: return Cell::Bytes(RandomTuple(type, rng));
    case CqlType::kVector:  // of elements of 4 bytes
      return Cell::Bytes(RandomBytes(4 * type.dimension, rng));
  }
  return Cell::Null();
}

RandomTable::RandomTable(std::shared_ptr<const TableSchema> schema, const TableProfile& profile,
                         uint64_t seed)
    : schema_(std::move(schema)), profile_(profile) {
  Rng rng(seed);
  for (size_t i = 0; i < kEntityCount; ++i) {
    std::vector<Cell> entity(schema_->columns.size());
    for (const size_t c : schema_->entity_columns) {
      entity[c] = RandomValue(schema_->columns[c].type, &rng);
      // Cassandra refuses an empty partition key.
      const bool text = schema_->columns[c].type.kind == CqlType::kText ||
                        schema_->columns[c].type.kind == CqlType::kAscii;
      if (text) entity[c] = Cell::Bytes(Numbered('e', i));
    }
    entities_.push_back(std::move(entity));
  }
}

const std::vector<Cell>& RandomTable::RandomEntity(Rng* rng) const {
  return entities_[rng->Below(entities_.size())];
}

int64_t RandomTable::RandomTime(int64_t now_s, Rng* rng) const {
  const int64_t ticks = TicksPerSecond(schema_->time_unit);
  const int64_t top = last_s_ == 0 ? now_s : last_s_;
  const int64_t second = top - rng->Between(-2, rng->OneIn(4) ? 120 : 25) * profile_.step_s;
  int64_t time = std::min(second, now_s) * ticks;  // later ones may be refused
  if (rng->OneIn(4)) time += rng->Between(0, ticks - 1);
  return time;
}

int64_t RandomTable::NextTime(const RowMix& mix, int64_t now_s, Rng* rng) {
  const int64_t ticks = TicksPerSecond(schema_->time_unit);
  if (profile_.unique_keys) {
    // Every number once; with late rows, neighbours come in another order.
    const int64_t n = unique_++;
    return (kUniqueFirst_s + (mix.late && n / 4 % 3 == 1 ? n ^ 3 : n) * profile_.step_s) * ticks;
  }
  // 1970, 2020-12-31 to 2021-01-04 (week 53), a leap day.
  static constexpr int64_t kAncient[] = {-86400 * 400, -1, 0, 1609372800, 1609632000, 1709164800};
  if (mix.ancient && rng->OneIn(40)) {
    return (kAncient[rng->Below(6)] + rng->Between(0, 5) * profile_.step_s / 2) * ticks;
  }
  if (mix.late && rng->OneIn(4)) return RandomTime(now_s, rng);
  if (last_s_ == 0) last_s_ = now_s - 240 * profile_.step_s;
  // In order up to the present; then the table's past is written over.
  last_s_ += rng->OneIn(3) ? profile_.step_s : profile_.step_s / 20;
  if (last_s_ > now_s) last_s_ = now_s - 240 * profile_.step_s;
  return last_s_ * ticks;
}

void RandomTable::SetTime(int64_t ticks, Rng* rng, WriteRow* row) const {
  const size_t column = schema_->time_column();
  if (schema_->time_unit == TimeUnit::kTicks100ns) {
    // Few tails, so that equal times meet and the order of the rest is seen.
    static constexpr std::string_view kTails[] = {"\x80\x01\x02\x03\x04\x05\x06\x07",
                                                  "\x80\x81\x02\x03\x04\x05\x06\x07",
                                                  "\x80\x01\x02\x03\x04\x05\x06\xf7"};
    row->cells[column] = Cell::Bytes(TimeuuidAt(ticks, kTails[rng->Below(3)]));
  } else {
    row->cells[column] = Cell::Fixed(ticks);
  }
}

std::string RandomTable::RandomAlteration(Rng* rng) {
  static constexpr CqlType kTypes[] = {CqlType::kInt, CqlType::kText, CqlType::kDouble,
                                       CqlType::kBoolean, CqlType::kBlob};
  std::vector<ColumnSpec> regular;
  for (const size_t c : schema_->regular_columns) regular.push_back(schema_->columns[c]);
  if (regular.size() > 1 && rng->OneIn(2)) {
    const auto gone = regular.begin() + static_cast<ptrdiff_t>(rng->Below(regular.size()));
    dropped_.push_back(*gone);
    regular.erase(gone);
  } else if (!dropped_.empty() && rng->OneIn(2)) {
    const auto back = dropped_.begin() + static_cast<ptrdiff_t>(rng->Below(dropped_.size()));
    regular.push_back(*back);
    dropped_.erase(back);
  } else {
    const uint64_t number = rng->Next();
    const ColumnType type{kTypes[number % 5], {}};
    regular.push_back({Numbered('x', number), type, ColumnRole::kRegular, false});
  }
  if (rng->OneIn(3)) std::swap(regular.front(), regular[rng->Below(regular.size())]);
  TableSchema next = *schema_;
  if (rng->OneIn(3)) next.default_ttl_s = static_cast<uint32_t>(60 * rng->Below(10));
  // The key columns around them, or some of them, come first.
  next.columns.clear();
  const bool keys_first = rng->OneIn(2);
  const auto add_keys = [&] {
    for (const ColumnSpec& c : schema_->columns) {
      if (c.role != ColumnRole::kRegular) next.columns.push_back(c);
    }
  };
  if (keys_first) add_keys();
  next.columns.insert(next.columns.end(), regular.begin(), regular.end());
  if (!keys_first) add_keys();
  const auto place = [&](std::vector<size_t>* key) {
    for (size_t& c : *key) c = *next.FindColumn(schema_->columns[c].name);
  };
  place(&next.partition_key);
  place(&next.clustering_columns);
  return next.ToCql();
}

void RandomTable::Alter(std::shared_ptr<const TableSchema> next) {
  for (auto* rows : {&entities_, &known_}) {
    for (std::vector<Cell>& cells : *rows) {
      std::vector<Cell> moved(next->columns.size());
      for (size_t c = 0; c < cells.size(); ++c) {
        const auto to = next->FindColumn(schema_->columns[c].name);
        if (to && schema_->columns[c].role != ColumnRole::kRegular) moved[*to] = cells[c];
      }
      cells = std::move(moved);
    }
  }
  schema_ = std::move(next);
}

WriteRow RandomTable::NextRow(const RowMix& mix, int64_t now_s, Rng* rng) {
  WriteRow row;
  const bool again = mix.duplicates && !profile_.unique_keys && !known_.empty() && rng->OneIn(3);
  if (again) {
    row.cells = known_[rng->Below(known_.size())];
  } else {
    row.cells = RandomEntity(rng);
    SetTime(NextTime(mix, now_s, rng), rng, &row);
    for (size_t i = 1; i < schema_->clustering_columns.size(); ++i) {
      const size_t c = schema_->clustering_columns[i];
      row.cells[c] = RandomValue(schema_->columns[c].type, rng);
    }
    if (known_.size() < kKnownKeysMax) known_.push_back(row.cells);
    else known_[rng->Below(kKnownKeysMax)] = row.cells;
  }
  if (again && mix.row_deletes && rng->OneIn(6)) {
    row.kind = RowKind::kDeleteRow;
    return row;
  }
  if (mix.updates && rng->OneIn(4)) row.kind = RowKind::kUpdate;
  bool has_cell = false;
  for (const size_t c : schema_->regular_columns) {
    if (mix.absent && rng->OneIn(row.kind == RowKind::kUpdate ? 2 : 8)) continue;
    row.cells[c] = mix.nulls && rng->OneIn(8) ? Cell::Null()
                                              : RandomValue(schema_->columns[c].type, rng);
    has_cell = true;
  }
  // An UPDATE sets something.
  if (!has_cell && row.kind == RowKind::kUpdate) {
    const size_t c = schema_->regular_columns.front();
    row.cells[c] = RandomValue(schema_->columns[c].type, rng);
  }
  static constexpr uint32_t kTtls[] = {0, 1, 5, 30, 300, 86400};
  if (mix.ttls && rng->OneIn(4)) row.ttl_s = kTtls[rng->Below(6)];
  return row;
}

}  // namespace cistern::testing
