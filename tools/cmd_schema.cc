// cistern schema: the tables of a store beside those of a cluster.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "engine/replicate/accepted_drop.h"
#include "engine/replicate/schema_drift.h"
#include "engine/replicate/schema_plan.h"
#include "engine/replicate/schema_statements.h"
#include "engine/replication_plan.h"
#include "tools/command.h"
#include "tools/contact_options.h"
#include "tools/counted.h"
#include "tools/drift_text.h"
#include "tools/expect_options.h"
#include "tools/output.h"
#include "tools/schema_client.h"
#include "tools/sync_config.h"
#include "tools/sync_options.h"
#include "tools/sync_status.h"
#include "tools/table_advice.h"

namespace cistern::tool {
namespace {

using replicate::Applied;
using replicate::ClusterSchema;
using replicate::DriftKind;
using replicate::DriftWeight;
using replicate::SchemaDifference;
using replicate::SchemaDrift;
using replicate::SchemaPlan;
using TablePtr = std::shared_ptr<const TableSchema>;
using ReplicationMap = std::map<std::string, std::string>;

// Readings and tries of one table, where answers of its statements are lost.
constexpr int kRoundsMax = 4;

struct SchemaOptions {
  std::string config;
  std::string store;
  std::string table;
  std::string keyspace;
  bool is_keyspace_of_file = false;  // where sync may need it for tables that are not looked at
  std::vector<std::string> accept_hidden;  // of the file, where they were checked
  std::string keyspace_replication;
  bool json = false;
  bool dry_run = false;
  ExpectOptions expect;
  ContactOptions contact;
};

constexpr char kPrintFooter[] = R"(
The statements make the tables in a cluster that has their keyspace, or, with
--keyspace-replication, makes that first; nothing is asked of one. What `cistern create` takes is
printed by `cistern tables --cql`.

Examples:
  cistern schema print --store S | cqlsh db-1
  cistern schema print --store S --table air --keyspace plant \
    --keyspace-replication "{'class': 'NetworkTopologyStrategy', 'dc1': 3}")";

constexpr char kDiffFooter[] = R"(
Each difference blocks (rows would be refused, or be where no reader looks for them), warns, or is
harmless; with it comes what to do, and the statement to paste where one alone is right. Nothing is
changed.

Examples:
  cistern schema diff --store S --contact db-1 --contact db-2
  cistern schema diff --store S --contact '[fd00::1]:9042' --table air --json
  cistern schema diff --store S --contact db-1 --tls --ca ca.pem --user edge --password-file pw
  cistern schema diff --config /etc/cistern/sync.toml

Exit codes: 0 nothing blocks; 7 a table blocks; 8 the cluster is away, or lets nobody in; others:
see cistern --help)";

constexpr char kApplyFooter[] = R"(
Creates and adds what is missing and alters options, one statement after another, each printed
before it is run, and waits until all nodes agree. Nothing is dropped, and no key or type altered:
where that would be needed nothing at all is run, and the reason is told. Where compaction,
gc_grace_seconds or the width of the buckets will cost the cluster room or rows, that is told too,
with the clause to declare instead (`cistern alter`).

Examples:
  cistern schema apply --store S --contact db-1 --dry-run
  cistern schema apply --store S --contact db-1 \
    --keyspace-replication "{'class': 'NetworkTopologyStrategy', 'dc1': 3}"

Exit codes: 0 done; 7 a table needs a person; 8 the cluster is away, or lets nobody in; others: see
cistern --help)";

// The tables of the store; it is closed again, so that nobody waits for it.
Result<Tables> ReadTables(const SchemaOptions& options, int* code) {
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead);
  if (!engine.ok()) {
    *code = FailOpen(engine.status());
    return engine.status();
  }
  Result<Tables> tables = ChooseTables(**engine, options.table);
  if (!tables.ok()) *code = FailUsage(tables.status());
  return tables;
}

Result<ReplicationMap> ReplicationOf(const SchemaOptions& options) {
  if (options.keyspace_replication.empty()) return ReplicationMap();
  Result<ReplicationMap> map = replicate::ParseReplication(options.keyspace_replication);
  if (map.ok()) return map;
  return Status::InvalidArgument("--keyspace-replication: " + map.status().message());
}

std::string KeyspaceOf(const SchemaOptions& options, const TableSchema& table) {
  return table.keyspace.empty() ? options.keyspace : table.keyspace;
}

// A cluster has no table without a keyspace; and --keyspace says nothing where all have one.
Status CheckKeyspaces(const SchemaOptions& options, const Tables& tables, bool is_needed) {
  bool is_used = false;
  for (const TablePtr& table : tables) {
    if (!table->keyspace.empty()) continue;
    is_used = true;
    if (!is_needed || !options.keyspace.empty()) continue;
    return Status::InvalidArgument(fmt::format(
        "table {} was declared without a keyspace: say by --keyspace NAME in which it is",
        table->name));
  }
  if (is_used || options.keyspace.empty() || options.is_keyspace_of_file) return Status::Ok();
  return Status::InvalidArgument(kKeyspaceUnused);
}

// With what the file of sync says, where the command line says nothing. `check`: what must have
// been said in one of them.
Result<SchemaOptions> WithFile(SchemaOptions options, Status (*check)(const SyncOptions&)) {
  SyncOptions given;
  given.store = options.store;
  given.contact = options.contact;
  given.keyspace = options.keyspace;
  if (!options.config.empty()) {
    CISTERN_ASSIGN_OR_RETURN(SyncOptions file, ReadSyncConfig(options.config));
    given = Overlaid(std::move(given), std::move(file));
  }
  CISTERN_RETURN_IF_ERROR(check(given));
  CISTERN_RETURN_IF_ERROR(CheckKeyspaceName("--keyspace", given.keyspace));
  options.is_keyspace_of_file = options.keyspace.empty();
  options.store = std::move(given.store);
  options.contact = std::move(given.contact);
  options.keyspace = std::move(given.keyspace);
  options.accept_hidden = std::move(given.accept_hidden);
  return options;
}

// --- print

int RunPrint(const SchemaOptions& given) {
  const Result<ReplicationMap> replication = ReplicationOf(given);
  if (!replication.ok()) return FailUsage(replication.status());
  const Result<SchemaOptions> options = WithFile(given, CheckStore);
  if (!options.ok()) return FailUsage(options.status());
  int code = kExitOk;
  const Result<Tables> tables = ReadTables(*options, &code);
  if (!tables.ok()) return code;
  const Status checked = CheckKeyspaces(*options, *tables, !replication->empty());
  if (!checked.ok()) return FailUsage(checked);
  Output output(STDOUT_FILENO);
  std::set<std::string> made;
  for (const TablePtr& table : *tables) {
    const std::string keyspace = KeyspaceOf(*options, *table);
    const bool is_new = made.insert(keyspace).second;
    const std::string cql = replicate::PrintSchema(*table, keyspace,
                                                   is_new ? *replication : ReplicationMap());
    output.Write(given.json ? JsonLine().Text("table", table->QualifiedName()).Text("cql", cql)
                                      .object() + "\n"
                            : cql);
  }
  output.Flush();
  return output.status().ok() ? kExitOk : Fail(output.status());
}

// --- what diff and apply share

// A table of the store, and what the cluster has under its name.
struct Compared {
  TablePtr declared;
  std::string keyspace;
  ClusterSchema cluster;
  std::vector<AcceptedDrop> accepted;

  [[nodiscard]] SchemaDrift Drift() const {
    SchemaDrift drift = replicate::CompareSchema(std::span(&declared, 1), cluster);
    drift.Accept(accepted);
    return drift;
  }
  [[nodiscard]] SchemaPlan Plan(const ReplicationMap& replication) const {
    return replicate::PlanSchema(std::span(&declared, 1), cluster, replication, accepted);
  }
};

struct Opened {
  std::unique_ptr<SchemaClient> client;
  std::vector<Compared> tables;
};

// Everything before the first statement; nothing, with the exit code, where it cannot be.
std::optional<Opened> Open(const SchemaOptions& options, int* code) {
  const Result<ContactPlan> plan = PlanContact(options.contact);
  if (!plan.ok()) {
    *code = FailUsage(plan.status());
    return std::nullopt;
  }
  const Result<Tables> tables = ReadTables(options, code);
  if (!tables.ok()) return std::nullopt;
  if (const Status checked = CheckKeyspaces(options, *tables, true); !checked.ok()) {
    *code = FailUsage(checked);
    return std::nullopt;
  }
  std::vector<AcceptedDrop> accepted;
  for (const std::string& text : options.accept_hidden) {
    Result<AcceptedDrop> drop = replicate::ParseAcceptedDrop(text);
    if (drop.ok()) accepted.push_back(*std::move(drop));
  }
  for (const std::string& warning : plan->warnings) Complain(warning);
  Result<std::unique_ptr<SchemaClient>> client = SchemaClient::Connect(*plan);
  if (!client.ok()) {
    *code = FailAway(client.status());
    return std::nullopt;
  }
  Opened opened{*std::move(client), {}};
  for (const TablePtr& table : *tables) {
    const std::string keyspace = KeyspaceOf(options, *table);
    Result<ClusterSchema> cluster = opened.client->Read(keyspace, table->name);
    if (!cluster.ok()) {
      *code = FailAway(cluster.status());
      return std::nullopt;
    }
    opened.tables.push_back({table, keyspace, *std::move(cluster), accepted});
  }
  return opened;
}

// --- diff

int RunDiff(const SchemaOptions& given) {
  const Result<SchemaOptions> options = WithFile(given, CheckPlaces);
  if (!options.ok()) return FailUsage(options.status());
  int code = kExitOk;
  const std::optional<Opened> opened = Open(*options, &code);
  if (!opened.has_value()) return code;
  Output output(STDOUT_FILENO);
  for (const Compared& table : opened->tables) {
    const SchemaDrift drift = table.Drift();
    if (drift.Has(DriftWeight::kBlocks)) code = kExitBlocked;
    output.Write(given.json ? DriftJson(drift) : DriftText(drift));
  }
  output.Flush();
  return output.status().ok() ? code : Fail(output.status());
}

// --- apply

void ComplainOf(const std::string& table, const std::string& what, const SchemaDifference& one) {
  Complain(fmt::format("{}: {}: {}{}{}{}{}", table, what, one.what,
                       one.advice.empty() ? "" : ". ", one.advice, one.cql.empty() ? "" : ": ",
                       OneLine(one.cql)));
}

// Whether all tables can be brought to what is declared; says what needs a person. A keyspace is
// made once for all its tables, so that it lacks is said once.
bool CheckPlans(const std::vector<Compared>& tables, const ReplicationMap& replication) {
  size_t ready_count = 0;
  std::set<std::string> missing;  // keyspaces that were told
  for (const Compared& table : tables) {
    const SchemaPlan plan = table.Plan(replication);
    ready_count += plan.refusals.empty() ? 1 : 0;
    for (const SchemaDifference& one : plan.refusals) {
      const bool is_told = one.kind == DriftKind::kKeyspaceMissing &&
                           !missing.insert(table.keyspace).second;
      if (!is_told) ComplainOf(table.cluster.CqlName(), "needs a person", one);
    }
  }
  if (ready_count == tables.size()) return true;
  Complain(ready_count == 0 ? "nothing was altered"
                            : "nothing was altered; --table T applies one table alone");
  return false;
}

// Whether a keyspace that is to be made would be in data centers that there are.
Status CheckKeyspacesMade(const Opened& opened, const ReplicationMap& replication) {
  const auto is_missing = [](const Compared& table) { return !table.cluster.has_keyspace; };
  if (std::ranges::none_of(opened.tables, is_missing)) return Status::Ok();
  const std::map<std::string, size_t> data_centers = opened.client->DataCenters();
  const Status checked = replicate::CheckDataCenters(replication, data_centers);
  for (const std::string& warning : replicate::FactorWarnings(replication, data_centers)) {
    Complain("--keyspace-replication: " + warning);
  }
  if (checked.ok()) return checked;
  return Status::InvalidArgument("--keyspace-replication: " + checked.message());
}

// A line of CQL that does nothing: standard output can be run as a script, unless it is JSON.
int SayComment(bool json, const std::string& text) {
  return SayResult(json, "-- " + text, JsonLine().Text("done", text));
}

int SayStatement(bool json, const std::string& cql) {
  return SayResult(json, cql, JsonLine().Text("cql", cql));
}

// Brings tables of a cluster to what is declared, one after another.
class Applier {
 public:
  Applier(SchemaClient* client, const ReplicationMap& replication, bool json)
      : client_(client), replication_(replication), json_(json) {}

  // `table` as it was read; gives the exit code.
  int Apply(Compared table) {
    const std::string name = table.cluster.CqlName();
    size_t run_count = 0;
    Applied done;
    std::vector<std::string> last;
    for (int round = 0; round < kRoundsMax; ++round) {
      // Before every plan, as one of another table may have made the keyspace.
      Result<ClusterSchema> now = client_->Read(table.keyspace, table.declared->name);
      if (!now.ok()) return FailAway(now.status());
      table.cluster = *std::move(now);
      const SchemaPlan plan = table.Plan(replication_);
      for (const SchemaDifference& one : plan.refusals) ComplainOf(name, "needs a person", one);
      if (!plan.refusals.empty()) return kExitBlocked;
      if (plan.statements.empty()) return Finish(name, run_count, plan, done.status);
      const bool is_stuck = plan.statements == last && done.status.code() != StatusCode::kIoError;
      if (is_stuck) break;
      for (const std::string& statement : plan.statements) {
        if (const int said = SayStatement(json_, statement); said != kExitOk) return said;
      }
      done = client_->Apply(plan.statements);
      if (done.status.code() == StatusCode::kNotFound) return FailAway(done.status);
      run_count += plan.statements.size();
      last = plan.statements;
    }
    return GiveUp(table, done);
  }

 private:
  // The cluster has what is declared; `failure`: what was said of the last statements.
  [[nodiscard]] int Finish(const std::string& name, size_t run_count, const SchemaPlan& plan,
                           const Status& failure) const {
    for (const SchemaDifference& one : plan.remains) ComplainOf(name, "stays different", one);
    if (failure.code() == StatusCode::kBusy) return FailAway(failure);
    if (run_count == 0) return SayComment(json_, name + ": nothing to do");
    if (!failure.ok()) {
      Complain(fmt::format("{}; the table is as declared all the same, so it had been run",
                           failure.message()));
    }
    return SayComment(json_, fmt::format("{}: as declared{}, {} run", name,
                                         plan.remains.empty() ? ""
                                                              : " but for what is told above",
                                         Counted(run_count, "statement")));
  }

  // Statements were refused, or left differences behind.
  static int GiveUp(const Compared& table, const Applied& done) {
    if (const Status& failure = done.status; !failure.ok()) {
      const bool is_denied = done.error_code == cql::ErrorCode::kUnauthorized;
      Complain(failure.message() +
               (is_denied ? "; grant this user CREATE on the keyspace, and ALTER for columns that "
                            "are added"
                          : ""));
      return failure.code() == StatusCode::kInvalidArgument ? kExitBlocked : kExitAway;
    }
    const SchemaDrift drift = table.Drift();
    for (const SchemaDifference& one : drift.differences) {
      ComplainOf(drift.table, "is different still", one);
    }
    return drift.Has(DriftWeight::kBlocks) ? kExitBlocked : kExitOk;
  }

  SchemaClient* client_;
  const ReplicationMap& replication_;
  const bool json_;
};

int SayPlans(const std::vector<Compared>& tables, const ReplicationMap& replication, bool json) {
  std::set<std::string> said;  // a keyspace is made once for all its tables
  for (const Compared& table : tables) {
    const SchemaPlan plan = table.Plan(replication);
    const std::string name = table.cluster.CqlName();
    int code = kExitOk;
    if (plan.statements.empty()) code = SayComment(json, name + ": nothing to do");
    for (const std::string& statement : plan.statements) {
      if (code == kExitOk && said.insert(statement).second) {
        code = SayStatement(json, statement);
      }
    }
    if (code != kExitOk) return code;
  }
  return kExitOk;
}

// An option that is not declared stays as the cluster has it.
void TellAdvice(const Compared& table, const TableExpectation& expected) {
  const bool is_theirs = table.declared->compaction.empty() && table.cluster.table.has_value();
  const CompactionMap& compaction =
      is_theirs ? table.cluster.table->compaction : table.declared->compaction;
  for (const TableAdvice& advice : AdviseTable(*table.declared, compaction, expected)) {
    Complain(AdviceText(table.cluster.CqlName(), advice));
  }
}

int RunApply(const SchemaOptions& given) {
  const Result<ReplicationMap> replication = ReplicationOf(given);
  if (!replication.ok()) return FailUsage(replication.status());
  const Result<TableExpectation> expected = PlanExpectation(given.expect);
  if (!expected.ok()) return FailUsage(expected.status());
  const Result<SchemaOptions> options = WithFile(given, CheckPlaces);
  if (!options.ok()) return FailUsage(options.status());
  int code = kExitOk;
  const std::optional<Opened> opened = Open(*options, &code);
  if (!opened.has_value()) return code;
  if (!CheckPlans(opened->tables, *replication)) return kExitBlocked;
  for (const Compared& table : opened->tables) TellAdvice(table, *expected);
  if (const Status s = CheckKeyspacesMade(*opened, *replication); !s.ok()) return FailUsage(s);
  if (given.dry_run) return SayPlans(opened->tables, *replication, given.json);
  Applier applier(opened->client.get(), *replication, given.json);
  for (const Compared& table : opened->tables) {
    const int applied = applier.Apply(table);
    if (applied != kExitOk) return applied;
  }
  return kExitOk;
}

// --- the command line

CLI::App* AddSubcommand(CLI::App* schema, const char* name, const char* what,
                        const std::shared_ptr<SchemaOptions>& options) {
  CLI::App* command = schema->add_subcommand(name, what);
  command->add_option("--config", options->config,
                      "TOML file of `cistern sync`: where the store and the cluster are; what the "
                      "command line says goes before it");
  AddStoreOption(command, &options->store);
  command->get_option("--store")->required(false);  // the file may have it
  command->add_option("--table", options->table, "This table alone");
  command->add_option("--keyspace", options->keyspace,
                      "Keyspace of tables that were declared without one");
  AddJsonOption(command, &options->json);
  return command;
}

void AddClusterOptions(CLI::App* command, SchemaOptions* options) {
  AddContactOptions(command, &options->contact);
  command->get_option("--contact")->required(false);  // as that
}

void AddReplicationOption(CLI::App* command, SchemaOptions* options) {
  command->add_option("--keyspace-replication", options->keyspace_replication,
                      "How a keyspace that is to be made is replicated: {'class': ...}");
}

}  // namespace

void AddSchema(CLI::App* app, Action* action) {
  auto options = std::make_shared<SchemaOptions>();
  CLI::App* schema = app->add_subcommand(
      "schema", "Print the tables for a cluster, compare them with its own, make them there, or "
                "take them from there");
  schema->require_subcommand(1);
  schema->footer("\ncistern help schema diff has the options of diff.");

  CLI::App* print = AddSubcommand(schema, "print", "Print CREATE TABLE statements for a cluster",
                                  options);
  AddReplicationOption(print, options.get());
  print->footer(kPrintFooter);
  print->callback([options, action] { *action = [options] { return RunPrint(*options); }; });

  CLI::App* diff = AddSubcommand(schema, "diff", "Compare with the tables of a cluster", options);
  AddClusterOptions(diff, options.get());
  diff->footer(kDiffFooter);
  diff->callback([options, action] { *action = [options] { return RunDiff(*options); }; });

  CLI::App* apply = AddSubcommand(schema, "apply", "Make and alter the tables of a cluster",
                                  options);
  AddClusterOptions(apply, options.get());
  AddReplicationOption(apply, options.get());
  AddExpectOptions(apply, &options->expect);
  apply->add_flag("--dry-run", options->dry_run, "Print the statements and run none");
  apply->footer(kApplyFooter);
  apply->callback([options, action] { *action = [options] { return RunApply(*options); }; });

  AddSchemaImport(schema, action);
}

}  // namespace cistern::tool
