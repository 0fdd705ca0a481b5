#include "lib/cql/comment_rule.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/civil_time.h"
#include "lib/base/concat.h"
#include "lib/cql/bucket_rule.h"
#include "lib/cql/ddl_print.h"

namespace cistern {
namespace {

constexpr std::string_view kMarker = "cistern:";

constexpr std::array<std::pair<std::string_view, BucketUnit>, 7> kUnits = {{
    {"second", BucketUnit::kSecond},
    {"minute", BucketUnit::kMinute},
    {"hour", BucketUnit::kHour},
    {"day", BucketUnit::kDay},
    {"week", BucketUnit::kIsoWeek},
    {"month", BucketUnit::kMonth},
    {"year", BucketUnit::kYear},
}};

constexpr std::array<std::pair<std::string_view, BucketEncoding>, 5> kForms = {{
    {"date", BucketEncoding::kDate},
    {"timestamp", BucketEncoding::kTimestamp},
    {"text", BucketEncoding::kText},
    {"calendar", BucketEncoding::kCalendarNumber},
    {"epoch", BucketEncoding::kSinceEpoch},
}};

constexpr std::array<std::pair<std::string_view, TimeUnit>, 4> kTimeUnits = {{
    {"s", TimeUnit::kSeconds},
    {"ms", TimeUnit::kMillis},
    {"us", TimeUnit::kMicros},
    {"ns", TimeUnit::kNanos},
}};

constexpr std::array<std::pair<std::string_view, TimestampMode>, 2> kTimestampModes = {{
    {"write", TimestampMode::kWriteTime},
    {"event", TimestampMode::kEventTime},
}};

template <typename Table, typename Value>
bool Lookup(const Table& table, std::string_view word, Value* out) {
  for (const auto& [name, value] : table) {
    if (name != word) continue;
    *out = value;
    return true;
  }
  return false;
}

// Byte after the first `cistern:` that begins a word, in any case of letters.
std::optional<size_t> FindRule(std::string_view text) {
  for (size_t i = 0; i + kMarker.size() <= text.size(); ++i) {
    if (i > 0 && IsNamePart(text[i - 1])) continue;
    size_t matched = 0;
    while (matched < kMarker.size() && (text[i + matched] | 0x20) == (kMarker[matched] | 0x20)) {
      ++matched;
    }
    if (matched == kMarker.size()) return i + kMarker.size();
  }
  return std::nullopt;
}

class RuleParser {
 public:
  RuleParser(std::string_view source, const Token& comment, size_t begin)
      : source_(source),
        comment_(comment),
        begin_(begin),
        lexer_(std::string_view(comment.text).substr(begin)) {}

  Result<CommentRule> Parse() {
    CISTERN_RETURN_IF_ERROR(Advance());
    while (true) {
      CISTERN_RETURN_IF_ERROR(ParseClause());
      if (token_.kind == TokenKind::kEnd) break;
      if (!token_.IsSymbol(';')) return Expected("';' or the end of the comment");
      CISTERN_RETURN_IF_ERROR(Advance());
      if (token_.kind == TokenKind::kEnd) break;
    }
    return std::move(rule_);
  }

 private:
  [[nodiscard]] size_t SourceOffset(size_t rule_offset) const {
    return SourceOffsetInString(source_, comment_, begin_ + rule_offset);
  }
  Status Advance() {
    const size_t last_end = token_.end;
    if (lexer_.Next(&token_).ok()) return Status::Ok();
    return ErrorAt(StatusCode::kInvalidArgument, source_, SourceOffset(last_end),
                   "the rule after 'cistern:' cannot be read from here on; a quote has no end, or "
                   "a character does not belong there");
  }
  Status Expected(const std::string& what) const {
    const std::string got =
        token_.kind == TokenKind::kEnd ? "the end of the comment" : Describe(token_);
    return ErrorAt(StatusCode::kInvalidArgument, source_, SourceOffset(token_.begin), Concat({
        "expected ", what, ", got ", got}));
  }
  Status Twice(std::string_view word) const {
    return ErrorAt(StatusCode::kInvalidArgument, source_, SourceOffset(token_.begin), Concat({
        "the comment has two '", word, "' clauses"}));
  }
  // After the name of what the clause is about.
  Status Equals() {
    CISTERN_RETURN_IF_ERROR(Advance());
    if (!token_.IsSymbol('=')) return Expected("'='");
    return Advance();
  }
  // `column =` after a clause's first word.
  Status ColumnAndEquals(DdlName* column) {
    CISTERN_RETURN_IF_ERROR(Advance());
    if (token_.kind != TokenKind::kName && token_.kind != TokenKind::kQuotedName) {
      return Expected("a column's name");
    }
    *column = {token_.text, SourceOffset(token_.begin)};
    return Equals();
  }

  Status ParseClause() {
    if (token_.IsName("bucket")) return rule_.bucket ? Twice("bucket") : ParseBucket();
    if (token_.IsName("split")) return rule_.split ? Twice("split") : ParseSplit();
    if (token_.IsName("time")) return rule_.time ? Twice("time") : ParseTime();
    if (token_.IsName("timestamps")) {
      return rule_.timestamps ? Twice("timestamps") : ParseTimestamps();
    }
    return Expected("'bucket', 'split', 'time' or 'timestamps' after 'cistern:'");
  }

  // bucket day = 15 minutes until 2027-02-01, 1 hour
  Status ParseBucket() {
    CommentRule::Bucket bucket;
    CISTERN_RETURN_IF_ERROR(ColumnAndEquals(&bucket.column));
    while (true) {
      CommentRule::Width& width = bucket.widths.emplace_back();
      CISTERN_RETURN_IF_ERROR(ParseWidth(&width));
      if (!token_.IsName("until")) break;
      if (bucket.widths.size() >= limits::kBucketRulesMax) {
        return Expected(Concat({"at most ", limits::kBucketRulesMax, " widths"}));
      }
      CISTERN_RETURN_IF_ERROR(Advance());
      CISTERN_RETURN_IF_ERROR(ParseDate(&width));
      if (!token_.IsSymbol(',')) return Expected("',' and the width that follows");
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    rule_.bucket = std::move(bucket);
    return Status::Ok();
  }

  // 15 minutes as text
  Status ParseWidth(CommentRule::Width* width) {
    width->offset = SourceOffset(token_.begin);
    if (token_.kind == TokenKind::kNumber) {
      const auto count = ParseCount(token_.text, UINT32_MAX);
      if (!count.has_value() || *count == 0) return Expected("a whole number above 0");
      width->count = *count;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    std::string_view word = token_.text;
    if (word.size() > 1 && word.back() == 's') word.remove_suffix(1);  // "minutes"
    if (token_.kind != TokenKind::kName || !Lookup(kUnits, word, &width->unit)) {
      return Expected("second, minute, hour, day, week, month or year");
    }
    CISTERN_RETURN_IF_ERROR(Advance());
    if (token_.IsName("as")) {
      CISTERN_RETURN_IF_ERROR(Advance());
      BucketEncoding form{};
      if (token_.kind != TokenKind::kName || !Lookup(kForms, token_.text, &form)) {
        return Expected("date, timestamp, text, calendar or epoch after 'as'");
      }
      width->form = form;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    return Status::Ok();
  }

  // 2027-02-01: to CQL three numbers side by side.
  Status ParseDate(CommentRule::Width* width) {
    constexpr std::string_view kExpected = "a date such as 2027-02-01";
    const size_t begin = token_.begin;
    width->until_offset = SourceOffset(begin);
    if (token_.kind != TokenKind::kNumber) return Expected(std::string(kExpected));
    size_t end = begin;
    while ((token_.kind == TokenKind::kNumber || token_.kind == TokenKind::kName) &&
           token_.begin == end) {
      end = token_.end;
      CISTERN_RETURN_IF_ERROR(Advance());
    }
    const std::string_view text =
        std::string_view(comment_.text).substr(begin_ + begin, end - begin);
    const auto wrong = [&](const std::string& what) {
      return ErrorAt(StatusCode::kInvalidArgument, source_, width->until_offset, what);
    };
    const bool shaped = text.size() == 10 && text[4] == '-' && text[7] == '-';
    const auto year = shaped ? ParseCount(text.substr(0, 4), 9999) : std::nullopt;
    const auto month = shaped ? ParseCount(text.substr(5, 2), 99) : std::nullopt;
    const auto day = shaped ? ParseCount(text.substr(8, 2), 99) : std::nullopt;
    if (!year || !month || !day) {
      return wrong(Concat({"expected ", kExpected, ", got ", ShowText(text)}));
    }
    if (*year == 0 || !IsValidDate(*year, *month, *day)) {
      return wrong(ShowText(text) + " is not a date of the calendar");
    }
    width->until_s = DaysFromCivil(*year, *month, *day) * kSecondsPerDay;
    return Status::Ok();
  }

  // split shard = hash 8
  Status ParseSplit() {
    CommentRule::Split split;
    CISTERN_RETURN_IF_ERROR(ColumnAndEquals(&split.column));
    if (token_.IsName("hash")) {
      split.rule.kind = SplitKind::kHash;
    } else if (token_.IsName("round_robin")) {
      split.rule.kind = SplitKind::kRoundRobin;
    } else {
      return Expected("hash or round_robin");
    }
    CISTERN_RETURN_IF_ERROR(Advance());
    const auto count = token_.kind == TokenKind::kNumber
                           ? ParseCount(token_.text, limits::kSplitCountMax)
                           : std::nullopt;
    if (!count.has_value() || *count < 2) {
      return Expected(Concat({"a number of splits from 2 to ", limits::kSplitCountMax}));
    }
    split.rule.count = *count;
    rule_.split = std::move(split);
    return Advance();
  }

  // time ts = us
  Status ParseTime() {
    CommentRule::Time time;
    CISTERN_RETURN_IF_ERROR(ColumnAndEquals(&time.column));
    time.unit_offset = SourceOffset(token_.begin);
    if (token_.kind != TokenKind::kName || !Lookup(kTimeUnits, token_.text, &time.unit)) {
      return Expected("s, ms, us or ns");
    }
    rule_.time = std::move(time);
    return Advance();
  }

  // timestamps = event
  Status ParseTimestamps() {
    CISTERN_RETURN_IF_ERROR(Equals());
    TimestampMode mode{};
    if (token_.kind != TokenKind::kName || !Lookup(kTimestampModes, token_.text, &mode)) {
      return Expected("write or event");
    }
    rule_.timestamps = mode;
    return Advance();
  }

  std::string_view source_;
  const Token& comment_;
  size_t begin_;  // of the rule in the comment's text
  DdlLexer lexer_;
  Token token_;
  CommentRule rule_;
};

}  // namespace

std::string_view BucketUnitWord(BucketUnit unit) {
  for (const auto& [name, value] : kUnits) {
    if (value == unit) return name;
  }
  return "";
}

std::optional<uint32_t> ParseCount(std::string_view digits, uint32_t max) {
  if (digits.empty()) return std::nullopt;
  uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
    if (value > max) return std::nullopt;
  }
  return static_cast<uint32_t>(value);
}

std::string_view WordsBeforeRule(std::string_view comment) {
  const std::optional<size_t> rule = FindRule(comment);
  return rule.has_value() ? comment.substr(0, *rule - kMarker.size()) : comment;
}

Result<CommentRule> ParseCommentRule(std::string_view source, const Token& comment) {
  const std::optional<size_t> begin = FindRule(comment.text);
  if (!begin.has_value()) return CommentRule{};
  return RuleParser(source, comment, *begin).Parse();
}

Result<CommentRule> ParseCommentRule(std::string_view comment) {
  const std::string source = QuoteString(comment);
  Token token;
  token.kind = TokenKind::kString;
  token.text = comment;
  token.end = source.size();
  return ParseCommentRule(source, token);
}

std::string RuleText(const TableSchema& schema) {
  std::string text = "bucket " + BucketRuleText(schema);
  if (schema.split.kind != SplitKind::kNone) {
    text += Concat({"; split ", QuoteName(schema.columns[*schema.split_column].name),
        (schema.split.kind == SplitKind::kHash ? " = hash " : " = round_robin "),
        schema.split.count});
  }
  const ColumnSpec& time = schema.columns[schema.time_column()];
  if (time.type.kind == CqlType::kBigint) {
    const auto unit = std::find_if(kTimeUnits.begin(), kTimeUnits.end(), [&](const auto& one) {
      return one.second == schema.time_unit;
    });
    text += Concat({"; time ", QuoteName(time.name), " = ", unit->first});
  }
  if (schema.timestamps == TimestampMode::kEventTime) text += "; timestamps = event";
  return text;
}

std::string CommentWithRule(const TableSchema& schema) {
  const Result<CommentRule> rule = ParseCommentRule(schema.comment);
  if (!rule.ok() || rule->bucket.has_value()) return schema.comment;
  const std::string_view words = WordsBeforeRule(schema.comment);
  const bool is_apart = words.empty() || words.ends_with(' ');
  return Concat({words, (is_apart ? "" : " "), kMarker, " ", RuleText(schema)});
}

}  // namespace cistern
