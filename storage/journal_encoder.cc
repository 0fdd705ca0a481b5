#include "storage/journal_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "lib/base/check.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "lib/base/short_bytes.h"

namespace cistern {

using journal::CodedColumn;
using journal::ColumnCoding;
using journal::EntityCoder;

namespace {

constexpr size_t kOperationBytesMax = 96;  // flags and fields, without keys and columns
constexpr size_t kColumnBytesMax = 24;     // a payload without its text
constexpr double kRound = 6755399441055744.0;       // 2^52 + 2^51
constexpr double kRoundedMax = 2251799813685248.0;  // 2^51
constexpr unsigned kPauseLogMax = 8;       // values between searches that find nothing: 256

int64_t Difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

char* PutVarint(char* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

char* PutSigned(char* out, int64_t value) { return PutVarint(out, ZigZag(value)); }

char* PutBytes(char* out, std::string_view bytes) {
  return std::copy(bytes.begin(), bytes.end(), out);
}

char* PutRaw(char* out, int64_t bits, bool is_float) {
  out = PutVarint(out, journal::kEscapeRaw);
  const int width = is_float ? 32 : 64;
  for (int shift = 0; shift < width; shift += 8) *out++ = static_cast<char>(bits >> shift);
  return out;
}

// The smallest exponent by which `value` is a decimal; kExponentMax + 1: none.
uint8_t FindExponent(double value, int64_t bits, bool is_float) {
  uint8_t exponent = 0;
  while (exponent <= journal::kExponentMax &&
         journal::BitsOf(journal::ScaledInteger(value, exponent), exponent, is_float) != bits) {
    ++exponent;
  }
  return exponent;
}

// A value that the column's exponent does not fit. Where values are no decimals at all the
// search for another exponent is paused longer and longer.
char* PutOddReal(char* out, CodedColumn* column, int64_t bits, int64_t last_bits, bool is_float) {
  if (column->search_pause > 0) {
    --column->search_pause;
    return PutRaw(out, bits, is_float);
  }
  const double value = journal::RealOf(bits, is_float);
  const uint8_t exponent = FindExponent(value, bits, is_float);
  if (exponent > journal::kExponentMax) {
    const unsigned log = std::min<unsigned>(column->search_failures, kPauseLogMax);
    column->search_pause = static_cast<uint16_t>((1u << log) - 1);
    column->search_failures = static_cast<uint16_t>(log + 1);
    return PutRaw(out, bits, is_float);
  }
  column->search_failures = 0;
  column->exponent = exponent;
  out = PutVarint(out, journal::kEscapeExponent);
  *out++ = static_cast<char>(exponent);
  const int64_t before =
      journal::ScaledInteger(journal::RealOf(last_bits, is_float), exponent);
  return PutVarint(out, ZigZag(journal::ScaledInteger(value, exponent) - before) << 1);
}

// Any value; PutReal is the same for small ones.
char* PutGreatReal(char* out, CodedColumn* column, int64_t bits, int64_t last_bits,
                   bool is_float) {
  const int exponent = column->exponent;
  const int64_t d = journal::ScaledInteger(journal::RealOf(bits, is_float), exponent);
  if (journal::BitsOf(d, exponent, is_float) != bits) [[unlikely]] {
    return PutOddReal(out, column, bits, last_bits, is_float);
  }
  const int64_t before =
      journal::ScaledInteger(journal::RealOf(last_bits, is_float), exponent);
  return PutVarint(out, ZigZag(d - before) << 1);
}

// Most values are small enough to be rounded as ScaledInteger rounds those: the integers stay
// doubles, whose difference is exact, and only that is converted.
inline char* PutReal(char* out, CodedColumn* column, int64_t bits, int64_t last_bits,
                     bool is_float) {
  const double power = journal::kPowersOfTen[column->exponent];
  const double product = journal::RealOf(bits, is_float) * power;
  const double last_product = journal::RealOf(last_bits, is_float) * power;
  if (!(std::abs(product) < kRoundedMax && std::abs(last_product) < kRoundedMax)) [[unlikely]] {
    return PutGreatReal(out, column, bits, last_bits, is_float);
  }
  const double d = (product + kRound) - kRound;
  const double value = d / power;
  const int64_t back = is_float ? int64_t{std::bit_cast<uint32_t>(static_cast<float>(value))}
                                : std::bit_cast<int64_t>(value);
  if (back != bits) [[unlikely]] return PutOddReal(out, column, bits, last_bits, is_float);
  const double before = (last_product + kRound) - kRound;
  return PutVarint(out, ZigZag(static_cast<int64_t>(d - before)) << 1);
}

bool ShapeDiffers(EntityCoder* coder, const CellState* states) {
  const journal::TableCoder& table = *coder->table;
  const bool was_complete = coder->value_count == table.columns.size();
  if (was_complete != !table.regular_cells.AnyMissing(states)) return true;
  if (was_complete) return false;
  const CellState* shape = coder->shape();
  const CodedColumn* columns = table.columns.data() + table.clustering_count;
  unsigned difference = 0;
  for (size_t i = 0; i < table.regular_count(); ++i) {
    const CellState state = states[columns[i].column];
    difference |= static_cast<unsigned>(state) ^ static_cast<unsigned>(shape[i]);
  }
  return difference != 0;
}

}  // namespace

void JournalEncoder::Reserve(size_t bytes) {
  const auto used = static_cast<size_t>(out_ - body_.data());
  if (body_.size() - used >= bytes) return;
  body_.resize(used + bytes + body_.size() / 2);
  out_ = body_.data() + used;
}

void JournalEncoder::Begin(uint64_t sequence) {
  sequence_ = sequence;
  count_ = 0;
  if (body_.empty()) body_.resize(4096);
  out_ = body_.data();
}

EntityCoder* JournalEncoder::Find(const EntitySlot& entity, bool* is_new) {
  const uint32_t slot = entity.number();
  if (slot >= coders_.size()) coders_.resize(size_t{slot} + 1);
  // Mostly the entity comes next that was first met next.
  if (slot + 1 < coders_.size() && coders_[slot + 1] != nullptr) coders_[slot + 1]->Prefetch();
  EntityCoder*& coder = coders_[slot];
  *is_new = coder == nullptr;
  if (*is_new) {
    auto& table = tables_[entity.table_id()];
    if (!table) {
      table = std::make_unique<journal::TableCoder>(entity.table_id(), entity.schema_ptr());
    }
    // The slot has the key.
    coder = EntityCoder::New(table.get(), {}, entity_count_++, &arena_);
  }
  return coder;
}

char* JournalEncoder::PutOperation(char* out, const EntitySlot& entity, EntityCoder* coder,
                                   bool is_new, bool new_shape, const Operation& operation) {
  if (count_++ == 0) {
    first_us_ = last_us_ = operation.write_us;
    boot_ = operation.boot;
    first_expiry_s_ = expiry_s_ = operation.expiry_s;
  }
  CISTERN_CHECK(operation.boot == boot_);
  const uint32_t defined = entity_count_ - (is_new ? 1 : 0);
  const uint32_t follows = last_entity_ + 1 < defined ? last_entity_ + 1 : 0;
  unsigned flags = operation.kind;
  if (is_new) flags |= coder->number == 0 ? journal::kFirstEntity : journal::kNewEntity;
  if (!is_new && coder->number != follows) flags |= journal::kOtherEntity;
  if (new_shape) flags |= journal::kNewShape;
  if (operation.split != coder->split) flags |= journal::kNewSplit;
  if (operation.write_us != last_us_) flags |= journal::kOtherTimestamp;
  const bool has_expiry = operation.kind < 2;
  if (has_expiry && operation.expiry_s != expiry_s_) flags |= journal::kOtherExpiry;
  *out++ = static_cast<char>(flags);
  if (!is_new && (flags & journal::kOtherEntity)) out = PutVarint(out, coder->number);
  if (is_new) {
    out = PutVarint(out, entity.table_id());
    out = PutVarint(out, entity.entity().size());
    out = PutBytes(out, entity.entity());
  }
  if (flags & journal::kNewSplit) out = PutVarint(out, coder->split = operation.split);
  if (flags & journal::kOtherTimestamp) {
    out = PutSigned(out, Difference(operation.write_us, last_us_));
  }
  if (flags & journal::kOtherExpiry) out = PutVarint(out, expiry_s_ = operation.expiry_s);
  last_us_ = operation.write_us;
  last_entity_ = coder->number;
  return out;
}

void JournalEncoder::AddRow(const EntitySlot& entity, const RowBatch& batch, size_t row,
                            uint32_t split, const RowStamp& stamp) {
  bool is_new = false;
  EntityCoder* coder = Find(entity, &is_new);
  const journal::TableCoder& table = *coder->table;
  const RowKind kind = batch.kind(row);
  const CellState* states = batch.states(row);
  const bool new_shape = kind != RowKind::kDeleteRow && ShapeDiffers(coder, states);
  size_t text_bytes = 0;
  for (const uint32_t c : table.text_columns) text_bytes += batch.bytes(row, c).size();
  Reserve(kOperationBytesMax + entity.entity().size() + text_bytes +
          table.columns.size() * (kColumnBytesMax + 1));
  const Operation operation{static_cast<uint8_t>(kind), split, stamp.write_us, stamp.boot,
                            stamp.expiry_s};
  char* out = PutOperation(out_, entity, coder, is_new, new_shape, operation);
  if (new_shape) out = PutShape(out, coder, states);
  const uint32_t with_value = kind == RowKind::kDeleteRow
                                  ? static_cast<uint32_t>(table.clustering_count)
                                  : coder->value_count;
  out_ = PutRow(out, coder, batch, row, with_value);
}

char* JournalEncoder::PutShape(char* out, EntityCoder* coder, const CellState* states) {
  const journal::TableCoder& table = *coder->table;
  const size_t count = table.regular_count();
  CellState* shape = coder->shape();
  coder->value_count = static_cast<uint32_t>(table.clustering_count);
  unsigned byte = 0;
  for (size_t i = 0; i < count; ++i) {
    shape[i] = states[table.columns[table.clustering_count + i].column];
    coder->value_count += shape[i] == CellState::kValue;
    byte |= static_cast<unsigned>(shape[i]) << (2 * (i % 4));
    if (i % 4 == 3 || i + 1 == count) {
      *out++ = static_cast<char>(byte);
      byte = 0;
    }
  }
  return out;
}

// The changed mask, then the payloads of the changed columns. `with_value` columns have a
// value.
char* JournalEncoder::PutRow(char* out, EntityCoder* coder, const RowBatch& batch, size_t row,
                             uint32_t with_value) {
  journal::TableCoder& table = *coder->table;
  const CellState* states = batch.states(row);
  const int64_t* slots = batch.slots(row);
  int64_t* last = coder->last();
  const bool all_values = with_value == table.columns.size();
  char* mask_at = out;
  out += (with_value + 7) / 8;
  unsigned mask = 0;
  unsigned bit = 0;
  for (CodedColumn& column : table.columns) {
    const int64_t before = *last++;
    if (!all_values && states[column.column] != CellState::kValue) continue;
    const int64_t value = slots[column.column];
    bool changed = value != before;
    switch (column.coding) {
      case ColumnCoding::kTime: {
        const int64_t step = Difference(value, before);
        const int64_t change = Difference(step, coder->time_step);
        changed = change != 0;
        if (changed) out = PutSigned(out, change);
        coder->time_step = step;
        break;
      }
      case ColumnCoding::kBoolean:
        break;  // the other value
      case ColumnCoding::kInteger:
        if (changed) out = PutSigned(out, Difference(value, before));
        break;
      case ColumnCoding::kDouble:
        if (changed) out = PutReal(out, &column, value, before, false);
        break;
      case ColumnCoding::kFloat:
        if (changed) out = PutReal(out, &column, value, before, true);
        break;
      case ColumnCoding::kBytes: {
        const std::string_view text = batch.bytes(row, column.column);
        journal::CodedText& last_text = coder->texts()[column.text];
        changed = !EqualBytes(text, last_text.view());
        if (changed) {
          out = PutBytes(PutVarint(out, text.size()), text);
          last_text.Set(text, &arena_);
        }
        break;
      }
    }
    last[-1] = value;
    mask |= static_cast<unsigned>(changed) << bit;
    if (++bit == 8) {
      *mask_at++ = static_cast<char>(mask);
      mask = bit = 0;
    }
  }
  if (bit != 0) *mask_at = static_cast<char>(mask);
  return out;
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
  Reserve(kOperationBytesMax + entity.entity().size());
  char* out = PutOperation(out_, entity, coder, is_new, false, operation);
  out = PutSigned(out, bucket_start_s);
  out = PutSigned(out, range.from);
  out_ = PutSigned(out, range.to);
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
  charge_.Set(coders_.capacity() * sizeof(EntityCoder*) + body_.capacity() + header_.capacity());
  return header_;
}

}  // namespace cistern
