// OpenedStore: what is odd about it, and its end.
#include <memory>
#include <utility>

#include "lib/base/guard.h"
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

// All of it is closed, whatever fails on the way: the destructor calls it too.
Status OpenedStore::Close() {
  Status status;
  const auto note = [&status](const rocksdb::Status& s, const char* what, const std::string& of) {
    if (!s.ok() && status.ok()) status = Guarded([&] { return ToStatus(s, what + of); });
  };
  if (db != nullptr) {
    for (const auto& [name, handle] : families) {
      note(db->DestroyColumnFamilyHandle(handle), "closing the family ", name);
    }
    families.clear();
    note(db->Close(), "closing the database in ", config.directory);
    db.reset();
  }
  beacon.reset();
  ballast.reset();
  lock.reset();
  return status;
}

}  // namespace cistern
