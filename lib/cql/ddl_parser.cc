#include "lib/cql/ddl_parser.h"

#include <charconv>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"

namespace cistern {
namespace {

// Bounds on what one statement may repeat, so that looking for doubles stays cheap.
constexpr size_t kMapEntriesMax = 64;
constexpr size_t kOptionsMax = 128;

// Recursive only in types, whose depth is bounded by limits::kTypeDepthMax.
class DdlParser {
 public:
  explicit DdlParser(std::string_view source) : source_(source), lexer_(source) {}

  Result<DdlTable> Parse() {
    CISTERN_RETURN_IF_ERROR(Advance());
    CISTERN_RETURN_IF_ERROR(ParseHead());
    CISTERN_RETURN_IF_ERROR(ParseDefinitions());
    if (token_.IsName("with")) CISTERN_RETURN_IF_ERROR(ParseOptions());
    if (token_.IsSymbol(';')) CISTERN_RETURN_IF_ERROR(Advance());
    if (token_.kind != TokenKind::kEnd) return Expected("the end of the statement");
    return std::move(table_);
  }

 private:
  // --- tokens
  Status Advance() { return lexer_.Next(&token_); }
  Status Expected(const std::string& what) const {
    return ErrorAt(StatusCode::kInvalidArgument, source_, token_.begin, Concat({"expected ", what,
        ", got ", Describe(token_)}));
  }
  Status NotSupportedHere(const std::string& what) const {
    return ErrorAt(StatusCode::kNotSupported, source_, token_.begin, what);
  }
  Status Symbol(char c) {
    if (!token_.IsSymbol(c)) return Expected(Concat({"'", c, "'"}));
    return Advance();
  }
  Status Keyword(std::string_view lower_case) {
    if (token_.IsName(lower_case)) return Advance();
    std::string upper(lower_case);
    for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
    return Expected(upper);
  }
  Status Name(const std::string& what, DdlName* out) {
    const bool quoted = token_.kind == TokenKind::kQuotedName;
    if (!quoted && token_.kind != TokenKind::kName) return Expected(what);
    if (!quoted && IsReservedWord(token_.text)) {
      return ErrorAt(StatusCode::kInvalidArgument, source_, token_.begin, Concat({"expected ",
          what, ", got the reserved word '", token_.text, "'; write it in double quotes to use it "
          "as a name"}));
    }
    *out = {token_.text, token_.begin};
    return Advance();
  }

  // --- CREATE TABLE [IF NOT EXISTS] [keyspace.]name
  Status ParseHead() {
    if (token_.IsName("use")) {
      return NotSupportedHere("USE is not needed: leave it out, and name tables keyspace.table");
    }
    CISTERN_RETURN_IF_ERROR(Keyword("create"));
    if (token_.IsName("keyspace") || token_.IsName("schema")) {
      return NotSupportedHere(
          "CREATE KEYSPACE is not needed: leave it out, and name tables keyspace.table");
    }
    if (!token_.IsName("table") && !token_.IsName("columnfamily")) return Expected("TABLE");
    CISTERN_RETURN_IF_ERROR(Advance());
    if (token_.IsName("if")) {
      CISTERN_RETURN_IF_ERROR(Advance());
      CISTERN_RETURN_IF_ERROR(Keyword("not"));
      CISTERN_RETURN_IF_ERROR(Keyword("exists"));
    }
    CISTERN_RETURN_IF_ERROR(Name("the table's name", &table_.name));
    if (token_.IsSymbol('.')) {
      CISTERN_RETURN_IF_ERROR(Advance());
      table_.keyspace = std::move(table_.name);
      CISTERN_RETURN_IF_ERROR(Name("the table's name", &table_.name));
    }
    return Status::Ok();
  }

  // --- ( column type, ..., PRIMARY KEY (...) )
  Status ParseDefinitions() {
    CISTERN_RETURN_IF_ERROR(Symbol('('));
    while (true) {
      if (token_.IsName("primary")) {
        CISTERN_RETURN_IF_ERROR(ParsePrimaryKey());
      } else {
        CISTERN_RETURN_IF_ERROR(ParseColumn());
      }
      if (!token_.IsSymbol(',')) break;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    if (!token_.IsSymbol(')')) return Expected("',' or ')'");
    if (table_.partition_key.empty()) {
      return ErrorAt(StatusCode::kInvalidArgument, source_, token_.begin,
                     "expected PRIMARY KEY ((entity, bucket), event_time) before the closing ')'");
    }
    return Advance();
  }

  Status ParseColumn() {
    if (table_.columns.size() >= limits::kColumnCountMax) {
      return ErrorAt(StatusCode::kTooLarge, source_, token_.begin, Concat({"a table has at most ",
          limits::kColumnCountMax, " columns"}));
    }
    DdlColumn column;
    CISTERN_RETURN_IF_ERROR(Name("a column's name or PRIMARY KEY", &column.name));
    column.type_offset = token_.begin;
    CISTERN_RETURN_IF_ERROR(ParseType(0, false, &column.type));
    if (token_.IsName("static")) {
      return NotSupportedHere(
          "static columns are not supported: a bucket's rows stand for themselves");
    }
    if (token_.IsName("masked")) return NotSupportedHere("masked columns are not supported");
    if (token_.IsName("primary")) {
      CISTERN_RETURN_IF_ERROR(OnePrimaryKeyOnly());
      CISTERN_RETURN_IF_ERROR(Advance());
      CISTERN_RETURN_IF_ERROR(Keyword("key"));
      table_.partition_key.push_back(column.name);
    }
    table_.columns.push_back(std::move(column));
    return Status::Ok();
  }

  Status OnePrimaryKeyOnly() const {
    if (table_.partition_key.empty()) return Status::Ok();
    return ErrorAt(StatusCode::kInvalidArgument, source_, token_.begin,
                   "the table has two PRIMARY KEYs");
  }

  Status ParsePrimaryKey() {
    CISTERN_RETURN_IF_ERROR(OnePrimaryKeyOnly());
    CISTERN_RETURN_IF_ERROR(Advance());
    CISTERN_RETURN_IF_ERROR(Keyword("key"));
    CISTERN_RETURN_IF_ERROR(Symbol('('));
    if (token_.IsSymbol('(')) {
      CISTERN_RETURN_IF_ERROR(Advance());
      CISTERN_RETURN_IF_ERROR(KeyColumn(&table_.partition_key));
      while (token_.IsSymbol(',')) {
        CISTERN_RETURN_IF_ERROR(Advance());
        CISTERN_RETURN_IF_ERROR(KeyColumn(&table_.partition_key));
      }
      if (!token_.IsSymbol(')')) return Expected("',' or ')'");
      CISTERN_RETURN_IF_ERROR(Advance());
    } else {
      CISTERN_RETURN_IF_ERROR(KeyColumn(&table_.partition_key));
    }
    while (token_.IsSymbol(',')) {
      CISTERN_RETURN_IF_ERROR(Advance());
      CISTERN_RETURN_IF_ERROR(KeyColumn(&table_.clustering_key));
    }
    if (!token_.IsSymbol(')')) return Expected("',' or ')'");
    return Advance();
  }

  Status KeyColumn(std::vector<DdlName>* key) {
    if (key->size() >= limits::kColumnCountMax) {
      return ErrorAt(StatusCode::kTooLarge, source_, token_.begin, "the key has too many columns");
    }
    DdlName name;
    CISTERN_RETURN_IF_ERROR(Name("a column's name", &name));
    key->push_back(std::move(name));
    return Status::Ok();
  }

  // --- types. `frozen`: inside frozen<...> or another type, where all is one value.
  Status ParseType(size_t depth, bool frozen, ColumnType* out) {
    if (depth == 0) type_parts_ = 0;
    if (++type_parts_ > limits::kTypePartsMax) {
      return ErrorAt(StatusCode::kTooLarge, source_, token_.begin, Concat({
          "a type has at most ", limits::kTypePartsMax, " others inside"}));
    }
    if (depth >= limits::kTypeDepthMax) {
      return ErrorAt(StatusCode::kTooLarge, source_, token_.begin, Concat({
          "a type is nested at most ", limits::kTypeDepthMax, " deep"}));
    }
    if (token_.kind == TokenKind::kString) {
      return NotSupportedHere("custom types are not supported");
    }
    if (token_.kind != TokenKind::kName && token_.kind != TokenKind::kQuotedName) {
      return Expected("a type");
    }
    if (token_.IsName("frozen")) {
      CISTERN_RETURN_IF_ERROR(Advance());
      CISTERN_RETURN_IF_ERROR(Symbol('<'));
      const std::optional<CqlType> inside =
          token_.kind == TokenKind::kName ? CqlTypeFromName(token_.text) : std::nullopt;
      if (!inside.has_value() || !IsComposite(*inside)) {
        return Expected("list, set, map, tuple or vector inside frozen<>");
      }
      CISTERN_RETURN_IF_ERROR(ParseType(depth, true, out));
      return Symbol('>');
    }
    const std::optional<CqlType> kind =
        token_.kind == TokenKind::kName ? CqlTypeFromName(token_.text) : std::nullopt;
    if (!kind.has_value()) return RefuseType();
    if (*kind == CqlType::kList && !frozen) return RefuseList();
    out->kind = *kind;
    out->is_multicell = IsCollection(*kind) && !frozen;
    CISTERN_RETURN_IF_ERROR(Advance());
    return IsComposite(*kind) ? ParseTypeArguments(depth, out) : Status::Ok();
  }

  Status ParseTypeArguments(size_t depth, ColumnType* out) {
    const size_t count = out->kind == CqlType::kMap ? 2 : 1;
    CISTERN_RETURN_IF_ERROR(Symbol('<'));
    const auto is_more = [&] {
      return out->kind == CqlType::kTuple ? token_.IsSymbol(',') : out->arguments.size() < count;
    };
    do {
      if (!out->arguments.empty()) CISTERN_RETURN_IF_ERROR(Symbol(','));
      ColumnType argument;
      CISTERN_RETURN_IF_ERROR(ParseType(depth + 1, true, &argument));
      out->arguments.push_back(std::move(argument));
    } while (is_more());
    if (out->kind == CqlType::kVector) CISTERN_RETURN_IF_ERROR(ParseDimension(out));
    return Symbol('>');
  }

  Status ParseDimension(ColumnType* vector) {
    CISTERN_RETURN_IF_ERROR(Symbol(','));
    const char* const end = token_.text.data() + token_.text.size();
    const auto [parsed, error] = std::from_chars(token_.text.data(), end, vector->dimension);
    const bool is_count = token_.kind == TokenKind::kNumber && error == std::errc() &&
                          parsed == end && vector->dimension > 0;
    if (!is_count || vector->dimension > limits::kVectorDimensionMax) {
      return Expected(Concat({"how many elements a vector has, 1 to ",
          limits::kVectorDimensionMax}));
    }
    return Advance();
  }

  // Cassandra gives each element of such a list a cell under a number that it draws anew for each
  // write. The same write repeated would have its elements there twice.
  Status RefuseList() const {
    return NotSupportedHere(
        "a list must be frozen: write frozen<list<...>>. Where a batch has to be sent twice, "
        "Cassandra keeps the elements of a list that is not frozen twice; where the cluster has "
        "such a column, leave it out here");
  }

  Status RefuseType() const {
    const std::string& name = token_.text;
    if (name == "counter" || name == "empty") {
      return NotSupportedHere(Concat({"the type ", name, " is not supported"}));
    }
    return NotSupportedHere(Concat({"'", name, "' is not a type of Cistern; user-defined types "
        "are not supported"}));
  }

  // --- WITH option AND option
  Status ParseOptions() {
    do {
      CISTERN_RETURN_IF_ERROR(Advance());  // WITH or AND
      if (token_.IsName("clustering")) {
        CISTERN_RETURN_IF_ERROR(ParseClusteringOrder());
      } else if (token_.IsName("compact")) {
        return NotSupportedHere("COMPACT STORAGE is not supported");
      } else {
        CISTERN_RETURN_IF_ERROR(ParseOption());
      }
    } while (token_.IsName("and"));
    return Status::Ok();
  }

  Status ParseClusteringOrder() {
    if (!table_.order.empty()) {
      return ErrorAt(StatusCode::kInvalidArgument, source_, token_.begin,
                     "the table has two CLUSTERING ORDERs");
    }
    table_.order_offset = token_.begin;
    CISTERN_RETURN_IF_ERROR(Advance());
    CISTERN_RETURN_IF_ERROR(Keyword("order"));
    CISTERN_RETURN_IF_ERROR(Keyword("by"));
    CISTERN_RETURN_IF_ERROR(Symbol('('));
    while (true) {
      if (table_.order.size() >= limits::kColumnCountMax) return Expected("')'");
      DdlOrder order;
      CISTERN_RETURN_IF_ERROR(Name("a clustering column", &order.column));
      if (!token_.IsName("asc") && !token_.IsName("desc")) return Expected("ASC or DESC");
      order.descending = token_.IsName("desc");
      CISTERN_RETURN_IF_ERROR(Advance());
      table_.order.push_back(std::move(order));
      if (!token_.IsSymbol(',')) break;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    if (!token_.IsSymbol(')')) return Expected("',' or ')'");
    return Advance();
  }

  Status ParseOption() {
    DdlOption option;
    if (table_.options.size() >= kOptionsMax) return Expected("';' after so many options");
    CISTERN_RETURN_IF_ERROR(Name("an option's name or CLUSTERING ORDER BY", &option.name));
    for (const DdlOption& other : table_.options) {
      if (other.name.text == option.name.text) {
        return ErrorAt(StatusCode::kInvalidArgument, source_, option.name.offset, Concat({
            "the option ", option.name.text, " is given twice"}));
      }
    }
    CISTERN_RETURN_IF_ERROR(Symbol('='));
    option.value_offset = token_.begin;
    size_t end = token_.end;
    if (token_.IsSymbol('{')) {
      CISTERN_RETURN_IF_ERROR(ParseMap(&option, &end));
    } else if (token_.IsSymbol('[')) {
      CISTERN_RETURN_IF_ERROR(ParseList(&option, &end));
    } else {
      if (!IsConstant()) return Expected("a value");
      option.value = token_;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    option.raw = source_.substr(option.value_offset, end - option.value_offset);
    table_.options.push_back(std::move(option));
    return Status::Ok();
  }

  [[nodiscard]] bool IsConstant() const {
    return token_.kind == TokenKind::kString || token_.kind == TokenKind::kNumber ||
           token_.kind == TokenKind::kUuid || token_.IsName("true") || token_.IsName("false") ||
           token_.IsName("nan") || token_.IsName("infinity");
  }

  Status ParseMap(DdlOption* option, size_t* end) {
    option->kind = DdlOption::Kind::kMap;
    CISTERN_RETURN_IF_ERROR(Advance());
    while (!token_.IsSymbol('}')) {
      if (token_.kind != TokenKind::kString) return Expected("a key in single quotes or '}'");
      std::string key = token_.text;
      for (const auto& [other, value] : option->entries) {
        if (other == key) {
          return ErrorAt(StatusCode::kInvalidArgument, source_, token_.begin, Concat({"the key '",
              key, "' is given twice"}));
        }
      }
      if (option->entries.size() >= kMapEntriesMax) return Expected("'}'");
      CISTERN_RETURN_IF_ERROR(Advance());
      CISTERN_RETURN_IF_ERROR(Symbol(':'));
      if (!IsConstant()) return Expected("a value");
      option->entries.emplace_back(std::move(key), token_.text);
      CISTERN_RETURN_IF_ERROR(Advance());
      if (!token_.IsSymbol(',')) break;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    *end = token_.end;
    if (!token_.IsSymbol('}')) return Expected("',' or '}'");
    return Advance();
  }

  Status ParseList(DdlOption* option, size_t* end) {
    option->kind = DdlOption::Kind::kList;
    CISTERN_RETURN_IF_ERROR(Advance());
    while (!token_.IsSymbol(']')) {
      if (!IsConstant()) return Expected("a value or ']'");
      CISTERN_RETURN_IF_ERROR(Advance());
      if (!token_.IsSymbol(',')) break;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    *end = token_.end;
    if (!token_.IsSymbol(']')) return Expected("',' or ']'");
    return Advance();
  }

  std::string_view source_;
  DdlLexer lexer_;
  Token token_;
  size_t type_parts_ = 0;  // of the column's type that is read
  DdlTable table_;
};

}  // namespace

Result<DdlTable> ParseDdl(std::string_view source) {
  return DdlParser(source).Parse();
}

}  // namespace cistern
