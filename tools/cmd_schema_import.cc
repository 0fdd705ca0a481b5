// cistern schema import: a declaration from the table that a cluster has.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/cql/comment_rule.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_print.h"
#include "tools/command.h"
#include "tools/contact_options.h"
#include "tools/counted.h"
#include "tools/output.h"
#include "tools/rule_guess.h"
#include "tools/schema_client.h"
#include "tools/table_import.h"

namespace cistern::tool {
namespace {

using replicate::ClusterSchema;
using Samples = std::vector<PartitionSample>;

struct ImportOptions {
  std::string keyspace;
  std::string table;
  uint32_t partitions = 32;
  bool json = false;
  ContactOptions contact;
};

constexpr uint32_t kPartitionsMax = 1000;
constexpr uint32_t kMorePartitions = 8;  // times as many, where those that were looked at are few
constexpr size_t kOthersShownMax = 4;

constexpr char kFooter[] = R"(
Prints the CREATE TABLE text, and the CREATE TYPE texts before it, for `cistern create`. Where the
comment of the table has no rule, two rows of some partitions are looked at, and what they lie by
is printed as a guess: in a comment of the text and on standard error. Nothing is written.

Examples:
  cistern schema import --contact db-1 --keyspace plant --table air >air.cql
  cistern create --store S --schema air.cql
  cistern schema apply --store S --contact db-1   # writes the rule into the cluster's comment

Exit codes: 0 done; 7 no declaration can have it, or no rule fits; 8 the cluster is away, or lets
nobody in; others: see cistern --help)";

// A declaration with what has to be said of it.
struct Imported {
  std::shared_ptr<const TableSchema> schema;
  std::vector<std::string> notes;
};

std::string LookedAt(const Samples& samples) {
  size_t rows = 0;
  for (const PartitionSample& sample : samples) rows += sample.times.size();
  return fmt::format("{} of {}", Counted(rows, "row"), Counted(samples.size(), "partition"));
}

// The rule stands in the comment: it is taken as it is.
Result<Imported> TakeRule(const ClusterSchema& cluster, const Samples& samples) {
  auto schema = DeclareWith(cluster, cluster.table->comment);
  if (!schema.ok()) {
    return Status(schema.status().code(),
                  fmt::format("{} cannot be declared with the rule in its comment: {}",
                              cluster.CqlName(), schema.status().message()));
  }
  Imported imported{*std::move(schema), {}};
  const Result<CommentRule> rule = ParseCommentRule(cluster.table->comment);
  if (rule.ok() && !rule->bucket.has_value()) {
    imported.notes.emplace_back(
        "a guess: the rule in the comment says nothing of the bucket, which follows from the name "
        "and the type of its column alone");
  }
  if (!samples.empty() && !Fits(*imported.schema, samples)) {
    imported.notes.push_back(fmt::format(
        "the rule of the comment does not hold for all rows that were looked at ({}): some lie in "
        "other buckets",
        LookedAt(samples)));
  }
  return imported;
}

std::string OthersText(const std::vector<std::string>& rules) {
  std::string text;
  for (size_t i = 1; i < rules.size() && i <= kOthersShownMax; ++i) {
    text += fmt::format("{}\"{}\"", i > 1 ? ", " : "", rules[i]);
  }
  if (rules.size() > kOthersShownMax + 1) text += " and others";
  return text;
}

// What tells which of several rules is meant: more partitions, as long as the table may have them.
std::string WhoKnows(const Samples& samples, uint32_t partitions) {
  const bool may_have_more = samples.size() >= partitions && partitions < kPartitionsMax;
  if (!may_have_more) return "ask who writes them";
  return fmt::format("look at more by --partitions {}, or ask who writes them",
                     std::min(partitions * kMorePartitions, kPartitionsMax));
}

// The comment has none: by the rows, or where there are no rows by the column's name alone.
Result<Imported> GuessRule(const ClusterSchema& cluster, const Samples& samples,
                           uint32_t partitions) {
  const std::string& words = cluster.table->comment;
  if (samples.empty()) {
    auto schema = DeclareWith(cluster, words);
    if (!schema.ok()) {
      return Status::InvalidArgument(fmt::format("{} has no rows to tell its rule by, and: {}",
                                                 cluster.CqlName(), schema.status().message()));
    }
    return Imported{*std::move(schema),
                    {"a guess: the bucket follows from the name and the type of its column alone, "
                     "as the table has no rows"}};
  }
  const std::vector<std::string> rules = FittingRules(cluster, samples);
  if (rules.empty()) {
    return Status::InvalidArgument(fmt::format(
        "no rule that Cistern has fits the rows of {} (looked at: {}), such as {}. "
        "docs/schema.md has the widths and forms that a bucket can have",
        cluster.CqlName(), LookedAt(samples), Shown(*cluster.table, samples.front())));
  }
  const std::string comment =
      fmt::format("{}{}cistern: {}", words, words.empty() ? "" : " ", rules.front());
  CISTERN_ASSIGN_OR_RETURN(auto schema, DeclareWith(cluster, comment));
  std::string note = fmt::format("a guess: \"{}\" fits {}", rules.front(), LookedAt(samples));
  note += rules.size() == 1 ? ", and no other rule does"
                            : fmt::format("; so do {}: {}", OthersText(rules),
                                          WhoKnows(samples, partitions));
  return Imported{std::move(schema), {std::move(note)}};
}

// A column of the entity that may be a split: nothing but its rule tells.
void NoteSplits(const TableSchema& schema, std::vector<std::string>* notes) {
  if (schema.split_column.has_value() || schema.entity_columns.size() < 2) return;
  for (const size_t column : schema.entity_columns) {
    if (!IsInteger(schema.columns[column].type.kind)) continue;
    notes->push_back(fmt::format(
        "the column '{0}' is taken for a part of the entity. If it spreads the rows of an entity "
        "over partitions, the comment has to say so: split {1} = hash 8",
        schema.columns[column].name, QuoteName(schema.columns[column].name)));
  }
}

Result<Imported> Import(SchemaClient* client, const ClusterSchema& cluster,
                        const ImportOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const Samples samples, client->Sample(cluster, options.partitions));
  const std::string& comment = cluster.table->comment;
  const bool has_rule = WordsBeforeRule(comment).size() < comment.size();
  CISTERN_ASSIGN_OR_RETURN(Imported imported,
                           has_rule ? TakeRule(cluster, samples)
                                    : GuessRule(cluster, samples, options.partitions));
  for (std::string& left_out : LeftOut(*cluster.table, *imported.schema)) {
    imported.notes.push_back(std::move(left_out));
  }
  if (!has_rule) NoteSplits(*imported.schema, &imported.notes);
  return imported;
}

// Notes are on standard error as well, and in the text are comments of CQL.
int Print(const Imported& imported, bool json) {
  const std::string cql = imported.schema->ToCql();
  std::string comments;
  for (std::string note : imported.notes) {
    Complain(note);
    std::replace(note.begin(), note.end(), '\n', ' ');
    comments += fmt::format("-- {}\n", note);
  }
  Output output(STDOUT_FILENO);
  output.Write(json ? JsonLine().Text("table", imported.schema->QualifiedName()).Text("cql", cql)
                              .Texts("notes", imported.notes).object() + "\n"
                    : comments + cql);
  output.Flush();
  return output.status().ok() ? kExitOk : Fail(output.status());
}

// The table needs a person.
int FailTable(const Status& status) {
  Complain(status.message());
  return kExitBlocked;
}

int RunImport(const ImportOptions& options) {
  const Result<ContactPlan> plan = PlanContact(options.contact);
  if (!plan.ok()) return FailUsage(plan.status());
  for (const std::string& warning : plan->warnings) Complain(warning);
  const auto client = SchemaClient::Connect(*plan);
  if (!client.ok()) return FailAway(client.status());
  const auto cluster = (*client)->Read(options.keyspace, options.table);
  if (!cluster.ok()) return FailAway(cluster.status());
  const Status checked = CheckImport(*cluster);
  if (!checked.ok()) return FailTable(checked);
  const Result<Imported> imported = Import(client->get(), *cluster, options);
  if (!imported.ok()) {
    const bool is_table = imported.status().code() == StatusCode::kInvalidArgument ||
                          imported.status().code() == StatusCode::kNotSupported ||
                          imported.status().code() == StatusCode::kTooLarge;
    return is_table ? FailTable(imported.status()) : FailAway(imported.status());
  }
  return Print(*imported, options.json);
}

}  // namespace

void AddSchemaImport(CLI::App* schema, Action* action) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = schema->add_subcommand(
      "import", "Print a declaration of a table that a cluster has");
  command->add_option("--keyspace", options->keyspace, "Keyspace of the table")->required();
  command->add_option("--table", options->table, "The table")->required();
  command->add_option("--partitions", options->partitions,
                      "How many partitions are looked at (default 32)")
      ->check(WholeNumber(1, kPartitionsMax));
  AddJsonOption(command, &options->json);
  AddContactOptions(command, &options->contact);
  command->footer(kFooter);
  command->callback([options, action] { *action = [options] { return RunImport(*options); }; });
}

}  // namespace cistern::tool
