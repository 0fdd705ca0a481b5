// Bytes as hexadecimal text and back.
#ifndef CISTERN_TESTS_SUPPORT_HEX_H_
#define CISTERN_TESTS_SUPPORT_HEX_H_

#include <string>
#include <string_view>

namespace cistern::testing {

// Blanks between the digits are passed over.
inline std::string FromHex(std::string_view hex) {
  std::string digits;
  for (const char c : hex) {
    if (c != ' ') digits.push_back(c);
  }
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

inline std::string ToHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    hex.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return hex;
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_HEX_H_
