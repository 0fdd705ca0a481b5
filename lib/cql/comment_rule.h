// The rule in a table's comment: how its bucket column derives from the event time.
//
//   comment = 'Pump readings. cistern: bucket day = 1 day; split shard = hash 8'
//
// docs/schema.md has the grammar.
#ifndef CISTERN_CQL_COMMENT_RULE_H_
#define CISTERN_CQL_COMMENT_RULE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/cql/ddl_lexer.h"
#include "lib/cql/ddl_parser.h"

namespace cistern {

// What the clauses say, unjudged. Offsets are those of the CREATE TABLE source.
struct CommentRule {
  struct Width {
    BucketUnit unit = BucketUnit::kDay;
    uint32_t count = 1;
    std::optional<BucketEncoding> form;  // after `as`
    size_t offset = 0;
    int64_t until_s = 0;  // of all but the last
    size_t until_offset = 0;
  };
  struct Bucket {
    DdlName column;
    std::vector<Width> widths;  // at least one
  };
  struct Split {
    DdlName column;
    SplitRule rule;
  };
  struct Time {
    DdlName column;
    TimeUnit unit = TimeUnit::kMillis;
    size_t unit_offset = 0;
  };
  std::optional<Bucket> bucket;
  std::optional<Split> split;
  std::optional<Time> time;
  std::optional<TimestampMode> timestamps;
};

// Reads the rule after the word `cistern:` of a comment; an empty rule if the comment
// has no such word. `comment` is the option's string token in `source`. Errors carry
// the line and column of `source`.
[[nodiscard]] Result<CommentRule> ParseCommentRule(std::string_view source, const Token& comment);

// The same of a comment that stands alone. Errors carry line and column of it as a literal.
[[nodiscard]] Result<CommentRule> ParseCommentRule(std::string_view comment);

// The whole rule of a table, whether or not its comment has it:
// "bucket hour = 1 hour; split shard = hash 8; time ts = us; timestamps = event".
[[nodiscard]] std::string RuleText(const TableSchema& schema);

// The table's comment, and where its bucket is inferred from the key the whole rule behind the
// words. So it is kept in a cluster, whose readers cannot infer it.
[[nodiscard]] std::string CommentWithRule(const TableSchema& schema);

// What stands before that word; all of a comment that has none.
[[nodiscard]] std::string_view WordsBeforeRule(std::string_view comment);

// "day", "week"; of the words that the grammar has.
[[nodiscard]] std::string_view BucketUnitWord(BucketUnit unit);
// A number of decimal digits only, at most `max`.
[[nodiscard]] std::optional<uint32_t> ParseCount(std::string_view digits, uint32_t max);

}  // namespace cistern

#endif  // CISTERN_CQL_COMMENT_RULE_H_
