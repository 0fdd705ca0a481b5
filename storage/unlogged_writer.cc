#include "storage/unlogged_writer.h"

#include <chrono>
#include <cstdint>
#include <thread>

#include "lib/base/crash_point.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {
constexpr auto kFlushPoll = std::chrono::microseconds(500);
constexpr int kFlushPollsMax = 20'000;  // then the device is stuck, and the next write says so

// RocksDB answers writes with Corruption where one of its own background works met it: nothing
// that was to be written is damaged.
Status ToWriteStatus(const rocksdb::Status& s, const char* what) {
  if (s.ok()) return Status::Ok();
  Status status = ToStatus(s, what);
  if (status.code() != StatusCode::kCorruption) return status;
  return Status::IoError(status.message());
}
}  // namespace

Status UnloggedWriter::WriteOut(size_t at_least) {
  if (batch_.Count() == 0 || batch_.GetDataSize() < at_least) return Status::Ok();
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  CrashPoint("spill:before_pages");
  const rocksdb::Status s = family_->db()->Write(options, &batch_);
  batch_.Clear();
  if (!s.ok()) return ToWriteStatus(s, "writing pages");
  WaitForMemtable();
  return Status::Ok();
}

// Two full memtables of one family stop every write of the store, the journal's too, until
// one is on disk; so the second is not begun. A flush that fails is met by the next write.
void UnloggedWriter::WaitForMemtable() {
  uint64_t waiting = 0;
  for (int poll = 0; poll < kFlushPollsMax; ++poll) {
    const bool known = family_->db()->GetIntProperty(
        family_->handle(), rocksdb::DB::Properties::kNumImmutableMemTable, &waiting);
    if (!known || waiting == 0) return;
    uint64_t errors = 0;  // nothing empties it any more
    if (family_->db()->GetIntProperty(rocksdb::DB::Properties::kBackgroundErrors, &errors) &&
        errors > 0) {
      return;
    }
    std::this_thread::sleep_for(kFlushPoll);
  }
}

Status UnloggedWriter::Flush() {
  CISTERN_RETURN_IF_ERROR(WriteOut(1));
  rocksdb::FlushOptions options;
  options.wait = true;
  options.allow_write_stall = true;
  CrashPoint("spill:before_flush");
  const rocksdb::Status s = family_->db()->Flush(options, family_->handle());
  CrashPoint("spill:after_flush");
  return ToWriteStatus(s, "flushing pages");
}

uint64_t UnloggedWriter::unflushed_bytes() const {
  uint64_t bytes = 0;  // of memtables
  const bool known = family_->db()->GetIntProperty(
      family_->handle(), rocksdb::DB::Properties::kCurSizeAllMemTables, &bytes);
  return batch_.GetDataSize() + (known ? bytes : 0);
}

}  // namespace cistern
