#include "lib/base/checksum.h"

#include <xxhash.h>

namespace cistern {

uint64_t Checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace cistern
