// OpenStore: from a directory to an open database, or a Status that says why not.
#ifndef CISTERN_STORAGE_STORE_OPENER_H_
#define CISTERN_STORAGE_STORE_OPENER_H_

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/write_buffer_manager.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cistern/engine.h"
#include "cistern/result.h"
#include "storage/ack_beacon.h"
#include "storage/ballast.h"
#include "storage/file_system.h"
#include "storage/info_log.h"
#include "storage/lost_tables.h"
#include "storage/rocksdb_options.h"
#include "storage/store_config.h"
#include "storage/store_lock.h"

namespace cistern {

// How far the recovery ladder had to go down.
enum class RecoveryRung : uint8_t {
  kClean = 0,        // nothing was damaged, or only the torn end of the log
  kPointInTime = 1,  // records from the first damage on were given up: a suffix is missing
  kSkipped = 2,      // damaged records were skipped: there may be a hole. Journal sequences
                     // must be checked, and delta decoding must stop at the first gap
};

// An open database and all that it needs. Movable. The destructor closes it.
struct OpenedStore {
  OpenedStore() = default;
  OpenedStore(OpenedStore&& other) noexcept = default;
  OpenedStore& operator=(OpenedStore&& other) noexcept;
  ~OpenedStore();

  // Frees the handles in `families`, closes the database, frees the lock. What must be
  // on the device has to be synced before: nothing is flushed. No iterator or snapshot
  // may be left. OK if it was closed already.
  [[nodiscard]] Status Close();
  // Says in `recovery`, and in the log of events, what was odd about the store. It is not clean
  // then.
  void NoteOddity(std::string note);
  // What MakeFamilyOptions wants for a new family.
  [[nodiscard]] rocksdb::ColumnFamilyOptions FamilyOptions(FamilyKind kind) const {
    return MakeFamilyOptions(kind, config, cache);
  }

  StoreConfig config;
  std::shared_ptr<StoreFileSystem> fs;
  std::unique_ptr<StoreLock> lock;  // null when read-only
  std::shared_ptr<InfoLog> info_log;
  std::unique_ptr<rocksdb::Env> env;
  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
  std::unique_ptr<rocksdb::DB> db;
  // By name: default, meta, journal-<16 hex digits>, spill-<16 hex digits>. Whoever
  // creates or drops a family keeps this map true.
  std::map<std::string, rocksdb::ColumnFamilyHandle*> families;
  std::unique_ptr<Ballast> ballast;  // null when read-only
  std::unique_ptr<AckBeacon> beacon;
  std::string store_id;  // 32 hexadecimal digits
  bool created = false;
  RecoveryRung rung = RecoveryRung::kClean;
  // SharedParts::met_corruption
  std::shared_ptr<std::atomic<bool>> met_corruption = std::make_shared<std::atomic<bool>>(false);
  std::vector<LostTable> lost_tables;  // stand-ins are read instead; they hold nothing
  // created, clean and notes; what was lost is for who knows the journal to say.
  RecoveryReport recovery;
};

// Opens the store of `config.directory`, or creates it with the families default and
// meta.
//   kInvalidArgument  the path is a file, or a directory with other things in it
//   kNotFound         no store, and none may be created (or creation never finished)
//   kLocked           open elsewhere; the message names the process
//   kTooNew           a newer format; nothing was touched
//   kReadOnly         directory or file system cannot be written
//   kNoSpace          not even with the ballast released
//   kCorruption       not openable by any rung of the ladder
//   kNotSupported     a RocksDB that was not tested
//
// The logs that are there are synced first, so that whatever is replayed is on the device. What a
// power cut tore of MANIFEST and logs behind their last sync is cut off (storage/torn_end.h), and
// is nothing unusual.
//
// The ladder: the log is read expecting a torn end at most; if it is damaged, logs and
// MANIFEST are copied to quarantine/, then read to the first damage, and if families
// disagree then, past it. Whatever was given up is said in `recovery`.
//
// A file of segments that is gone or cannot be used is no reason to stay shut: it is opened as
// if it were empty, is in `lost_tables`, and families of segments are compacted no more until
// it is whole. One of the catalog is kCorruption, and named.
//
// read_only takes no lock and writes nothing: it sees the store as it was at some
// moment of opening, and a writer that drops a family or deletes a file meanwhile may
// make later reads fail with kIoError. Open again then.
[[nodiscard]] Result<OpenedStore> OpenStore(const StoreConfig& config);

}  // namespace cistern

#endif  // CISTERN_STORAGE_STORE_OPENER_H_
