#include "lib/codec/zstd_codec.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "lib/base/check.h"

namespace cistern {
namespace {

constexpr int kLevel = 1;
constexpr int kWindowLog = 17;  // 128 KiB
constexpr int kHashLog = 13;    // 32 KiB of table
// How a frame of RFC 8878 begins. libzstd reads frames of its first versions too, and takes one
// that is to be skipped for an empty one.
constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";

struct FreeContext {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
  void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};

}  // namespace

std::string ZstdCompress(std::string_view raw, size_t byte_count_max) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (context == nullptr) return {};
  const auto set = [&context](ZSTD_cParameter parameter, int value) {
    return ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), parameter, value)) == 0;
  };
  if (!set(ZSTD_c_compressionLevel, kLevel) || !set(ZSTD_c_windowLog, kWindowLog) ||
      !set(ZSTD_c_hashLog, kHashLog) || !set(ZSTD_c_strategy, ZSTD_fast)) {
    return {};
  }
  // A frame that does not fit the buffer is one that is not wanted.
  std::string frame(std::min(byte_count_max, ZSTD_compressBound(raw.size())), '\0');
  const size_t size =
      ZSTD_compress2(context.get(), frame.data(), frame.size(), raw.data(), raw.size());
  if (ZSTD_isError(size) != 0 || size >= byte_count_max) return {};
  frame.resize(size);
  return frame;
}

void ZstdDecompress(std::string_view frame, size_t raw_byte_count, const char* field,
                    ByteReader* in, std::string* out) {
  DecompressFrame(frame, raw_byte_count, nullptr, field, in, out);
}

void DecompressFrame(std::string_view frame, size_t raw_byte_count, const ZSTD_DDict_s* dictionary,
                     const char* field, ByteReader* in, std::string* out) {
  if (!in->ok()) return;
  const unsigned long long content = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (!frame.starts_with(kMagic) || content == ZSTD_CONTENTSIZE_UNKNOWN ||
      content == ZSTD_CONTENTSIZE_ERROR || content != raw_byte_count) {
    return in->Fail(field, "is not a zstd frame of the expected content size");
  }
  const size_t frame_size = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
  if (ZSTD_isError(frame_size) != 0 || frame_size != frame.size()) {
    return in->Fail(field, "is not one whole zstd frame");
  }
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  CISTERN_CHECK(context != nullptr);  // out of memory: the bytes are not to blame
  const size_t start = out->size();
  out->resize(start + raw_byte_count);
  const size_t size =
      ZSTD_decompress_usingDDict(context.get(), out->data() + start, raw_byte_count, frame.data(),
                                 frame.size(), dictionary);
  if (ZSTD_isError(size) != 0 || size != raw_byte_count) {
    out->resize(start);
    in->Fail(field, "is a damaged zstd frame");
  }
}

bool RawZstdCodec::Analyze(const FixedRun& run, const ColumnMemory& /*memory*/) {
  const size_t count = run.values.size();
  const size_t width = run.shape.byte_width;
  std::string raw(count * width, '\0');
  for (size_t i = 0; i < count; ++i) {
    for (size_t b = 0; b < width; ++b) {
      raw[b * count + i] = static_cast<char>(static_cast<uint64_t>(run.values[i]) >> (8 * b));
    }
  }
  frame_ = ZstdCompress(raw, raw.size());
  return !frame_.empty();
}

void DecodeRawZstd(const NumberShape& shape, ByteReader* in, const WantedValues& wanted,
                   std::span<int64_t> out) {
  const size_t count = wanted.count;
  const size_t width = shape.byte_width;
  CISTERN_CHECK(width >= 1 && width <= 8);
  std::string raw;
  ZstdDecompress(in->ReadBytes("frame", in->remaining()), count * width, "frame", in, &raw);
  if (!in->ok()) return;
  const unsigned spare = static_cast<unsigned>(64 - 8 * width);
  for (size_t i = wanted.begin; i < out.size(); ++i) {
    uint64_t v = 0;
    for (size_t b = width; b-- > 0;) v = v << 8 | static_cast<uint8_t>(raw[b * count + i]);
    // Integers keep their sign; a float's bits are zero-extended.
    out[i] = shape.kind == NumberKind::kInteger ? static_cast<int64_t>(v << spare) >> spare
                                                : static_cast<int64_t>(v);
  }
}

}  // namespace cistern
