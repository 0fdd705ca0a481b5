// DatabaseOpener: one attempt to open RocksDB's database in a store's directory.
#ifndef CISTERN_STORAGE_DATABASE_OPENER_H_
#define CISTERN_STORAGE_DATABASE_OPENER_H_

#include <rocksdb/db.h>

#include <string>
#include <vector>

#include "cistern/result.h"
#include "cistern/status.h"
#include "storage/lost_tables.h"
#include "storage/store_opener.h"

namespace cistern {

// Whether an error of RocksDB says that a file is missing; RocksDB keeps errno only as a text.
[[nodiscard]] bool LacksFile(const Status& status);

// Opens, and closes again, the database of an OpenedStore whose other parts are there. One
// thread at a time; the store must outlive it.
class DatabaseOpener {
 public:
  // `creating`: the database is made if there is none.
  DatabaseOpener(OpenedStore* store, bool creating) : store_(store), creating_(creating) {}

  // What an ordinary open wants. The logs are read expecting a torn end at most.
  [[nodiscard]] rocksdb::DBOptions Options() const;
  // The families that the MANIFEST lists, and how each is opened.
  [[nodiscard]] Result<std::vector<rocksdb::ColumnFamilyDescriptor>> DescribeFamilies();

  // Opens the database as `options` say, read-only if the store is.
  [[nodiscard]] Status Open(const rocksdb::DBOptions& options);
  // Opens it with stand-ins for the files that cannot be used, if there are any.
  [[nodiscard]] Status OpenAroundLost();
  [[nodiscard]] Status Close();

  // The files that cannot be used, of an open database or of one that does not open for them.
  [[nodiscard]] Result<std::vector<LostTable>> ListLost(bool is_open);
  // Whether OpenAroundLost() failed for a file of the catalog: no way of reading the logs helps
  // then.
  [[nodiscard]] bool is_catalog_lost() const { return is_catalog_lost_; }
  [[nodiscard]] bool creating() const { return creating_; }

 private:
  [[nodiscard]] const std::string& directory() const { return store_->config.directory; }
  [[nodiscard]] bool is_read_only() const { return store_->config.read_only; }
  [[nodiscard]] Status OpenError(const rocksdb::Status& error, const std::string& context) const;
  [[nodiscard]] Status StandIn(std::vector<LostTable> lost);

  OpenedStore* const store_;
  const bool creating_;
  bool is_catalog_lost_ = false;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_DATABASE_OPENER_H_
