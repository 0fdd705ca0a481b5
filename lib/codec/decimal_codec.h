// Floats and doubles as integers: the decimal d of v = d / 10^k, or an order-preserving
// integer of the bits; what does not fit is an exception, kept raw at its position.
//
// A value is an exception unless decoding gives back its very bits, so -0.0, NaN
// payloads and infinities survive. The division d / 10^k is correctly rounded: every
// decimal of up to 15 digits is found without exceptions. Only IEEE additions,
// multiplications, divisions and conversions are used, each rounded once: the bytes are
// the same on every target (compiled without contraction and fast-math).
#ifndef CISTERN_CODEC_DECIMAL_CODEC_H_
#define CISTERN_CODEC_DECIMAL_CODEC_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/codec/codec.h"
#include "lib/codec/integer_codec.h"

namespace cistern {

inline constexpr unsigned kExponentMax = 22;  // 10^22 is the last exact power of ten

// The bits of a value as an integer that is in order as the values are; an integer is itself.
[[nodiscard]] int64_t OrderedBits(NumberKind kind, int64_t bits);

// kDecimal64, kDecimal32, kPrinted32, kBits32 or kBits64, for runs of floats and doubles.
class DecimalCodec final : public FixedCodec {
 public:
  explicit DecimalCodec(EncodingId id) : id_(id) {}
  EncodingId id() const override { return id_; }
  bool Analyze(const FixedRun& run, const ColumnMemory& memory) override;
  size_t Score() const override { return byte_count_; }
  void Encode(std::string* out) const override;
  void Remember(ColumnMemory* memory) const override {
    memory->exponent = exponent_;
    memory->integers = integers_plan_.form();
  }

 private:
  [[nodiscard]] bool LooksRight(const FixedRun& run) const;
  [[nodiscard]] bool SearchExponent(const FixedRun& run);
  void TryMoreDigits(const FixedRun& run);
  void Prepare(const FixedRun& run, IntegerForm form);
  void MapAll(const FixedRun& run);

  const EncodingId id_;
  uint8_t exponent_ = 0;
  std::vector<int64_t> integers_;   // one for each value; exceptions repeat their neighbour
  std::vector<uint8_t> differs_;    // 1 for each value that is an exception
  std::vector<int64_t> positions_;  // of exceptions
  std::vector<int64_t> raws_;       // bits of exceptions
  IntegerPlan integers_plan_;
  size_t byte_count_ = 0;
};

// Reads values of `encoding`, one of the five, into wanted.end places; as DecodeIntegers().
void DecodeDecimals(EncodingId encoding, const NumberShape& shape, ByteReader* in,
                    const WantedValues& wanted, std::span<int64_t> out);

}  // namespace cistern

#endif  // CISTERN_CODEC_DECIMAL_CODEC_H_
