#include "tools/scan_token.h"

#include <fmt/format.h>

#include <charconv>

#include "cistern/limits.h"

namespace cistern::tool {

std::string FormatScanToken(const ScanToken& token) {
  std::string text = fmt::format("{}.", token.rows_before);
  for (const char c : token.engine_token) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

Result<ScanToken> ParseScanToken(std::string_view text) {
  const Status refused = Status::InvalidArgument(
      "--token is not what an earlier scan printed; copy all of it");
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || text.size() - dot > 2 * limits::kScanTokenBytesMax + 1) {
    return refused;
  }
  ScanToken token;
  const auto count = std::from_chars(text.data(), text.data() + dot, token.rows_before);
  if (count.ec != std::errc() || count.ptr != text.data() + dot ||
      token.rows_before > static_cast<uint64_t>(INT64_MAX)) {  // a limit must fit beside it
    return refused;
  }
  const std::string_view hex = text.substr(dot + 1);
  if (hex.empty() || hex.size() % 2 != 0) return refused;
  for (size_t i = 0; i < hex.size(); i += 2) {
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return refused;
    token.engine_token.push_back(static_cast<char>(byte));
  }
  return token;
}

}  // namespace cistern::tool
