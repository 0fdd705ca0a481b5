// The contract of the column codecs: analyse a run of values, score it in bytes, encode
// it; decode it from untrusted bytes. The bytes are specified in lib/segment/FORMAT.md.
//
// Each column of a page names the encoding that was cheapest for its values. A new
// encoding is a new EncodingId and a new FixedCodec; FixedEncoder (codec_select.h)
// takes the best score.
#ifndef CISTERN_CODEC_CODEC_H_
#define CISTERN_CODEC_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cistern/schema.h"

namespace cistern {

// How the values of one column of a page are encoded. The values are persistent:
// append, never renumber; at most 31.
enum class EncodingId : uint8_t {
  kNone = 0,        // no values: every cell is absent or null
  kInteger = 1,     // integer stream of the values
  kDecimal64 = 2,   // double = integer / 10^k
  kDecimal32 = 3,   // as kDecimal64, rounded to a float
  kBits32 = 4,      // order-preserving integer of the float's bits
  kBits64 = 5,      // order-preserving integer of the double's bits
  kRawZstd = 6,     // bytes of the values, gathered by significance, zstd
  kText = 7,        // lengths and bytes
  kDictionary = 8,  // distinct values and codes
  kUuid = 9,        // two integer streams: time or high half, node or low half
  kDistinct = 10,   // distinct numbers and codes
  kPrinted32 = 11,  // as kDecimal32, the float then rounded to a decimal of 12 digits
};

// What the int64 of the fixed lane means to a codec.
enum class NumberKind : uint8_t { kInteger, kFloat, kDouble };

// How a CQL type's values look on the fixed lane.
struct NumberShape {
  NumberKind kind = NumberKind::kInteger;
  uint8_t byte_width = 8;  // 1, 2, 4, 8: the type's own size
  int64_t min = 0;         // a decoded value outside of min..max is damage
  int64_t max = 0;
};
[[nodiscard]] NumberShape ShapeOf(CqlType type);

// The values of one column, without the missing cells. Points into the caller's data.
struct FixedRun {
  std::span<const int64_t> values;  // 1..kPageRowsMax
  NumberShape shape;
};

// Which values of a run are wanted: begin..end-1 of `count`, begin < end <= count. A decoder gives
// values 0..end-1, of which those before `begin` may be anything: who wants few of many does not
// pay for all.
struct WantedValues {
  size_t count = 0;
  size_t begin = 0;
  size_t end = 0;
  [[nodiscard]] static WantedValues All(size_t count) { return {count, 0, count}; }
};

// The shape of an integer stream: what is worth trying first on the next run of a column.
enum class IntegerForm : uint8_t {
  kAny, kOrder0, kOrder1, kOrder2, kPatched0, kPatched1, kRare0, kRare1, kRuns
};

// What is remembered of a column from page to page, so that parameters are searched
// seldom. Part of the encoder only: a page never depends on it to be read.
struct ColumnMemory {
  EncodingId encoding = EncodingId::kNone;  // of the last search; kNone: never searched
  EncodingId entry_encoding = EncodingId::kNone;  // of kDistinct: how its entries are encoded
  uint8_t exponent = 0;                     // k of the decimal encodings
  IntegerForm integers = IntegerForm::kAny;  // of its integer stream
  uint16_t pages_until_search = 0;
  double bits_per_value = 0;                // at the last search
};

// One way to encode a run of the fixed lane. Used for one run at a time: Analyze(),
// then Score() and Encode(). One thread at a time.
class FixedCodec {
 public:
  virtual ~FixedCodec() = default;
  [[nodiscard]] virtual EncodingId id() const = 0;
  // Studies the run and keeps what Encode() needs; the run must live until then.
  // `memory` may name parameters to try first. False: this codec is of no use here.
  [[nodiscard]] virtual bool Analyze(const FixedRun& run, const ColumnMemory& memory) = 0;
  // Exact number of bytes that Encode() appends.
  [[nodiscard]] virtual size_t Score() const = 0;
  virtual void Encode(std::string* out) const = 0;
  // Puts parameters that the next page may try first into *memory.
  virtual void Remember(ColumnMemory* /*memory*/) const {}
};

}  // namespace cistern

#endif  // CISTERN_CODEC_CODEC_H_
