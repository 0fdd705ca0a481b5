// ScanToken: where a scan stands, as text that survives restarts.
#ifndef CISTERN_ENGINE_QUERY_SCAN_TOKEN_H_
#define CISTERN_ENGINE_QUERY_SCAN_TOKEN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern {

// Given where there is no memory for a token: not empty, as the scan is not at its end, and too
// short to take memory. No scan takes it.
inline constexpr char kNoScanToken[] = "-";

// The place is a row, not a bucket or a segment, so rotations, new buckets and changes of
// width do not disturb it. Layout before hex coding, little-endian:
//   version u8 = 1 | request checksum u64 | rows returned varint | split varint |
//   bucket start signed | clustering key: varint length, bytes | XXH3 u64 of all before
struct ScanToken {
  uint64_t request_checksum = 0;  // of table, entity, bounds: a token fits one scan only
  uint64_t rows_returned = 0;
  uint32_t split = 0;          // of the last row
  int64_t start_s = 0;         // of its bucket
  std::string clustering_key;  // EncodeClusteringKey
};

[[nodiscard]] std::string EncodeScanToken(const ScanToken& token);
// kInvalidArgument for anything that EncodeScanToken did not make.
[[nodiscard]] Result<ScanToken> DecodeScanToken(std::string_view text);

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_SCAN_TOKEN_H_
