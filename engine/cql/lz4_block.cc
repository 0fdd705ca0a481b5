#include "engine/cql/lz4_block.h"

#include <lz4.h>

#include <memory>

#include "engine/cql/lz4_search.h"
#include "lib/base/check.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

constexpr size_t kBytesMax = size_t{1} << 30;  // the library counts in int
// From here on there may be rows to tell apart. Below, the table costs more than it gives.
constexpr size_t kSearchBytesMin = 4096;

size_t PackPlain(std::string_view bytes, char* to, size_t room) {
  const int packed = LZ4_compress_default(bytes.data(), to, static_cast<int>(bytes.size()),
                                          static_cast<int>(room));
  return static_cast<size_t>(packed);  // 0: it did not fit
}

size_t PackRows(std::string_view bytes, char* to, size_t room) {
  return std::make_unique_for_overwrite<Lz4Search>()->Pack(bytes, to, room);
}

}  // namespace

bool AppendLz4Block(std::string_view bytes, std::string* out) {
  CISTERN_CHECK(bytes.size() <= kBytesMax);
  if (bytes.size() < 2) return false;
  const size_t begin = out->size();
  const size_t room = bytes.size() - 1;
  out->resize(begin + room);
  char* const to = &(*out)[begin];
  const size_t packed = bytes.size() < kSearchBytesMin ? PackPlain(bytes, to, room)
                                                       : PackRows(bytes, to, room);
  out->resize(begin + packed);
  return packed > 0;
}

Status UnpackLz4Block(std::string_view block, size_t unpacked_bytes, std::string* unpacked) {
  unpacked->clear();
  // Also what keeps a few bytes from claiming a large buffer.
  if (block.size() > kBytesMax || unpacked_bytes / kLz4RatioMax > block.size()) {
    return Status::Corruption(Concat({"an LZ4 block of ", block.size(), " bytes cannot unpack to ",
        unpacked_bytes}));
  }
  CISTERN_CHECK(unpacked_bytes <= kBytesMax);
  unpacked->resize(unpacked_bytes);
  const int bytes = LZ4_decompress_safe(block.data(), unpacked->data(),
                                        static_cast<int>(block.size()),
                                        static_cast<int>(unpacked_bytes));
  if (bytes < 0 || static_cast<size_t>(bytes) != unpacked_bytes) {
    unpacked->clear();
    return Status::Corruption(Concat({"an LZ4 block of ", block.size(),
        " bytes is damaged: it does not unpack to ", unpacked_bytes}));
  }
  return Status::Ok();
}

}  // namespace cistern::cql
