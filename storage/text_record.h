// Records that are text, so that a person who finds the file knows what it is: lines of a name and
// a value, and at the end one with the checksum of all before it.
#ifndef CISTERN_STORAGE_TEXT_RECORD_H_
#define CISTERN_STORAGE_TEXT_RECORD_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace cistern {

// 16 hexadecimal digits.
[[nodiscard]] std::string HexOf(uint64_t value);
[[nodiscard]] bool IsHex(std::string_view text, size_t digits);
// False: not 16 hexadecimal digits.
[[nodiscard]] bool ParseHex(std::string_view text, uint64_t* value);

// False: no such number, or something behind it.
template <typename Number>
[[nodiscard]] bool ParseDecimal(std::string_view text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

// Takes the next line off `text`; false if there is none that ends.
[[nodiscard]] bool TakeLine(std::string_view* text, std::string_view* line);
// Takes "<name> <value>" off `text`.
[[nodiscard]] bool TakeField(std::string_view* text, std::string_view name,
                             std::string_view* value);
// Takes what stands before the next blank off `line`, and that; all of it, if there is none.
[[nodiscard]] std::string_view TakeWord(std::string_view* line);

void AppendChecksumLine(std::string* text);
// Whether `rest`, the end of `whole`, is its checksum line and nothing more, and the sum is right.
[[nodiscard]] bool IsChecksumLine(std::string_view rest, std::string_view whole);

}  // namespace cistern

#endif  // CISTERN_STORAGE_TEXT_RECORD_H_
