// OpenedStore: what is odd about it, and its end.
#include <memory>
#include <utility>

#include "storage/rocksdb_status.h"
#include "storage/store_opener.h"

namespace cistern {

OpenedStore& OpenedStore::operator=(OpenedStore&& other) noexcept {
  if (this == &other) return *this;
  Close().IgnoreError();  // of the store that is replaced: nobody is left to hear it
  std::destroy_at(this);
  return *std::construct_at(this, std::move(other));
}

OpenedStore::~OpenedStore() {
  Close().IgnoreError();  // who wants to know calls Close()
}

void OpenedStore::NoteOddity(std::string note) {
  info_log->Write(LogLevel::kWarning, note);
  recovery.clean = false;
  recovery.notes.push_back(std::move(note));
}

Status OpenedStore::Close() {
  Status status;
  if (db != nullptr) {
    for (const auto& [name, handle] : families) {
      const rocksdb::Status freed = db->DestroyColumnFamilyHandle(handle);
      if (status.ok()) status = ToStatus(freed, "closing the family " + name);
    }
    families.clear();
    const rocksdb::Status closed = db->Close();
    if (status.ok()) status = ToStatus(closed, "closing the database in " + config.directory);
    db.reset();
  }
  beacon.reset();
  ballast.reset();
  lock.reset();
  return status;
}

}  // namespace cistern
