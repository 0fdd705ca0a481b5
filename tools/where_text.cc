#include "tools/where_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tools/column_name.h"

namespace cistern::tool {
namespace {

constexpr std::array<std::pair<std::string_view, AggregateFunction>, 7> kFunctions = {{
    {"count", AggregateFunction::kCount},
    {"min", AggregateFunction::kMin},
    {"max", AggregateFunction::kMax},
    {"sum", AggregateFunction::kSum},
    {"avg", AggregateFunction::kAvg},
    {"first", AggregateFunction::kFirst},
    {"last", AggregateFunction::kLast},
}};

// Two characters before one of them.
constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons = {{
    {"!=", Comparison::kNotEqual},
    {"<=", Comparison::kLessOrEqual},
    {">=", Comparison::kGreaterOrEqual},
    {"=", Comparison::kEqual},
    {"<", Comparison::kLess},
    {">", Comparison::kGreater},
}};

bool IsPlain(char c) {
  const bool is_alphanumeric =
      (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_alphanumeric || std::string_view("_.:+-").find(c) != std::string_view::npos;
}

// True if `word` is a word of CQL, which knows no case.
bool IsWord(std::string_view word, std::string_view lower) {
  return std::equal(word.begin(), word.end(), lower.begin(), lower.end(),
                    [](char c, char wanted) { return (c | 32) == wanted; });
}

// The conditions of one text, from left to right.
class WhereParser {
 public:
  explicit WhereParser(std::string_view text) : text_(text) {}

  Result<std::vector<Condition>> Parse() {
    std::vector<Condition> conditions;
    while (true) {
      Condition& condition = conditions.emplace_back();
      CISTERN_ASSIGN_OR_RETURN(condition.column, Word('"', "a column"));
      CISTERN_ASSIGN_OR_RETURN(condition.comparison, Operator());
      CISTERN_ASSIGN_OR_RETURN(condition.value, Value());
      SkipBlanks();
      if (at_ == text_.size()) return conditions;
      const size_t before = at_;
      const Result<std::string> joined = Word('"', "AND");
      if (!joined.ok() || !IsWord(*joined, "and")) {
        at_ = before;
        return Expected("AND, or the end");
      }
    }
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  Status Expected(std::string_view what) const {
    return Status::InvalidArgument(fmt::format(
        "--where \"{}\": expected {} at character {}; conditions are written as in \"temperature "
        ">= 21.5 and state = 'OK'\"", text_, what, at_ + 1));
  }

  // A word of plain characters, or all that stands between the quotes.
  Result<std::string> Word(char quote, std::string_view what) {
    SkipBlanks();
    std::string word;
    if (at_ < text_.size() && text_[at_] == quote) {
      const size_t begin = at_++;
      while (at_ < text_.size()) {
        const bool is_doubled = at_ + 1 < text_.size() && text_[at_ + 1] == quote;
        if (text_[at_] == quote && !is_doubled) {
          ++at_;
          return word;
        }
        if (text_[at_] == quote) ++at_;
        word.push_back(text_[at_++]);
      }
      at_ = begin;
      return Expected(fmt::format("{} with the quote that ends it", what));
    }
    while (at_ < text_.size() && IsPlain(text_[at_])) word.push_back(text_[at_++]);
    if (word.empty()) {
      const bool is_value = quote == '\'';
      return Expected(is_value ? "a value, in '...' if it has other signs than letters, digits and "
                                 "_ . : + -"
                               : what);
    }
    return word;
  }

  // A bare NULL is no text, as in CQL: no row would meet it, and an empty answer would hide that.
  Result<std::string> Value() {
    SkipBlanks();
    const size_t begin = at_;
    CISTERN_ASSIGN_OR_RETURN(std::string value, Word('\'', "a value"));
    const bool is_bare = text_[begin] != '\'';
    if (!is_bare || !IsWord(value, "null")) return value;
    at_ = begin;
    return Expected("a value (null meets no condition; the text of that name is 'null')");
  }

  Result<Comparison> Operator() {
    SkipBlanks();
    for (const auto& [sign, comparison] : kComparisons) {
      if (!text_.substr(at_).starts_with(sign)) continue;
      at_ += sign.size();
      return comparison;
    }
    return Expected("one of = != < <= > >=");
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<Condition>> ParseWhere(std::string_view text) {
  return WhereParser(text).Parse();
}

std::string WhereName(std::string_view column) {
  if (!column.empty() && std::ranges::all_of(column, IsPlain)) return std::string(column);
  std::string quoted = "\"";
  for (const char c : column) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

Result<std::vector<Condition>> ConditionsOf(const TableSchema& schema,
                                            const std::vector<std::string>& texts) {
  std::vector<Condition> all;
  for (const std::string& text : texts) {
    CISTERN_ASSIGN_OR_RETURN(std::vector<Condition> conditions, ParseWhere(text));
    for (Condition& c : conditions) {
      c.column = ColumnNamed(schema, c.column);
      all.push_back(std::move(c));
    }
  }
  return all;
}

Result<std::vector<AggregateColumn>> ParseAggregates(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return Status::InvalidArgument(
        fmt::format("--of '{}' names no {}: it is written as in temperature:min,max,avg", text,
                    colon == 0 ? "column" : "function"));
  }
  std::vector<AggregateColumn> out;
  const std::string_view names = text.substr(colon + 1);
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string_view name = names.substr(begin, end - begin);
    const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                    [name](const auto& known) { return known.first == name; });
    if (found == kFunctions.end()) {
      return Status::InvalidArgument(
          fmt::format("--of '{}': there is no function '{}'; there are count, min, max, sum, avg, "
                      "first and last, in small letters, with commas and no blanks between", text,
                      name));
    }
    out.push_back({std::string(text.substr(0, colon)), found->second});
    begin = end + 1;
  }
  return out;
}

std::string_view FunctionName(AggregateFunction function) {
  return kFunctions[static_cast<size_t>(function)].first;
}

}  // namespace cistern::tool
