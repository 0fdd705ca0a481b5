#include "tools/utc_offset.h"

#include <fmt/format.h>

namespace cistern::tool {
namespace {

constexpr int kHoursMax = 18;

bool IsDigitAt(std::string_view s, size_t i) { return i < s.size() && s[i] >= '0' && s[i] <= '9'; }

// Reads at least `min` and at most two digits; false if there are fewer.
bool ReadPart(std::string_view s, size_t* i, int min, int* value) {
  *value = 0;
  int count = 0;
  for (; count < 2 && IsDigitAt(s, *i); ++count) *value = *value * 10 + (s[(*i)++] - '0');
  return count >= min;
}

}  // namespace

bool ReadUtcOffset(std::string_view s, size_t* i, int digits_min, int32_t* offset_s) {
  if (*i >= s.size()) return false;
  if (s[*i] == 'Z' || s[*i] == 'z') {
    ++*i;
    *offset_s = 0;
    return true;
  }
  if (s[*i] != '+' && s[*i] != '-') return false;
  const int sign = s[(*i)++] == '-' ? -1 : 1;
  int hours = 0;
  int minutes = 0;
  int seconds = 0;
  if (!ReadPart(s, i, digits_min, &hours)) return false;
  const bool colon = *i < s.size() && s[*i] == ':';
  if (colon) ++*i;
  if (colon || IsDigitAt(s, *i)) {
    if (!ReadPart(s, i, 2, &minutes)) return false;
    // Seconds are apart as the minutes are: "+05:53:28" or "+055328".
    const bool more = colon ? *i < s.size() && s[*i] == ':' : IsDigitAt(s, *i);
    if (more) {
      if (colon) ++*i;
      if (!ReadPart(s, i, 2, &seconds)) return false;
    }
  }
  if (hours > kHoursMax || minutes > 59 || seconds > 59) return false;
  *offset_s = sign * (hours * 3600 + minutes * 60 + seconds);
  return true;
}

Result<int32_t> ParseUtcOffset(std::string_view text) {
  size_t i = 0;
  int32_t offset_s = 0;
  if (ReadUtcOffset(text, &i, 1, &offset_s) && i == text.size()) return offset_s;
  return Status::InvalidArgument(fmt::format(
      "'{}' is not an offset from UTC; expected for example +08:00, or a zone by --time-zone",
      text.substr(0, 80)));
}

std::string FormatUtcOffset(int32_t offset_s) {
  const int32_t size_s = offset_s < 0 ? -offset_s : offset_s;
  std::string text = fmt::format("{}{:02}:{:02}", offset_s < 0 ? '-' : '+', size_s / 3600,
                                 size_s / 60 % 60);
  if (size_s % 60 != 0) text += fmt::format(":{:02}", size_s % 60);
  return text;
}

}  // namespace cistern::tool
