#include "lib/cql/inet_text.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "lib/base/coding.h"

namespace cistern {
namespace {

constexpr size_t kGroups = 8;

bool ParseV4(std::string_view text, std::string* out) {
  for (int i = 0; i < 4; ++i) {
    if (i > 0) {
      if (text.empty() || text[0] != '.') return false;
      text.remove_prefix(1);
    }
    unsigned value = 256;
    const char* const begin = text.data();
    const auto [end, error] = std::from_chars(begin, begin + text.size(), value);
    const auto digits = static_cast<size_t>(end - begin);
    // A leading zero would be octal to some readers.
    if (error != std::errc() || value > 255 || (digits > 1 && text[0] == '0')) return false;
    out->push_back(static_cast<char>(value));
    text.remove_prefix(digits);
  }
  return text.empty();
}

// Groups of "1:2:3" as bytes; the last may be an IPv4 address if `v4_allowed`.
bool ParseGroups(std::string_view text, bool v4_allowed, std::string* out) {
  while (!text.empty()) {
    const size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    if (colon == std::string_view::npos && v4_allowed &&
        group.find('.') != std::string_view::npos) {
      return ParseV4(group, out);
    }
    unsigned value = 0;
    const auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), value, 16);
    if (error != std::errc() || end != group.data() + group.size() || group.size() > 4)
      return false;
    PutBig<uint16_t>(out, static_cast<uint16_t>(value));
    if (colon == std::string_view::npos) return true;
    text.remove_prefix(colon + 1);
    if (text.empty()) return false;  // ends in a single colon
  }
  return true;
}

bool ParseV6(std::string_view text, std::string* out) {
  const size_t gap = text.find("::");
  if (gap == std::string_view::npos)
    return ParseGroups(text, true, out) && out->size() == 2 * kGroups;
  std::string head;
  std::string tail;
  if (!ParseGroups(text.substr(0, gap), false, &head)) return false;
  if (!ParseGroups(text.substr(gap + 2), true, &tail)) return false;
  if (head.size() + tail.size() > 2 * kGroups - 2) return false;
  *out = head + std::string(2 * kGroups - head.size() - tail.size(), '\0') + tail;
  return true;
}

// First and length of the longest run of two or more zero groups.
std::optional<std::pair<size_t, size_t>> LongestZeroRun(
    const std::array<uint16_t, kGroups>& groups) {
  size_t best_begin = 0;
  size_t best_count = 0;
  for (size_t begin = 0; begin < kGroups; ++begin) {
    size_t count = 0;
    while (begin + count < kGroups && groups[begin + count] == 0) ++count;
    if (count > best_count) {
      best_begin = begin;
      best_count = count;
    }
  }
  if (best_count < 2) return std::nullopt;
  return std::pair(best_begin, best_count);
}

void AppendGroup(uint16_t group, std::string* out) {
  char text[4];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), group, 16);
  out->append(text, end);
}

}  // namespace

bool ParseInetText(std::string_view text, std::string* out) {
  out->clear();
  constexpr size_t kTextBytesMax = 45;  // of an IPv6 address that ends in an IPv4 one
  if (text.empty() || text.size() > kTextBytesMax) return false;
  return text.find(':') == std::string_view::npos ? ParseV4(text, out) : ParseV6(text, out);
}

void FormatInetText(std::string_view bytes, std::string* out) {
  if (bytes.size() == 4) {
    for (size_t i = 0; i < 4; ++i) {
      if (i > 0) out->push_back('.');
      out->append(std::to_string(static_cast<uint8_t>(bytes[i])));
    }
    return;
  }
  std::array<uint16_t, kGroups> groups{};
  for (size_t i = 0; i < kGroups; ++i) groups[i] = GetBig<uint16_t>(bytes.data() + 2 * i);
  const auto zeros = LongestZeroRun(groups);
  for (size_t i = 0; i < kGroups; ++i) {
    if (zeros.has_value() && i == zeros->first) {
      out->append("::");
      i += zeros->second - 1;
      continue;
    }
    if (i > 0 && out->back() != ':') out->push_back(':');
    AppendGroup(groups[i], out);
  }
}

}  // namespace cistern
