// StoreConfig: what storage needs to know to open a store.
#ifndef CISTERN_STORAGE_STORE_CONFIG_H_
#define CISTERN_STORAGE_STORE_CONFIG_H_

#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cistern/clock.h"
#include "cistern/limits.h"
#include "cistern/options.h"

namespace cistern {

struct StoreConfig {
  std::string directory;
  bool create_if_missing = true;
  // Of an opening that follows another one: only that very store is opened, kIoError otherwise.
  std::string expected_store_id;
  // Nothing is written and no lock is taken, so a live writer may hold the store.
  bool read_only = false;
  // With read_only: no writer holds the store, so that files which are not there are damage.
  bool is_alone = false;
  // A store is made from what could be salvaged of another one (salvaging_mark.h): what an
  // interrupted salvage has left of it is thrown away.
  bool is_salvage_target = false;
  size_t memory_budget_bytes = limits::kMemoryBudgetBytesDefault;
  uint64_t disk_budget_bytes = 0;  // 0: what the file system has
  LogSink log_sink;                // may be empty
  std::shared_ptr<Clock> clock;    // for the times in the LOG; null: SystemClock()
  // Below everything that storage writes. Null: the machine's. Tests put faults here.
  std::shared_ptr<rocksdb::FileSystem> base_fs;
  // No compaction in families of segments: one that met damage would end all writing.
  bool segments_rest = false;
  // Opens with a RocksDB that is not among the tested versions.
  bool allow_untested_rocksdb = false;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_STORE_CONFIG_H_
