// zstd: the general stage, for what the other codecs cannot shrink. The only unit that knows
// libzstd beside zstd_dictionary.cc. Contexts are small (windows of at most 128 KiB) and freed
// after use.
#ifndef CISTERN_CODEC_ZSTD_CODEC_H_
#define CISTERN_CODEC_ZSTD_CODEC_H_

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/coding.h"
#include "lib/codec/codec.h"

struct ZSTD_DDict_s;  // of libzstd

namespace cistern {

// One zstd frame of `raw`, with its content size. Empty if it would not be smaller than
// `byte_count_max`, or if memory for the context is lacking.
[[nodiscard]] std::string ZstdCompress(std::string_view raw, size_t byte_count_max);

// Decompresses one frame of exactly raw_byte_count bytes to the end of *out. The frame's
// own content size must agree before anything is allocated; the caller bounds it.
// `field` names the bytes in errors.
void ZstdDecompress(std::string_view frame, size_t raw_byte_count, const char* field,
                    ByteReader* in, std::string* out);

// The same with the tables of a dictionary; null: without.
void DecompressFrame(std::string_view frame, size_t raw_byte_count, const ZSTD_DDict_s* dictionary,
                     const char* field, ByteReader* in, std::string* out);

// The fixed lane as raw bytes of the type's width, gathered by significance, in a frame
// that reaches to the end of the column.
class RawZstdCodec final : public FixedCodec {
 public:
  EncodingId id() const override { return EncodingId::kRawZstd; }
  bool Analyze(const FixedRun& run, const ColumnMemory& memory) override;
  size_t Score() const override { return frame_.size(); }
  void Encode(std::string* out) const override { out->append(frame_); }

 private:
  std::string frame_;
};
// Reads values into wanted.end places.
void DecodeRawZstd(const NumberShape& shape, ByteReader* in, const WantedValues& wanted,
                   std::span<int64_t> out);

}  // namespace cistern

#endif  // CISTERN_CODEC_ZSTD_CODEC_H_
