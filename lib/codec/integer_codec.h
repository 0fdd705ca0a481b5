// Integer streams: a run of int64 values in the smallest of several forms. Timestamps,
// decimals, codes, lengths and states all end up here.
//
// All arithmetic is modulo 2^64, so that no difference can overflow.
#ifndef CISTERN_CODEC_INTEGER_CODEC_H_
#define CISTERN_CODEC_INTEGER_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/base/coding.h"
#include "lib/codec/codec.h"

namespace cistern {

// How a run is going to be encoded: residuals of order 0 (the values), 1 (their steps)
// or 2 (the steps of the steps), less a base, divided by a common divisor, bit-packed.
// Residuals outside of the packed range are patched: listed with their positions.
struct IntegerPlan {
  bool runs = false;  // run lengths and values instead, in side_a and side_b
  bool rare = false;  // found as nearly all residuals being equal: no width, the others are patched
  uint8_t order = 0;
  uint8_t width = 0;        // bits per residual, 0: all equal base
  int64_t base = 0;
  uint64_t divisor = 1;
  uint64_t range = 0;       // residual - base above this is patched
  std::vector<int64_t> side_a;  // positions of patches, or run lengths
  std::vector<int64_t> side_b;  // patched residuals, or values of runs
  size_t byte_count = 0;    // exact size of the stream

  [[nodiscard]] IntegerForm form() const;
};

// Finds the smallest form. `values` is not empty.
[[nodiscard]] IntegerPlan PlanIntegers(std::span<const int64_t> values);
// Looks at one form alone, which takes a third of the time. Any form suits any run; a run
// that is too short for it, or has nothing to patch, gets a plainer one.
[[nodiscard]] IntegerPlan PlanIntegers(std::span<const int64_t> values, IntegerForm form);
// Appends the stream, plan.byte_count bytes.
void EncodeIntegers(std::span<const int64_t> values, const IntegerPlan& plan, std::string* out);
// Both at once.
void EncodeIntegers(std::span<const int64_t> values, std::string* out);
// Reads a stream of out.size() values, at least 1. On damage the reader's status names
// the field and `out` holds anything.
void DecodeIntegers(ByteReader* in, std::span<int64_t> out);
// The wanted values of a stream, of wanted.end places; the reader is behind all of them.
void DecodeIntegers(ByteReader* in, const WantedValues& wanted, std::span<int64_t> out);
// Passes over a stream of `count` values, at least 1: looks at its fields, not at the values.
void SkipIntegers(ByteReader* in, size_t count);

// The fixed lane as an integer stream.
class IntegerCodec final : public FixedCodec {
 public:
  EncodingId id() const override { return EncodingId::kInteger; }
  bool Analyze(const FixedRun& run, const ColumnMemory& memory) override;
  size_t Score() const override { return plan_.byte_count; }
  void Encode(std::string* out) const override { EncodeIntegers(values_, plan_, out); }
  void Remember(ColumnMemory* memory) const override;

 private:
  std::span<const int64_t> values_;
  IntegerPlan plan_;
};

}  // namespace cistern

#endif  // CISTERN_CODEC_INTEGER_CODEC_H_
