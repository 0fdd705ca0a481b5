// What `cistern scan` prints to continue a scan: the engine's token and the rows before it.
#ifndef CISTERN_TOOLS_SCAN_TOKEN_H_
#define CISTERN_TOOLS_SCAN_TOKEN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern::tool {

struct ScanToken {
  uint64_t rows_before = 0;  // handed out by the scan so far: its limit counts them
  std::string engine_token;  // opaque bytes
};

[[nodiscard]] std::string FormatScanToken(const ScanToken& token);
[[nodiscard]] Result<ScanToken> ParseScanToken(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SCAN_TOKEN_H_
