#include "tools/number_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace cistern::tool {

Result<NonFinite> ParseNonFinite(std::string_view text) {
  if (text.empty() || text == "store") return NonFinite::kStore;
  if (text == "missing") return NonFinite::kMissing;
  if (text == "refuse") return NonFinite::kRefuse;
  return Status::InvalidArgument(
      fmt::format("--non-finite '{}' is not one of store, missing, refuse", text));
}

bool IsNonFinite(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  // As C libraries write one: "-nan(ind)".
  if (text.ends_with(')')) text = text.substr(0, text.find('('));
  const auto is = [&](std::string_view word) {
    return text.size() == word.size() &&
           std::equal(text.begin(), text.end(), word.begin(),
                      [](char c, char lower) { return (c | 0x20) == lower; });
  };
  return is("nan") || is("inf") || is("infinity");
}

Result<char> ParseDecimalMark(std::string_view text) {
  if (text.empty() || text == ".") return '.';
  if (text == ",") return ',';
  return Status::InvalidArgument(fmt::format("--decimal '{}' is neither ',' nor '.'", text));
}

bool HasDecimalComma(std::string_view text) {
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos || text.find(',', comma + 1) != std::string_view::npos) {
    return false;
  }
  return text.find_first_not_of("0123456789,+-eE ") == std::string_view::npos &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

}  // namespace cistern::tool
