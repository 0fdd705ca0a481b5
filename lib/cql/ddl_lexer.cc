#include "lib/cql/ddl_lexer.h"

#include <algorithm>
#include <array>

#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"

namespace cistern {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsHex(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool IsSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
char ToLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Source: Apache Cassandra 5.0, src/resources/org/apache/cassandra/cql3/reserved_keywords.txt.
constexpr std::array<std::string_view, 61> kReservedWords = {
    "add",    "allow",       "alter",  "and",          "apply",    "asc",      "authorize",
    "batch",  "begin",       "by",     "columnfamily", "create",   "default",  "delete",
    "desc",   "describe",    "drop",   "entries",      "execute",  "from",     "full",
    "grant",  "if",          "in",     "index",        "infinity", "insert",   "into",
    "is",     "keyspace",    "limit",  "materialized", "mbean",    "mbeans",   "modify",
    "nan",    "norecursive", "not",    "null",         "of",       "on",       "or",
    "order",  "primary",     "rename", "replace",      "revoke",   "schema",   "select",
    "set",    "table",       "to",     "token",        "truncate", "unlogged", "unset",
    "update", "use",         "using",  "view",         "where",
};

}  // namespace

bool IsNamePart(char c) {
  return IsLetter(c) || IsDigit(c) || c == '_';
}

bool IsReservedWord(std::string_view lower_case) {
  return lower_case == "with" || std::find(kReservedWords.begin(), kReservedWords.end(),
                                           lower_case) != kReservedWords.end();
}

std::string Describe(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end of the text";
  if (token.kind == TokenKind::kString) return "the string " + ShowText(token.text);
  return ShowText(token.text);
}

std::string PositionText(std::string_view source, size_t offset) {
  size_t line = 1;
  size_t column = 1;
  for (size_t i = 0; i < std::min(offset, source.size()); ++i) {
    const auto byte = static_cast<unsigned char>(source[i]);
    if (byte == '\n') {
      ++line;
      column = 1;
    } else if ((byte & 0xc0) != 0x80) {  // not a continuation byte of UTF-8
      ++column;
    }
  }
  return Concat({"line ", line, ", column ", column, ": "});
}

Status ErrorAt(StatusCode code, std::string_view source, size_t offset, const std::string& what) {
  return {code, PositionText(source, offset) + what};
}

size_t SourceOffsetInString(std::string_view source, const Token& token, size_t index) {
  if (source.substr(token.begin, 2) == "$$") return token.begin + 2 + index;
  size_t offset = token.begin + 1;
  for (size_t i = 0; i < index && offset + 1 < token.end; ++i) {
    offset += source[offset] == '\'' ? 2 : 1;  // '' stands for one quote
  }
  return offset;
}

Status DdlLexer::SkipBlank() {
  while (position_ < source_.size()) {
    const char c = Peek();
    if (IsSpace(c)) {
      ++position_;
    } else if ((c == '-' && Peek(1) == '-') || (c == '/' && Peek(1) == '/')) {
      const size_t end = source_.find('\n', position_);
      position_ = end == std::string_view::npos ? source_.size() : end + 1;
    } else if (c == '/' && Peek(1) == '*') {
      const size_t end = source_.find("*/", position_ + 2);
      if (end == std::string_view::npos) {
        return ErrorAt(StatusCode::kInvalidArgument, source_, position_,
                       "expected */ to end this comment, got the end of the text");
      }
      position_ = end + 2;
    } else {
      break;
    }
  }
  return Status::Ok();
}

Status DdlLexer::Next(Token* token) {
  CISTERN_RETURN_IF_ERROR(SkipBlank());
  token->text.clear();
  token->begin = position_;
  token->end = position_;
  if (position_ >= source_.size()) {
    token->kind = TokenKind::kEnd;
    return Status::Ok();
  }
  const char c = Peek();
  if (c == '\'' || c == '"') return ReadQuoted(c, token);
  if (c == '$' && Peek(1) == '$') return ReadDollars(token);
  if (ReadUuid(token)) return Status::Ok();
  if (IsLetter(c)) {
    ReadName(token);
  } else if (IsDigit(c) || (c == '-' && IsDigit(Peek(1)))) {
    ReadNumber(token);
  } else if (c > ' ' && c < 0x7f) {
    token->kind = TokenKind::kSymbol;
    token->text.assign(1, c);
    ++position_;
  } else {
    return ErrorAt(StatusCode::kInvalidArgument, source_, position_, Concat({
        "expected CQL, got the byte ", static_cast<unsigned char>(c),
        "; names beyond ASCII need double quotes"}));
  }
  token->end = position_;
  return Status::Ok();
}

Status DdlLexer::ReadQuoted(char quote, Token* token) {
  token->kind = quote == '"' ? TokenKind::kQuotedName : TokenKind::kString;
  ++position_;
  while (position_ < source_.size()) {
    if (Peek() == quote) {
      if (Peek(1) != quote || position_ + 1 >= source_.size()) {
        token->end = ++position_;
        return Status::Ok();
      }
      ++position_;
    }
    token->text.push_back(source_[position_++]);
  }
  return ErrorAt(
      StatusCode::kInvalidArgument, source_, token->begin, Concat({"expected a closing ", quote,
          " for the one here, got the end of the text"}));
}

Status DdlLexer::ReadDollars(Token* token) {
  token->kind = TokenKind::kString;
  const size_t end = source_.find("$$", position_ + 2);
  if (end == std::string_view::npos) {
    return ErrorAt(StatusCode::kInvalidArgument, source_, position_,
                   "expected a closing $$ for the one here, got the end of the text");
  }
  token->text.assign(source_.substr(position_ + 2, end - position_ - 2));
  position_ = end + 2;
  token->end = position_;
  return Status::Ok();
}

void DdlLexer::ReadName(Token* token) {
  token->kind = TokenKind::kName;
  while (IsNamePart(Peek())) token->text.push_back(ToLower(source_[position_++]));
}

bool DdlLexer::ReadUuid(Token* token) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  for (size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == '-' ? Peek(i) != '-' : !IsHex(Peek(i))) return false;
  }
  if (IsNamePart(Peek(kShape.size()))) return false;
  token->kind = TokenKind::kUuid;
  token->text.assign(source_.substr(position_, kShape.size()));
  position_ += kShape.size();
  token->end = position_;
  return true;
}

void DdlLexer::ReadNumber(Token* token) {
  token->kind = TokenKind::kNumber;
  if (Peek() == '-') ++position_;
  while (IsDigit(Peek())) ++position_;
  if (Peek() == '.' && IsDigit(Peek(1))) {
    ++position_;
    while (IsDigit(Peek())) ++position_;
  }
  const size_t sign = Peek(1) == '-' || Peek(1) == '+' ? 1 : 0;
  if ((Peek() == 'e' || Peek() == 'E') && IsDigit(Peek(1 + sign))) {
    position_ += 1 + sign;
    while (IsDigit(Peek())) ++position_;
  }
  token->text.assign(source_.substr(token->begin, position_ - token->begin));
}

}  // namespace cistern
