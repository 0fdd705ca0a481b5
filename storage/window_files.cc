#include "storage/window_files.h"

#include <rocksdb/convenience.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/file_survey.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

// Where files of rounds move to, in the order of their keys, which begin with the round's number.
constexpr int kLevel = 1;

std::string_view ViewOf(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

// The first run of files of at most `bytes` each that have more together.
FileRun FirstRun(std::span<const uint64_t> record_bytes, uint64_t bytes) {
  size_t first = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < record_bytes.size(); ++i) {
    if (record_bytes[i] > bytes) {
      first = i + 1;
      total = 0;
      continue;
    }
    total += record_bytes[i];
    if (total > bytes) return {first, i + 1 - first};
  }
  return {};
}

using RecordVisitor = std::function<void(const rocksdb::Slice& key, const rocksdb::Slice& value)>;

// Visits what a table holds, which no other file is mixed with: every block is compared with its
// checksum, and their number with what the table says of itself.
Status VisitRecords(rocksdb::Env* env, const std::string& path, const RecordVisitor& visit) {
  CISTERN_ASSIGN_OR_RETURN(const auto reader, OpenTable(env, path));
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(reader->NewIterator(options));
  uint64_t count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    visit(it->key(), it->value());
    ++count;
  }
  if (!it->status().ok()) return ToStatus(it->status(), "reading " + path);
  const uint64_t entries = reader->GetTableProperties()->num_entries;
  if (count == entries) return Status::Ok();
  return Status::Corruption(
      Concat({path, " has ", count, " records and says that it has ", entries}));
}

}  // namespace

uint64_t RecordBytesOf(uint64_t file_bytes) {
  return std::max(file_bytes, kTableOverheadBytes + kRecordBytesMin) - kTableOverheadBytes;
}

FileRun NextFilesToMerge(std::span<const uint64_t> record_bytes) {
  uint64_t bytes = kMergedFileBytesMax;
  for (int i = 1; i < kFileClasses; ++i) bytes /= kFileClassRatio;
  for (; bytes <= kMergedFileBytesMax; bytes *= kFileClassRatio) {
    const FileRun run = FirstRun(record_bytes, bytes);
    if (run.count > 0) return run;
  }
  return {};
}

// The next run, in the order of keys.
WindowFiles::Files WindowFiles::SmallFilesOf(const Family& window) const {
  rocksdb::ColumnFamilyMetaData found;
  window.db()->GetColumnFamilyMetaData(window.handle(), &found);
  if (found.levels.size() <= kLevel) return {};
  Files files = found.levels[kLevel].files;
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.smallestkey < b.smallestkey; });
  std::vector<uint64_t> record_bytes;
  record_bytes.reserve(files.size());
  for (const auto& file : files) {
    record_bytes.push_back(left_out_.contains(file.file_number) ? UINT64_MAX
                                                                : RecordBytesOf(file.size));
  }
  const FileRun run = NextFilesToMerge(record_bytes);
  const auto first = files.begin() + static_cast<std::ptrdiff_t>(run.first);
  return {first, first + static_cast<std::ptrdiff_t>(run.count)};
}

Status WindowFiles::AddRecordsOf(const std::string& path, Digest* digest) const {
  return VisitRecords(db_->db()->GetEnv(), path, [digest](const auto& key, const auto& value) {
    std::string sums;
    PutLittle(&sums, digest->checksum);
    PutLittle(&sums, Checksum(ViewOf(key)));
    PutLittle(&sums, Checksum(ViewOf(value)));
    digest->checksum = Checksum(sums);
    ++digest->records;
  });
}

Result<WindowFiles::Outcome> WindowFiles::MergeSmall(const Family& window) {
  if (has_ended_) return Outcome::kNothing;
  const Files run = SmallFilesOf(window);
  if (run.empty()) return Outcome::kNothing;
  std::vector<std::string> names;
  std::vector<std::string> paths;
  Digest before;
  for (const auto& file : run) {
    if (file.being_compacted) return Outcome::kBusy;
    names.push_back(file.name);
    paths.push_back(file.db_path + file.name);
    if (const Status read = AddRecordsOf(paths.back(), &before); !read.ok()) {
      LeaveOut(file, read);
      return Outcome::kMerged;  // another run may be found without it
    }
  }
  // Holds the old files until the new one has been read.
  const std::unique_ptr<rocksdb::Iterator> hold(
      window.db()->NewIterator(rocksdb::ReadOptions(), window.handle()));
  std::vector<std::string> merged;
  CISTERN_ASSIGN_OR_RETURN(const Outcome outcome, Merge(window, names, &merged));
  if (outcome != Outcome::kMerged) return outcome;
  Digest after;
  Status read;
  for (size_t i = 0; i < merged.size() && read.ok(); ++i) read = AddRecordsOf(merged[i], &after);
  if (!read.ok() || !(after == before)) CISTERN_RETURN_IF_ERROR(PutBack(window, run, paths));
  CrashPoint("files:after_merge");
  return Outcome::kMerged;
}

// A compaction within the level.
Result<WindowFiles::Outcome> WindowFiles::Merge(const Family& window,
                                                const std::vector<std::string>& names,
                                                std::vector<std::string>* merged) {
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kDisableCompressionOption;  // that of the family
  CrashPoint("files:before_merge");
  const rocksdb::Status s = window.db()->CompactFiles(options, window.handle(), names, kLevel,
                                                      /*output_path_id=*/-1, merged);
  // RocksDB has taken some of the files meanwhile.
  if (s.IsAborted() || s.IsInvalidArgument()) return Outcome::kBusy;
  if (!s.ok()) return ToStatus(s, "merging files of a window");
  return Outcome::kMerged;
}

// The records are in the log before the new file is removed: what reads meanwhile may be told that
// a block is damaged, and nothing is lost by a crash.
Status WindowFiles::PutBack(const Family& window, const Files& run,
                            const std::vector<std::string>& paths) {
  has_ended_ = true;
  db_->opened().info_log->Write(LogLevel::kError,
                                "a file that RocksDB made of small ones lacks records: they are "
                                "put back, and no more files are merged until the next opening");
  rocksdb::WriteBatch batch;
  const auto put = [&](const rocksdb::Slice& key, const rocksdb::Slice& value) {
    batch.Put(window.handle(), key, value).PermitUncheckedError();
  };
  for (const std::string& path : paths) {
    CISTERN_RETURN_IF_ERROR(VisitRecords(db_->db()->GetEnv(), path, put));
  }
  rocksdb::WriteOptions synced;
  synced.sync = true;
  rocksdb::Status s = window.db()->Write(synced, &batch);
  const rocksdb::Slice first(run.front().smallestkey);
  const rocksdb::Slice last(run.back().largestkey);
  if (s.ok()) s = rocksdb::DeleteFilesInRange(window.db(), window.handle(), &first, &last);
  if (s.ok()) s = window.db()->Flush(rocksdb::FlushOptions(), window.handle());
  return s.ok() ? Status::Ok() : ToStatus(s, "putting records of a window back");
}

void WindowFiles::LeaveOut(const rocksdb::SstFileMetaData& file, const Status& why) {
  left_out_.insert(file.file_number);
  db_->opened().info_log->Write(
      LogLevel::kWarning,
      Concat({"the file ", file.name, " of a window is not merged with its neighbours, as it ",
              "cannot be read: ", why.message()}));
}

}  // namespace cistern
