#include "tools/csv_dialect.h"

#include <fmt/format.h>

namespace cistern::tool {

Result<char> ParseDelimiter(std::string_view text, char decimal) {
  if (text.empty()) return decimal == ',' ? ';' : ',';
  if (text == "\\t" || text == "tab") return '\t';
  if (text.size() == 1 && text != "\"" && text != "\n" && text != "\r") return text[0];
  return Status::InvalidArgument(
      fmt::format("--delimiter '{}' is not one character (tab is written \\t)", text));
}

Status ParseEscape(std::string_view text, CsvDialect* dialect) {
  if (text.empty()) return Status::Ok();
  if (text == "\"") {
    return Status::InvalidArgument(
        "--escape '\"' is what csv has without it: a quote in quotes is doubled; leave it out");
  }
  dialect->escapes_controls = text == "cqlsh";
  dialect->escapes_twice = text == "cqlsh-python3.10";
  if (dialect->escapes_controls || dialect->escapes_twice) text = "\\";
  const bool is_character = text.size() == 1 && text != "\n" && text != "\r";
  if (!is_character || text[0] == dialect->delimiter) {
    return Status::InvalidArgument(fmt::format(
        "--escape '{}' is neither cqlsh, cqlsh-python3.10 nor one character beside the delimiter, "
        "such as '\\'", text));
  }
  dialect->escape = text[0];
  return Status::Ok();
}

std::optional<char> SeparatorOf(std::string_view line) {
  if (line.size() >= 2 && line.front() == '"' && line.back() == '"') {
    line = line.substr(1, line.size() - 2);
  }
  if (line.size() != 5 || line[3] != '=' || line[4] == '"') return std::nullopt;
  const auto is = [&](size_t i, char lower) { return (line[i] | 0x20) == lower; };
  if (!is(0, 's') || !is(1, 'e') || !is(2, 'p')) return std::nullopt;
  return line[4];
}

std::string HeaderLine(const std::vector<std::string>& names, char delimiter,
                       const CsvDialect& dialect) {
  std::string line;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) line += delimiter;
    std::string doubled;
    for (const char c : names[i]) doubled += c == '"' ? "\"\"" : std::string(1, c);
    const bool is_comment =
        i == 0 && !dialect.comment.empty() && names[i].starts_with(dialect.comment);
    const bool is_plain = doubled == names[i] && !is_comment &&
                          names[i].find(delimiter) == std::string::npos;
    line += is_plain ? names[i] : '"' + doubled + '"';
  }
  return line;
}

}  // namespace cistern::tool
