// Salvage: what can be read of a damaged store, as a new store.
#ifndef CISTERN_SALVAGE_H_
#define CISTERN_SALVAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/clock.h"
#include "cistern/export.h"
#include "cistern/limits.h"
#include "cistern/options.h"
#include "cistern/result.h"

namespace cistern {

struct SalvageOptions {
  std::string table{};  // by name, or keyspace.name; empty: every table
  size_t memory_budget_bytes = limits::kMemoryBudgetBytesDefault;  // for each of the two stores
  std::shared_ptr<Clock> clock{};  // null: the machine's
  LogSink log_sink{};              // of both; may be empty
};

struct SalvagedTable {
  std::string table;  // name, or keyspace.name
  uint64_t buckets = 0;
  uint64_t versions_saved = 0;  // row versions, deletes included; without those that others shadow
  uint64_t versions_confirmed = 0;  // of those, that stay confirmed; upstream has them
  uint64_t versions_lost = 0;   // in pages and seals that cannot be read, see knows_losses()
};

struct SalvageReport {
  std::vector<SalvagedTable> tables;  // those that were asked for, by number
  // Row versions in files and families that are lost as a whole: of which tables is not known.
  uint64_t versions_lost = 0;
  // Acknowledged records of the journal that are missing from the logs, as far as the file ACK
  // tells: of which tables, and how many row versions they had, is not known. It has no value where
  // ACK or a log is damaged: it is not known then whether any are missing, or how many.
  std::optional<uint64_t> journal_records_lost = 0;
  bool saw_all_buckets = true;  // false: the catalog is damaged, and may have had more of them
  std::vector<std::string> problems;  // everything that could not be read, each says what and where
  [[nodiscard]] bool complete() const { return problems.empty(); }
  // True where SalvagedTable::versions_lost is all that its table lost. Otherwise it is the least.
  [[nodiscard]] bool knows_losses() const {
    return versions_lost == 0 && journal_records_lost == 0 && saw_all_buckets;
  }
};

// Reads the store in `from`, changing nothing in it, and writes what is readable to a new store
// in `to`: every row version and delete with its write timestamp and expiry as they are, so that
// the new store reconciles with copies upstream as the old one would have. What upstream has
// confirmed is sealed and confirmed there too, with the proof of its arrival. All else is open, and
// is sealed and sent when it is due; so is a confirmed seal of which nothing readable says that it
// is. Of a bucket that is damaged
// every other page is saved: a row whose newest version or delete was in the damage comes with
// the one before.
//
// Where the database of `from` does not open, for want of CURRENT, a MANIFEST, CISTERN or files of
// the catalog, what counts of its files is told by the copy of the catalog beside it. So nothing
// rises that was superseded, had expired or was never finished. `to` has a folder `rescue` of
// symbolic links until the end then.
//
// A salvage that is interrupted leaves the file SALVAGING in `to`. It is no store then, and none
// opens; the next salvage to there begins anew.
//
//   kInvalidArgument `to` is within `from`, which is only read
//   kNotFound       no store in `from`, or no such table
//   kAlreadyExists  there is a store in `to`
//   kCorruption     neither the database of `from` nor CATALOG-1 and CATALOG-2, which have what
//                   is needed without it, can be read; or these are of another store
//   others          as Engine::Open of either directory, and of writing to `to`: as if it was
//                   interrupted
[[nodiscard]] CISTERN_EXPORT Result<SalvageReport> Salvage(const std::string& from,
                                                           const std::string& to,
                                                           const SalvageOptions& options = {});

}  // namespace cistern

#endif  // CISTERN_SALVAGE_H_
