// Encodings of text that are read: UTF-8 is what the tool works on, the others become UTF-8.
#ifndef CISTERN_TOOLS_TEXT_ENCODING_H_
#define CISTERN_TOOLS_TEXT_ENCODING_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern::tool {

enum class TextEncoding : uint8_t {
  kUtf8,
  kUtf16Le,      // by the byte order mark FF FE alone
  kUtf16Be,      // by the byte order mark FE FF alone
  kLatin1,       // ISO 8859-1: each byte is the code point of its number
  kWindows1252,  // Latin-1 but for 80 to 9F, five of which stand for no character
};

// "utf-8", "latin-1" (or "iso-8859-1") and "windows-1252" (or "cp1252"), in any case.
// kInvalidArgument lists them.
[[nodiscard]] Result<TextEncoding> ParseTextEncoding(std::string_view name);

// What the byte order mark at the front says; `fallback` without a mark. Decoded, each mark is the
// one of UTF-8, which readers drop.
[[nodiscard]] TextEncoding EncodingByMark(std::string_view bytes, TextEncoding fallback);

// Turns bytes into UTF-8, piece by piece. Bytes that stand for no character (half a surrogate pair,
// 81 in Windows-1252) become bytes that are not UTF-8: CheckText refuses their line, and none else.
class TextDecoder {
 public:
  explicit TextDecoder(TextEncoding encoding) : encoding_(encoding) {}

  // Appends to `utf8`. Up to three bytes wait for the next piece.
  void Decode(std::string_view bytes, std::string* utf8);
  // At the end of the input: what still waits.
  void Finish(std::string* utf8);

 private:
  void DecodeUtf16(std::string* utf8);

  TextEncoding encoding_;
  std::string pending_;
};

// Text of a decoder as its bytes were, in encodings of one byte a character. In the others the
// text itself. The view may point into `buffer`.
[[nodiscard]] std::string_view EncodedAs(TextEncoding encoding, std::string_view utf8,
                                         std::string* buffer);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TEXT_ENCODING_H_
