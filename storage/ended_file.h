// EndedSequentialFile: a file whose end is not to be seen by who reads it from its beginning.
#ifndef CISTERN_STORAGE_ENDED_FILE_H_
#define CISTERN_STORAGE_ENDED_FILE_H_

#include <rocksdb/file_system.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace cistern {

// RocksDB reads MANIFEST and write-ahead logs so. One thread at a time.
class EndedSequentialFile : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  EndedSequentialFile(std::unique_ptr<rocksdb::FSSequentialFile> file, uint64_t left_bytes)
      : FSSequentialFileOwnerWrapper(std::move(file)), left_bytes_(left_bytes) {}

  rocksdb::IOStatus Read(size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext* dbg) override {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(n, left_bytes_));
    rocksdb::IOStatus status =
        FSSequentialFileOwnerWrapper::Read(wanted, options, result, scratch, dbg);
    if (status.ok()) left_bytes_ -= result->size();
    return status;
  }
  rocksdb::IOStatus Skip(uint64_t n) override {
    const uint64_t skipped = std::min(n, left_bytes_);
    left_bytes_ -= skipped;
    return FSSequentialFileOwnerWrapper::Skip(skipped);
  }

 private:
  uint64_t left_bytes_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_ENDED_FILE_H_
