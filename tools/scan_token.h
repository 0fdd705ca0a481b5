// What `cistern scan` prints to continue a scan: the engine's token, the rows before it, and what
// bounds that count from now were.
//
//   ROWS '.' TOKEN [ '.' [FROM] '.' [TO] ]
//
// ROWS, FROM and TO are decimal, TOKEN is hexadecimal. The two bounds stand there if one of them
// counts from now; the other one is empty.
#ifndef CISTERN_TOOLS_SCAN_TOKEN_H_
#define CISTERN_TOOLS_SCAN_TOKEN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern::tool {

struct ScanToken {
  uint64_t rows_before = 0;  // handed out by the scan so far: its limit counts them
  std::string engine_token{};  // opaque bytes
  // In ticks of the table: what --from and --to were that count from now, so that the next scan has
  // the same bounds; nothing: they do not.
  std::optional<int64_t> from{};
  std::optional<int64_t> to{};
};

[[nodiscard]] std::string FormatScanToken(const ScanToken& token);
[[nodiscard]] Result<ScanToken> ParseScanToken(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SCAN_TOKEN_H_
