// LevelDB: a key for each row.
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "bench/peers/peer.h"
#include "bench/peers/process_usage.h"
#include "bench/peers/row_packing.h"

namespace cistern::bench {

namespace {

constexpr int64_t kEndOfTimeMs = int64_t{1} << 62;
constexpr useconds_t kPauseUs = 50'000;
constexpr double kIdleCpuS = 0.001;  // of such a pause: its thread does nothing any more

Status FromLevelDb(const leveldb::Status& s) {
  return s.ok() ? Status::Ok() : Status::IoError(s.ToString());
}

leveldb::Slice SliceOf(const RowPacking::Key& key) { return {key.data(), key.size()}; }

class LevelDbPeer : public Peer {
 public:
  explicit LevelDbPeer(const PeerSetup& setup)
      : packing_(setup.table, KeyOrder::kEntityTime),
        cache_(leveldb::NewLRUCache(setup.memory_bytes / 4)) {}

  Status Open(const PeerSetup& setup) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = setup.memory_bytes / 2;
    options.block_cache = cache_.get();
    leveldb::DB* db = nullptr;
    CISTERN_RETURN_IF_ERROR(FromLevelDb(leveldb::DB::Open(options, setup.directory, &db)));
    db_.reset(db);
    return Status::Ok();
  }

  Status Append(const RowBlock& rows) override {
    batch_.Clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      const RowView row = rows.Row(i);
      packing_.PackValue(row, &value_);
      batch_.Put(SliceOf(packing_.KeyOf(row.entity, row.time_ms)), value_);
    }
    return FromLevelDb(db_->Write(leveldb::WriteOptions(), &batch_));
  }

  // The log is no place to rest: the memtable is written out, and what is due then is waited for.
  Status Settle() override {
    db_->CompactRange(nullptr, nullptr);
    for (double last_s = 0;;) {
      const double cpu_s = ProcessUsage::Now().cpu_s;
      if (cpu_s - last_s < kIdleCpuS) return Status::Ok();
      last_s = cpu_s;
      usleep(kPauseUs);
    }
  }

  Status ScanRows(RowVisitor* visitor) override {
    return Iterate(0, UINT32_MAX, [&](std::string_view key, std::string_view value) {
      visitor->Visit(packing_.Unpack(key, value));
    });
  }
  Status ScanEntity(uint32_t entity, RowVisitor* visitor) override {
    return Iterate(entity, entity, [&](std::string_view key, std::string_view value) {
      visitor->Visit(packing_.Unpack(key, value));
    });
  }
  Status ScanColumns(RowSums* sums) override {
    return Iterate(0, UINT32_MAX, [&](std::string_view key, std::string_view value) {
      sums->Add(packing_.table(), packing_.Unpack(key, value));
    });
  }
  Result<PeerAggregate> Aggregate(uint32_t entity, size_t column) override {
    PeerAggregate result;
    CISTERN_RETURN_IF_ERROR(
        Iterate(entity, entity, [&](std::string_view, std::string_view value) {
          if (const auto number = packing_.Number(value, column)) result.Add(*number);
        }));
    return result;
  }

  // Without ranges of deletes: key by key.
  Status DropBefore(int64_t time_ms) override {
    leveldb::WriteBatch batch;
    size_t deletes = 0;
    Status status;
    CISTERN_RETURN_IF_ERROR(Iterate(0, UINT32_MAX, [&](std::string_view key, std::string_view) {
      if (packing_.ReadKey(key).second >= time_ms) return;
      batch.Delete(leveldb::Slice(key.data(), key.size()));
      if (++deletes % 1000 != 0 || !status.ok()) return;
      status = FromLevelDb(db_->Write(leveldb::WriteOptions(), &batch));
      batch.Clear();
    }));
    CISTERN_RETURN_IF_ERROR(status);
    CISTERN_RETURN_IF_ERROR(FromLevelDb(db_->Write(leveldb::WriteOptions(), &batch)));
    return Settle();
  }

 private:
  // The rows of the entities first ... last.
  template <typename Take>
  Status Iterate(uint32_t first, uint32_t last, const Take& take) {
    const auto begin = packing_.KeyOf(first, 0);
    const auto end = packing_.KeyOf(last, kEndOfTimeMs);
    const leveldb::Slice end_slice = SliceOf(end);
    const std::unique_ptr<leveldb::Iterator> it(db_->NewIterator(leveldb::ReadOptions()));
    for (it->Seek(SliceOf(begin)); it->Valid() && it->key().compare(end_slice) < 0; it->Next()) {
      const leveldb::Slice key = it->key();
      const leveldb::Slice value = it->value();
      take(std::string_view(key.data(), key.size()), std::string_view(value.data(), value.size()));
    }
    return FromLevelDb(it->status());
  }

  RowPacking packing_;
  std::unique_ptr<leveldb::Cache> cache_;  // outlives the store
  std::unique_ptr<leveldb::DB> db_;
  leveldb::WriteBatch batch_;
  std::string value_;
};

Result<std::unique_ptr<Peer>> OpenLevelDb(const PeerSetup& setup) {
  auto peer = std::make_unique<LevelDbPeer>(setup);
  CISTERN_RETURN_IF_ERROR(peer->Open(setup));
  return std::unique_ptr<Peer>(std::move(peer));
}

}  // namespace

std::vector<PeerKind> LevelDbPeers() {
  return {{"leveldb", "row per key (entity, ts), Snappy, log without sync; compacted at rest",
           OpenLevelDb}};
}

}  // namespace cistern::bench
