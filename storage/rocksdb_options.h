// Every option of RocksDB that matters, set in code and checked on the live database.
#ifndef CISTERN_STORAGE_ROCKSDB_OPTIONS_H_
#define CISTERN_STORAGE_ROCKSDB_OPTIONS_H_

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/write_buffer_manager.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "cistern/status.h"
#include "storage/family_kind.h"
#include "storage/store_config.h"

namespace cistern {

// What the families of one store share.
struct SharedParts {
  rocksdb::Env* env = nullptr;                // over the StoreFileSystem; outlives the database
  std::shared_ptr<rocksdb::Logger> info_log;  // ours, never RocksDB's
  std::shared_ptr<rocksdb::Cache> cache;      // blocks, indexes, filters of every family
  // Never flushes, never stalls: it only knows how many bytes the memtables hold.
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
  // Becomes true when RocksDB's own work meets a damaged file: it writes nothing any more then.
  std::shared_ptr<std::atomic<bool>> met_corruption;
};

// Sizes that follow from the memory budget.
[[nodiscard]] size_t BlockCacheBytes(const StoreConfig& config);
[[nodiscard]] size_t SpillBufferBytes(const StoreConfig& config);

// The meta family should be flushed when its memtable (property
// rocksdb.cur-size-active-mem-table) passes this; every rotation flushes it anyway.
// RocksDB's own trigger is far above, as a memtable that fills while the WAL is replayed
// would flush every family, journals included.
inline constexpr size_t kMetaFlushBytes = 256 * 1024;

// The cache and the write buffer manager for a store of this budget.
[[nodiscard]] std::shared_ptr<rocksdb::Cache> MakeBlockCache(const StoreConfig& config);
[[nodiscard]] std::shared_ptr<rocksdb::WriteBufferManager> MakeWriteBufferManager();

// wal_recovery_mode is the first rung of the recovery ladder.
[[nodiscard]] rocksdb::DBOptions MakeDbOptions(const SharedParts& parts);
// Also for families created while the store is open.
[[nodiscard]] rocksdb::ColumnFamilyOptions MakeFamilyOptions(
    FamilyKind kind, const StoreConfig& config, const std::shared_ptr<rocksdb::Cache>& cache);

// For every iterator over meta. RocksDB 7.8 forgets that a block could not be read when it seeks
// past a range that is deleted: what the block held would be missing and nobody told. So iterators
// do not look at deleted ranges; they are of windows that are gone, whose numbers no record and no
// view has.
[[nodiscard]] rocksdb::ReadOptions MetaIteratorOptions();

// Compares what the open database really uses with what must hold. `families` by
// name. kInternal names the first option that is off.
[[nodiscard]] Status CheckLiveOptions(
    rocksdb::DB* db, const std::map<std::string, rocksdb::ColumnFamilyHandle*>& families,
    bool segments_rest = false);

// kNotSupported if this RocksDB was not tested with Cistern and that is not allowed.
[[nodiscard]] Status CheckRocksDbVersion(const StoreConfig& config);

}  // namespace cistern

#endif  // CISTERN_STORAGE_ROCKSDB_OPTIONS_H_
