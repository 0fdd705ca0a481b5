// XXH3-64: the checksum of pages, headers, records and the documented hash of splits.
#ifndef CISTERN_BASE_CHECKSUM_H_
#define CISTERN_BASE_CHECKSUM_H_

#include <cstdint>
#include <string_view>

namespace cistern {

// XXH3_64bits with seed 0 and the default secret.
[[nodiscard]] uint64_t Checksum(std::string_view bytes);

}  // namespace cistern

#endif  // CISTERN_BASE_CHECKSUM_H_
