#include "tools/sync_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "tools/sync_config.h"

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What is told of a file with this text.
std::string ErrorOf(std::string_view text) {
  const Result<SyncOptions> options = ParseSyncConfig(text, "sync.toml");
  EXPECT_EQ(options.status().code(), StatusCode::kInvalidArgument) << text;
  return options.status().message();
}

SyncOptions OptionsOf(std::string_view text) {
  const Result<SyncOptions> options = ParseSyncConfig(text, "sync.toml");
  EXPECT_TRUE(options.ok()) << options.status().ToString();
  return options.ok() ? *options : SyncOptions{};
}

std::unique_ptr<SyncPlan> PlanOf(const SyncOptions& options) {
  Result<SyncPlan> made = PlanSync(options);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  auto plan = std::make_unique<SyncPlan>();
  if (made.ok()) *plan = *std::move(made);
  return plan;
}

std::string ExampleText() {
  const char* source = std::getenv("CISTERN_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/examples/sync.toml");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SyncOptions, DefaultsAreThoseOfTheLibrary) {
  const auto plan = PlanOf(OptionsOf("store = 'S'\ncontact = 'db'"));
  const ReplicationOptions library;
  EXPECT_EQ(plan->store, "S");
  EXPECT_EQ(plan->replication.hold_us, library.hold_us);
  EXPECT_EQ(plan->replication.proof, ProofLevel::kAck);
  EXPECT_EQ(plan->replication.consistency, library.consistency);
  EXPECT_EQ(plan->replication.drain, library.drain);
  EXPECT_EQ(plan->replication.bytes_per_s_max, 0u);
  EXPECT_EQ(plan->away_after_us, 30'000'000);
  EXPECT_EQ(plan->contact.connect_timeout_us, 10'000'000);
  EXPECT_TRUE(plan->seal);
  EXPECT_TRUE(plan->engine.seal_when_due);
  EXPECT_EQ(plan->engine.keep_confirmed_s, EngineOptions{}.keep_confirmed_s);
  EXPECT_EQ(plan->engine.disk_budget_bytes, 0u);
  EXPECT_EQ(plan->engine.seal_grace_s, EngineOptions{}.seal_grace_s);
}

TEST(SyncOptions, EverySettingArrives) {
  const auto plan = PlanOf(OptionsOf(R"(
store = "/var/lib/cistern"
contact = ["db-1", "db-2:19042,db-3"]
local_dc = "north"
keyspace = "plant"
consistency = "each_quorum"
connect_timeout = "7s"
protocol = "v4"
compression = "none"
drain = "live-first"
live_span = "2d"
live_percent = 90
bandwidth = "256KiB/s"
in_flight = "128KiB"
batch_rows = 65535
batch_bytes = 2048
hold = "0s"
proof = "rows"
accept_hidden = ["plant.pumps.flow@2027-01-15T08:00:00.123Z", "plant.air.a@2027-01-15"]
away_after = "5m"
seal = false
)"));
  EXPECT_EQ(plan->store, "/var/lib/cistern");
  EXPECT_THAT(plan->contact.session.cluster.hosts.contacts,
              ElementsAre(cql::Endpoint{"db-1", 9042}, cql::Endpoint{"db-2", 19042},
                          cql::Endpoint{"db-3", 9042}));
  EXPECT_EQ(plan->contact.session.cluster.hosts.data_center, "north");
  EXPECT_EQ(plan->contact.connect_timeout_us, 7'000'000);
  const cql::ConnectionOptions& connection = plan->contact.session.cluster.connection;
  EXPECT_EQ(connection.version, cql::ProtocolVersion::kV4);
  EXPECT_TRUE(connection.allow_v4);
  EXPECT_FALSE(connection.use_lz4);
  const ReplicationOptions& replication = plan->replication;
  EXPECT_EQ(replication.keyspace, "plant");
  EXPECT_EQ(replication.consistency, Consistency::kEachQuorum);
  EXPECT_EQ(replication.drain, DrainMode::kLiveFirst);
  EXPECT_EQ(replication.live_span_s, 2 * 86'400);
  EXPECT_EQ(replication.live_percent, 90u);
  EXPECT_EQ(replication.bytes_per_s_max, 256u * 1024);
  EXPECT_EQ(replication.in_flight_bytes_max, 128u * 1024);
  EXPECT_EQ(replication.batch_rows_max, 65'535u);
  EXPECT_EQ(replication.batch_bytes_max, 2048u);
  EXPECT_EQ(replication.hold_us, 0);
  EXPECT_EQ(replication.proof, ProofLevel::kRows);
  EXPECT_THAT(replication.accepted_drops,
              ElementsAre(AcceptedDrop{"plant.pumps", "flow", 1'800'000'000'123},
                          AcceptedDrop{"plant.air", "a", 1'799'971'200'000}));
  EXPECT_EQ(plan->away_after_us, 300'000'000);
  EXPECT_FALSE(plan->seal);
  EXPECT_FALSE(plan->engine.seal_when_due);
}

TEST(SyncOptions, EverySettingOfTheEngineArrives) {
  const auto plan = PlanOf(OptionsOf(R"(
store = "/var/lib/cistern"
contact = "db"
memory_budget = "16MiB"
disk_budget = "1GiB"
disk_shed = "oldest"
head_age = "5m"
seal_grace = "1m"
seal_idle = "0s"
seal_age = "1d"
seal_rows = 1000
seal_bytes = 65536
keep_confirmed = "0s"
keep_unconfirmed = "400d"
)"));
  EXPECT_EQ(plan->engine.memory_budget_bytes, 16u << 20);
  EXPECT_EQ(plan->engine.keep_confirmed_s, 0);
  EXPECT_EQ(plan->engine.keep_unconfirmed_s, 400 * 86'400);
  EXPECT_EQ(plan->engine.disk_budget_bytes, 1u << 30);
  EXPECT_EQ(plan->engine.disk_shed, DiskShed::kOldest);
  EXPECT_EQ(plan->engine.head_age_us_max, 300'000'000);
  EXPECT_EQ(plan->engine.seal_grace_s, 60);
  EXPECT_EQ(plan->engine.seal_idle_s, 0);
  EXPECT_EQ(plan->engine.seal_age_s_max, 86'400);
  EXPECT_EQ(plan->engine.seal_rows_max, 1000u);
  EXPECT_EQ(plan->engine.seal_bytes_max, 65'536u);
}

TEST(SyncOptions, OtherOrdersOfDraining) {
  EXPECT_EQ(PlanOf(OptionsOf("store='S'\ncontact='d'\ndrain='oldest'"))->replication.drain,
            DrainMode::kOldest);
  EXPECT_EQ(PlanOf(OptionsOf("store='S'\ncontact='d'\ndrain='newest'"))->replication.drain,
            DrainMode::kNewest);
}

TEST(SyncOptions, TheCommandLineGoesBeforeTheFile) {
  SyncOptions line;
  line.store = "here";
  line.contact.contacts = {"mine"};
  line.hold = "1s";
  line.seal = "false";
  line.contact.allow_cleartext_password = false;
  const SyncOptions file = OptionsOf(
      "store = 'there'\ncontact = ['a', 'b']\nhold = '2s'\nbandwidth = '1KiB/s'\nseal = true\n"
      "tls = true\nallow_cleartext_password = true\nuser = 'edge'");
  const SyncOptions both = Overlaid(line, file);
  EXPECT_EQ(both.store, "here");
  EXPECT_THAT(both.contact.contacts, ElementsAre("mine"));
  EXPECT_EQ(both.hold, "1s");
  EXPECT_EQ(both.seal, "false");
  EXPECT_EQ(both.bandwidth, "1KiB/s");
  EXPECT_EQ(both.contact.tls, true);
  EXPECT_EQ(both.contact.allow_cleartext_password, false);
  EXPECT_EQ(both.contact.user, "edge");
}

TEST(SyncOptions, TlsOfTheFileIsLeftAsideAsAWhole) {
  SyncOptions file;
  file.contact.tls = true;
  file.contact.ca = "ca.pem";
  file.contact.client_cert = "own.pem";
  file.contact.client_key = "own.key";
  EXPECT_EQ(Overlaid({}, file).contact.ca, "ca.pem");
  SyncOptions given;
  given.contact.tls = false;
  const ContactOptions both = Overlaid(given, file).contact;
  EXPECT_EQ(both.ca + both.client_cert + both.client_key, "");
  given.contact.ca = "other.pem";  // which is a contradiction, and told
  EXPECT_EQ(Overlaid(given, file).contact.ca, "other.pem");
}

TEST(SyncOptions, WrongValuesAreToldWithFileLineAndWhatIsAllowed) {
  const std::pair<const char*, const char*> told[] = {
      {"store = 'S'\n\nhold = 'soon'", "sync.toml:3: hold 'soon' is not a whole number of seconds"},
      {"hold = '2h'", "sync.toml:1: hold '2h' is not between 0s and 1h"},
      {"hold = '-1s'", "sync.toml:1: hold '-1s' is not a whole number of seconds"},
      {"hold = '2'", "sync.toml:1: hold '2' has no unit: 2s, 2m, 2h or 2d"},
      {"hold = 2",
       "sync.toml:1: hold is a text in quotes with its unit, such as \"90s\", not a whole number"},
      {"live_span = 1.5", "with its unit, such as \"90s\", not a number with a fraction"},
      {"keep_confirmed = 2024-01-01", "with its unit, such as \"90s\", not a time"},
      {"keep_unconfirmed = 400", "with its unit, such as \"90s\", not a whole number"},
      {"batch_bytes = []", "batch_bytes is a text in quotes, or a whole number, not a list"},
      {"store = 'S'\n  proof = rows", "sync.toml:2: proof is a text in quotes: "},
      {"store = \"S\nproof = 'ack'", "sync.toml:1: store is a text in quotes: "},
      {"nothing", "sync.toml:1: "},
      {"keyspace = 'a b'", "sync.toml:1: keyspace 'a b' is no name of a keyspace: at most 48 "},
      {"store = 5", "sync.toml:1: store is a text in quotes, not a whole number"},
      {"store = ''", "sync.toml:1: store is empty; leave it out"},
      {"store = \"a\\u0000b\"", "sync.toml:1: store has a control character in it"},
      {"tls = 'yes'", "sync.toml:1: tls is true or false, not a text"},
      {"seal = 1", "sync.toml:1: seal is true or false, not a whole number"},
      {"[tls]\nca = 'x'", "sync.toml:1: tls is true or false, not a table"},
      {"live_percent = '70'", "sync.toml:1: live_percent is a whole number, not a text"},
      {"live_percent = 100", "sync.toml:1: live_percent '100' is not a whole number from 1 to 99"},
      {"live_percent = 0", "live_percent '0' is not a whole number from 1 to 99"},
      {"live_span = '0s'", "sync.toml:1: live_span '0s' is not between 1s and 366d"},
      {"batch_rows = 0", "batch_rows '0' is not a whole number from 1 to 65535"},
      {"batch_rows = 65536", "batch_rows '65536' is not a whole number from 1 to 65535"},
      {"batch_bytes = 1023", "batch_bytes '1023' is less than 1 KiB"},
      {"batch_bytes = '5MiB'", "batch_bytes '5MiB' is more than 4 MiB"},
      {"bandwidth = '1KiB'", "is not a rate such as 256KiB/s or 2MiB/s, from 1 KiB/s on"},
      {"bandwidth = '1/s'", "bandwidth '1/s' is less than 1 KiB/s"},
      {"bandwidth = 5000",
       "bandwidth is a text in quotes with its unit, such as \"256KiB/s\", not a whole number"},
      {"in_flight = '63KiB'", "in_flight '63KiB' is less than 64 KiB"},
      {"in_flight = '17MiB'", "in_flight '17MiB' is more than 16 MiB"},
      {"drain = 'fast'", "drain 'fast' is not one of oldest, newest, live-first"},
      {"consistency = 'SERIAL'", "sync.toml:1: consistency 'SERIAL' is not one of ANY, ONE"},
      {"contact = ['a',\n'b:0']", "sync.toml:1: contact 'b:0' has a port that is no number"},
      {"contact = [1]", "contact is a text in quotes, or a list of such, not a whole number"},
      {"protocol = 'v3'", "sync.toml:1: protocol 'v3' is not one of v5, v4"},
      {"compression = 'zstd'", "sync.toml:1: compression 'zstd' is not one of lz4, none"},
      {"connect_timeout = '2h'", "sync.toml:1: connect_timeout '2h' is not between 1s and 1h"},
      {"away_after = '0s'", "sync.toml:1: away_after '0s' is not between 1s and 365d"},
      {"memory_budget = '1MiB'", "memory_budget '1MiB' is less than 8 MiB"},
      {"disk_budget = '1MiB'", "disk_budget '1MiB' is less than 32 MiB"},
      {"disk_shed = 'all'", "disk_shed 'all' is not one of nothing, confirmed, oldest"},
      {"head_age = '0s'", "head_age '0s' is not between 1s and 366d"},
      {"seal_rows = -1", "seal_rows '-1' is not a whole number from 0"},
      {"keep_unconfirmed = '0s'", "keep_unconfirmed '0s' is not between 1s and 36500d"},
      {"drain = 'oldest'\nlive_span = '1h'", "sync.toml:2: live_span is of drain live-first"},
      {"drain = 'newest'\nlive_percent = 5", "sync.toml:2: live_percent is of drain live-first"},
      {"proof = 'rows'\nconsistency = 'ANY'",
       "sync.toml:1: proof rows reads, and nothing can be read at consistency ANY: take LOCAL"},
  };
  for (const auto& [text, what] : told) {
    EXPECT_THAT(ErrorOf(text), HasSubstr(what)) << text;
    EXPECT_THAT(ErrorOf(text), StartsWith("sync.toml:")) << text;
  }
}

TEST(SyncOptions, TheFirstWrongLineIsTold) {
  EXPECT_THAT(ErrorOf("tls = 1\nbatch_rows = 0"), StartsWith("sync.toml:1: tls"));
  EXPECT_THAT(ErrorOf("batch_rows = 0\ntls = 1"), StartsWith("sync.toml:1: batch_rows"));
}

TEST(SyncOptions, UnknownKeys) {
  EXPECT_EQ(ErrorOf("store = 'S'\nhodl = '1s'"),
            "sync.toml:2: hodl is no setting; did you mean hold?");
  EXPECT_THAT(ErrorOf("speed = 'high'"),
              StartsWith("sync.toml:1: speed is no setting; there are store, contact, user,"));
  EXPECT_EQ(ErrorOf("follow = true"),
            "sync.toml:1: follow is no setting: --follow is of the command line alone");
}

TEST(SyncOptions, TextThatIsNoToml) {
  EXPECT_THAT(ErrorOf("store = 'S'\nhold 3"), StartsWith("sync.toml:2: "));
  EXPECT_THAT(ErrorOf("store = 'S'\nstore = 'T'"),
              StartsWith("sync.toml:2: the key is given twice: "));
  EXPECT_THAT(ErrorOf("store = 'S"), StartsWith("sync.toml:1: "));
  EXPECT_THAT(ErrorOf("\xff\xfe"), StartsWith("sync.toml:1: "));
  EXPECT_THAT(ErrorOf("a = " + std::string(5000, '[')), StartsWith("sync.toml:1: "));
}

TEST(SyncOptions, APasswordHasNoPlaceInTheFile) {
  constexpr char kSecret[] = "Kx7notToBeSeen";
  for (const std::string before : {"password = '", "password = ", "pasword = '", "secret = '",
                                   "password = '''", "password = [\"", "password.is = '"}) {
    const std::string error = ErrorOf(before + kSecret + "'");
    EXPECT_THAT(error, StartsWith("sync.toml:1: ")) << error;
    EXPECT_THAT(error, Not(HasSubstr(kSecret)));
  }
  EXPECT_EQ(ErrorOf("password = 'x'"),
            "sync.toml:1: password is not taken from here, where others may read it: put it alone "
            "into a file of mode 600 and name that by password_file");
}

TEST(SyncOptions, AFileThatIsNotThere) {
  EXPECT_EQ(ReadSyncConfig("nowhere.toml").status().message(),
            "--config 'nowhere.toml' cannot be read: No such file or directory");
  EXPECT_EQ(ReadSyncConfig("/").status().message(), "--config '/' cannot be read: Is a directory");
}

TEST(SyncOptions, WhatIsNeeded) {
  SyncOptions options;
  EXPECT_THAT(PlanSync(options).status().message(), StartsWith("which store? --store DIR"));
  options.store = "S";
  EXPECT_THAT(PlanSync(options).status().message(), StartsWith("which cluster? --contact HOST"));
  options.contact.contacts = {"db"};
  EXPECT_TRUE(PlanSync(options).ok());
  options.hold = "x";
  EXPECT_THAT(PlanSync(options).status().message(), StartsWith("--hold 'x' is not a whole number"));
  options.hold.clear();
  options.contact.ca = "ca.pem";
  EXPECT_EQ(PlanSync(options).status().message(), "--ca is of --tls: add that");
  options.config = "sync.toml";
  EXPECT_EQ(PlanSync(options).status().message(),
            "--ca is of --tls: add that (with what sync.toml says)");
}

std::string WhyOf(const SyncOptions& options) {
  const auto misfit = FindMisfit(options);
  return misfit ? misfit->why : std::string();
}

TEST(SyncOptions, WhatDoesNothingBesideFollow) {
  SyncOptions options;
  options.follow = true;
  EXPECT_FALSE(FindMisfit(options).has_value());
  options.quiet = true;  // what changes is told all the same, as JSON too
  options.json = true;
  EXPECT_FALSE(FindMisfit(options).has_value());
  options.away_after = "1s";
  EXPECT_THAT(WhyOf(options), HasSubstr("--away-after does nothing beside"));
}

TEST(SyncOptions, ASummaryThatIsLeftOutHasNoForm) {
  SyncOptions options;
  options.json = true;
  EXPECT_FALSE(FindMisfit(options).has_value());
  options.quiet = true;
  EXPECT_EQ(WhyOf(options),
            "--json is of the summary, which --quiet leaves out; leave it out");
}

TEST(SyncOptions, NothingIsProvedByReadingAtAny) {
  for (const std::string proof : {"count", "rows"}) {
    for (const std::string level : {"ANY", "any"}) {
      SyncOptions line;
      line.proof = proof;
      line.consistency = level;
      const std::string words = "--proof " + proof + " reads, and nothing can be read at "
                                "--consistency " + level + ": take LOCAL_QUORUM or another one";
      EXPECT_EQ(WhyOf(line), words);
      // One of them from the file, where neither place alone is wrong.
      line.consistency.clear();
      line.config = "sync.toml";
      EXPECT_FALSE(FindMisfit(line).has_value());
      const SyncOptions both = Overlaid(
          line, OptionsOf("store = 'S'\ncontact = 'db'\nconsistency = '" + level + "'"));
      EXPECT_EQ(PlanSync(both).status().message(), words + " (with what sync.toml says)");
    }
  }
  SyncOptions acknowledged;
  acknowledged.proof = "ack";
  acknowledged.consistency = "ANY";
  EXPECT_FALSE(FindMisfit(acknowledged).has_value());
}

TEST(SyncOptions, TheExampleNamesEverySettingAndIsRight) {
  const std::string text = ExampleText();
  const SyncOptions options = OptionsOf(text);
  EXPECT_EQ(options.contact.user, "edge");
  // With all that is behind a #, but for what cannot be beside the rest.
  std::set<std::string> keys;
  std::string all;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#') && !line.starts_with("# ") && line != "#") line.erase(0, 1);
    if (line.empty() || line.front() == '#') continue;
    keys.insert(line.substr(0, line.find(' ')));
    all += line + "\n";
  }
  for (const SyncSetting& setting : SyncSettings()) {
    EXPECT_TRUE(keys.contains(std::string(setting.key))) << setting.key;
  }
  EXPECT_EQ(keys.size(), SyncSettings().size());
  SyncOptions given = OptionsOf(all);
  // The defaults that it tells are the defaults.
  given.contact = {};
  given.contact.contacts = {"db"};
  const auto told = PlanOf(given);
  SyncOptions least;
  least.store = "S";
  least.contact.contacts = {"db"};
  const auto plan = PlanOf(least);
  EXPECT_EQ(told->replication.hold_us, plan->replication.hold_us);
  EXPECT_EQ(told->replication.drain, plan->replication.drain);
  EXPECT_EQ(told->replication.live_span_s, plan->replication.live_span_s);
  EXPECT_EQ(told->replication.live_percent, plan->replication.live_percent);
  EXPECT_EQ(told->replication.in_flight_bytes_max, plan->replication.in_flight_bytes_max);
  EXPECT_EQ(told->replication.batch_rows_max, plan->replication.batch_rows_max);
  EXPECT_EQ(told->replication.batch_bytes_max, plan->replication.batch_bytes_max);
  EXPECT_EQ(told->replication.consistency, plan->replication.consistency);
  EXPECT_EQ(told->away_after_us, plan->away_after_us);
  EXPECT_EQ(told->seal, plan->seal);
  EXPECT_EQ(told->engine.memory_budget_bytes, plan->engine.memory_budget_bytes);
  EXPECT_EQ(told->engine.keep_confirmed_s, plan->engine.keep_confirmed_s);
  EXPECT_EQ(told->engine.disk_shed, plan->engine.disk_shed);
  EXPECT_EQ(told->engine.head_age_us_max, plan->engine.head_age_us_max);
  EXPECT_EQ(told->engine.seal_grace_s, plan->engine.seal_grace_s);
  EXPECT_EQ(told->engine.seal_idle_s, plan->engine.seal_idle_s);
  EXPECT_EQ(told->engine.seal_age_s_max, plan->engine.seal_age_s_max);
  EXPECT_EQ(told->engine.seal_rows_max, plan->engine.seal_rows_max);
  EXPECT_EQ(told->engine.seal_bytes_max, plan->engine.seal_bytes_max);
}

}  // namespace
}  // namespace cistern::tool
