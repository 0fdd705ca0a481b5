#include "storage/journal_encoder.h"

#include <bit>
#include <cstring>

#include "lib/base/check.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"

namespace cistern {

using journal::CodedColumn;
using journal::ColumnCoding;
using journal::EntityCoder;

namespace {

constexpr size_t kOperationBytesMax = 96;  // flags and fields, without keys and columns
constexpr size_t kColumnBytesMax = 24;     // a payload without its text

double RealOf(int64_t bits, bool is_float) {
  return is_float ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                  : std::bit_cast<double>(bits);
}

// Whether d / 10^exponent gives the value back, bit for bit.
bool IsExact(int64_t d, int exponent, int64_t bits, bool is_float) {
  const double back = static_cast<double>(d) / journal::kPowersOfTen[exponent];
  if (is_float)
    return std::bit_cast<uint32_t>(static_cast<float>(back)) == static_cast<uint32_t>(bits);
  return std::bit_cast<int64_t>(back) == bits;
}

}  // namespace

void JournalEncoder::Reserve(size_t bytes) {
  const size_t used = static_cast<size_t>(out_ - body_.data());
  if (body_.size() - used >= bytes) return;
  body_.resize(used + bytes + body_.size() / 2);
  out_ = body_.data() + used;
}

void JournalEncoder::PutSigned(int64_t value) {
  PutVarint(ZigZag(value));
}

void JournalEncoder::PutBytes(std::string_view bytes) {
  std::memcpy(out_, bytes.data(), bytes.size());
  out_ += bytes.size();
}

void JournalEncoder::Begin(uint64_t sequence) {
  sequence_ = sequence;
  count_ = 0;
  if (body_.empty()) body_.resize(4096);
  out_ = body_.data();
}

EntityCoder* JournalEncoder::Find(const EntitySlot& entity, bool* is_new) {
  const uint32_t slot = entity.number();
  if (slot >= numbers_.size()) {
    numbers_.resize(slot + 1, kNoNumber);
    state_bytes_ += (slot + 1) * sizeof(uint32_t) - number_bytes_;
    number_bytes_ = (slot + 1) * sizeof(uint32_t);
  }
  *is_new = numbers_[slot] == kNoNumber;
  if (*is_new) {
    numbers_[slot] = static_cast<uint32_t>(entities_.size());
    auto& table = tables_[entity.table_id()];
    if (!table) {
      table = std::make_unique<journal::TableCoder>(entity.table_id(), entity.schema_ptr());
    }
    entities_.emplace_back(table.get(), entity.entity());
    state_bytes_ += entities_.back().MemoryBytes();
  }
  return &entities_[numbers_[slot]];
}

void JournalEncoder::PutOperation(const EntitySlot& entity, EntityCoder* coder, bool is_new,
                                  bool new_shape, const Operation& operation) {
  if (count_++ == 0) {
    first_us_ = next_us_ = operation.write_us;
    boot_ = operation.boot;
    first_expiry_s_ = expiry_s_ = operation.expiry_s;
  }
  CISTERN_CHECK(operation.boot == boot_);
  Reserve(kOperationBytesMax + entity.entity().size());
  const uint32_t number = numbers_[entity.number()];
  const uint32_t defined = static_cast<uint32_t>(entities_.size()) - (is_new ? 1 : 0);
  const uint32_t follows = last_entity_ + 1 < defined ? last_entity_ + 1 : 0;
  uint8_t flags = operation.kind;
  if (is_new) flags |= journal::kNewEntity;
  if (!is_new && number != follows) flags |= journal::kOtherEntity;
  if (new_shape) flags |= journal::kNewShape;
  if (operation.split != coder->split) flags |= journal::kNewSplit;
  if (operation.write_us != next_us_) flags |= journal::kOtherTimestamp;
  const bool has_expiry = operation.kind < 2;
  if (has_expiry && operation.expiry_s != expiry_s_) flags |= journal::kOtherExpiry;
  *out_++ = static_cast<char>(flags);
  if (flags & journal::kOtherEntity) PutVarint(number);
  if (is_new) {
    PutVarint(entity.table_id());
    PutVarint(entity.entity().size());
    PutBytes(entity.entity());
  }
  if (flags & journal::kNewSplit) PutVarint(coder->split = operation.split);
  if (flags & journal::kOtherTimestamp) PutSigned(operation.write_us - next_us_);
  if (flags & journal::kOtherExpiry) PutVarint(expiry_s_ = operation.expiry_s);
  next_us_ = operation.write_us + 1;
  last_entity_ = number;
}

void JournalEncoder::AddRow(const EntitySlot& entity, const RowBatch& batch, size_t row,
                            uint32_t split, const RowStamp& stamp) {
  bool is_new = false;
  EntityCoder* coder = Find(entity, &is_new);
  Operation operation;
  operation.kind = static_cast<uint8_t>(batch.kind(row));
  operation.split = split;
  operation.write_us = stamp.write_us;
  operation.boot = stamp.boot;
  operation.expiry_s = stamp.expiry_s;
  const CellState* states = batch.states(row);
  const bool new_shape = batch.kind(row) != RowKind::kDeleteRow && ShapeDiffers(*coder, states);
  PutOperation(entity, coder, is_new, new_shape, operation);
  if (new_shape) PutShape(coder, states);
  PutRow(coder, batch, row);
}

bool JournalEncoder::ShapeDiffers(const EntityCoder& coder, const CellState* states) const {
  const journal::TableCoder& table = *coder.table;
  for (size_t i = 0; i < coder.shape.size(); ++i) {
    if (states[table.columns[table.clustering_count + i].column] != coder.shape[i]) return true;
  }
  return false;
}

void JournalEncoder::PutShape(EntityCoder* coder, const CellState* states) {
  const journal::TableCoder& table = *coder->table;
  Reserve(coder->shape.size() / 4 + 1);
  uint8_t byte = 0;
  for (size_t i = 0; i < coder->shape.size(); ++i) {
    coder->shape[i] = states[table.columns[table.clustering_count + i].column];
    byte |= static_cast<uint8_t>(static_cast<unsigned>(coder->shape[i]) << (2 * (i % 4)));
    if (i % 4 == 3 || i + 1 == coder->shape.size()) {
      *out_++ = static_cast<char>(byte);
      byte = 0;
    }
  }
}

// The changed mask, then the payloads of the changed columns.
void JournalEncoder::PutRow(EntityCoder* coder, const RowBatch& batch, size_t row) {
  const journal::TableCoder& table = *coder->table;
  const CellState* states = batch.states(row);
  Reserve(table.columns.size() * (kColumnBytesMax + 1) + 16);
  size_t with_value = 0;
  for (const CodedColumn& c : table.columns) with_value += states[c.column] == CellState::kValue;
  size_t mask_at = static_cast<size_t>(out_ - body_.data());
  const size_t mask_bytes = (with_value + 7) / 8;
  std::memset(out_, 0, mask_bytes);
  out_ += mask_bytes;
  size_t bit = 0;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (states[table.columns[i].column] != CellState::kValue) continue;
    if (PutColumn(coder, i, batch, row)) {
      body_[mask_at + bit / 8] = static_cast<char>(body_[mask_at + bit / 8] | 1 << (bit % 8));
    }
    ++bit;
  }
}

// Writes the payload if the column changed, and tells whether it did.
bool JournalEncoder::PutColumn(EntityCoder* coder, size_t index, const RowBatch& batch,
                               size_t row) {
  CodedColumn& column = coder->table->columns[index];
  if (column.coding == ColumnCoding::kBytes) {
    const std::string_view value = batch.bytes(row, column.column);
    std::string& last = coder->texts[column.text];
    if (value == last) return false;
    Reserve(value.size() + (coder->table->columns.size() + 1) * kColumnBytesMax);
    PutVarint(value.size());
    PutBytes(value);
    state_bytes_ -= last.capacity();
    last = value;
    state_bytes_ += last.capacity();
    return true;
  }
  const int64_t value = batch.fixed(row, column.column);
  int64_t& last = coder->last[index];
  if (column.coding == ColumnCoding::kTime) return PutTime(coder, value);
  if (value == last) return false;
  switch (column.coding) {
    case ColumnCoding::kInteger:
      PutVarint(
          ZigZag(static_cast<int64_t>(static_cast<uint64_t>(value) - static_cast<uint64_t>(last))));
      break;
    case ColumnCoding::kDouble: PutReal(&column, value, last, false); break;
    case ColumnCoding::kFloat: PutReal(&column, value, last, true); break;
    default: break;  // a boolean that changed needs no payload
  }
  last = value;
  return true;
}

bool JournalEncoder::PutTime(EntityCoder* coder, int64_t value) {
  const uint64_t step = static_cast<uint64_t>(value) - static_cast<uint64_t>(coder->last[0]);
  const uint64_t change = step - static_cast<uint64_t>(coder->time_step);
  coder->last[0] = value;
  coder->time_step = static_cast<int64_t>(step);
  if (change != 0) PutSigned(static_cast<int64_t>(change));
  return change != 0;
}

void JournalEncoder::PutReal(CodedColumn* column, int64_t bits, int64_t last_bits, bool is_float) {
  const double value = RealOf(bits, is_float);
  const double last = RealOf(last_bits, is_float);
  int exponent = column->exponent;
  int64_t d = journal::ScaledInteger(value, exponent);
  if (!IsExact(d, exponent, bits, is_float)) {
    for (exponent = 0; exponent <= journal::kExponentMax; ++exponent) {
      d = journal::ScaledInteger(value, exponent);
      if (IsExact(d, exponent, bits, is_float)) break;
    }
    if (exponent > journal::kExponentMax) {
      PutVarint(journal::kEscapeRaw);
      const size_t width = is_float ? 4 : 8;
      for (size_t i = 0; i < width; ++i) *out_++ = static_cast<char>(bits >> (8 * i));
      return;
    }
    column->exponent = exponent;
    PutVarint(journal::kEscapeExponent);
    *out_++ = static_cast<char>(exponent);
  }
  PutVarint(ZigZag(d - journal::ScaledInteger(last, exponent)) << 1);
}

void JournalEncoder::AddRangeDelete(const EntitySlot& entity, int64_t bucket_start_s,
                                    uint32_t split, const RangeDelete& range) {
  bool is_new = false;
  EntityCoder* coder = Find(entity, &is_new);
  Operation operation;
  operation.kind = journal::kKindRangeDelete;
  operation.split = split;
  operation.write_us = range.write_us;
  operation.boot = range.boot;
  PutOperation(entity, coder, is_new, false, operation);
  PutSigned(bucket_start_s);
  PutSigned(range.from);
  PutSigned(range.to);
}

std::string_view JournalEncoder::Finish() {
  header_.assign(1, static_cast<char>(journal::kRecordVersion));
  cistern::PutVarint(&header_, sequence_);
  cistern::PutSigned(&header_, first_us_);
  cistern::PutVarint(&header_, boot_);
  cistern::PutVarint(&header_, first_expiry_s_);
  cistern::PutVarint(&header_, count_);
  header_.append(body_.data(), static_cast<size_t>(out_ - body_.data()));
  PutLittle<uint64_t>(&header_, Checksum(header_));
  charge_.Set(state_bytes_ + body_.capacity() + header_.capacity());
  return header_;
}

}  // namespace cistern
