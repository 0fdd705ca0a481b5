#include "lib/cql/ddl_tokens.h"

#include <utility>

#include "lib/base/concat.h"

namespace cistern {

Status DdlTokens::Expected(const std::string& what) const {
  return ErrorAt(StatusCode::kInvalidArgument, source_, token_.begin, Concat({"expected ", what,
      ", got ", Describe(token_)}));
}

Status DdlTokens::NotSupportedHere(const std::string& what) const {
  return ErrorAt(StatusCode::kNotSupported, source_, token_.begin, what);
}

Status DdlTokens::Symbol(char c) {
  if (!token_.IsSymbol(c)) return Expected(Concat({"'", c, "'"}));
  return Advance();
}

Status DdlTokens::Keyword(std::string_view lower_case) {
  if (token_.IsName(lower_case)) return Advance();
  std::string upper(lower_case);
  for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
  return Expected(upper);
}

Status DdlTokens::Name(const std::string& what, DdlName* out) {
  const bool quoted = token_.kind == TokenKind::kQuotedName;
  if (!quoted && token_.kind != TokenKind::kName) return Expected(what);
  if (!quoted && IsReservedWord(token_.text)) {
    return ErrorAt(StatusCode::kInvalidArgument, source_, token_.begin, Concat({"expected ", what,
        ", got the reserved word '", token_.text, "'; write it in double quotes to use it as a "
        "name"}));
  }
  *out = {token_.text, token_.begin};
  return Advance();
}

Status DdlTokens::PlacedName(const std::string& what, DdlName* keyspace, DdlName* name) {
  CISTERN_RETURN_IF_ERROR(Name(what, name));
  if (!token_.IsSymbol('.')) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(Advance());
  *keyspace = std::move(*name);
  return Name(what, name);
}

Status DdlTokens::PassIfNotExists() {
  if (!token_.IsName("if")) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(Advance());
  CISTERN_RETURN_IF_ERROR(Keyword("not"));
  return Keyword("exists");
}

}  // namespace cistern
