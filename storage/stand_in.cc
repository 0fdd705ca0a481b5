#include "storage/stand_in.h"

#include <rocksdb/env.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/concat.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

constexpr char kName[] = "/stand-in.sst";
constexpr size_t kFooterBytes = 53;       // of tables of format version 5
constexpr size_t kRotationBytes = 8;      // that every key of segments begins with
constexpr char kBehindAllKeys = '\x7f';  // no key of a rotation has this tag

// What RocksDB sees of `bytes`: all but the footer where it is, the footer at the end of the
// file, nothing between.
class StandInFile final : public rocksdb::FSRandomAccessFile {
 public:
  StandInFile(std::shared_ptr<const std::string> bytes, uint64_t size_bytes)
      : bytes_(std::move(bytes)), size_bytes_(size_bytes) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& /*options*/,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* /*dbg*/) const override {
    const size_t count = static_cast<size_t>(
        offset >= size_bytes_ ? 0 : std::min<uint64_t>(n, size_bytes_ - offset));
    std::memset(scratch, 0, count);
    const size_t body_bytes = bytes_->size() - kFooterBytes;
    Copy(0, body_bytes, 0, offset, count, scratch);
    Copy(body_bytes, kFooterBytes, size_bytes_ - kFooterBytes, offset, count, scratch);
    *result = rocksdb::Slice(scratch, count);
    return rocksdb::IOStatus::OK();
  }

 private:
  // The piece of the stand-in that stands at `at` in the file, where it meets what is read.
  void Copy(size_t piece, size_t piece_bytes, uint64_t at, uint64_t offset, size_t count,
            char* scratch) const {
    const uint64_t first = std::max(at, offset);
    const uint64_t end = std::min(at + piece_bytes, offset + count);
    if (first >= end) return;
    std::memcpy(scratch + (first - offset), bytes_->data() + piece + (first - at), end - first);
  }

  const std::shared_ptr<const std::string> bytes_;
  const uint64_t size_bytes_;
};

Status ReadWhole(rocksdb::Env* env, std::string* out) {
  return ToStatus(rocksdb::ReadFileToString(env, kName, out), "reading a stand-in");
}

}  // namespace

Result<std::string> MakeStandIn(std::string_view largest_key) {
  return MakeTable({std::string(largest_key.substr(0, kRotationBytes)) + kBehindAllKeys});
}

Result<std::string> MakeTable(const std::vector<std::string>& keys) {
  const std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  rocksdb::Options options;
  options.env = env.get();
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  rocksdb::Status s = writer.Open(kName);
  for (const std::string& key : keys) {
    if (s.ok()) s = writer.Put(key, "");
  }
  if (s.ok()) s = writer.Finish();
  if (!s.ok()) return ToStatus(s, "making a stand-in");
  std::string bytes;
  CISTERN_RETURN_IF_ERROR(ReadWhole(env.get(), &bytes));
  return bytes;
}

Result<std::shared_ptr<const std::string>> FitStandIn(std::string bytes, uint64_t size_bytes) {
  if (bytes.size() <= kFooterBytes || bytes.size() > size_bytes) {
    return Status::Corruption(Concat({"a file of ", size_bytes, " bytes is too small to be stood "
        "in for"}));
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

std::unique_ptr<rocksdb::FSRandomAccessFile> OpenStandIn(std::shared_ptr<const std::string> bytes,
                                                         uint64_t size_bytes) {
  return std::make_unique<StandInFile>(std::move(bytes), size_bytes);
}

}  // namespace cistern
