#include "engine/cql/lz4_block.h"

#include <lz4.h>
#include <lz4hc.h>

#include "lib/base/check.h"

namespace cistern::cql {
namespace {

constexpr size_t kBytesMax = size_t{1} << 30;  // the library counts in int
// From here on the longest match is looked for, not the last one: columns whose values come back
// within some hundred rows take a sixth less. Below, its tables cost more than they give.
constexpr size_t kSearchBytesMin = 4096;
constexpr int kSearchLevel = 3;  // the next ones save 1% more and cost a fifth more each

}  // namespace

bool AppendLz4Block(std::string_view bytes, std::string* out) {
  CISTERN_CHECK(bytes.size() <= kBytesMax);
  if (bytes.size() < 2) return false;
  const size_t begin = out->size();
  const size_t room = bytes.size() - 1;
  out->resize(begin + room);
  const auto size = static_cast<int>(bytes.size());
  char* const to = &(*out)[begin];
  const int packed =
      bytes.size() < kSearchBytesMin
          ? LZ4_compress_default(bytes.data(), to, size, static_cast<int>(room))
          : LZ4_compress_HC(bytes.data(), to, size, static_cast<int>(room), kSearchLevel);
  out->resize(begin + static_cast<size_t>(packed));  // 0: it did not fit
  return packed > 0;
}

Status UnpackLz4Block(std::string_view block, size_t unpacked_bytes, std::string* unpacked) {
  unpacked->clear();
  // Also what keeps a few bytes from claiming a large buffer.
  if (block.size() > kBytesMax || unpacked_bytes / kLz4RatioMax > block.size()) {
    return Status::Corruption("an LZ4 block of " + std::to_string(block.size()) +
                              " bytes cannot unpack to " + std::to_string(unpacked_bytes));
  }
  CISTERN_CHECK(unpacked_bytes <= kBytesMax);
  unpacked->resize(unpacked_bytes);
  const int bytes = LZ4_decompress_safe(block.data(), unpacked->data(),
                                        static_cast<int>(block.size()),
                                        static_cast<int>(unpacked_bytes));
  if (bytes < 0 || static_cast<size_t>(bytes) != unpacked_bytes) {
    unpacked->clear();
    return Status::Corruption("an LZ4 block of " + std::to_string(block.size()) +
                              " bytes is damaged: it does not unpack to " +
                              std::to_string(unpacked_bytes));
  }
  return Status::Ok();
}

}  // namespace cistern::cql
