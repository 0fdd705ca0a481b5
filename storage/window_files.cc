#include "storage/window_files.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/base/checksum.h"
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

Status WindowFiles::AddRecordsOf(const std::string& path, Digest* digest, const Family& window,
                                 rocksdb::WriteBatch* batch) const {
  std::array<uint64_t, 3> sums{};
  const std::string_view bytes(reinterpret_cast<const char*>(sums.data()), sizeof(sums));
  return VisitRecords(db_->db()->GetEnv(), path, [&](const auto& key, const auto& value) {
    sums = {digest->checksum, Checksum(ViewOf(key)), Checksum(ViewOf(value))};
    digest->checksum = Checksum(bytes);
    ++digest->records;
    if (batch != nullptr) batch->Put(window.handle(), key, value).PermitUncheckedError();
  });
}

Result<WindowFiles::Outcome> WindowFiles::MergeSmall(const Family& window) {
  if (has_ended_) return Outcome::kNothing;
  std::vector<std::string> names;
  Digest before;
  rocksdb::WriteBatch records;
  for (const auto& file : SmallFilesOf(window)) {
    if (file.being_compacted) return Outcome::kBusy;
    names.push_back(file.name);
    const Status read = AddRecordsOf(file.db_path + file.name, &before, window, &records);
    if (!read.ok()) {
      LeaveOut(file, read);
      return Outcome::kMerged;  // another run may be found without it
    }
  }
  if (names.empty()) return Outcome::kNothing;
  std::vector<std::string> merged;
  CISTERN_ASSIGN_OR_RETURN(const Outcome outcome, Merge(window, names, &merged));
  if (outcome != Outcome::kMerged) return outcome;
  CrashPoint("files:before_read_back");
  Digest after;
  Status read;
  for (size_t i = 0; i < merged.size() && read.ok(); ++i) {
    read = AddRecordsOf(merged[i], &after, window, nullptr);
  }
  if (!read.ok() || !(after == before)) CISTERN_RETURN_IF_ERROR(PutBack(window, &records, merged));
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

// The records are in a file of their own before the new one is removed: what reads meanwhile may be
// told that a block is damaged.
Status WindowFiles::PutBack(const Family& window, rocksdb::WriteBatch* records,
                            const std::vector<std::string>& merged) {
  has_ended_ = true;
  db_->opened().info_log->Write(LogLevel::kError,
                                "a file that RocksDB made of small ones lacks records: they are "
                                "put back, and no more files are merged until the next opening");
  rocksdb::WriteOptions synced;
  synced.sync = true;
  rocksdb::Status s = window.db()->Write(synced, records);
  if (s.ok()) s = window.db()->Flush(rocksdb::FlushOptions(), window.handle());
  for (const std::string& path : merged) {
    // RocksDB may have merged it with the others by now.
    if (s.ok()) window.db()->DeleteFile(path.substr(path.rfind('/'))).PermitUncheckedError();
  }
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
