#include "tools/where_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

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

bool IsAnd(std::string_view word) {
  return word.size() == 3 && (word[0] | 32) == 'a' && (word[1] | 32) == 'n' &&
         (word[2] | 32) == 'd';
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
      CISTERN_ASSIGN_OR_RETURN(condition.value, Word('\'', "a value"));
      SkipBlanks();
      if (at_ == text_.size()) return conditions;
      const size_t before = at_;
      const Result<std::string> joined = Word('"', "AND");
      if (!joined.ok() || !IsAnd(*joined)) {
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

std::string_view TickText(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return "1s";
    case TimeUnit::kMillis: return "1ms";
    case TimeUnit::kMicros: return "1us";
    case TimeUnit::kTicks100ns: return "100ns";
    case TimeUnit::kNanos: return "1ns";
  }
  return "a tick";
}

Status BadStep(std::string_view text, std::string_view why) {
  return Status::InvalidArgument(fmt::format(
      "--step '{}' {}: it is a whole number of ns, us, ms, s, m, h or d, as in 15m", text, why));
}

}  // namespace

Result<std::vector<Condition>> ParseWhere(std::string_view text) {
  return WhereParser(text).Parse();
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

Result<int64_t> ParseStep(std::string_view text, TimeUnit unit) {
  constexpr int64_t kNanos = 1'000'000'000;
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", kNanos}, {"m", 60 * kNanos},
      {"h", 3600 * kNanos}, {"d", 86'400 * kNanos}};
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view name = text.substr(static_cast<size_t>(end - text.data()));
  const auto found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                  [name](const auto& known) { return known.first == name; });
  if (error == std::errc() && name.empty()) return BadStep(text, "has no unit");
  if (error != std::errc() || found == std::end(kUnits)) return BadStep(text, "is no step");
  if (value < 1) return BadStep(text, "is not above 0");
  const int64_t tick_ns = kNanos / TicksPerSecond(unit);
  if (found->second >= tick_ns) {
    const int64_t factor = found->second / tick_ns;
    if (value > INT64_MAX / factor) return BadStep(text, "is too long");
    return value * factor;
  }
  const int64_t divisor = tick_ns / found->second;
  if (value % divisor != 0) {
    return BadStep(text, fmt::format("is no multiple of {}, the unit of the table's event time",
                                     TickText(unit)));
  }
  return value / divisor;
}

}  // namespace cistern::tool
