#include "tools/scan_token.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cistern/limits.h"

namespace cistern::tool {
namespace {

// All of `text` as a number; false if it is none.
template <typename Number>
bool TakeNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto taken = std::from_chars(text.data(), end, *number);
  return taken.ec == std::errc() && taken.ptr == end;
}

// What stands before the next point, or all that is left.
std::string_view TakePart(std::string_view* text) {
  const std::string_view part = text->substr(0, text->find('.'));
  text->remove_prefix(std::min(part.size() + 1, text->size()));
  return part;
}

bool TakeBound(std::string_view text, std::optional<int64_t>* bound) {
  return text.empty() || TakeNumber(text, &bound->emplace());
}

bool TakeHex(std::string_view hex, std::string* bytes) {
  if (hex.empty() || hex.size() % 2 != 0 || hex.size() > 2 * limits::kScanTokenBytesMax) {
    return false;
  }
  for (size_t i = 0; i < hex.size(); i += 2) {
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return false;
    bytes->push_back(static_cast<char>(byte));
  }
  return true;
}

}  // namespace

std::string FormatScanToken(const ScanToken& token) {
  std::string text = fmt::format("{}.", token.rows_before);
  for (const char c : token.engine_token) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  if (!token.from && !token.to) return text;
  for (const auto& bound : {token.from, token.to}) {
    text += bound ? fmt::format(".{}", *bound) : ".";
  }
  return text;
}

Result<ScanToken> ParseScanToken(std::string_view text) {
  ScanToken token;
  std::string_view rest = text;
  const bool is_token = TakeNumber(TakePart(&rest), &token.rows_before) &&
                        token.rows_before <= static_cast<uint64_t>(INT64_MAX) &&  // and a limit
                        TakeHex(TakePart(&rest), &token.engine_token) &&
                        TakeBound(TakePart(&rest), &token.from) &&
                        TakeBound(TakePart(&rest), &token.to) && rest.empty();
  if (is_token) return token;
  return Status::InvalidArgument(
      "--token is not what an earlier scan printed; copy all of it");
}

}  // namespace cistern::tool
