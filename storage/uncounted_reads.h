// UncountedReads: RocksDB without its counters.
#ifndef CISTERN_STORAGE_UNCOUNTED_READS_H_
#define CISTERN_STORAGE_UNCOUNTED_READS_H_

#include <rocksdb/perf_level.h>

namespace cistern {

// While it lives RocksDB counts nothing of what this thread does. It has counters for each thread,
// which nobody reads here, and with its default level looks them up several times in each step of
// an iterator. Then they are as they were before: the thread may be one that uses a RocksDB of its
// own.
class UncountedReads {
 public:
  UncountedReads() : before_(rocksdb::GetPerfLevel()) {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  }
  UncountedReads(const UncountedReads&) = delete;
  UncountedReads& operator=(const UncountedReads&) = delete;
  ~UncountedReads() { rocksdb::SetPerfLevel(before_); }

 private:
  const rocksdb::PerfLevel before_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_UNCOUNTED_READS_H_
