// StoreDb: the open RocksDB, kept alive by whoever still holds one of its families.
#ifndef CISTERN_STORAGE_STORE_DB_H_
#define CISTERN_STORAGE_STORE_DB_H_

#include <rocksdb/db.h>

#include <atomic>
#include <memory>
#include <string>

#include "storage/dictionary_cache.h"
#include "storage/store_opener.h"

namespace cistern {

// Closes the database when the last owner lets go. Thread-safe.
class StoreDb {
 public:
  explicit StoreDb(OpenedStore opened) : opened_(std::move(opened)) {}
  StoreDb(const StoreDb&) = delete;
  StoreDb& operator=(const StoreDb&) = delete;

  [[nodiscard]] rocksdb::DB* db() const { return opened_.db.get(); }
  [[nodiscard]] OpenedStore& opened() { return opened_; }
  [[nodiscard]] const OpenedStore& opened() const { return opened_; }
  [[nodiscard]] DictionaryCache& dictionaries() { return dictionaries_; }
  // Whether RocksDB may merge files of meta (meta_merge.h), which RocksDB itself tells by a copy of
  // all options alone.
  [[nodiscard]] std::atomic<bool>& meta_merges_allowed() const { return meta_merges_allowed_; }

 private:
  OpenedStore opened_;
  DictionaryCache dictionaries_;
  mutable std::atomic<bool> meta_merges_allowed_ = false;
};

// A column family, released with its last user: a dropped family's files go then.
class Family {
 public:
  Family(std::shared_ptr<StoreDb> store, rocksdb::ColumnFamilyHandle* handle)
      : store_(std::move(store)), handle_(handle) {}
  ~Family() { store_->db()->DestroyColumnFamilyHandle(handle_).PermitUncheckedError(); }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle() const { return handle_; }
  [[nodiscard]] rocksdb::DB* db() const { return store_->db(); }
  [[nodiscard]] DictionaryCache& dictionaries() const { return store_->dictionaries(); }

 private:
  std::shared_ptr<StoreDb> store_;  // outlives the handle
  rocksdb::ColumnFamilyHandle* handle_;
};

using FamilyPtr = std::shared_ptr<Family>;

}  // namespace cistern

#endif  // CISTERN_STORAGE_STORE_DB_H_
