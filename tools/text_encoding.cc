#include "tools/text_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace cistern::tool {
namespace {

// Code points of the bytes 80 to 9F in Windows-1252; 0 for none.
constexpr std::array<uint16_t, 32> kWindows1252High = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

bool IsOneByte(TextEncoding encoding) {
  return encoding == TextEncoding::kLatin1 || encoding == TextEncoding::kWindows1252;
}

void AppendByte(uint32_t byte, std::string* out) { out->push_back(static_cast<char>(byte)); }

// Half a surrogate pair gets three bytes too, and they are no UTF-8.
void AppendCodePoint(uint32_t code, std::string* utf8) {
  if (code < 0x80) return AppendByte(code, utf8);
  if (code < 0x800) {
    AppendByte(0xC0 | (code >> 6), utf8);
  } else {
    if (code < 0x10000) {
      AppendByte(0xE0 | (code >> 12), utf8);
    } else {
      AppendByte(0xF0 | (code >> 18), utf8);
      AppendByte(0x80 | ((code >> 12) & 0x3F), utf8);
    }
    AppendByte(0x80 | ((code >> 6) & 0x3F), utf8);
  }
  AppendByte(0x80 | (code & 0x3F), utf8);
}

void DecodeByte(TextEncoding encoding, uint8_t byte, std::string* utf8) {
  const bool special = encoding == TextEncoding::kWindows1252 && byte >= 0x80 && byte < 0xA0;
  const uint32_t code = special ? kWindows1252High[byte - 0x80u] : byte;
  if (special && code == 0) return AppendByte(byte, utf8);
  AppendCodePoint(code, utf8);
}

// The code point of two or three bytes of UTF-8 at `i`, and *i behind them. Bytes that are none
// stand for themselves, as DecodeByte left them.
uint32_t TakeCodePoint(std::string_view utf8, size_t* i) {
  const auto at = [&](size_t k) { return static_cast<uint32_t>(static_cast<uint8_t>(utf8[k])); };
  const uint32_t lead = at((*i)++);
  const size_t more = lead >= 0xE0 && lead < 0xF0 ? 2 : lead >= 0xC2 && lead < 0xE0 ? 1 : 0;
  if (more == 0 || *i + more > utf8.size()) return lead;
  uint32_t code = lead & (more == 2 ? 0x0F : 0x1F);
  for (size_t k = 0; k < more; ++k) code = (code << 6) | (at((*i)++) & 0x3F);
  return code;
}

uint32_t Unit(std::string_view bytes, size_t i, bool little) {
  const auto low = static_cast<uint8_t>(bytes[i + (little ? 0 : 1)]);
  const auto high = static_cast<uint8_t>(bytes[i + (little ? 1 : 0)]);
  return static_cast<uint32_t>(high) << 8 | low;
}

}  // namespace

Result<TextEncoding> ParseTextEncoding(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (lower == "utf-8" || lower == "utf8") return TextEncoding::kUtf8;
  if (lower == "latin-1" || lower == "latin1" || lower == "iso-8859-1") {
    return TextEncoding::kLatin1;
  }
  if (lower == "windows-1252" || lower == "cp1252") return TextEncoding::kWindows1252;
  return Status::InvalidArgument(
      fmt::format("'{}' is not one of utf-8, latin-1, windows-1252; UTF-16 is known by its byte "
                  "order mark, and `iconv -t UTF-8` makes UTF-8 of others", name.substr(0, 40)));
}

TextEncoding EncodingByMark(std::string_view bytes, TextEncoding fallback) {
  if (bytes.starts_with("\xFF\xFE")) return TextEncoding::kUtf16Le;
  if (bytes.starts_with("\xFE\xFF")) return TextEncoding::kUtf16Be;
  if (bytes.starts_with("\xEF\xBB\xBF")) return TextEncoding::kUtf8;
  return fallback;
}

void TextDecoder::Decode(std::string_view bytes, std::string* utf8) {
  if (encoding_ == TextEncoding::kUtf8) {
    utf8->append(bytes);
  } else if (IsOneByte(encoding_)) {
    for (const char c : bytes) DecodeByte(encoding_, static_cast<uint8_t>(c), utf8);
  } else {
    pending_ += bytes;
    DecodeUtf16(utf8);
  }
}

void TextDecoder::DecodeUtf16(std::string* utf8) {
  const bool little = encoding_ == TextEncoding::kUtf16Le;
  size_t i = 0;
  while (i + 2 <= pending_.size()) {
    const uint32_t unit = Unit(pending_, i, little);
    const bool high = unit >= 0xD800 && unit < 0xDC00;
    if (high && i + 4 > pending_.size()) break;
    const uint32_t next = high ? Unit(pending_, i + 2, little) : 0;
    if (next >= 0xDC00 && next < 0xE000) {
      AppendCodePoint(0x10000 + ((unit - 0xD800) << 10) + (next - 0xDC00), utf8);
      i += 4;
    } else {
      AppendCodePoint(unit, utf8);
      i += 2;
    }
  }
  pending_.erase(0, i);
}

void TextDecoder::Finish(std::string* utf8) {
  if (!pending_.empty()) utf8->push_back('\xFF');  // half a character: in no UTF-8
  pending_.clear();
}

std::string_view EncodedAs(TextEncoding encoding, std::string_view utf8, std::string* buffer) {
  if (!IsOneByte(encoding)) return utf8;
  buffer->clear();
  for (size_t i = 0; i < utf8.size();) {
    const uint32_t code = TakeCodePoint(utf8, &i);
    const auto* const found = std::find(kWindows1252High.begin(), kWindows1252High.end(), code);
    if (encoding == TextEncoding::kWindows1252 && code > 0xFF) {
      AppendByte(0x80 + static_cast<uint32_t>(found - kWindows1252High.begin()), buffer);
    } else {
      AppendByte(code, buffer);
    }
  }
  return *buffer;
}

}  // namespace cistern::tool
