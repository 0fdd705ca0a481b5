#include "tools/size_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace cistern::tool {
namespace {

constexpr std::string_view kUnits[] = {"", "KiB", "MiB", "GiB"};

std::optional<uint64_t> BytesOf(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const auto found = std::find(std::begin(kUnits), std::end(kUnits), unit);
  if (error != std::errc() || found == std::end(kUnits)) return std::nullopt;
  const auto shift = 10 * (found - std::begin(kUnits));
  if (value > UINT64_MAX >> shift) return std::nullopt;
  return value << shift;
}

// As it could be written: in the largest unit of which it is a whole number.
std::string ExactText(uint64_t bytes) {
  size_t unit = 0;
  while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, unit == 0 ? "bytes" : kUnits[unit]);
}

Result<uint64_t> InBounds(std::string_view option, std::string_view text, uint64_t value,
                          uint64_t min, uint64_t max, std::string_view suffix) {
  if (value >= min && value <= max) return value;
  const bool is_less = value < min;
  return Status::InvalidArgument(fmt::format("{} '{}' is {} than {}{}", option, text,
                                             is_less ? "less" : "more",
                                             ExactText(is_less ? min : max), suffix));
}

}  // namespace

Result<uint64_t> ParseSize(std::string_view option, std::string_view text, uint64_t bytes_min,
                           uint64_t bytes_max) {
  if (const std::optional<uint64_t> bytes = BytesOf(text)) {
    return InBounds(option, text, *bytes, bytes_min, bytes_max, "");
  }
  return Status::InvalidArgument(
      fmt::format("{} '{}' is not a whole number of bytes, KiB, MiB or GiB", option, text));
}

Result<uint64_t> ParseCount(std::string_view option, std::string_view text, uint64_t min,
                            uint64_t max) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max) {
    return value;
  }
  return Status::InvalidArgument(
      fmt::format("{} '{}' is not a whole number from {} to {}", option, text, min, max));
}

Result<uint64_t> ParseRate(std::string_view option, std::string_view text, uint64_t bytes_per_s_min,
                           uint64_t bytes_per_s_max) {
  constexpr std::string_view kSuffix = "/s";
  if (text.ends_with(kSuffix)) {
    const std::string_view size = text.substr(0, text.size() - kSuffix.size());
    if (const std::optional<uint64_t> bytes = BytesOf(size)) {
      return InBounds(option, text, *bytes, bytes_per_s_min, bytes_per_s_max, kSuffix);
    }
  }
  return Status::InvalidArgument(
      fmt::format("{} '{}' is not a rate such as 256KiB/s or 2MiB/s, from {}/s on", option, text,
                  ExactText(bytes_per_s_min)));
}

std::string FormatSize(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  size_t unit = 1;
  double value = static_cast<double>(bytes) / 1024;
  // What would be rounded to 1024.0 is one of the next unit.
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace cistern::tool
