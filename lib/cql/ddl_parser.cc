#include "lib/cql/ddl_parser.h"

#include <utility>

#include "cistern/limits.h"
#include "lib/base/concat.h"

namespace cistern {
namespace {

// Bounds on what one statement may repeat, so that looking for doubles stays cheap.
constexpr size_t kMapEntriesMax = 64;
constexpr size_t kOptionsMax = 128;

class DdlParser : private DdlTypes {
 public:
  DdlParser(std::string_view source, std::span<const ColumnType> known_types)
      : DdlTypes(source, known_types) {}

  Result<DdlTable> Parse() {
    CISTERN_RETURN_IF_ERROR(Advance());
    CISTERN_RETURN_IF_ERROR(ParseCreate());
    while (token_.IsName("type")) {
      CISTERN_RETURN_IF_ERROR(ParseUserType());
      CISTERN_RETURN_IF_ERROR(Symbol(';'));
      CISTERN_RETURN_IF_ERROR(ParseCreate());
    }
    CISTERN_RETURN_IF_ERROR(ParseHead());
    CISTERN_RETURN_IF_ERROR(ParseDefinitions());
    if (token_.IsName("with")) CISTERN_RETURN_IF_ERROR(ParseOptions());
    if (token_.IsSymbol(';')) CISTERN_RETURN_IF_ERROR(Advance());
    if (token_.kind != TokenKind::kEnd) return Expected("the end of the statement");
    table_.types = std::move(user_types_);
    return std::move(table_);
  }

 private:
  Status ParseCreate() {
    if (token_.IsName("use")) {
      return NotSupportedHere("USE is not needed: leave it out, and name tables keyspace.table");
    }
    return Keyword("create");
  }

  // --- TABLE [IF NOT EXISTS] [keyspace.]name
  Status ParseHead() {
    if (token_.IsName("keyspace") || token_.IsName("schema")) {
      return NotSupportedHere(
          "CREATE KEYSPACE is not needed: leave it out, and name tables keyspace.table");
    }
    if (!token_.IsName("table") && !token_.IsName("columnfamily")) return Expected("TABLE");
    CISTERN_RETURN_IF_ERROR(Advance());
    CISTERN_RETURN_IF_ERROR(PassIfNotExists());
    CISTERN_RETURN_IF_ERROR(PlacedName("the table's name", &table_.keyspace, &table_.name));
    SetKeyspace(table_.keyspace.text);
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
    CISTERN_RETURN_IF_ERROR(ParseColumnType(&column.type));
    if (token_.IsName("static")) {
      column.static_offset = token_.begin;
      CISTERN_RETURN_IF_ERROR(Advance());
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

  DdlTable table_;
};

}  // namespace

Result<DdlTable> ParseDdl(std::string_view source, std::span<const ColumnType> known_types) {
  return DdlParser(source, known_types).Parse();
}

}  // namespace cistern
