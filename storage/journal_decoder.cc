#include "storage/journal_decoder.h"

#include <bit>
#include <string>

#include "cistern/limits.h"
#include "lib/base/checksum.h"
#include "lib/cql/wire_value.h"
#include "lib/row/row_batch_filler.h"

namespace cistern {

using journal::CodedColumn;
using journal::ColumnCoding;
using journal::EntityCoder;

namespace {

constexpr uint64_t kOperationCountMax = 1 << 24;

// The value a decimal d stands for, as bits of its lane.
int64_t RealBits(int64_t d, int exponent, bool is_float) {
  const double value = static_cast<double>(d) / journal::kPowersOfTen[exponent];
  if (is_float) return static_cast<int64_t>(std::bit_cast<uint32_t>(static_cast<float>(value)));
  return std::bit_cast<int64_t>(value);
}

double RealOf(int64_t bits, bool is_float) {
  return is_float ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                  : std::bit_cast<double>(bits);
}

}  // namespace

Status JournalDecoder::Decode(std::string_view record, uint64_t expected_sequence,
                              JournalSink* sink) {
  if (record.size() < 9) return Status::Corruption("journal record: too short");
  const std::string_view body = record.substr(0, record.size() - 8);
  if (GetLittle<uint64_t>(record.data() + body.size()) != Checksum(body)) {
    return Status::Corruption("journal record: checksum does not match");
  }
  ByteReader in(body, "journal record");
  if (const uint8_t version = in.ReadU8("version"); version != journal::kRecordVersion) {
    return Status::TooNew("journal record: version " + std::to_string(version) + " is not known");
  }
  if (in.ReadVarint("sequence") != expected_sequence) in.Fail("sequence", "is not that of its key");
  Chain chain;
  chain.next_us = in.ReadSigned("first_us");
  chain.boot = static_cast<uint32_t>(in.ReadCount("boot", UINT32_MAX));
  chain.expiry_s = static_cast<uint32_t>(in.ReadCount("expiry", UINT32_MAX));
  const uint64_t count = in.ReadCount("count", kOperationCountMax);
  for (uint64_t i = 0; i < count && in.ok(); ++i) DecodeOperation(&in, &chain, sink);
  if (in.ok() && in.remaining() != 0) in.Fail("end", "has bytes behind it");
  return in.status();
}

void JournalDecoder::DecodeOperation(ByteReader* in, Chain* chain, JournalSink* sink) {
  const uint8_t flags = in->ReadU8("flags");
  const size_t number = ReadEntity(in, flags);
  if (!in->ok()) return;
  EntityCoder& entity = entities_[number];
  if (flags & journal::kNewSplit) {
    entity.split = static_cast<uint32_t>(in->ReadCount("split", limits::kSplitCountMax));
  }
  if (flags & journal::kOtherTimestamp) {
    chain->next_us = static_cast<int64_t>(static_cast<uint64_t>(chain->next_us) +
                                          static_cast<uint64_t>(in->ReadSigned("timestamp")));
  }
  if (flags & journal::kOtherExpiry) {
    chain->expiry_s = static_cast<uint32_t>(in->ReadCount("expiry", UINT32_MAX));
  }
  const uint8_t kind = flags & journal::kKindMask;
  RowStamp stamp;
  stamp.write_us = chain->next_us;
  stamp.boot = chain->boot;
  chain->next_us = static_cast<int64_t>(static_cast<uint64_t>(chain->next_us) + 1);
  last_entity_ = number;
  if (kind == journal::kKindRangeDelete) {
    RangeDelete range;
    const int64_t start_s = in->ReadSigned("start");
    range.from = in->ReadSigned("from");
    range.to = in->ReadSigned("to");
    range.write_us = stamp.write_us;
    range.boot = stamp.boot;
    if (in->ok()) {
      sink->OnRangeDelete(entity.table->table_id, entity.entity, start_s, entity.split, range);
    }
    return;
  }
  const auto row_kind = static_cast<RowKind>(kind);
  stamp.flags = row_kind == RowKind::kInsert      ? kVersionLiveness
                : row_kind == RowKind::kDeleteRow ? kVersionDeleteRow
                                                  : uint8_t{0};
  if (row_kind != RowKind::kDeleteRow) stamp.expiry_s = chain->expiry_s;
  DecodeRow(in, number, flags, stamp, sink);
}

size_t JournalDecoder::ReadEntity(ByteReader* in, uint8_t flags) {
  if (flags & journal::kNewEntity) {
    DefineEntity(in);
    return entities_.empty() ? 0 : entities_.size() - 1;
  }
  size_t number = last_entity_ + 1 < entities_.size() ? last_entity_ + 1 : 0;
  if (flags & journal::kOtherEntity) number = in->ReadVarint("entity");
  if (number >= entities_.size()) in->Fail("entity", "was not defined");
  return number;
}

void JournalDecoder::DefineEntity(ByteReader* in) {
  const auto table_id = static_cast<uint32_t>(in->ReadCount("table", UINT32_MAX));
  const uint64_t length = in->ReadCount("entity length", limits::kEntityKeyBytesMax);
  const std::string_view key = in->ReadBytes("entity key", length);
  if (!in->ok()) return;
  TableState& table = tables_[table_id];
  if (!table.coder) {
    auto schema = lookup_(table_id);
    if (!schema) return in->Fail("table", "is not known");
    table.batch = std::make_unique<RowBatch>(schema);
    table.coder = std::make_unique<journal::TableCoder>(table_id, std::move(schema));
  }
  entities_.emplace_back(table.coder.get(), key);
  RowBatch probe(table.coder->schema);
  RowBatchFiller(&probe).AddRow(RowKind::kInsert);
  if (!FillEntityCells(entities_.back(), &probe)) in->Fail("entity key", "is not of its table");
}

// Sets the entity columns of the batch's row from the key.
bool JournalDecoder::FillEntityCells(const EntityCoder& entity, RowBatch* batch) {
  const TableSchema& schema = *entity.table->schema;
  RowBatchFiller filler(batch);
  ByteReader in(entity.entity, "entity key");
  for (const size_t column : schema.entity_columns) {
    const size_t high = in.ReadU8("length");
    const size_t low = in.ReadU8("length");
    CellValue value;
    const std::string_view bytes = in.ReadBytes("value", high << 8 | low);
    if (!in.ok() || !ParseWireValue(schema.columns[column].type, bytes, &value).ok()) return false;
    filler.states()[column] = CellState::kValue;
    const bool fixed = schema.columns[column].type.lane() == Lane::kFixed;
    filler.slots()[column] = fixed ? value.fixed : filler.AddBytes(value.bytes);
  }
  return in.remaining() == 0;
}

void JournalDecoder::DecodeRow(ByteReader* in, size_t number, uint8_t flags, const RowStamp& stamp,
                               JournalSink* sink) {
  EntityCoder& entity = entities_[number];
  const journal::TableCoder& table = *entity.table;
  const auto kind = static_cast<RowKind>(flags & journal::kKindMask);
  if (flags & journal::kNewShape) ReadShape(in, &entity);
  const auto state_of = [&](size_t i) {
    if (i < table.clustering_count) return CellState::kValue;
    return kind == RowKind::kDeleteRow ? CellState::kAbsent
                                       : entity.shape[i - table.clustering_count];
  };
  size_t with_value = 0;
  for (size_t i = 0; i < table.columns.size(); ++i) with_value += state_of(i) == CellState::kValue;
  const std::string_view mask = in->ReadBytes("changed mask", (with_value + 7) / 8);
  if (!in->ok()) return;

  RowBatch& batch = *tables_[table.table_id].batch;
  batch.Clear();
  RowBatchFiller filler(&batch);
  filler.AddRow(kind);
  (void)FillEntityCells(entity, &batch);  // was checked when it was defined
  size_t bit = 0;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const CodedColumn& column = table.columns[i];
    const CellState state = state_of(i);
    filler.states()[column.column] = state;
    if (state != CellState::kValue) continue;
    const bool changed = (static_cast<uint8_t>(mask[bit / 8]) >> (bit % 8)) & 1;
    ++bit;
    if (changed) {
      entity.last[i] = ReadColumn(in, &entity, i);
    } else if (column.coding == ColumnCoding::kTime) {
      entity.last[i] = static_cast<int64_t>(static_cast<uint64_t>(entity.last[i]) +
                                            static_cast<uint64_t>(entity.time_step));
    }
    filler.slots()[column.column] = column.coding == ColumnCoding::kBytes
                                        ? filler.AddBytes(entity.texts[column.text])
                                        : entity.last[i];
  }
  if (in->ok()) sink->OnRow(table.table_id, entity.entity, batch, 0, entity.split, stamp);
}

void JournalDecoder::ReadShape(ByteReader* in, EntityCoder* entity) {
  const std::string_view bytes = in->ReadBytes("shape", (entity->shape.size() + 3) / 4);
  if (!in->ok()) return;
  for (size_t i = 0; i < entity->shape.size(); ++i) {
    const unsigned state = (static_cast<uint8_t>(bytes[i / 4]) >> (2 * (i % 4))) & 3;
    if (state > 2) return in->Fail("shape", "has an unknown cell state");
    entity->shape[i] = static_cast<CellState>(state);
  }
}

// The new value of a changed column on the fixed lane; texts go to the entity.
int64_t JournalDecoder::ReadColumn(ByteReader* in, EntityCoder* entity, size_t index) {
  CodedColumn& column = entity->table->columns[index];
  const int64_t last = entity->last[index];
  switch (column.coding) {
    case ColumnCoding::kBytes: {
      const uint64_t length = in->ReadCount("text length", limits::kCellBytesMax);
      const std::string_view text = in->ReadBytes("text", length);
      const ColumnType& type = entity->table->schema->columns[column.column].type;
      if (in->ok() && !CheckWireBytes(type, text).ok()) in->Fail("text", "is not of its type");
      if (in->ok()) entity->texts[column.text] = text;
      return 0;
    }
    case ColumnCoding::kTime: {
      const auto change = static_cast<uint64_t>(in->ReadSigned("time step"));
      entity->time_step = static_cast<int64_t>(static_cast<uint64_t>(entity->time_step) + change);
      return static_cast<int64_t>(static_cast<uint64_t>(last) +
                                  static_cast<uint64_t>(entity->time_step));
    }
    case ColumnCoding::kBoolean: return last == 0 ? 1 : 0;
    case ColumnCoding::kInteger:
      return static_cast<int64_t>(static_cast<uint64_t>(last) +
                                  static_cast<uint64_t>(in->ReadSigned("integer")));
    case ColumnCoding::kDouble: return ReadReal(in, &column, last, false);
    case ColumnCoding::kFloat: return ReadReal(in, &column, last, true);
  }
  return 0;
}

int64_t JournalDecoder::ReadReal(ByteReader* in, CodedColumn* column, int64_t last_bits,
                                 bool is_float) {
  uint64_t code = in->ReadVarint("real");
  if (code == journal::kEscapeRaw) {
    return is_float ? static_cast<int64_t>(in->ReadU32("raw float"))
                    : static_cast<int64_t>(in->ReadU64("raw double"));
  }
  if (code == journal::kEscapeExponent) {
    const uint8_t exponent = in->ReadU8("exponent");
    if (exponent > journal::kExponentMax) in->Fail("exponent", "is beyond its limit");
    if (!in->ok()) return 0;
    column->exponent = exponent;
    code = in->ReadVarint("real");
  }
  if (code & 1) in->Fail("real", "is an unknown escape");
  if (!in->ok()) return 0;
  const uint64_t d =
      static_cast<uint64_t>(UnZigZag(code >> 1)) +
      static_cast<uint64_t>(journal::ScaledInteger(RealOf(last_bits, is_float), column->exponent));
  return RealBits(static_cast<int64_t>(d), column->exponent, is_float);
}

}  // namespace cistern
