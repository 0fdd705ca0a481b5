// DdlTokens: what every parser of a part of DDL does with tokens.
#ifndef CISTERN_CQL_DDL_TOKENS_H_
#define CISTERN_CQL_DDL_TOKENS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "cistern/status.h"
#include "lib/cql/ddl_lexer.h"

namespace cistern {

// A name and where it stands in the source.
struct DdlName {
  std::string text;
  size_t offset = 0;
};

// A base of the parsers, which look at one token at a time. Errors carry line and column.
class DdlTokens {
 protected:
  explicit DdlTokens(std::string_view source) : source_(source), lexer_(source) {}

  Status Advance() { return lexer_.Next(&token_); }
  [[nodiscard]] Status Expected(const std::string& what) const;
  [[nodiscard]] Status NotSupportedHere(const std::string& what) const;

  // Each passes what it names, or says that it was expected.
  Status Symbol(char c);
  Status Keyword(std::string_view lower_case);
  Status Name(const std::string& what, DdlName* out);
  // [keyspace.]name; *keyspace stays empty where there is none.
  Status PlacedName(const std::string& what, DdlName* keyspace, DdlName* name);
  // IF NOT EXISTS, or nothing.
  Status PassIfNotExists();

  const std::string_view source_;
  DdlLexer lexer_;
  Token token_;
};

}  // namespace cistern

#endif  // CISTERN_CQL_DDL_TOKENS_H_
