#include <fmt/format.h>

#include <cstring>

#include "tools/record_reader.h"

namespace cistern::tool {
namespace {

uint8_t ByteAt(std::string_view s, size_t i) { return static_cast<uint8_t>(s[i]); }

bool IsContinuation(std::string_view s, size_t i) {
  return i < s.size() && (ByteAt(s, i) & 0xC0) == 0x80;
}

// Length of the well-formed UTF-8 sequence at `i`, 0 if there is none (RFC 3629: no overlong
// forms, no surrogates, nothing above U+10FFFF).
size_t SequenceLength(std::string_view s, size_t i) {
  const uint8_t lead = ByteAt(s, i);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4 || !IsContinuation(s, i + 1)) return 0;
  if (lead < 0xE0) return 2;
  const uint8_t second = ByteAt(s, i + 1);
  if (!IsContinuation(s, i + 2)) return 0;
  if (lead < 0xF0) {
    if (lead == 0xE0 && second < 0xA0) return 0;
    if (lead == 0xED && second > 0x9F) return 0;
    return 3;
  }
  if (lead == 0xF0 && second < 0x90) return 0;
  if (lead == 0xF4 && second > 0x8F) return 0;
  return IsContinuation(s, i + 3) ? 4 : 0;
}

// Bytes at the front that are ASCII, in steps of eight.
size_t AsciiPrefix(std::string_view s) {
  size_t i = 0;
  for (; i + 8 <= s.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, s.data() + i, 8);
    if ((word & 0x8080808080808080ull) != 0) break;
  }
  return i;
}

}  // namespace

Status CheckText(std::string_view line) {
  if (const void* nul = std::memchr(line.data(), 0, line.size()); nul != nullptr) {
    return Status::InvalidArgument(
        fmt::format("a NUL byte at byte {}", static_cast<const char*>(nul) - line.data() + 1));
  }
  size_t i = AsciiPrefix(line);
  while (i < line.size()) {
    const size_t length = SequenceLength(line, i);
    if (length == 0) {
      return Status::InvalidArgument(
          fmt::format("not UTF-8: byte {:#04x} at byte {}; a file of one byte a character is read "
                      "by --encoding latin-1 or windows-1252", ByteAt(line, i), i + 1));
    }
    i += length;
  }
  return Status::Ok();
}

}  // namespace cistern::tool
