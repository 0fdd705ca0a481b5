// Journal: committed rows that are not yet in segments, one record per commit group.
//
// A record is one value in the newest journal family, so RocksDB's write-ahead log is
// the only place where it reaches the disk: a journal family never has an SST. The
// families of a head generation are dropped whole once the head is in segments.
#ifndef CISTERN_STORAGE_JOURNAL_H_
#define CISTERN_STORAGE_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "storage/store_db.h"

namespace cistern {

// Append and Switch belong to the committer, under its lock; PrepareNext and
// DropFrozen to maintenance. The two sides may run at the same time.
class Journal {
 public:
  struct NumberedFamily {
    uint64_t id = 0;
    FamilyPtr family;
  };

  explicit Journal(std::shared_ptr<StoreDb> store) : store_(std::move(store)) {}

  // Takes the families that were found at open, ascending by id. The ones with
  // records belong to the first head generation, an empty one is written next.
  // Empty ones that are of no use are dropped; without `may_drop` (a reader, a full disk)
  // they wait for the next open.
  [[nodiscard]] Status Adopt(std::vector<NumberedFamily> found, bool may_drop);

  // Calls `visit` for every record, oldest first; `new_family` tells that the coder's
  // state begins anew. Stops at the first error.
  using Visitor =
      std::function<Status(uint64_t sequence, std::string_view record, bool new_family)>;
  [[nodiscard]] Status Replay(const Visitor& visit) const;

  // Writes one record. With `sync` it is on the device when this returns. After an
  // error the outcome is unknown and the store must be reopened.
  [[nodiscard]] Status Append(uint64_t sequence, std::string_view record, bool sync);
  // Makes every record appended so far durable.
  [[nodiscard]] Status Sync();

  [[nodiscard]] bool writable() const;    // a family begun in this open exists
  [[nodiscard]] bool next_ready() const;  // Switch is possible
  // Creates the family that the next generation will use, ahead of need: a full disk
  // never meets a rotation without one.
  [[nodiscard]] Status PrepareNext(uint64_t family_id);
  // The next family becomes the one written; those written so far are frozen with
  // their head. REQUIRES: next_ready(), nothing frozen.
  void Switch();
  // Drops the frozen families, oldest first, so that survivors are always a suffix.
  [[nodiscard]] Status DropFrozen();

  [[nodiscard]] size_t family_count() const;
  [[nodiscard]] size_t active_count() const;  // families of the active generation
  [[nodiscard]] bool has_frozen() const;
  // Records of the active generation, which RocksDB keeps in memory. Those that were there at open
  // are its own too, once they are noted.
  [[nodiscard]] uint64_t active_bytes() const { return active_bytes_; }
  void NoteReplayed(std::string_view record) {
    active_bytes_ += sizeof(uint64_t) + record.size();
  }

 private:
  std::shared_ptr<StoreDb> store_;
  mutable std::mutex mutex_;            // guards the lists, not the families
  std::vector<NumberedFamily> active_;  // the last one is written
  std::vector<NumberedFamily> frozen_;
  bool fresh_ = false;  // active_.back() began in this open
  NumberedFamily next_;
  uint64_t active_bytes_ = 0;  // committer only
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_JOURNAL_H_
