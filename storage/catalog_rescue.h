// RescueCatalog: a database for the files of rows of a store whose own database cannot be opened.
#ifndef CISTERN_STORAGE_CATALOG_RESCUE_H_
#define CISTERN_STORAGE_CATALOG_RESCUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "storage/store_config.h"

namespace cistern {

struct RescueReport {
  std::vector<std::string> problems;  // what could not be read, each says what and where
  uint64_t versions_lost = 0;         // in rotations and seals of which no file can be read
  bool has_all_buckets = true;        // false: the catalog lacks some, and how many rows they had
  // True where ACK told what was acknowledged, so that an opening of the new store tells what the
  // logs lack of it.
  bool knows_acknowledged = true;
};

// OK if a copy of the catalog is in the directory, can be read, and is of the store that CISTERN or
// ACK say this is. Otherwise as RescueCatalog.
[[nodiscard]] Status CheckCatalogCopy(const std::string& directory);

// Makes a store in `scratch.directory`, which must not exist, that reads as the one in `from` did:
// tables, boots and what counts are those of the copy of the catalog (catalog_copy.h), rows are
// those of the files of `from` and of its logs. Neither CURRENT, MANIFEST, IDENTITY and CISTERN nor
// files of `meta` are looked at, and nothing in `from` is changed: the scratch store has symbolic
// links to its files, so it is of use as long as they are there, and it is to be opened for reading
// alone.
//
// Manifests are made from the headers of segments: they say what a seal holds and not when it was
// written. In the outbox are those seals that the copy does not call confirmed.
//
//   kNotFound    `from` has no copy of the catalog
//   kCorruption  neither of its files can be read, or it is the copy of another store
[[nodiscard]] Result<RescueReport> RescueCatalog(const std::string& from,
                                                 const StoreConfig& scratch);

}  // namespace cistern

#endif  // CISTERN_STORAGE_CATALOG_RESCUE_H_
