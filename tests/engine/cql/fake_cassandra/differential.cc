// The fake cluster against a real Cassandra: the same random statements to both, then everything
// that can be read, compared byte by byte: rows, names and types of columns, write times, TTLs,
// and the codes of what is refused.
//
//   cd build/tests/engine/cql/fake_cassandra
//   .../tests/cassandra/server with -- ./fake_cassandra_differential
//
// Run by hand. Reads CISTERN_CASSANDRA_CONTACT (address:port), CISTERN_SEED, CISTERN_STATEMENTS
// (4,000) and CISTERN_CASSANDRA_COMPATIBILITY (none, or cassandra_4: as the server was started);
// makes a keyspace of its own and drops it. Ends with 0 if both agree.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/engine/cql/fake_cassandra/raw_client.h"
#include "tests/support/fake_clock.h"
#include "tests/support/rng.h"

namespace cistern::fake_cassandra {
namespace {

using testing::Rng;

constexpr const char* kTable =
    "(p text, q int, c int, e text, a int, b text, d double, f frozen<map<text, int>>, "
    "m map<text, int>, s set<int>, u tuple<int, text>, v duration, "
    "PRIMARY KEY ((p, q), c, e)) WITH CLUSTERING ORDER BY (c DESC, e ASC)";

// Random statements in a small space, so that keys and timestamps meet often.
class Generator {
 public:
  Generator(uint64_t seed, std::string table) : rng_(seed), table_(std::move(table)) {}

  // Drops a column and adds it again: what was written up to a time is hidden from then on.
  std::vector<std::string> Revival() {
    constexpr std::array<std::pair<const char*, const char*>, 4> kColumns = {
        {{"a", "int"}, {"b", "text"}, {"d", "double"}, {"f", "frozen<map<text, int>>"}}};
    const auto [name, type] = kColumns[rng_.Below(kColumns.size())];
    const std::string alter = "ALTER TABLE " + table_;
    const std::string add = alter + " ADD " + name + " ";
    // A type that is stored in another way is refused.
    const char* const other = std::string_view(type) == "int" ? "text" : "int";
    return {alter + " DROP " + name + Timestamp(), add + other, add + type};
  }
  std::string Next() {
    switch (rng_.Below(12)) {
      case 0: return "DELETE FROM " + table_ + Timestamp() + Where();
      case 1: return "DELETE FROM " + table_ + Timestamp() + Where() + Range();
      case 2: return "DELETE FROM " + table_ + Timestamp() + Where() + Row();
      case 3: return "DELETE " + Columns() + " FROM " + table_ + Timestamp() + Where() + Row();
      case 4:
      case 5:
      case 6: return Update();
      default: return Insert();
    }
  }
  std::string Where() {
    return " WHERE p = '" + std::string(1, static_cast<char>('x' + rng_.Below(2))) + "' AND q = " +
           std::to_string(rng_.Below(2));
  }
  std::string Range() {
    switch (rng_.Below(4)) {
      case 0: return " AND c = " + Small();
      case 1: return " AND c = " + Small() + " AND e >= " + Text();
      case 2: return " AND c > " + Small();
      default: return " AND c >= " + Small() + " AND c < " + Small();
    }
  }

 private:
  // Not "text" + std::to_string(): g++ 12 warns of it, wrongly.
  static std::string Number(uint64_t value) {
    std::string text;
    text += std::to_string(value);
    return text;
  }
  std::string Small() { return Number(rng_.Below(4)); }
  std::string Text() { return "'" + std::string(1, static_cast<char>('k' + rng_.Below(3))) + "'"; }
  std::string Row() { return " AND c = " + Small() + " AND e = " + Text(); }
  // Whole milliseconds: the server keeps no finer time of a drop over a restart.
  std::string Timestamp() { return " USING TIMESTAMP " + Number(rng_.Below(12) * 1000); }
  std::string Columns() {
    const char* const kColumns[] = {"a", "a", "b, d", "f", "m", "s, u", "v"};
    return kColumns[rng_.Below(std::size(kColumns))];
  }
  // Nothing, plain, two seconds apart, or too much.
  std::string Ttl() {
    if (rng_.OneIn(2)) return "";
    if (rng_.OneIn(20)) return " AND TTL " + Number(630'719'999 + rng_.Below(3));
    if (rng_.OneIn(20)) return rng_.OneIn(2) ? " AND TTL 0" : " AND TTL -1";
    return " AND TTL " + std::to_string(4'999 + 2'000 * rng_.Below(3) + rng_.Below(2));
  }
  std::string Value(char column) {
    if (rng_.OneIn(6)) return "null";
    if (column == 'a') return std::to_string(static_cast<int64_t>(rng_.Below(5)) - 2);
    if (column == 'b') return rng_.OneIn(4) ? "''" : Text();
    if (column == 'd') return std::to_string(rng_.Below(3)) + ".5";
    if (column == 'm') return "{" + Text() + ": " + Small() + (rng_.OneIn(2) ? "}" : ", 'z': 1}");
    if (column == 's') return rng_.OneIn(5) ? "{}" : "{" + Small() + ", 7, " + Small() + "}";
    if (column == 'u') return "(" + Small() + (rng_.OneIn(3) ? ", null)" : ", " + Text() + ")");
    if (column == 'v') return "1mo" + Small() + "d5h";
    return "{'m': " + Small() + "}";
  }
  std::string Insert() {
    std::string names = "p, q, c, e";
    std::string values = "'" + std::string(1, static_cast<char>('x' + rng_.Below(2))) + "', " +
                         std::to_string(rng_.Below(2)) + ", " + Small() + ", " + Text();
    for (const char column : {'a', 'b', 'd', 'f', 'm', 's', 'u', 'v'}) {
      if (rng_.OneIn(2)) continue;
      names += std::string(", ") + column;
      values += ", " + Value(column);
    }
    return "INSERT INTO " + table_ + " (" + names + ") VALUES (" + values + ")" + Timestamp() +
           Ttl();
  }
  std::string Update() {
    std::string text = "UPDATE " + table_ + Timestamp() + Ttl() + " SET a = " + Value('a');
    for (const char column : {'b', 'd', 'f', 'm', 's', 'u', 'v'}) {
      if (rng_.OneIn(2)) text += std::string(", ") + column + " = " + Value(column);
    }
    return text + Where() + Row();
  }

  Rng rng_;
  std::string table_;
};

// What an answer says, comparable to the byte.
std::string Shown(const std::optional<cql::Response>& response) {
  if (!response.has_value()) return "no answer";
  const auto* rows = std::get_if<cql::RowsResult>(&response->message);
  if (rows == nullptr) return RawClient::WordOf(response);
  std::string text = std::to_string(rows->rows.row_count()) + " rows:";
  for (const cql::ColumnMetadata& column : rows->metadata.columns) {
    text += " " + column.name + " " + column.type;
  }
  cql::RowReader reader(rows->rows);
  while (reader.Next()) {
    text += "\n ";
    for (size_t i = 0; i < rows->rows.column_count(); ++i) {
      text += " ";
      if (!reader[i].has_value()) text += "null";
      for (const char c : reader[i].value_or("")) {
        constexpr char kDigits[] = "0123456789abcdef";
        text += kDigits[static_cast<uint8_t>(c) >> 4];
        text += kDigits[static_cast<uint8_t>(c) & 15];
      }
    }
  }
  return text;
}

class Differential {
 public:
  Differential(RawClient* real, RawClient* fake, uint64_t seed, int64_t now_s)
      : real_(real), fake_(fake), now_s_(now_s), keyspace_("diff_" + std::to_string(seed)),
        generator_(seed, keyspace_ + ".t"), rng_(seed) {}

  bool Run(uint64_t statements) {
    if (!real_->Handshake() || !fake_->Handshake()) return Fail("the handshake failed");
    Both("CREATE KEYSPACE " + keyspace_ + " WITH replication = {'class': 'SimpleStrategy', "
         "'replication_factor': 1}");
    Both("CREATE TABLE " + keyspace_ + ".t " + kTable);
    bool agrees = true;
    for (uint64_t i = 0; i < statements && agrees; ++i) {
      // Half of the writes say that it is 5,000 s earlier.
      agrees = Same(generator_.Next(), rng_.OneIn(2) ? now_s_ : now_s_ - 5000);
      if (agrees && rng_.OneIn(200)) agrees = Revived();
      if (agrees && i % 20 == 19) agrees = SameContents();
    }
    for (const auto& [table, columns] :
         {std::pair("columns", "column_name, kind, position, clustering_order, type"),
          std::pair("dropped_columns", "column_name, dropped_time, kind, type"),
          std::pair("keyspaces", "durable_writes, replication")}) {
      if (!agrees) break;
      agrees = Same(std::string("SELECT ") + columns + " FROM system_schema." + table +
                    " WHERE keyspace_name = '" + keyspace_ + "'", now_s_);
    }
    real_->Query("DROP KEYSPACE " + keyspace_);
    std::printf("%llu statements and %llu reads agree\n", static_cast<unsigned long long>(writes_),
                static_cast<unsigned long long>(reads_));
    return agrees;
  }

 private:
  static bool Fail(const std::string& what) {
    std::printf("%s\n", what.c_str());
    return false;
  }
  void Both(const std::string& cql) {
    for (RawClient* client : {real_, fake_}) client->Query(cql);
  }
  bool Same(const std::string& cql, int64_t now_s) {
    const auto now = static_cast<uint32_t>(now_s);
    const std::string real = Shown(real_->Query(cql, cql::Consistency::kOne, now));
    const std::string fake = Shown(fake_->Query(cql, cql::Consistency::kOne, now));
    ++(cql.rfind("SELECT", 0) == 0 ? reads_ : writes_);
    if (real == fake) return true;
    return Fail(cql + "\nCassandra: " + real + "\nfake: " + fake);
  }
  bool Revived() {
    for (const std::string& statement : generator_.Revival()) {
      if (!Same(statement, now_s_)) return false;
    }
    return SameContents();
  }
  bool SameContents() {
    const std::string from = " FROM " + keyspace_ + ".t";
    const std::string cells =
        "SELECT c, e, a, b, d, f, writetime(a), writetime(b), writetime(d), writetime(f), ttl(a), "
        "ttl(b), ttl(d), ttl(f), m, s, u, writetime(u), ttl(u), v, writetime(v), ttl(v)";
    const int64_t now_s = now_s_ + 10;
    for (const char* p : {"x", "y"}) {
      for (const char* q : {"0", "1"}) {
        const std::string where =
            " WHERE p = '" + std::string(p) + "' AND q = " + std::string(q);
        if (!Same(cells + from + where, now_s)) return false;
        // After all expiries, and before the earliest.
        if (!Same(cells + from + where, now_s_ + 5'000)) return false;
        if (!Same("SELECT count(*), count(a), min(c), max(e), min(writetime(a)), max(d), "
                  "count(writetime(u)), count(writetime(v))" + from + where, now_s)) {
          return false;
        }
      }
    }
    return Same("SELECT *" + from, now_s) &&
           Same("SELECT p, q, c" + from + " PER PARTITION LIMIT 2 LIMIT 3", now_s) &&
           Same("SELECT e, c" + from + generator_.Where() + generator_.Range() +
                " ORDER BY c ASC LIMIT 3", now_s) &&
           Same("SELECT token(p, q), c" + from + generator_.Where() + " AND (c, e) > (1, 'k')",
                now_s);
  }

  RawClient* real_;
  RawClient* fake_;
  int64_t now_s_;
  std::string keyspace_;
  Generator generator_;
  Rng rng_;
  uint64_t writes_ = 0;
  uint64_t reads_ = 0;
};

int Main() {
  const char* contact = std::getenv("CISTERN_CASSANDRA_CONTACT");
  if (contact == nullptr) {
    std::printf("set CISTERN_CASSANDRA_CONTACT to host:port\n");
    return 2;
  }
  const std::string text = contact;
  const size_t colon = text.find(':');
  const uint64_t seed = testing::SeedFromEnv();
  std::printf("CISTERN_SEED=%llu\n", static_cast<unsigned long long>(seed));
  const int64_t now_s = std::time(nullptr);
  ClusterOptions options;
  options.clock = std::make_shared<FakeClock>(now_s * 1'000'000);
  const char* mode = std::getenv("CISTERN_CASSANDRA_COMPATIBILITY");
  const bool is_cassandra_4 = mode != nullptr && std::string(mode) == "cassandra_4";
  options.compatibility =
      is_cassandra_4 ? StorageCompatibility::kCassandra4 : StorageCompatibility::kNone;
  Result<std::unique_ptr<FakeCluster>> cluster = FakeCluster::Start(options);
  if (!cluster.ok()) return 2;
  const auto wait = [] {
    usleep(1000);
    return false;
  };
  RawClient real(text.substr(0, colon),
                 static_cast<uint16_t>(std::strtoul(text.c_str() + colon + 1, nullptr, 10)), wait,
                 120'000, cql::ProtocolVersion::kV5, cql::Compression::kNone);
  RawClient fake(cluster->get(), 0);
  return Differential(&real, &fake, seed, now_s).Run(testing::EnvNumber("CISTERN_STATEMENTS", 4000))
             ? 0 : 1;
}

}  // namespace
}  // namespace cistern::fake_cassandra

int main() { return cistern::fake_cassandra::Main(); }
