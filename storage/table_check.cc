#include "storage/table_check.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"

// The end of a block-based table, format version 5, as RocksDB's table/format.h and
// table/block_based/block.h have it; integers are little-endian:
//
//   properties block | trailer | metaindex block | trailer | footer
//
//   trailer    compression type u8 (0: none) | checksum u32
//   checksum   kind 4: the lower half of XXH3-64 of the block, its last byte, the type, being
//              mixed in so that 0 changes nothing
//   metaindex  entries | u32 for each restart | number of restarts u32
//   entry      shared varint | unshared varint | value length varint | key | value; every entry is
//              a restart: shared is 0. The value is a handle
//   handle     offset varint | size varint, without the trailer
//   footer     kind of checksum u8 | handle of the metaindex | handle of the index | zeros up to
//              byte 41 | format version u32 | magic u64
namespace cistern {

using rocksdb::IOStatus;

namespace {

constexpr size_t kFooterBytes = 53;
constexpr size_t kHandlesEnd = 41;
constexpr size_t kTrailerBytes = 5;
constexpr uint64_t kMagic = 0x88e241b785f4cff7;
constexpr uint8_t kChecksumXxh3 = 4;
constexpr size_t kTailBytes = 4096;
constexpr uint64_t kBlockBytesMax = 1 << 20;  // of one that is read here; they are of 1 KiB
constexpr std::string_view kProperties = "rocksdb.properties";

struct Handle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// The file's end, read once, and what lies before it where that is needed.
class Tail {
 public:
  Tail(const rocksdb::FSRandomAccessFile& file, uint64_t size_bytes)
      : file_(file), size_bytes_(size_bytes) {}

  IOStatus Load() {
    const uint64_t bytes = std::min<uint64_t>(size_bytes_, kTailBytes);
    from_ = size_bytes_ - bytes;
    return ReadAt(from_, bytes, &tail_);
  }
  // Empty: the file was cut meanwhile.
  [[nodiscard]] std::string_view footer() const {
    if (tail_.size() < kFooterBytes) return {};
    return std::string_view(tail_).substr(tail_.size() - kFooterBytes);
  }
  // A block with its trailer. Empty: the handle cannot be that of a block.
  IOStatus ReadBlock(const Handle& handle, std::string* out) const {
    out->clear();
    if (handle.size > kBlockBytesMax || handle.offset > size_bytes_) return IOStatus::OK();
    const uint64_t bytes = handle.size + kTrailerBytes;
    if (handle.offset + bytes > size_bytes_) return IOStatus::OK();
    if (handle.offset < from_) return ReadAt(handle.offset, bytes, out);
    out->assign(tail_, handle.offset - from_, bytes);
    return IOStatus::OK();
  }

 private:
  IOStatus ReadAt(uint64_t offset, uint64_t bytes, std::string* out) const {
    std::string scratch(bytes, '\0');
    rocksdb::Slice read;
    IOStatus s =
        file_.Read(offset, bytes, rocksdb::IOOptions(), &read, scratch.data(), nullptr);
    if (s.ok() && read.size() == bytes) *out = read.ToString();  // a file that was cut has less
    return s;
  }

  const rocksdb::FSRandomAccessFile& file_;
  const uint64_t size_bytes_;
  uint64_t from_ = 0;
  std::string tail_;
};

Handle ReadHandle(ByteReader* in) {
  Handle handle;
  handle.offset = in->ReadVarint("offset");
  handle.size = in->ReadVarint("size");
  return handle;
}

// Where the properties are by the metaindex; nothing where it does not say so.
std::optional<Handle> FindProperties(std::string_view block) {
  if (block.size() < sizeof(uint32_t)) return std::nullopt;
  const uint64_t restarts = GetLittle<uint32_t>(block.data() + block.size() - sizeof(uint32_t));
  const uint64_t index_bytes = (restarts + 1) * sizeof(uint32_t);
  if (index_bytes > block.size()) return std::nullopt;
  ByteReader in(block.substr(0, block.size() - index_bytes), "metaindex");
  while (in.ok() && in.remaining() > 0) {
    const uint64_t shared = in.ReadVarint("shared");
    const uint64_t unshared = in.ReadVarint("unshared");
    const uint64_t value_bytes = in.ReadVarint("value length");
    const std::string_view key = in.ReadBytes("key", unshared);
    const std::string_view value = in.ReadBytes("value", value_bytes);
    if (!in.ok() || shared != 0) return std::nullopt;
    if (key != kProperties) continue;
    ByteReader handle_in(value, "handle");
    const Handle handle = ReadHandle(&handle_in);
    return handle_in.ok() ? std::optional(handle) : std::nullopt;
  }
  return std::nullopt;
}

// Of a block that is not compressed, as those at the end never are.
bool HasItsChecksum(std::string_view block_and_trailer) {
  const std::string_view block =
      block_and_trailer.substr(0, block_and_trailer.size() - kTrailerBytes);
  const char* trailer = block_and_trailer.data() + block.size();
  return trailer[0] == 0 &&
         GetLittle<uint32_t>(trailer + 1) == static_cast<uint32_t>(Checksum(block));
}

IOStatus Damaged(const std::string& path, const char* what) {
  return IOStatus::Corruption(path, what);
}

}  // namespace

IOStatus CheckTable(const rocksdb::FSRandomAccessFile& file, const std::string& path,
                    uint64_t size_bytes) {
  if (size_bytes < kFooterBytes) return IOStatus::OK();  // RocksDB says so
  Tail tail(file, size_bytes);
  IOStatus s = tail.Load();
  if (!s.ok()) return s;
  const std::string_view footer = tail.footer();
  if (footer.empty() || GetLittle<uint64_t>(footer.data() + kFooterBytes - 8) != kMagic) {
    return IOStatus::OK();
  }
  if (static_cast<uint8_t>(footer[0]) != kChecksumXxh3) {
    return Damaged(path, "the footer names another kind of checksum than this store has");
  }
  ByteReader in(footer.substr(1, kHandlesEnd - 1), "footer");
  const Handle metaindex = ReadHandle(&in);
  std::string block;
  if (in.ok()) s = tail.ReadBlock(metaindex, &block);
  if (!s.ok()) return s;
  if (block.empty() || !HasItsChecksum(block)) return IOStatus::OK();  // it checks that one
  const auto properties =
      FindProperties(std::string_view(block).substr(0, block.size() - kTrailerBytes));
  if (!properties) return Damaged(path, "its metaindex names no properties");
  s = tail.ReadBlock(*properties, &block);
  if (!s.ok()) return s;
  if (block.empty() || !HasItsChecksum(block)) {
    return Damaged(path, "the properties are not what their checksum is of");
  }
  return s;
}

}  // namespace cistern
