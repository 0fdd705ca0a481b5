// How a column family of an open store is made.
#ifndef CISTERN_STORAGE_CREATE_FAMILY_H_
#define CISTERN_STORAGE_CREATE_FAMILY_H_

#include <memory>
#include <string>

#include "cistern/result.h"
#include "storage/family_kind.h"
#include "storage/store_db.h"

namespace cistern {

// Makes the family, which is on the device when it is there. `what` is for the message of an error:
// "a window". One that was made and is not given, for want of memory, is an unborn one: the next
// opening drops it.
[[nodiscard]] Result<FamilyPtr> CreateFamily(const std::shared_ptr<StoreDb>& store,
                                             FamilyKind kind, const std::string& name,
                                             const char* what);

}  // namespace cistern

#endif  // CISTERN_STORAGE_CREATE_FAMILY_H_
