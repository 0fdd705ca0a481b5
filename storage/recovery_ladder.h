// RecoveryLadder: the ways of opening a database, from the ordinary one to those that give
// something up.
#ifndef CISTERN_STORAGE_RECOVERY_LADDER_H_
#define CISTERN_STORAGE_RECOVERY_LADDER_H_

#include <rocksdb/options.h>

#include <string>
#include <vector>

#include "cistern/status.h"
#include "storage/database_opener.h"
#include "storage/torn_end.h"

namespace cistern {

// What OpenStore's comment says of the ladder. One thread; the store must outlive it.
class RecoveryLadder {
 public:
  RecoveryLadder(OpenedStore* store, bool creating)
      : store_(store), database_(store, creating) {}

  // The store's beacon must have been read before, unless the store is created: a live writer
  // moves both on, and what the beacon says must not be newer than the log that is read.

  // May be called again after kNoSpace.
  [[nodiscard]] Status OpenWritable();
  [[nodiscard]] Status OpenReadOnly();

 private:
  [[nodiscard]] const std::string& directory() const { return store_->config.directory; }
  [[nodiscard]] Status SyncLogs();
  // kCorruption: less of the MANIFEST is there than was synced.
  [[nodiscard]] Status CheckManifestLength() const;
  [[nodiscard]] std::vector<TornEnd> FindTornEnds() const;
  [[nodiscard]] Status CutTornEnds();
  void HideTornEnds();
  void NoteRepair();
  [[nodiscard]] Status LookForLoss();
  [[nodiscard]] Status GoDown(Status first);
  [[nodiscard]] Status RunRepairPass(rocksdb::WALRecoveryMode mode);
  [[nodiscard]] Status ReadPastDamage(const Status& first);

  OpenedStore* const store_;
  DatabaseOpener database_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_RECOVERY_LADDER_H_
