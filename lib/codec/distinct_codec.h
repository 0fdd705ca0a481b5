// A run of few distinct values: each of those once, in rising order, and a code for every value.
// Speeds of whole miles an hour, positions of what stands still, readings that repeat until the
// sensor has a new one.
#ifndef CISTERN_CODEC_DISTINCT_CODEC_H_
#define CISTERN_CODEC_DISTINCT_CODEC_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/codec/codec.h"
#include "lib/codec/integer_codec.h"
#include "lib/codec/plain_codecs.h"

namespace cistern {

class DistinctCodec final : public FixedCodec {
 public:
  EncodingId id() const override { return EncodingId::kDistinct; }
  // The distinct values are encoded as memory.entry_encoding says, if that suits them: as was best
  // for all values, or on the page before. False if it is none, or if more than seven eighths of
  // the values are distinct.
  bool Analyze(const FixedRun& run, const ColumnMemory& memory) override;
  size_t Score() const override { return byte_count_; }
  void Encode(std::string* out) const override;
  void Remember(ColumnMemory* memory) const override;

 private:
  [[nodiscard]] bool Collect(std::span<const int64_t> values);
  void SortEntries(NumberKind kind);

  PlainCodecs plain_;
  std::vector<uint32_t> slots_;   // hash table: entry + 1, 0: empty
  std::vector<int64_t> entries_;  // the distinct values
  std::vector<int64_t> codes_;    // entry of each value
  FixedCodec* entry_codec_ = nullptr;
  IntegerPlan codes_plan_;
  size_t byte_count_ = 0;
};

// Reads values into wanted.end places. Damage is in in->status().
void DecodeDistinct(const NumberShape& shape, ByteReader* in, const WantedValues& wanted,
                    std::span<int64_t> out);

}  // namespace cistern

#endif  // CISTERN_CODEC_DISTINCT_CODEC_H_
