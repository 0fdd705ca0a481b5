#include "lib/codec/codec_select.h"

#include <algorithm>
#include <array>
#include <limits>

#include "lib/base/check.h"

namespace cistern {
namespace {

// Below this many bits per value no other codec is tried.
constexpr double kGoodBits = 16;
// What is remembered may do this much worse than at its search, descriptors apart; or this
// much better: then the data has changed, and something else may be better still.
constexpr double kDriftBits = 1;
constexpr size_t kDescriptorBytes = 8;
constexpr uint16_t kPagesUntilSearchGood = 256;
constexpr uint16_t kPagesUntilSearchBad = 16;

double BitsPerValue(size_t byte_count, size_t count) {
  return 8.0 * static_cast<double>(byte_count) / static_cast<double>(count);
}

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

bool IsAsBefore(const ColumnMemory& memory, size_t byte_count, size_t count) {
  const size_t value_bytes = byte_count - std::min(byte_count, kDescriptorBytes);
  return BitsPerValue(value_bytes, count) <= memory.bits_per_value + kDriftBits &&
         BitsPerValue(byte_count, count) >= memory.bits_per_value - kDriftBits;
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
  FixedCodec* codec = nullptr;
  for (FixedCodec* c : std::array<FixedCodec*, 6>{&integer_, &decimal64_, &decimal32_, &bits32_,
                                                  &bits64_, &raw_zstd_}) {
    if (c->id() == memory->encoding) codec = c;
  }
  if (codec == nullptr || !codec->Analyze(run, *memory)) return nullptr;
  return IsAsBefore(*memory, codec->Score(), run.values.size()) ? codec : nullptr;
}

FixedCodec* FixedEncoder::Search(const FixedRun& run, ColumnMemory* memory) {
  memory->integers = IntegerForm::kAny;
  const size_t count = run.values.size();
  FixedCodec* best = nullptr;
  const auto consider = [&](FixedCodec* codec) {
    if (best != nullptr && BitsPerValue(best->Score(), count) <= kGoodBits) return;
    if (!codec->Analyze(run, *memory)) return;
    if (best == nullptr || codec->Score() < best->Score()) best = codec;
  };
  switch (run.shape.kind) {
    case NumberKind::kInteger: consider(&integer_); break;
    case NumberKind::kDouble:
      consider(&decimal64_);
      consider(&decimal32_);
      consider(&bits32_);
      consider(&bits64_);
      break;
    case NumberKind::kFloat:
      consider(&decimal32_);
      consider(&bits32_);
      break;
  }
  consider(&raw_zstd_);
  CISTERN_CHECK(best != nullptr);  // integers and bits take any run of their kind
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
                 std::span<int64_t> out) {
  const bool is_float = shape.kind == NumberKind::kFloat;
  const bool is_double = shape.kind == NumberKind::kDouble;
  if (encoding == EncodingId::kInteger) {
    DecodeIntegers(in, out);
  } else if (encoding == EncodingId::kRawZstd) {
    DecodeRawZstd(shape, in, out);
  } else if (((is_float || is_double) &&
              (encoding == EncodingId::kDecimal32 || encoding == EncodingId::kBits32)) ||
             (is_double &&
              (encoding == EncodingId::kDecimal64 || encoding == EncodingId::kBits64))) {
    DecodeDecimals(encoding, shape, in, out);
  } else {
    in->Fail("encoding", "is not one of the column's type");
  }
  if (!in->ok() || (shape.min == std::numeric_limits<int64_t>::min() &&
                    shape.max == std::numeric_limits<int64_t>::max())) {
    return;
  }
  const auto [min, max] = std::minmax_element(out.begin(), out.end());
  if (*min < shape.min || *max > shape.max) in->Fail("value", "is outside of the column's type");
}

void EncodeStates(std::span<const CellState> states, std::string* out) {
  std::vector<int64_t> values(states.size());
  std::transform(states.begin(), states.end(), values.begin(),
                 [](CellState s) { return static_cast<int64_t>(s); });
  EncodeIntegers(values, out);
}

void DecodeStates(ByteReader* in, std::span<CellState> out) {
  std::vector<int64_t> values(out.size());
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
