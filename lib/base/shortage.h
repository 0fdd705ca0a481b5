// IsShortage: whether a call failed for what the machine or the process lacks at the moment.
#ifndef CISTERN_BASE_SHORTAGE_H_
#define CISTERN_BASE_SHORTAGE_H_

#include "cistern/status.h"

namespace cistern {

// Memory or file descriptors. A read that failed for them says nothing of what is stored: it is
// no damage, and may do once there is more.
[[nodiscard]] inline bool IsShortage(const Status& status) {
  return status.code() == StatusCode::kOutOfMemory ||
         status.code() == StatusCode::kTooManyOpenFiles;
}

}  // namespace cistern

#endif  // CISTERN_BASE_SHORTAGE_H_
