#include "storage/journal_decoder.h"

#include <string>

#include "cistern/limits.h"
#include "lib/base/checksum.h"
#include "lib/base/concat.h"
#include "lib/cql/wire_value.h"
#include "lib/row/row_batch_filler.h"

namespace cistern {

using journal::CodedColumn;
using journal::ColumnCoding;
using journal::EntityCoder;

namespace {

constexpr uint64_t kOperationCountMax = 1 << 24;
constexpr size_t kBatchColumnBytes = 128;  // a row batch of one row, for each column

// Sums of untrusted numbers wrap.
int64_t Sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

uint8_t FlagsOf(RowKind kind) {
  switch (kind) {
    case RowKind::kInsert: return kVersionLiveness;
    case RowKind::kDeleteRow: return kVersionDeleteRow;
    case RowKind::kUpdate: break;
  }
  return 0;
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
  const uint8_t version = in.ReadU8("version");
  if (version != journal::kRecordVersion && version != journal::kRecordVersionOfSteps) {
    return Status::TooNew(Concat({"journal record: version ", version,
        " is not known, this Cistern reads up to ", journal::kRecordVersion,
        "; use the newer one"}));
  }
  if (in.ReadVarint("sequence") != expected_sequence) in.Fail("sequence", "is not that of its key");
  sequence_ = expected_sequence;
  Chain chain;
  chain.next_us = in.ReadSigned("first_us");
  chain.step_us = version == journal::kRecordVersionOfSteps ? 1 : 0;
  chain.boot = static_cast<uint32_t>(in.ReadCount("boot", UINT32_MAX));
  chain.expiry_s = static_cast<uint32_t>(in.ReadCount("expiry", UINT32_MAX));
  const uint64_t count = in.ReadCount("count", kOperationCountMax);
  for (uint64_t i = 0; i < count && in.ok(); ++i) DecodeOperation(&in, &chain, sink);
  charge_.Set(entities_.capacity() * sizeof(Entity) + table_bytes_);
  if (in.ok() && in.remaining() != 0) in.Fail("end", "has bytes behind it");
  return in.status();
}

void JournalDecoder::DecodeOperation(ByteReader* in, Chain* chain, JournalSink* sink) {
  const uint8_t flags = in->ReadU8("flags");
  const size_t number = ReadEntity(in, flags);
  if (!in->ok()) return;
  const Entity entity = entities_[number];
  if (flags & journal::kNewSplit) {
    entity.coder->split = static_cast<uint32_t>(in->ReadCount("split", limits::kSplitCountMax));
  }
  if (flags & journal::kOtherTimestamp) {
    chain->next_us = Sum(chain->next_us, in->ReadSigned("timestamp"));
  }
  if (flags & journal::kOtherExpiry) {
    chain->expiry_s = static_cast<uint32_t>(in->ReadCount("expiry", UINT32_MAX));
  }
  const uint8_t kind = flags & journal::kKindMask;
  RowStamp stamp;
  stamp.write_us = chain->next_us;
  stamp.boot = chain->boot;
  chain->next_us = Sum(chain->next_us, chain->step_us);
  last_entity_ = number;
  if (kind == journal::kKindRangeDelete) return DecodeRangeDelete(in, entity, stamp, sink);
  stamp.flags = FlagsOf(static_cast<RowKind>(kind));
  if (static_cast<RowKind>(kind) != RowKind::kDeleteRow) stamp.expiry_s = chain->expiry_s;
  DecodeRow(in, entity, flags, stamp, sink);
}

void JournalDecoder::DecodeRangeDelete(ByteReader* in, const Entity& entity, const RowStamp& stamp,
                                       JournalSink* sink) {
  RangeDelete range;
  const int64_t start_s = in->ReadSigned("start");
  range.from = in->ReadSigned("from");
  range.to = in->ReadSigned("to");
  range.write_us = stamp.write_us;
  range.boot = stamp.boot;
  if (!in->ok()) return;
  sink->OnRangeDelete(entity.coder->table->table_id, entity.coder->key(), start_s,
                      entity.coder->split, range);
}

bool JournalDecoder::BeginsFamily(std::string_view record) {
  ByteReader in(record, "journal record");
  const uint8_t version = in.ReadU8("version");
  in.ReadVarint("sequence");
  in.ReadSigned("first_us");
  in.ReadVarint("boot");
  in.ReadVarint("expiry");
  const uint64_t count = in.ReadVarint("count");
  const uint8_t flags = in.ReadU8("flags");
  return in.ok() && version == journal::kRecordVersion && count > 0 &&
         (flags & journal::kFirstEntity) == journal::kFirstEntity;
}

size_t JournalDecoder::ReadEntity(ByteReader* in, uint8_t flags) {
  if (flags & journal::kNewEntity) {
    const bool is_first = (flags & journal::kOtherEntity) != 0;
    if (is_first && !entities_.empty()) in->Fail("entity", "is not the first one");
    DefineEntity(in);
    return entities_.empty() ? 0 : entities_.size() - 1;
  }
  size_t number = last_entity_ + 1 < entities_.size() ? last_entity_ + 1 : 0;
  if (flags & journal::kOtherEntity) number = in->ReadCount("entity", UINT32_MAX);
  if (number >= entities_.size()) in->Fail("entity", "was not defined");
  return number;
}

void JournalDecoder::DefineEntity(ByteReader* in) {
  const auto table_id = static_cast<uint32_t>(in->ReadCount("table", UINT32_MAX));
  const uint64_t length = in->ReadCount("entity length", limits::kEntityKeyBytesMax);
  const std::string_view key = in->ReadBytes("entity key", length);
  if (!in->ok()) return;
  auto found = tables_.find(table_id);
  if (found == tables_.end()) {
    auto schema = lookup_(table_id, sequence_);
    if (!schema) return in->Fail("table", "is not known");
    found = tables_.emplace(table_id, TableState()).first;
    found->second.batch = std::make_unique<RowBatch>(schema);
    found->second.coder = std::make_unique<journal::TableCoder>(table_id, std::move(schema));
    table_bytes_ += sizeof(TableState) + sizeof(journal::TableCoder) +
                    found->second.coder->columns.size() * (sizeof(CodedColumn) + kBatchColumnBytes);
  }
  const TableSchema& schema = *found->second.coder->schema;
  Entity entity;
  entity.table = &found->second;
  entity.cells = reinterpret_cast<KeyCell*>(
      arena_.AllocateOnce(schema.entity_columns.size() * sizeof(KeyCell)));
  if (!ParseKey(schema, key, entity.cells)) return in->Fail("entity key", "is not of its table");
  const auto number = static_cast<uint32_t>(entities_.size());
  entity.coder = EntityCoder::New(entity.table->coder.get(), key, number, &arena_);
  entities_.push_back(entity);
}

// Finds the values of the entity columns in the key, and checks them.
bool JournalDecoder::ParseKey(const TableSchema& schema, std::string_view key, KeyCell* cells) {
  ByteReader in(key, "entity key");
  for (const size_t column : schema.entity_columns) {
    const size_t high = in.ReadU8("length");
    const size_t low = in.ReadU8("length");
    CellValue value;
    const size_t offset = in.position();
    const std::string_view bytes = in.ReadBytes("value", high << 8 | low);
    if (!in.ok() || !ParseWireValue(schema.columns[column].type, bytes, &value).ok()) return false;
    *cells++ = {value.fixed, static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes.size())};
  }
  return in.remaining() == 0;
}

void JournalDecoder::DecodeRow(ByteReader* in, const Entity& entity, uint8_t flags,
                               const RowStamp& stamp, JournalSink* sink) {
  EntityCoder* coder = entity.coder;
  journal::TableCoder& table = *coder->table;
  const auto kind = static_cast<RowKind>(flags & journal::kKindMask);
  if (flags & journal::kNewShape) ReadShape(in, coder);
  const bool has_shape = kind != RowKind::kDeleteRow;
  const size_t with_value = has_shape ? coder->value_count : table.clustering_count;
  const std::string_view mask = in->ReadBytes("changed mask", (with_value + 7) / 8);
  if (!in->ok()) return;

  RowBatch& batch = *entity.table->batch;
  batch.Clear();
  RowBatchFiller filler(&batch);
  filler.AddRow(kind);
  int64_t* const slots = filler.slots();
  CellState* const states = filler.states();
  const KeyCell* cell = entity.cells;
  for (const size_t column : table.schema->entity_columns) {
    const bool fixed = table.schema->columns[column].type.lane() == Lane::kFixed;
    states[column] = CellState::kValue;
    slots[column] = fixed ? cell->fixed
                          : filler.AddBytes(coder->key().substr(cell->offset, cell->length));
    ++cell;
  }
  const CellState* shape = coder->shape();
  int64_t* const last = coder->last();
  size_t bit = 0;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    CodedColumn& column = table.columns[i];
    CellState state = CellState::kValue;
    if (i >= table.clustering_count) {
      state = has_shape ? shape[i - table.clustering_count] : CellState::kAbsent;
    }
    states[column.column] = state;
    if (state != CellState::kValue) continue;
    const bool changed = (static_cast<uint8_t>(mask[bit / 8]) >> (bit % 8)) & 1;
    ++bit;
    if (column.coding == ColumnCoding::kBytes) {
      journal::CodedText& text = coder->texts()[column.text];
      ReadText(in, table.schema->columns[column.column].type, changed, &text);
      slots[column.column] = filler.AddBytes(text.view());
    } else {
      last[i] = ReadFixed(in, &column, changed, last[i], &coder->time_step);
      slots[column.column] = last[i];
    }
  }
  if (in->ok()) sink->OnRow(table.table_id, coder->key(), batch, 0, coder->split, stamp);
}

void JournalDecoder::ReadShape(ByteReader* in, EntityCoder* coder) {
  const size_t count = coder->table->regular_count();
  const std::string_view bytes = in->ReadBytes("shape", (count + 3) / 4);
  if (!in->ok()) return;
  coder->value_count = static_cast<uint32_t>(coder->table->clustering_count);
  for (size_t i = 0; i < count; ++i) {
    const unsigned state = (static_cast<uint8_t>(bytes[i / 4]) >> (2 * (i % 4))) & 3;
    if (state > 2) return in->Fail("shape", "has an unknown cell state");
    coder->shape()[i] = static_cast<CellState>(state);
    coder->value_count += coder->shape()[i] == CellState::kValue;
  }
}

void JournalDecoder::ReadText(ByteReader* in, const ColumnType& type, bool changed,
                              journal::CodedText* text) {
  if (changed) {
    const uint64_t length = in->ReadCount("text length", limits::kCellBytesMax);
    const std::string_view bytes = in->ReadBytes("text", length);
    if (!in->ok()) return;
    text->Set(bytes, &arena_);
  } else if (!text->view().empty()) {
    return;  // was checked when it came
  }
  if (!CheckWireBytes(type, text->view()).ok()) in->Fail("text", "is not of its type");
}

// The slot of a column on the fixed lane.
int64_t JournalDecoder::ReadFixed(ByteReader* in, CodedColumn* column, bool changed, int64_t last,
                                  int64_t* time_step) {
  int64_t value = last;
  switch (column->coding) {
    case ColumnCoding::kTime:
      if (changed) *time_step = Sum(*time_step, in->ReadSigned("time step"));
      value = Sum(last, *time_step);
      break;
    case ColumnCoding::kBoolean:
      return changed ? 1 - last : last;
    case ColumnCoding::kInteger:
      if (changed) value = Sum(last, in->ReadSigned("integer"));
      break;
    case ColumnCoding::kDouble:
      return changed ? ReadReal(in, column, last, false) : last;
    case ColumnCoding::kFloat:
      return changed ? ReadReal(in, column, last, true) : last;
    case ColumnCoding::kBytes:
      break;  // not on this lane
  }
  if (value < column->min || value > column->max) in->Fail("integer", "does not fit its column");
  return value;
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
  const int64_t before =
      journal::ScaledInteger(journal::RealOf(last_bits, is_float), column->exponent);
  return journal::BitsOf(Sum(before, UnZigZag(code >> 1)), column->exponent, is_float);
}

}  // namespace cistern
