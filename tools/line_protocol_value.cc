#include "tools/line_protocol_value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace cistern::tool {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Status Refuse(std::string_view text, std::string_view why) {
  return Status::InvalidArgument(fmt::format("'{}' {}", text.substr(0, 80), why));
}

// How many digits stand at the front.
size_t DigitCount(std::string_view text) {
  size_t count = 0;
  while (count < text.size() && IsDigit(text[count])) ++count;
  return count;
}

bool IsWholeNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && DigitCount(text) == text.size();
}

// [-]digits[.[digits]][exponent] or [-].digits[exponent].
bool IsFloat(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const size_t whole = DigitCount(text);
  text.remove_prefix(whole);
  size_t fraction = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = DigitCount(text);
    text.remove_prefix(fraction);
  }
  if (whole + fraction == 0) return false;
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && DigitCount(text) == text.size();
}

// Only a number with an exponent or with hundreds of digits can be beyond a double.
bool IsBeyondDouble(std::string_view text) {
  if (text.size() < 300 && text.find_first_of("eE") == std::string_view::npos) return false;
  return std::isinf(std::strtod(std::string(text).c_str(), nullptr));
}

template <typename Integer>
bool Fits(std::string_view digits) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size();
}

Result<std::string_view> Boolean(std::string_view text) {
  for (const std::string_view word : {"t", "T", "true", "True", "TRUE"}) {
    if (text == word) return std::string_view("true");
  }
  for (const std::string_view word : {"f", "F", "false", "False", "FALSE"}) {
    if (text == word) return std::string_view("false");
  }
  return Refuse(text, "is no boolean; texts stand in double quotes");
}

}  // namespace

Result<std::string_view> BareFieldValue(std::string_view text) {
  const char first = text.empty() ? '\0' : text.front();
  if (first == 't' || first == 'T' || first == 'f' || first == 'F') return Boolean(text);
  if (!IsDigit(first) && first != '-' && first != '.') {
    return Refuse(text, "is neither a number nor a boolean; texts stand in double quotes");
  }
  const std::string_view digits = text.substr(0, text.size() - 1);
  if (text.back() == 'i') {
    if (!IsWholeNumber(digits)) return Refuse(text, "is no integer");
    if (!Fits<int64_t>(digits)) return Refuse(text, "does not fit in 64 bits");
    return digits;
  }
  if (text.back() == 'u') {
    if (first == '-' || !IsWholeNumber(digits)) return Refuse(text, "is no unsigned integer");
    if (!Fits<uint64_t>(digits)) return Refuse(text, "does not fit in 64 bits");
    return digits;
  }
  if (!IsFloat(text)) return Refuse(text, "is no number");
  if (IsBeyondDouble(text)) return Refuse(text, "is beyond the range of a double");
  return text;
}

Status CheckTimestamp(std::string_view text) {
  if (!IsWholeNumber(text)) {
    return Refuse(text, "is no timestamp, which is an integer here");
  }
  if (!Fits<int64_t>(text)) return Refuse(text, "is no timestamp: it does not fit in 64 bits");
  return Status::Ok();
}

}  // namespace cistern::tool
