#include "storage/create_family.h"

#include "lib/base/unwind_guard.h"
#include "storage/rocksdb_status.h"

namespace cistern {

Result<FamilyPtr> CreateFamily(const std::shared_ptr<StoreDb>& store, FamilyKind kind,
                               const std::string& name, const char* what) {
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  const rocksdb::Status s =
      store->db()->CreateColumnFamily(store->opened().FamilyOptions(kind), name, &handle);
  if (!s.ok()) return ToStatus(s, std::string("creating ") + what);
  const UnwindGuard unowned(
      [&] { store->db()->DestroyColumnFamilyHandle(handle).PermitUncheckedError(); });
  return std::make_shared<Family>(store, handle);
}

}  // namespace cistern
