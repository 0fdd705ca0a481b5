#include "lib/cql/ddl_lexer.h"
#include "lib/cql/ddl_parser.h"
#include "tests/support/fake_cassandra/statement.h"

namespace cistern::fake_cassandra {
namespace {

using Kind = Statement::Kind;
using Operator = Relation::Operator;

// Recursive descent, one function for each rule of the grammar.
class StatementParser {
 public:
  explicit StatementParser(std::string_view source) : source_(source), lexer_(source) {}

  Result<Statement> Parse() {
    CISTERN_RETURN_IF_ERROR(Advance());
    CISTERN_RETURN_IF_ERROR(ParseByFirstWord());
    if (token_.IsSymbol(';')) CISTERN_RETURN_IF_ERROR(Advance());
    if (token_.kind != TokenKind::kEnd) return Expected("the end of the statement");
    return std::move(out_);
  }

 private:
  // --- tokens
  Status Advance() { return lexer_.Next(&token_); }
  Status Expected(const std::string& what) const {
    return ErrorAt(StatusCode::kInvalidArgument, source_, token_.begin,
                   "expected " + what + ", got " + Describe(token_));
  }
  Status NotSupportedHere(const std::string& what) const {
    return ErrorAt(StatusCode::kNotSupported, source_, token_.begin,
                   what + " is not among what the fake cluster knows");
  }
  Status Symbol(char c) {
    if (!token_.IsSymbol(c)) return Expected(std::string("'") + c + "'");
    return Advance();
  }
  Status Word(std::string_view lower_case) {
    if (!token_.IsName(lower_case)) return Expected(std::string(lower_case));
    return Advance();
  }
  // Passes the word if it is there.
  Result<bool> MaybeWord(std::string_view lower_case) {
    if (!token_.IsName(lower_case)) return false;
    CISTERN_RETURN_IF_ERROR(Advance());
    return true;
  }
  Status Name(std::string* out) {
    const bool quoted = token_.kind == TokenKind::kQuotedName;
    if (!quoted && (token_.kind != TokenKind::kName || IsReservedWord(token_.text))) {
      return Expected("a name");
    }
    *out = token_.text;
    return Advance();
  }
  Status TableName() {
    CISTERN_RETURN_IF_ERROR(Name(&out_.table));
    if (!token_.IsSymbol('.')) return Status::Ok();
    CISTERN_RETURN_IF_ERROR(Advance());
    out_.keyspace = std::move(out_.table);
    return Name(&out_.table);
  }
  // item {, item}
  template <typename Item>
  Status List(Item item) {
    for (;;) {
      CISTERN_RETURN_IF_ERROR(item());
      if (!token_.IsSymbol(',')) return Status::Ok();
      CISTERN_RETURN_IF_ERROR(Advance());
    }
  }
  template <typename Item>
  Status ListInParentheses(Item item) {
    CISTERN_RETURN_IF_ERROR(Symbol('('));
    CISTERN_RETURN_IF_ERROR(List(item));
    return Symbol(')');
  }
  Status Names(std::vector<std::string>* out) {
    return List([&] { return Name(&out->emplace_back()); });
  }

  // --- values
  Status ParseTerm(Term* out) {
    out->kind = Term::Kind::kLiteral;
    if (token_.IsSymbol('?') || token_.IsSymbol(':')) {
      const bool named = token_.IsSymbol(':');
      *out = {Term::Kind::kMarker, out_.marker_count++, ""};
      CISTERN_RETURN_IF_ERROR(Advance());
      std::string name;
      return named ? Name(&name) : Status::Ok();
    }
    if (token_.IsName("null")) {
      out->kind = Term::Kind::kNull;
      return Advance();
    }
    if (IsOpening()) return ParseComposite(out);
    // A blob, 0x00ff, or a duration, 1h30m.
    const bool goes_on = token_.kind == TokenKind::kNumber && token_.end < source_.size() &&
                         IsNamePart(source_[token_.end]);
    switch (token_.kind) {
      case TokenKind::kString:
      case TokenKind::kNumber:
      case TokenKind::kUuid:
      case TokenKind::kName: break;  // true, false, NaN, Infinity, 1h30m
      default: return Expected("a value");
    }
    out->text = token_.text;
    CISTERN_RETURN_IF_ERROR(Advance());
    if (!goes_on) return Status::Ok();
    out->text += token_.text;
    return Advance();
  }
  [[nodiscard]] bool IsOpening() const {
    return token_.IsSymbol('[') || token_.IsSymbol('{') || token_.IsSymbol('(');
  }
  [[nodiscard]] bool IsClosing() const {
    return token_.IsSymbol(']') || token_.IsSymbol('}') || token_.IsSymbol(')');
  }
  // A collection, tuple or vector as it is written, to the bracket that closes it.
  Status ParseComposite(Term* out) {
    const size_t begin = token_.begin;
    size_t depth = 0;
    do {
      if (token_.kind == TokenKind::kEnd) return Expected("the end of the collection");
      if (IsOpening()) ++depth;
      if (IsClosing()) --depth;
      out->text.assign(source_.substr(begin, token_.end - begin));
      CISTERN_RETURN_IF_ERROR(Advance());
    } while (depth > 0);
    return Status::Ok();
  }
  Status ParseUsing() {
    CISTERN_ASSIGN_OR_RETURN(const bool is_there, MaybeWord("using"));
    if (!is_there) return Status::Ok();
    for (;;) {
      const bool is_ttl = token_.IsName("ttl");
      if (!is_ttl && !token_.IsName("timestamp")) return Expected("TIMESTAMP or TTL");
      CISTERN_RETURN_IF_ERROR(Advance());
      CISTERN_RETURN_IF_ERROR(ParseTerm(&(is_ttl ? out_.ttl : out_.timestamp).emplace()));
      CISTERN_ASSIGN_OR_RETURN(const bool goes_on, MaybeWord("and"));
      if (!goes_on) return Status::Ok();
    }
  }
  Status RefuseCondition() {
    return token_.IsName("if") ? NotSupportedHere("a condition") : Status::Ok();
  }

  // --- WHERE
  Status ParseWhere() {
    CISTERN_ASSIGN_OR_RETURN(const bool is_there, MaybeWord("where"));
    if (!is_there) return Status::Ok();
    for (;;) {
      CISTERN_RETURN_IF_ERROR(ParseRelation(&out_.where.emplace_back()));
      CISTERN_ASSIGN_OR_RETURN(const bool goes_on, MaybeWord("and"));
      if (!goes_on) return Status::Ok();
    }
  }
  Status ParseRelation(Relation* out) {
    const bool is_tuple = token_.IsSymbol('(');
    if (token_.IsName("token")) {
      out->of_token = true;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    if (is_tuple || out->of_token) {
      CISTERN_RETURN_IF_ERROR(
          ListInParentheses([&] { return Name(&out->columns.emplace_back()); }));
    } else {
      CISTERN_RETURN_IF_ERROR(Name(&out->columns.emplace_back()));
    }
    CISTERN_RETURN_IF_ERROR(ParseOperator(&out->op));
    if (out->op != Operator::kIn) {
      return is_tuple ? ParseTuple(out) : ParseTerm(&out->values.emplace_back().emplace_back());
    }
    if (token_.IsSymbol('?')) {
      out->list_marker = out_.marker_count++;
      return Advance();
    }
    return ListInParentheses([&] {
      return is_tuple ? ParseTuple(out) : ParseTerm(&out->values.emplace_back().emplace_back());
    });
  }
  Status ParseTuple(Relation* out) {
    std::vector<Term>& terms = out->values.emplace_back();
    CISTERN_RETURN_IF_ERROR(ListInParentheses([&] { return ParseTerm(&terms.emplace_back()); }));
    return terms.size() == out->columns.size() ? Status::Ok()
                                               : Expected("as many values as columns");
  }
  Status ParseOperator(Operator* out) {
    if (token_.IsName("in")) {
      *out = Operator::kIn;
    } else if (token_.IsSymbol('=')) {
      *out = Operator::kEqual;
    } else if (token_.IsSymbol('<')) {
      *out = Operator::kLess;
    } else if (token_.IsSymbol('>')) {
      *out = Operator::kGreater;
    } else {
      return Expected("a comparison");
    }
    CISTERN_RETURN_IF_ERROR(Advance());
    if (!token_.IsSymbol('=') || *out == Operator::kIn || *out == Operator::kEqual) {
      return Status::Ok();
    }
    *out = *out == Operator::kLess ? Operator::kLessOrEqual : Operator::kGreaterOrEqual;
    return Advance();
  }

  // --- statements
  Status ParseByFirstWord() {
    struct Rule {
      std::string_view word;
      Status (StatementParser::*parse)();
    };
    static constexpr Rule kRules[] = {
        {"insert", &StatementParser::ParseInsert}, {"update", &StatementParser::ParseUpdate},
        {"delete", &StatementParser::ParseDelete}, {"select", &StatementParser::ParseSelect},
        {"create", &StatementParser::ParseCreate}, {"alter", &StatementParser::ParseAlter},
        {"drop", &StatementParser::ParseDrop},     {"truncate", &StatementParser::ParseTruncate},
        {"use", &StatementParser::ParseUse},
    };
    for (const Rule& rule : kRules) {
      if (!token_.IsName(rule.word)) continue;
      CISTERN_RETURN_IF_ERROR(Advance());
      return (this->*rule.parse)();
    }
    return Expected("a statement");
  }
  Status ParseInsert() {
    out_.kind = Kind::kInsert;
    CISTERN_RETURN_IF_ERROR(Word("into"));
    CISTERN_RETURN_IF_ERROR(TableName());
    CISTERN_RETURN_IF_ERROR(
        ListInParentheses([&] { return Name(&out_.assignments.emplace_back().first); }));
    CISTERN_RETURN_IF_ERROR(Word("values"));
    size_t count = 0;
    Term surplus;
    CISTERN_RETURN_IF_ERROR(ListInParentheses([&] {
      const size_t at = count++;
      return ParseTerm(at < out_.assignments.size() ? &out_.assignments[at].second : &surplus);
    }));
    if (count != out_.assignments.size()) {
      return Status::InvalidArgument("Unmatched column names/values");
    }
    CISTERN_RETURN_IF_ERROR(RefuseCondition());
    return ParseUsing();
  }
  Status ParseUpdate() {
    out_.kind = Kind::kUpdate;
    CISTERN_RETURN_IF_ERROR(TableName());
    CISTERN_RETURN_IF_ERROR(ParseUsing());
    CISTERN_RETURN_IF_ERROR(Word("set"));
    CISTERN_RETURN_IF_ERROR(List([&]() -> Status {
      auto& [name, value] = out_.assignments.emplace_back();
      CISTERN_RETURN_IF_ERROR(Name(&name));
      CISTERN_RETURN_IF_ERROR(Symbol('='));
      return ParseTerm(&value);
    }));
    CISTERN_RETURN_IF_ERROR(ParseWhere());
    return RefuseCondition();
  }
  Status ParseDelete() {
    out_.kind = Kind::kDelete;
    if (!token_.IsName("from")) CISTERN_RETURN_IF_ERROR(Names(&out_.deleted_columns));
    CISTERN_RETURN_IF_ERROR(Word("from"));
    CISTERN_RETURN_IF_ERROR(TableName());
    CISTERN_RETURN_IF_ERROR(ParseUsing());
    CISTERN_RETURN_IF_ERROR(ParseWhere());
    return RefuseCondition();
  }
  Status ParseSelect() {
    if (token_.IsName("distinct") || token_.IsName("json")) return NotSupportedHere(token_.text);
    if (token_.IsSymbol('*')) {
      CISTERN_RETURN_IF_ERROR(Advance());
    } else {
      CISTERN_RETURN_IF_ERROR(List([&] { return ParseSelector(); }));
    }
    CISTERN_RETURN_IF_ERROR(Word("from"));
    CISTERN_RETURN_IF_ERROR(TableName());
    CISTERN_RETURN_IF_ERROR(ParseWhere());
    CISTERN_ASSIGN_OR_RETURN(const bool is_ordered, MaybeWord("order"));
    if (is_ordered) {
      CISTERN_RETURN_IF_ERROR(Word("by"));
      CISTERN_RETURN_IF_ERROR(List([&] { return ParseOrdering(); }));
    }
    CISTERN_ASSIGN_OR_RETURN(const bool is_of_each, MaybeWord("per"));
    if (is_of_each) {
      CISTERN_RETURN_IF_ERROR(Word("partition"));
      CISTERN_RETURN_IF_ERROR(Word("limit"));
      CISTERN_RETURN_IF_ERROR(ParseTerm(&out_.partition_limit.emplace()));
    }
    CISTERN_ASSIGN_OR_RETURN(const bool is_limited, MaybeWord("limit"));
    if (is_limited) CISTERN_RETURN_IF_ERROR(ParseTerm(&out_.limit.emplace()));
    CISTERN_ASSIGN_OR_RETURN(const bool filters, MaybeWord("allow"));
    return filters ? Word("filtering") : Status::Ok();
  }
  Status ParseOrdering() {
    auto& [column, descending] = out_.ordering.emplace_back();
    CISTERN_RETURN_IF_ERROR(Name(&column));
    descending = token_.IsName("desc");
    return descending || token_.IsName("asc") ? Advance() : Status::Ok();
  }
  Status ParseSelector() {
    Selector& out = out_.selectors.emplace_back();
    CISTERN_RETURN_IF_ERROR(ParseSelected(&out));
    CISTERN_ASSIGN_OR_RETURN(const bool has_alias, MaybeWord("as"));
    return has_alias ? Name(&out.alias) : Status::Ok();
  }
  Status ParseSelected(Selector* out) {
    if (token_.kind != TokenKind::kName) return FinishSelected(out, "");
    std::string name = token_.text;
    // Whether it is a function shows the next token.
    CISTERN_RETURN_IF_ERROR(Advance());
    if (!token_.IsSymbol('(')) {
      if (IsReservedWord(name)) return Expected("a column before");
      out->columns.push_back(name);
      out->alias = std::move(name);
      return Status::Ok();
    }
    CISTERN_RETURN_IF_ERROR(Advance());
    return FinishSelected(out, name);
  }
  // The argument of `function` and what closes it; without one, a quoted column.
  Status FinishSelected(Selector* out, const std::string& function) {
    if (function.empty()) {
      CISTERN_RETURN_IF_ERROR(Name(&out->columns.emplace_back()));
      out->alias = out->columns.front();
      return Status::Ok();
    }
    if (function == "count" && token_.IsSymbol('*')) {
      out->aggregate = Selector::Aggregate::kCount;
      out->alias = "count";
      CISTERN_RETURN_IF_ERROR(Advance());
      return Symbol(')');
    }
    CISTERN_RETURN_IF_ERROR(ParseSelected(out));
    while (token_.IsSymbol(',')) {
      CISTERN_RETURN_IF_ERROR(Advance());
      CISTERN_RETURN_IF_ERROR(Name(&out->columns.emplace_back()));
      out->alias += ", " + out->columns.back();
    }
    CISTERN_RETURN_IF_ERROR(Wrap(function, out));
    return Symbol(')');
  }
  Status Wrap(const std::string& function, Selector* out) {
    const bool is_plain = out->aggregate == Selector::Aggregate::kNone &&
                          out->function == Selector::Function::kNone;
    bool in_system = true;
    if (function == "count") {
      out->aggregate = Selector::Aggregate::kCount;
    } else if (function == "min") {
      out->aggregate = Selector::Aggregate::kMin;
    } else if (function == "max") {
      out->aggregate = Selector::Aggregate::kMax;
    } else if (is_plain && (function == "writetime" || function == "ttl" || function == "token")) {
      out->function = function == "ttl"     ? Selector::Function::kTtl
                      : function == "token" ? Selector::Function::kToken
                                            : Selector::Function::kWritetime;
      in_system = function == "token";
    } else {
      return NotSupportedHere("the function " + function);
    }
    out->alias = (in_system ? "system." : "") + function + "(" + out->alias + ")";
    return Status::Ok();
  }

  // --- definitions
  Status ParseIfExists(bool negated) {
    CISTERN_ASSIGN_OR_RETURN(out_.if_exists, MaybeWord("if"));
    if (!out_.if_exists) return Status::Ok();
    if (negated) CISTERN_RETURN_IF_ERROR(Word("not"));
    return Word("exists");
  }
  Status ParseCreate() {
    CISTERN_ASSIGN_OR_RETURN(const bool is_keyspace, MaybeWord("keyspace"));
    if (is_keyspace) return ParseCreateKeyspace();
    CISTERN_ASSIGN_OR_RETURN(const bool is_type, MaybeWord("type"));
    out_.kind = is_type ? Kind::kCreateType : Kind::kCreateTable;
    if (!is_type) CISTERN_RETURN_IF_ERROR(Word("table"));
    CISTERN_RETURN_IF_ERROR(ParseIfExists(true));
    CISTERN_RETURN_IF_ERROR(TableName());
    // lib/cql reads the rest, from the begin.
    out_.text = std::string(source_);
    while (token_.kind != TokenKind::kEnd) CISTERN_RETURN_IF_ERROR(Advance());
    return Status::Ok();
  }
  Status ParseCreateKeyspace() {
    out_.kind = Kind::kCreateKeyspace;
    CISTERN_RETURN_IF_ERROR(ParseIfExists(true));
    CISTERN_RETURN_IF_ERROR(Name(&out_.keyspace));
    CISTERN_RETURN_IF_ERROR(Word("with"));
    CISTERN_RETURN_IF_ERROR(Word("replication"));
    CISTERN_RETURN_IF_ERROR(Symbol('='));
    CISTERN_RETURN_IF_ERROR(Symbol('{'));
    CISTERN_RETURN_IF_ERROR(List([&]() -> Status {
      Term key;
      Term value;
      CISTERN_RETURN_IF_ERROR(ParseTerm(&key));
      CISTERN_RETURN_IF_ERROR(Symbol(':'));
      CISTERN_RETURN_IF_ERROR(ParseTerm(&value));
      out_.replication[key.text] = value.text;
      return Status::Ok();
    }));
    CISTERN_RETURN_IF_ERROR(Symbol('}'));
    CISTERN_ASSIGN_OR_RETURN(const bool has_more, MaybeWord("and"));
    if (!has_more) return Status::Ok();
    CISTERN_RETURN_IF_ERROR(Word("durable_writes"));
    CISTERN_RETURN_IF_ERROR(Symbol('='));
    return Advance();
  }
  Status ParseAlter() {
    CISTERN_RETURN_IF_ERROR(Word("table"));
    CISTERN_RETURN_IF_ERROR(TableName());
    CISTERN_ASSIGN_OR_RETURN(const bool adds, MaybeWord("add"));
    if (adds) return ParseAdd();
    if (token_.IsName("with")) return ParseAlterOptions();
    CISTERN_ASSIGN_OR_RETURN(const bool renames, MaybeWord("rename"));
    if (renames) return ParseRename();
    out_.kind = Kind::kDropColumns;
    CISTERN_RETURN_IF_ERROR(Word("drop"));
    CISTERN_RETURN_IF_ERROR(ParseIfExists(false));
    const auto one = [&] { return Name(&out_.columns.emplace_back()); };
    CISTERN_RETURN_IF_ERROR(token_.IsSymbol('(') ? ListInParentheses(one) : List(one));
    return ParseUsing();
  }
  Status ParseRename() {
    out_.kind = Kind::kRenameColumns;
    for (bool has_more = true; has_more;) {
      auto& [from, to] = out_.renames.emplace_back();
      CISTERN_RETURN_IF_ERROR(Name(&from));
      CISTERN_RETURN_IF_ERROR(Word("to"));
      CISTERN_RETURN_IF_ERROR(Name(&to));
      CISTERN_ASSIGN_OR_RETURN(has_more, MaybeWord("and"));
    }
    return Status::Ok();
  }
  // As in CREATE TABLE too.
  Status ParseAlterOptions() {
    out_.kind = Kind::kAlterOptions;
    out_.text = "CREATE TABLE k.t (key_of_no_table int PRIMARY KEY) ";
    out_.text += source_.substr(token_.begin);
    while (token_.kind != TokenKind::kEnd) CISTERN_RETURN_IF_ERROR(Advance());
    return Status::Ok();
  }
  // The columns stand as in CREATE TABLE: lib/cql reads them in one that is made of them.
  Status ParseAdd() {
    out_.kind = Kind::kAddColumns;
    CISTERN_RETURN_IF_ERROR(ParseIfExists(true));
    const bool in_parentheses = token_.IsSymbol('(');
    if (in_parentheses) CISTERN_RETURN_IF_ERROR(Advance());
    const size_t begin = token_.begin;
    size_t end = begin;
    while (token_.kind != TokenKind::kEnd && !token_.IsSymbol(';') && !token_.IsSymbol(')')) {
      end = token_.end;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    if (in_parentheses) CISTERN_RETURN_IF_ERROR(Symbol(')'));
    out_.text = "CREATE TABLE k.t (key_of_no_table int PRIMARY KEY, ";
    out_.text += source_.substr(begin, end - begin);
    out_.text += ")";
    return Status::Ok();
  }
  Status ParseDrop() {
    CISTERN_ASSIGN_OR_RETURN(const bool is_keyspace, MaybeWord("keyspace"));
    out_.kind = is_keyspace ? Kind::kDropKeyspace : Kind::kDropTable;
    if (!is_keyspace) CISTERN_RETURN_IF_ERROR(Word("table"));
    CISTERN_RETURN_IF_ERROR(ParseIfExists(false));
    return is_keyspace ? Name(&out_.keyspace) : TableName();
  }
  Status ParseTruncate() {
    out_.kind = Kind::kTruncate;
    CISTERN_RETURN_IF_ERROR(MaybeWord("table").status());
    return TableName();
  }
  Status ParseUse() {
    out_.kind = Kind::kUse;
    return Name(&out_.keyspace);
  }

  std::string_view source_;
  DdlLexer lexer_;
  Token token_;
  Statement out_;
};

}  // namespace

Result<Statement> ParseStatement(std::string_view cql) { return StatementParser(cql).Parse(); }

}  // namespace cistern::fake_cassandra
