// The codecs of the fixed lane that stand alone: integers, and floats and doubles as integers.
// FixedEncoder chooses among them for a page's values, DistinctCodec for its distinct values.
#ifndef CISTERN_CODEC_PLAIN_CODECS_H_
#define CISTERN_CODEC_PLAIN_CODECS_H_

#include <span>
#include <string>

#include "lib/codec/codec.h"
#include "lib/codec/decimal_codec.h"
#include "lib/codec/integer_codec.h"

namespace cistern {

// One of each, with scratch space of a few pages' columns. One thread at a time.
class PlainCodecs {
 public:
  // The one with this id; null if it is none of them.
  [[nodiscard]] FixedCodec* Find(EncodingId id);
  // The one that takes any run of this kind.
  [[nodiscard]] FixedCodec* OfAny(NumberKind kind);
  // The best score for the run, analysed; never null, as integers and bits take any run of their
  // kind. Those that are left are not tried once one takes at most bits_good a value.
  [[nodiscard]] FixedCodec* Choose(const FixedRun& run, const ColumnMemory& memory,
                                   double bits_good);

 private:
  IntegerCodec integer_;
  DecimalCodec decimal64_{EncodingId::kDecimal64};
  DecimalCodec decimal32_{EncodingId::kDecimal32};
  DecimalCodec printed32_{EncodingId::kPrinted32};
  DecimalCodec bits32_{EncodingId::kBits32};
  DecimalCodec bits64_{EncodingId::kBits64};
};

// Bits a value that so many bytes are.
[[nodiscard]] inline double BitsPerValue(size_t byte_count, size_t count) {
  return 8.0 * static_cast<double>(byte_count) / static_cast<double>(count);
}

// Reads values of one of these codecs into wanted.end places. False, and nothing read, if
// `encoding` is none of them or not one of the shape. Damage is in in->status().
[[nodiscard]] bool DecodePlain(EncodingId encoding, const NumberShape& shape, ByteReader* in,
                               const WantedValues& wanted, std::span<int64_t> out);

}  // namespace cistern

#endif  // CISTERN_CODEC_PLAIN_CODECS_H_
