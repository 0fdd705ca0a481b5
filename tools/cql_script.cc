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

// The statement that is bytes [begin, end) of `text`.
Result<std::shared_ptr<const TableSchema>> ParseStatement(std::string_view text, size_t begin,
                                                          size_t end) {
  const std::string_view statement = text.substr(begin, end - begin);
  auto table = ParseCreateTable(statement);
  if (table.ok() || begin == 0) return table;
  // Once more for the position in the whole text.
  auto placed = ParseCreateTable(BlanksFor(text.substr(0, begin)) + std::string(statement));
  return placed.status().code() == table.status().code() ? placed : table;
}

}  // namespace

Result<std::vector<std::shared_ptr<const TableSchema>>> ParseCqlScript(std::string_view text) {
  std::vector<std::shared_ptr<const TableSchema>> tables;
  std::set<std::string> names;
  DdlLexer lexer(text);
  Token token;
  size_t begin = 0;
  bool empty = true;  // no token since `begin`
  const auto take = [&](size_t end) -> Status {
    CISTERN_ASSIGN_OR_RETURN(auto table, ParseStatement(text, begin, end));
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
      if (!empty) CISTERN_RETURN_IF_ERROR(take(token.end));
      begin = token.end;
      empty = true;
    } else {
      empty = empty && token.kind == TokenKind::kEnd;
    }
  } while (token.kind != TokenKind::kEnd);
  if (!empty || tables.empty()) CISTERN_RETURN_IF_ERROR(take(text.size()));
  return tables;
}

}  // namespace cistern::tool
