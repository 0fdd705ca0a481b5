#include "storage/spill_writer.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cistern/limits.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/crash_point.h"
#include "lib/row/row_order.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {
constexpr size_t kBatchBytes = 128 * 1024;  // handed to the memtable at once
constexpr auto kFlushPoll = std::chrono::microseconds(500);
constexpr int kFlushPollsMax = 20'000;  // then the device is stuck, and the next write says so
}  // namespace

void SpillWriter::Begin(const BucketKey& bucket, const TableSchema* schema, uint32_t schema_version,
                        uint64_t journal_first, uint64_t journal_last) {
  CISTERN_CHECK(schema_ == nullptr && next_index_ < (uint64_t{1} << kSegmentIndexBits));
  bucket_ = bucket;
  schema_ = schema;
  segment_id_ = (rotation_ << kSegmentIndexBits) | next_index_++;
  header_ = SegmentHeader{};
  header_.schema_version = schema_version;
  header_.journal_first = journal_first;
  header_.journal_last = journal_last;
}

Status SpillWriter::AddRows(const VersionColumns& rows) {
  for (size_t begin = 0; begin < rows.row_count;) {
    const size_t end = PageEnd(*schema_, rows, begin, limits::kPageRowsMax);
    CISTERN_RETURN_IF_ERROR(AddPage(rows, begin, end));
    begin = end;
  }
  return Status::Ok();
}

Status SpillWriter::AddPage(const VersionColumns& rows, size_t begin, size_t end) {
  if (header_.pages.size() >= limits::kSegmentPagesMax) {
    return Status::TooLarge("a segment would have more than " +
                            std::to_string(limits::kSegmentPagesMax) + " pages");
  }
  const std::string page = EncodePage(*schema_, rows, begin, end,
                                      &caches_[{bucket_.table_id, header_.schema_version}]);
  PageInfo info;
  info.row_count = static_cast<uint32_t>(end - begin);
  info.byte_count = static_cast<uint32_t>(page.size());
  info.first_time = EventTime(*schema_, rows, begin);
  info.last_time = EventTime(*schema_, rows, end - 1);
  if (header_.pages.empty()) header_.first_time = info.first_time;
  CISTERN_CHECK(header_.pages.empty() || header_.last_time <= info.first_time);
  header_.last_time = info.last_time;
  header_.row_count += info.row_count;
  const auto number = static_cast<uint32_t>(header_.pages.size());
  header_.pages.push_back(info);
  batch_.Put(family_->handle(), PageKey(segment_id_, number), page);
  byte_count_ += page.size();
  return WriteOut(kBatchBytes);
}

Status SpillWriter::End(std::vector<RangeDelete> deletes) {
  if (deletes.size() > limits::kBucketRangeDeletesMax) {
    return Status::TooLarge("a segment would have more than " +
                            std::to_string(limits::kBucketRangeDeletesMax) + " range deletes");
  }
  header_.deletes = std::move(deletes);
  std::string bytes;
  PutVarint(&bytes, segment_id_ & kSegmentIndexMask);
  bytes += EncodeSegmentHeader(header_);
  batch_.Put(family_->handle(), HeaderKey(rotation_, bucket_), bytes);
  byte_count_ += bytes.size();
  extent_.version_count += header_.row_count + header_.deletes.size();
  extent_.table_first = std::min(extent_.table_first, bucket_.table_id);
  extent_.table_last = std::max(extent_.table_last, bucket_.table_id);
  extent_.start_first_s = std::min(extent_.start_first_s, bucket_.start_s);
  extent_.start_last_s = std::max(extent_.start_last_s, bucket_.start_s);
  schema_ = nullptr;
  return WriteOut(kBatchBytes);
}

Status SpillWriter::WriteOut(size_t at_least) {
  if (batch_.Count() == 0 || batch_.GetDataSize() < at_least) return Status::Ok();
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  CrashPoint("spill:before_pages");
  const rocksdb::Status s = family_->db()->Write(options, &batch_);
  batch_.Clear();
  if (!s.ok()) return ToStatus(s, "writing pages");
  WaitForMemtable();
  return Status::Ok();
}

// Two full memtables of one family stop every write of the store, the journal's too, until
// one is on disk; so the second is not begun. A flush that fails is met by the next write.
void SpillWriter::WaitForMemtable() {
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

Status SpillWriter::Flush() {
  if (next_index_ > 0) batch_.Put(family_->handle(), ExtentKey(extent_), "");
  CISTERN_RETURN_IF_ERROR(WriteOut(1));
  rocksdb::FlushOptions options;
  options.wait = true;
  options.allow_write_stall = true;
  CrashPoint("spill:before_flush");
  const rocksdb::Status s = family_->db()->Flush(options, family_->handle());
  CrashPoint("spill:after_flush");
  return s.ok() ? Status::Ok() : ToStatus(s, "flushing pages");
}

}  // namespace cistern
