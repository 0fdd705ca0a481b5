// Tokens of CQL text. Untrusted input: every byte string gives tokens or an error.
#ifndef CISTERN_CQL_DDL_LEXER_H_
#define CISTERN_CQL_DDL_LEXER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "cistern/status.h"

namespace cistern {

enum class TokenKind {
  kName,        // unquoted identifier or keyword; text in lower case
  kQuotedName,  // "Name"; text without quotes, "" undone
  kString,      // 'text' or $$text$$; text without quotes, '' undone
  kNumber,      // 42, -1, 0.5, 1e-3
  kUuid,
  kSymbol,  // one character
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  size_t begin = 0;  // bytes [begin, end) of the source
  size_t end = 0;

  [[nodiscard]] bool IsSymbol(char c) const { return kind == TokenKind::kSymbol && text[0] == c; }
  [[nodiscard]] bool IsName(std::string_view lower_case) const {
    return kind == TokenKind::kName && text == lower_case;
  }
};

// What an error message calls the token: "'day'", "the end of the text".
[[nodiscard]] std::string Describe(const Token& token);

// "line 3, column 12: " of byte `offset`; columns count characters from 1.
[[nodiscard]] std::string PositionText(std::string_view source, size_t offset);
[[nodiscard]] Status ErrorAt(StatusCode code, std::string_view source, size_t offset,
                             const std::string& what);

// Byte of the source that holds byte `index` of the string token's text.
[[nodiscard]] size_t SourceOffsetInString(std::string_view source, const Token& token,
                                          size_t index);

// Reads tokens one by one; skips white space and the comments --, // and /* */.
class DdlLexer {
 public:
  explicit DdlLexer(std::string_view source) : source_(source) {}
  // kEnd for ever once the text is used up. After an error the lexer must not be used.
  [[nodiscard]] Status Next(Token* token);

 private:
  Status SkipBlank();
  Status ReadQuoted(char quote, Token* token);
  Status ReadDollars(Token* token);
  void ReadName(Token* token);
  bool ReadUuid(Token* token);
  void ReadNumber(Token* token);
  [[nodiscard]] char Peek(size_t ahead = 0) const {
    return position_ + ahead < source_.size() ? source_[position_ + ahead] : '\0';
  }

  std::string_view source_;
  size_t position_ = 0;
};

// Whether a name without quotes may hold it.
[[nodiscard]] bool IsNamePart(char c);

// Whether CQL reserves the lower-case word, so that it is a name only in quotes.
[[nodiscard]] bool IsReservedWord(std::string_view lower_case);

}  // namespace cistern

#endif  // CISTERN_CQL_DDL_LEXER_H_
