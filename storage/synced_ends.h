// SyncedEnds: up to where the MANIFEST and the logs are known to be on the device.
#ifndef CISTERN_STORAGE_SYNCED_ENDS_H_
#define CISTERN_STORAGE_SYNCED_ENDS_H_

#include <cstdint>

namespace cistern {

// Lower bounds. A number of 0: nothing is known.
struct SyncedEnds {
  uint64_t manifest_number = 0;  // MANIFEST-NNNNNN; those before it are synced as a whole
  uint64_t manifest_bytes = 0;
  uint64_t log_number = 0;       // NNNNNN.log; those before it are synced as a whole
  uint64_t log_bytes = 0;

  friend bool operator==(const SyncedEnds&, const SyncedEnds&) = default;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_SYNCED_ENDS_H_
