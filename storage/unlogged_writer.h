// UnloggedWriter: puts that pass the write-ahead log by.
#ifndef CISTERN_STORAGE_UNLOGGED_WRITER_H_
#define CISTERN_STORAGE_UNLOGGED_WRITER_H_

#include <rocksdb/write_batch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "cistern/status.h"
#include "storage/store_db.h"

namespace cistern {

// Nothing of it counts before Flush() succeeded and a synced batch elsewhere says so: a crash
// takes what was not flushed. One thread at a time.
class UnloggedWriter {
 public:
  explicit UnloggedWriter(FamilyPtr family) : family_(std::move(family)) {}

  void Put(const std::string& key, const std::string& value) {
    batch_.Put(family_->handle(), key, value);
  }
  // Hands what has gathered to the memtable, if it is enough for one write.
  [[nodiscard]] Status WriteOut() { return WriteOut(kBatchBytes); }
  // Makes all of it durable as one SST.
  [[nodiscard]] Status Flush();
  // What Flush() would have to write: of the family, whoever put it there.
  [[nodiscard]] uint64_t unflushed_bytes() const;

 private:
  static constexpr size_t kBatchBytes = 128 * 1024;
  [[nodiscard]] Status WriteOut(size_t at_least);
  void WaitForMemtable();

  const FamilyPtr family_;
  rocksdb::WriteBatch batch_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_UNLOGGED_WRITER_H_
