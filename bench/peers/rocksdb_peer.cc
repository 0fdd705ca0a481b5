// RocksDB without Cistern: a key for each row, in the form that can be read at any time and in the
// form that takes rows fastest.
#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "bench/peers/peer.h"
#include "bench/peers/row_packing.h"

namespace cistern::bench {

namespace {

constexpr int64_t kEndOfTimeMs = int64_t{1} << 62;

Status FromRocksDb(const rocksdb::Status& s) {
  return s.ok() ? Status::Ok() : Status::IoError(s.ToString());
}

rocksdb::Slice SliceOf(const RowPacking::Key& key) { return {key.data(), key.size()}; }

std::string_view ViewOf(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

class RocksDbPeer : public Peer {
 public:
  RocksDbPeer(const PeerSetup& setup, std::unique_ptr<rocksdb::DB> db)
      : packing_(setup.table, KeyOrder::kEntityTime), db_(std::move(db)) {}

  Status Append(const RowBlock& rows) override {
    batch_.Clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      const RowView row = rows.Row(i);
      packing_.PackValue(row, &value_);
      CISTERN_RETURN_IF_ERROR(FromRocksDb(
          batch_.Put(SliceOf(packing_.KeyOf(row.entity, row.time_ms)), value_)));
    }
    return FromRocksDb(db_->Write(rocksdb::WriteOptions(), &batch_));
  }

  Status Settle() override {
    CISTERN_RETURN_IF_ERROR(FromRocksDb(db_->Flush(rocksdb::FlushOptions())));
    using Properties = rocksdb::DB::Properties;
    for (;;) {
      uint64_t due = 0;
      for (const std::string* name :
           {&Properties::kCompactionPending, &Properties::kNumRunningCompactions,
            &Properties::kNumRunningFlushes, &Properties::kMemTableFlushPending}) {
        uint64_t count = 0;
        db_->GetIntProperty(*name, &count);
        due += count;
      }
      if (due == 0) return Status::Ok();
      usleep(1000);
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

  Status NewestRow(uint32_t entity, RowVisitor* visitor) override {
    return LastOf(entity, [&](std::string_view key, std::string_view value) {
      visitor->Visit(packing_.Unpack(key, value));
    });
  }
  Result<int64_t> NewestTime(uint32_t entity) override {
    int64_t time_ms = 0;
    CISTERN_RETURN_IF_ERROR(LastOf(entity, [&](std::string_view key, std::string_view) {
      time_ms = packing_.ReadKey(key).second;
    }));
    return time_ms;
  }
  Status RowAt(uint32_t entity, int64_t time_ms, RowVisitor* visitor) override {
    rocksdb::PinnableSlice value;
    const RowPacking::Key key = packing_.KeyOf(entity, time_ms);
    const rocksdb::Status s =
        db_->Get(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), SliceOf(key), &value);
    if (s.ok()) visitor->Visit(packing_.Unpack({key.data(), key.size()}, ViewOf(value)));
    return s.IsNotFound() ? Status::Ok() : FromRocksDb(s);
  }

  Status DropBefore(int64_t time_ms) override {
    rocksdb::WriteBatch batch;
    for (uint32_t entity = 0; entity < packing_.table().entity_count; ++entity) {
      const auto first = packing_.KeyOf(entity, 0);
      const auto last = packing_.KeyOf(entity, time_ms);
      CISTERN_RETURN_IF_ERROR(FromRocksDb(batch.DeleteRange(SliceOf(first), SliceOf(last))));
    }
    CISTERN_RETURN_IF_ERROR(FromRocksDb(db_->Write(rocksdb::WriteOptions(), &batch)));
    return FromRocksDb(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  }

 private:
  // The entity's last row: the one before the next entity's first.
  template <typename Take>
  Status LastOf(uint32_t entity, const Take& take) {
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions()));
    it->SeekForPrev(SliceOf(packing_.KeyOf(entity + 1, 0)));
    if (it->Valid() && packing_.ReadKey(ViewOf(it->key())).first == entity) {
      take(ViewOf(it->key()), ViewOf(it->value()));
    }
    return FromRocksDb(it->status());
  }

  // The rows of the entities first ... last.
  template <typename Take>
  Status Iterate(uint32_t first, uint32_t last, const Take& take) {
    const auto begin = packing_.KeyOf(first, 0);
    const auto end = packing_.KeyOf(last, kEndOfTimeMs);
    const rocksdb::Slice end_slice = SliceOf(end);
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &end_slice;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options));
    for (it->Seek(SliceOf(begin)); it->Valid(); it->Next()) {
      take(ViewOf(it->key()), ViewOf(it->value()));
    }
    return FromRocksDb(it->status());
  }

  RowPacking packing_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteBatch batch_;
  std::string value_;
};

Result<std::unique_ptr<Peer>> Open(const PeerSetup& setup, rocksdb::Options options) {
  options.create_if_missing = true;
  options.write_buffer_size = setup.memory_bytes / 2;  // one is filled while the other is flushed
  options.compression = rocksdb::kLZ4Compression;
  rocksdb::DB* db = nullptr;
  CISTERN_RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::Open(options, setup.directory, &db)));
  return std::unique_ptr<Peer>(
      std::make_unique<RocksDbPeer>(setup, std::unique_ptr<rocksdb::DB>(db)));
}

Result<std::unique_ptr<Peer>> OpenLeveled(const PeerSetup& setup) {
  return Open(setup, rocksdb::Options());
}

Result<std::unique_ptr<Peer>> OpenFifo(const PeerSetup& setup) {
  rocksdb::Options options;
  options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
  options.allow_concurrent_memtable_write = false;
  options.compaction_style = rocksdb::kCompactionStyleFIFO;
  options.compaction_options_fifo.max_table_files_size = uint64_t{1} << 40;  // drops nothing
  options.max_open_files = -1;
  return Open(setup, options);
}

}  // namespace

std::vector<PeerKind> RocksDbPeers() {
  PeerKind leveled{"rocksdb", "row per key (entity, ts), leveled, LZ4, WAL without sync",
                   OpenLeveled};
  PeerKind fifo{"rocksdb vector+fifo", "the same, vector memtable, FIFO compaction", OpenFifo};
  fifo.can_drop = false;  // only whole files, oldest first
  return {leveled, fifo};
}

}  // namespace cistern::bench
