#include "engine/replicate/rule_drift.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "engine/replicate/schema_statements.h"
#include "lib/base/civil_time.h"
#include "lib/base/concat.h"
#include "lib/cql/alteration.h"
#include "lib/cql/bucket_rule.h"
#include "lib/cql/comment_rule.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/schema_check.h"
#include "lib/cql/time_text.h"

namespace cistern::replicate {
namespace {

// A comment as the parts of lib/cql take it: a literal, which is a source of its own.
struct CommentSource {
  explicit CommentSource(const std::string& comment) : text(QuoteString(comment)) {
    token.kind = TokenKind::kString;
    token.text = comment;
    token.end = text.size();
  }
  std::string text;
  Token token;
};

bool HasOtherClauses(const CommentRule& rule) {
  return rule.split.has_value() || rule.time.has_value() || rule.timestamps.has_value();
}

// The keys of `declared` under another comment: what a gateway would make of it.
Result<std::shared_ptr<const TableSchema>> ReadRule(const TableSchema& declared,
                                                    const CommentSource& comment) {
  DdlTable ddl;
  ddl.name.text = declared.name;
  const auto add = [&](size_t column, std::vector<DdlName>* key) {
    const ColumnSpec& spec = declared.columns[column];
    DdlColumn& added = ddl.columns.emplace_back();
    added.name.text = spec.name;
    added.type = spec.type;
    key->push_back(added.name);
  };
  for (const size_t column : declared.partition_key) add(column, &ddl.partition_key);
  for (const size_t column : declared.clustering_columns) add(column, &ddl.clustering_key);
  DdlOption option;
  option.name.text = "comment";
  option.value = comment.token;
  option.raw = comment.text;
  ddl.options.push_back(std::move(option));
  return CheckSchema(comment.text, ddl);
}

std::string SplitText(const TableSchema& schema) {
  if (schema.split.kind == SplitKind::kNone) return "none";
  return Concat({QuoteName(schema.columns[*schema.split_column].name), " = ",
      (schema.split.kind == SplitKind::kHash ? "hash " : "round_robin "), schema.split.count});
}

std::string_view TimeUnitWord(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return "s";
    case TimeUnit::kMillis: return "ms";
    case TimeUnit::kMicros: return "us";
    case TimeUnit::kTicks100ns: return "100 ns";
    case TimeUnit::kNanos: return "ns";
  }
  return "";
}

std::string NameOf(const TableSchema& schema, size_t column) {
  return schema.columns[column].name;
}

// Whether the other rule, which differs from second `from_s` on, is this one and then more.
bool IsFollowed(const TableSchema& rule, int64_t from_s) {
  return from_s != INT64_MIN &&
         std::all_of(rule.former_buckets.begin(), rule.former_buckets.end(),
                     [from_s](const FormerBucketRule& f) { return f.until_s < from_s; });
}

class RuleDriftFinder {
 public:
  RuleDriftFinder(const TableSchema& declared, const ClusterSchema& cluster,
                  std::vector<SchemaDifference>* found)
      : declared_(declared), cluster_(cluster), found_(found) {}

  void Find() {
    const std::string& comment = cluster_.table->comment;
    const Result<CommentRule> clauses = ParseCommentRule(comment);
    const bool says_bucket = !clauses.ok() || clauses->bucket.has_value();
    if (!says_bucket) AddMissing();
    if (!says_bucket && !HasOtherClauses(*clauses)) return;
    const auto rule = ReadRule(declared_, CommentSource(comment));
    if (!rule.ok()) return AddUnreadable(rule.status());
    const size_t before = found_->size();
    CompareBuckets(**rule);
    CompareSplit(**rule);
    CompareTime(**rule);
    CompareTimestamps(**rule);
    const bool same_words = declared_.comment.empty() || declared_.comment == comment ||
                            CommentWithRule(declared_) == comment;
    if (found_->size() == before && says_bucket && !same_words) {
      Add(DriftKind::kComment, DriftWeight::kHarmless,
          "the comment has other words in the cluster, and the same rule", "");
    }
  }

 private:
  SchemaDifference& Add(DriftKind kind, DriftWeight weight, std::string what, std::string advice) {
    return found_->emplace_back(SchemaDifference{kind, weight, "comment", std::move(what),
                                                 std::move(advice), "", INT64_MIN});
  }
  [[nodiscard]] std::string OurComment() const {
    return AlterOptionsStatement(cluster_, declared_, {"comment"});
  }

  void AddMissing() {
    Add(DriftKind::kRuleMissing, DriftWeight::kWarns,
        "the comment of the cluster's table does not say how buckets derive from the event time",
        "Readers of the cluster cannot know; `cistern schema apply` writes it, or this statement")
        .cql = OurComment();
  }

  void AddUnreadable(const Status& why) {
    Add(DriftKind::kRuleUnreadable, DriftWeight::kBlocks, Concat({"the rule in the comment of the "
        "cluster's table cannot be read: ", Printable(why.message()), ". Here it is: bucket ",
        BucketRuleText(declared_)}),
        "A newer Cistern may have written it: update this one; or correct the comment");
  }

  void CompareBuckets(const TableSchema& theirs) {
    const std::string our_text = BucketRuleText(declared_);
    const std::string their_text = BucketRuleText(theirs);
    const std::string both = Concat({"its buckets are '", our_text, "' here and '",
        Printable(their_text), "' in the cluster's comment"});
    const std::string stray = "Rows would go where no reader looks for them. ";
    if (NameOf(theirs, theirs.bucket_column) != NameOf(declared_, declared_.bucket_column)) {
      Add(DriftKind::kBucketRule, DriftWeight::kBlocks, both,
          stray + "Correct the comment, or create another table");
      return;
    }
    const std::optional<int64_t> from_s = BucketsChangeFrom(theirs, declared_);
    if (!from_s.has_value()) return;
    SchemaDifference& differs = Add(DriftKind::kBucketRule, DriftWeight::kBlocks, both, stray);
    differs.from_s = *from_s;
    if (*from_s != INT64_MIN) {
      std::string date;
      FormatDateText(FloorDiv(*from_s, kSecondsPerDay), &date);
      differs.what += Concat({", which differ from ", date, " on"});
      differs.advice += "Buckets before that date are sent. ";
    }
    if (IsFollowed(theirs, *from_s)) {
      differs.advice += "`cistern schema apply` tells the cluster, or this statement";
      differs.cql = OurComment();
    } else if (IsFollowed(declared_, *from_s)) {
      differs.advice += "The cluster has been altered: alter the table here too (`cistern alter`), "
                        "with the cluster's rule in the comment";
    } else {
      differs.advice += "Correct the comment that is wrong; buckets that are there already stay "
                        "where they are";
    }
  }

  void CompareSplit(const TableSchema& theirs) {
    const std::string our_text = SplitText(declared_);
    const std::string their_text = SplitText(theirs);
    if (our_text == their_text) return;
    Add(DriftKind::kSplitRule, DriftWeight::kBlocks, Concat({"its split is '", our_text,
        "' here and '", Printable(their_text), "' in the cluster's comment"}),
        "Rows would go where no reader looks for them. Correct the comment, or create another "
        "table");
  }

  void CompareTime(const TableSchema& theirs) {
    if (theirs.time_unit == declared_.time_unit) return;
    Add(DriftKind::kTimeUnit, DriftWeight::kBlocks, Concat({"its event time counts ",
        TimeUnitWord(declared_.time_unit), " here and ", TimeUnitWord(theirs.time_unit),
        " in the cluster's comment"}),
        "Readers would take its rows for those of another time. Correct the comment, or create "
        "another table");
  }

  void CompareTimestamps(const TableSchema& theirs) {
    if (theirs.timestamps == declared_.timestamps) return;
    const auto words = [](TimestampMode mode) {
      return mode == TimestampMode::kEventTime ? "event" : "write";
    };
    Add(DriftKind::kTimestamps, DriftWeight::kBlocks, Concat({"its timestamps are those of the ",
        words(declared_.timestamps), " here and of the ", words(theirs.timestamps),
        " in the cluster's comment"}),
        "Another gateway's rows would win or lose against ours whatever came later. Correct the "
        "comment, or create another table");
  }

  const TableSchema& declared_;
  const ClusterSchema& cluster_;
  std::vector<SchemaDifference>* found_;
};

}  // namespace

void FindRuleDrift(const TableSchema& declared, const ClusterSchema& cluster,
                   std::vector<SchemaDifference>* found) {
  RuleDriftFinder(declared, cluster, found).Find();
}

}  // namespace cistern::replicate
