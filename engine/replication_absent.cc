// Of a libcistern that was built without what speaks to clusters.
#include "cistern/replication.h"

namespace cistern {

Result<std::unique_ptr<Replication>> Replication::Start(Engine*, const ClusterAccess&,
                                                        const ReplicationOptions&) {
  return Status::NotSupported(
      "this libcistern was built without replication: set it up with -Dreplication=enabled, which "
      "needs OpenSSL and LZ4");
}

}  // namespace cistern
