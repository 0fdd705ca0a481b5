#include "lib/codec/plain_codecs.h"

#include <initializer_list>

namespace cistern {

FixedCodec* PlainCodecs::Find(EncodingId id) {
  for (FixedCodec* codec : std::initializer_list<FixedCodec*>{
           &integer_, &decimal64_, &decimal32_, &printed32_, &bits32_, &bits64_}) {
    if (codec->id() == id) return codec;
  }
  return nullptr;
}

FixedCodec* PlainCodecs::OfAny(NumberKind kind) {
  switch (kind) {
    case NumberKind::kInteger: return &integer_;
    case NumberKind::kFloat: return &bits32_;
    case NumberKind::kDouble: break;
  }
  return &bits64_;
}

FixedCodec* PlainCodecs::Choose(const FixedRun& run, const ColumnMemory& memory,
                                double bits_good) {
  FixedCodec* best = nullptr;
  const auto consider = [&](std::initializer_list<FixedCodec*> codecs) {
    for (FixedCodec* codec : codecs) {
      if (best != nullptr && BitsPerValue(best->Score(), run.values.size()) <= bits_good) return;
      if (!codec->Analyze(run, memory)) continue;
      if (best == nullptr || codec->Score() < best->Score()) best = codec;
    }
  };
  switch (run.shape.kind) {
    case NumberKind::kInteger: consider({&integer_}); break;
    case NumberKind::kDouble:
      consider({&decimal64_, &decimal32_, &printed32_, &bits32_, &bits64_});
      break;
    case NumberKind::kFloat: consider({&decimal32_, &bits32_}); break;
  }
  return best;
}

bool DecodePlain(EncodingId encoding, const NumberShape& shape, ByteReader* in,
                 const WantedValues& wanted, std::span<int64_t> out) {
  const bool is_double = shape.kind == NumberKind::kDouble;
  switch (encoding) {
    case EncodingId::kInteger: DecodeIntegers(in, wanted, out); return true;
    case EncodingId::kDecimal64:
    case EncodingId::kPrinted32:
    case EncodingId::kBits64:
      if (!is_double) return false;
      break;
    case EncodingId::kDecimal32:
    case EncodingId::kBits32:
      if (!is_double && shape.kind != NumberKind::kFloat) return false;
      break;
    default: return false;
  }
  DecodeDecimals(encoding, shape, in, wanted, out);
  return true;
}

}  // namespace cistern
