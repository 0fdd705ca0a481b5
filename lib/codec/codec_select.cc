#include "lib/codec/codec_select.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "lib/base/scratch_array.h"

namespace cistern {
namespace {

// Below this many bits per value no other codec is tried.
constexpr double kGoodBits = 16;
// What is remembered may do this much worse than at its search, descriptors apart; or this
// much better: then the data has changed, and something else may be better still.
constexpr double kDriftBits = 1;
constexpr double kDriftShare = 1.0 / 12;
constexpr size_t kDescriptorBytes = 8;
constexpr uint16_t kPagesUntilSearchGood = 256;
constexpr uint16_t kPagesUntilSearchBad = 16;

template <typename T>
NumberShape IntegerShape() {
  return {NumberKind::kInteger, sizeof(T), std::numeric_limits<T>::min(),
          std::numeric_limits<T>::max()};
}

}  // namespace

NumberShape ShapeOf(CqlType type) {
  switch (type) {
    case CqlType::kBoolean: return {NumberKind::kInteger, 1, 0, 1};
    case CqlType::kTinyint: return IntegerShape<int8_t>();
    case CqlType::kSmallint: return IntegerShape<int16_t>();
    case CqlType::kInt: return IntegerShape<int32_t>();
    case CqlType::kFloat:
      return {NumberKind::kFloat, 4, 0, std::numeric_limits<uint32_t>::max()};
    case CqlType::kDouble: {
      NumberShape shape = IntegerShape<int64_t>();
      shape.kind = NumberKind::kDouble;
      return shape;
    }
    // A date's days may be kept signed or as CQL's unsigned count: 8 bytes hold both.
    default: return IntegerShape<int64_t>();
  }
}

bool IsAsBefore(const ColumnMemory& memory, size_t byte_count, size_t count, size_t byte_width) {
  if (byte_count > count * byte_width + kDescriptorBytes) return false;
  const size_t value_bytes = byte_count - std::min(byte_count, kDescriptorBytes);
  const double drift = std::max(kDriftBits, memory.bits_per_value * kDriftShare);
  return BitsPerValue(value_bytes, count) <= memory.bits_per_value + drift &&
         BitsPerValue(byte_count, count) >= memory.bits_per_value - drift;
}

void NoteSearch(size_t byte_count, size_t count, ColumnMemory* memory) {
  memory->bits_per_value = BitsPerValue(byte_count, count);
  memory->pages_until_search =
      memory->bits_per_value <= kGoodBits ? kPagesUntilSearchGood : kPagesUntilSearchBad;
}

// What worked for the last pages, if it still does.
FixedCodec* FixedEncoder::Remembered(const FixedRun& run, ColumnMemory* memory) {
  if (memory->pages_until_search == 0) return nullptr;
  --memory->pages_until_search;
  FixedCodec* codec = plain_.Find(memory->encoding);
  if (memory->encoding == EncodingId::kDistinct) codec = &distinct_;
  if (memory->encoding == EncodingId::kRawZstd) codec = &raw_zstd_;
  if (codec == nullptr || !codec->Analyze(run, *memory)) return nullptr;
  return IsAsBefore(*memory, codec->Score(), run.values.size(), run.shape.byte_width) ? codec
                                                                                      : nullptr;
}

FixedCodec* FixedEncoder::Search(const FixedRun& run, ColumnMemory* memory) {
  const size_t count = run.values.size();
  memory->encoding = EncodingId::kNone;  // no parameters of before
  memory->integers = IntegerForm::kAny;
  FixedCodec* best = plain_.Choose(run, *memory, kGoodBits);
  best->Remember(memory);
  memory->entry_encoding = best->id();
  // zstd takes longest: it is the last resort.
  for (FixedCodec* codec : std::initializer_list<FixedCodec*>{&distinct_, &raw_zstd_}) {
    if (best == &distinct_ || BitsPerValue(best->Score(), count) <= kGoodBits) break;
    if (codec->Analyze(run, *memory) && codec->Score() < best->Score()) best = codec;
  }
  memory->encoding = best->id();
  NoteSearch(best->Score(), count, memory);
  best->Remember(memory);
  return best;
}

EncodingId FixedEncoder::Encode(const FixedRun& run, ColumnMemory* memory, std::string* out) {
  FixedCodec* codec = Remembered(run, memory);
  if (codec == nullptr) codec = Search(run, memory);
  codec->Encode(out);
  return codec->id();
}

void DecodeFixed(EncodingId encoding, const NumberShape& shape, ByteReader* in,
                 const WantedValues& wanted, std::span<int64_t> out) {
  if (encoding == EncodingId::kDistinct) {
    DecodeDistinct(shape, in, wanted, out);
  } else if (encoding == EncodingId::kRawZstd) {
    DecodeRawZstd(shape, in, wanted, out);
  } else if (!DecodePlain(encoding, shape, in, wanted, out)) {
    in->Fail("encoding", "is not one of the column's type");
  }
  if (!in->ok() || (shape.min == std::numeric_limits<int64_t>::min() &&
                    shape.max == std::numeric_limits<int64_t>::max())) {
    return;
  }
  const auto [min, max] = std::minmax_element(out.begin() + wanted.begin, out.end());
  if (*min < shape.min || *max > shape.max) in->Fail("value", "is outside of the column's type");
}

void EncodeStates(std::span<const CellState> states, std::string* out) {
  std::vector<int64_t> values(states.size());
  std::transform(states.begin(), states.end(), values.begin(),
                 [](CellState s) { return static_cast<int64_t>(s); });
  EncodeIntegers(values, out);
}

void DecodeStates(ByteReader* in, std::span<CellState> out) {
  ScratchArray<int64_t, 512> of_values(out.size());
  const std::span<int64_t> values = of_values.all();
  DecodeIntegers(in, values);
  if (!in->ok()) return;
  for (size_t i = 0; i < out.size(); ++i) {
    if (values[i] < 0 || values[i] > static_cast<int64_t>(CellState::kNull)) {
      return in->Fail("cell state", "is not value, absent or null");
    }
    out[i] = static_cast<CellState>(values[i]);
  }
}

}  // namespace cistern
