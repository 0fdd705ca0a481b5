#include "tools/cql_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "lib/cql/ddl_lexer.h"

namespace cistern::tool {

namespace {

// As many lines, and characters of the last one, as `text` has.
std::string BlanksFor(std::string_view text) {
  const auto is_character = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  const size_t last_line = text.rfind('\n') + 1;  // 0 if there is one line
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const auto columns = std::count_if(text.begin() + static_cast<std::ptrdiff_t>(last_line),
                                     text.end(), is_character);
  return std::string(static_cast<size_t>(lines), '\n') +
         std::string(static_cast<size_t>(columns), ' ');
}

// Bytes [begin, end) of a text.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  [[nodiscard]] std::string_view Of(std::string_view text) const {
    return text.substr(begin, end - begin);
  }
};

// The table of `statement`, which may use `types`: all spans of `text`.
Result<std::shared_ptr<const TableSchema>> ParseStatement(std::string_view text,
                                                          const std::vector<Span>& types,
                                                          Span statement) {
  std::string alone;
  for (const Span& type : types) alone += type.Of(text);
  alone += statement.Of(text);
  auto table = ParseCreateTable(alone);
  if (table.ok() || statement.begin == 0) return table;
  // Once more for the position in the whole text.
  std::string placed;
  size_t at = 0;
  for (const Span& type : types) {
    placed += BlanksFor(text.substr(at, type.begin - at));
    placed += type.Of(text);
    at = type.end;
  }
  placed += BlanksFor(text.substr(at, statement.begin - at));
  placed += statement.Of(text);
  auto again = ParseCreateTable(placed);
  return again.status().code() == table.status().code() ? again : table;
}

}  // namespace

Result<std::vector<std::shared_ptr<const TableSchema>>> ParseCqlScript(std::string_view text) {
  std::vector<std::shared_ptr<const TableSchema>> tables;
  std::set<std::string> names;
  DdlLexer lexer(text);
  Token token;
  std::vector<Span> types;
  size_t begin = 0;
  size_t first = 0;                // where the first token since `begin` is
  std::vector<std::string> words;  // the first two
  const auto take = [&](size_t end) -> Status {
    if (words == std::vector<std::string>{"create", "type"}) {
      const Span type{first, end};
      const bool is_new = std::none_of(types.begin(), types.end(), [&](const Span& other) {
        return other.Of(text) == type.Of(text);
      });
      if (is_new) types.push_back(type);
      return Status::Ok();
    }
    CISTERN_ASSIGN_OR_RETURN(auto table, ParseStatement(text, types, {begin, end}));
    if (!names.insert(table->QualifiedName()).second) {
      return Status::InvalidArgument(
          fmt::format("table {} is declared twice", table->QualifiedName()));
    }
    tables.push_back(std::move(table));
    return Status::Ok();
  };
  do {
    // What is no token is told by the parser of its statement, unless that is wrong before.
    const Status lexed = lexer.Next(&token);
    if (!lexed.ok()) {
      CISTERN_RETURN_IF_ERROR(take(text.size()));
      return lexed;
    }
    if (token.IsSymbol(';')) {
      if (!words.empty()) CISTERN_RETURN_IF_ERROR(take(token.end));
      begin = token.end;
      words.clear();
    } else if (token.kind != TokenKind::kEnd && words.size() < 2) {
      if (words.empty()) first = token.begin;
      words.push_back(token.kind == TokenKind::kName ? token.text : "");
    }
  } while (token.kind != TokenKind::kEnd);
  if (!words.empty() || tables.empty()) CISTERN_RETURN_IF_ERROR(take(text.size()));
  if (!tables.empty()) return tables;
  return ParseStatement(text, types, {text.size(), text.size()}).status();
}

}  // namespace cistern::tool
