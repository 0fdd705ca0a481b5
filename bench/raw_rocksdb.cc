#include "bench/raw_rocksdb.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace cistern::bench {

namespace {

using rocksdb::IOStatus;

class CountingFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  CountingFile(std::unique_ptr<rocksdb::FSWritableFile>&& file,
               std::shared_ptr<std::atomic<uint64_t>> bytes)
      : FSWritableFileOwnerWrapper(std::move(file)), bytes_(std::move(bytes)) {}
  IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                  rocksdb::IODebugContext* dbg) override {
    *bytes_ += data.size();
    return FSWritableFileOwnerWrapper::Append(data, options, dbg);
  }
  IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                  const rocksdb::DataVerificationInfo& info,
                  rocksdb::IODebugContext* dbg) override {
    *bytes_ += data.size();
    return FSWritableFileOwnerWrapper::Append(data, options, info, dbg);
  }

 private:
  std::shared_ptr<std::atomic<uint64_t>> bytes_;
};

class CountingFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit CountingFileSystem(std::shared_ptr<std::atomic<uint64_t>> bytes)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), bytes_(std::move(bytes)) {}
  const char* Name() const override { return "CountingFileSystem"; }
  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           rocksdb::IODebugContext* dbg) override {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    IOStatus s = FileSystemWrapper::NewWritableFile(path, options, &file, dbg);
    if (s.ok()) *result = std::make_unique<CountingFile>(std::move(file), bytes_);
    return s;
  }

 private:
  std::shared_ptr<std::atomic<uint64_t>> bytes_;
};

using Key = std::array<char, 12>;
using Value = std::array<char, 40>;

Key KeyOf(uint32_t sensor, int64_t time_ms) {
  Key key;
  const auto time = static_cast<uint64_t>(time_ms);
  for (size_t i = 0; i < 4; ++i) key[i] = static_cast<char>(sensor >> (24 - 8 * i));
  for (size_t i = 0; i < 8; ++i) key[4 + i] = static_cast<char>(time >> (56 - 8 * i));
  return key;
}

Value ValueOf(const GatewayRow& row) {
  Value value{};
  std::memcpy(value.data(), row.values.data(), 32);
  std::memcpy(value.data() + 32, &row.status, 4);
  value[36] = row.ok ? 1 : 0;
  std::memcpy(value.data() + 37, row.mode.data(), 3);
  return value;
}

Status FromRocksDb(const rocksdb::Status& s) {
  return s.ok() ? Status::Ok() : Status::IoError(s.ToString());
}

}  // namespace

Result<std::unique_ptr<RawRocksDb>> RawRocksDb::Open(const std::string& directory,
                                                     size_t memory_bytes) {
  auto self = std::unique_ptr<RawRocksDb>(new RawRocksDb);
  self->bytes_written_ = std::make_shared<std::atomic<uint64_t>>(0);
  self->env_ =
      rocksdb::NewCompositeEnv(std::make_shared<CountingFileSystem>(self->bytes_written_));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = self->env_.get();
  options.write_buffer_size = memory_bytes / 2;  // one is filled while the other is flushed
  rocksdb::DB* db = nullptr;
  CISTERN_RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::Open(options, directory, &db)));
  self->db_.reset(db);
  return self;
}

RawRocksDb::~RawRocksDb() = default;

Status RawRocksDb::Append(std::span<const GatewayRow> rows) {
  rocksdb::WriteBatch batch;
  for (const GatewayRow& row : rows) {
    const Key key = KeyOf(row.sensor, row.time_ms);
    const Value value = ValueOf(row);
    CISTERN_RETURN_IF_ERROR(FromRocksDb(batch.Put(rocksdb::Slice(key.data(), key.size()),
                                                  rocksdb::Slice(value.data(), value.size()))));
  }
  return FromRocksDb(db_->Write(rocksdb::WriteOptions(), &batch));
}

Status RawRocksDb::AppendAll(GatewayWorkload* workload, uint64_t rows, size_t batch_rows) {
  std::vector<GatewayRow> batch(batch_rows);
  while (workload->rows_made() < rows) {
    for (GatewayRow& row : batch) row = workload->Next();
    CISTERN_RETURN_IF_ERROR(Append(batch));
  }
  return Status::Ok();
}

Status RawRocksDb::Settle() {
  CISTERN_RETURN_IF_ERROR(FromRocksDb(db_->Flush(rocksdb::FlushOptions())));
  for (;;) {
    uint64_t pending = 0;
    uint64_t running = 0;
    uint64_t flushing = 0;
    db_->GetIntProperty(rocksdb::DB::Properties::kCompactionPending, &pending);
    db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningCompactions, &running);
    db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningFlushes, &flushing);
    if (pending + running + flushing == 0) return Status::Ok();
    usleep(1000);
  }
}

uint64_t RawRocksDb::Scan(uint32_t sensor, int64_t from_ms, int64_t to_ms, double* sum) {
  const Key first = KeyOf(sensor, from_ms);
  const Key last = KeyOf(sensor, to_ms);
  const rocksdb::Slice end(last.data(), last.size());
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions()));
  uint64_t rows = 0;
  for (it->Seek(rocksdb::Slice(first.data(), first.size()));
       it->Valid() && it->key().compare(end) < 0; it->Next()) {
    double value = 0;
    std::memcpy(&value, it->value().data(), sizeof value);
    *sum += value;
    ++rows;
  }
  return rows;
}

Status RawRocksDb::Drop(uint32_t sensor_count, int64_t from_ms, int64_t to_ms) {
  rocksdb::WriteBatch batch;
  for (uint32_t sensor = 0; sensor < sensor_count; ++sensor) {
    const Key first = KeyOf(sensor, from_ms);
    const Key last = KeyOf(sensor, to_ms);
    CISTERN_RETURN_IF_ERROR(
        FromRocksDb(batch.DeleteRange(rocksdb::Slice(first.data(), first.size()),
                                      rocksdb::Slice(last.data(), last.size()))));
  }
  rocksdb::WriteOptions synced;
  synced.sync = true;
  CISTERN_RETURN_IF_ERROR(FromRocksDb(db_->Write(synced, &batch)));
  return FromRocksDb(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
}

uint64_t RawRocksDb::disk_bytes() const {
  uint64_t bytes = 0;
  db_->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize, &bytes);
  return bytes;
}

}  // namespace cistern::bench
