// Seeded scenarios: a session writes to a cluster in which everything goes wrong, and sends again
// whatever was not acknowledged. In the end every replica together holds exactly what was written,
// with its write times and expiries.
//
// CISTERN_SEED names one scenario, CISTERN_RUNS their number.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cql/session.h"
#include "tests/support/fake_cassandra/fake_cluster.h"
#include "tests/support/fake_clock.h"
#include "tests/support/rng.h"

namespace cistern::fake_cassandra {
namespace {

using testing::Rng;

constexpr const char* kInsert =
    "INSERT INTO k.t (p, c, v) VALUES (?, ?, ?) USING TIMESTAMP ? AND TTL ?";
constexpr const char* kDelete = "DELETE FROM k.t USING TIMESTAMP ? WHERE p = ? AND c = ?";

std::string IntBytes(int32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

// One row version, or the deletion of a row.
struct Version {
  int32_t c = 0;
  int32_t v = 0;
  int64_t timestamp_us = 0;
  int32_t ttl_s = 0;
  bool is_deletion = false;
};

struct Page {
  std::string partition;
  std::vector<Version> versions;
};

class Scenario {
 public:
  explicit Scenario(uint64_t seed) : seed_(seed), rng_(seed) {}

  void Run() {
    ASSERT_NO_FATAL_FAILURE(StartCluster());
    ASSERT_NO_FATAL_FAILURE(StartSession());
    MakePages();
    ASSERT_NO_FATAL_FAILURE(Prepare(kInsert, &insert_));
    ASSERT_NO_FATAL_FAILURE(Prepare(kDelete, &delete_));
    std::deque<Page> left(pages_.begin(), pages_.end());
    ASSERT_TRUE(TurnUntil([&] {
      while (!left.empty() && in_flight_ < 4 && !IsPaused()) {
        Page page = std::move(left.front());
        left.pop_front();
        if (!Send(page, &left)) {
          left.push_back(std::move(page));
          break;
        }
      }
      return left.empty() && in_flight_ == 0;
    })) << Explain();
    ASSERT_TRUE(cluster_->Heal().ok());
    EXPECT_EQ(cluster_->counters().protocol_errors, 0u);
    EXPECT_EQ(cluster_->Dump("k", "t", DumpKind::kEverything), Expected());
    faults_met = cluster_->counters().fault_count();
  }

  uint64_t faults_met = 0;

 private:
  void StartCluster() {
    SeededFaults::Mix mix;
    mix.one_in = 3 + rng_.Below(10);
    mix.fault_count_max = 1 + rng_.Below(15);
    mix.delay_us_max = 2'000'000;
    ClusterOptions options;
    options.node_count = rng_.OneIn(2) ? 3 : 1;
    options.compatibility = StorageCompatibility::kNone;
    options.clock = clock_;
    options.keeps_hints = rng_.OneIn(2);
    options.knows_lz4 = rng_.OneIn(2);
    options.has_peers_v2 = !rng_.OneIn(4);
    if (rng_.OneIn(2)) {
      options.user = "gateway";
      options.password = "secret";
    }
    has_password_ = !options.user.empty();
    Result<std::unique_ptr<FakeCluster>> started =
        FakeCluster::Start(options, std::make_shared<SeededFaults>(seed_, mix));
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    cluster_ = *std::move(started);
    const std::string factor = options.node_count == 3 ? "3" : "1";
    ASSERT_TRUE(cluster_->Run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', "
                              "'replication_factor': " + factor + "}").ok());
    ASSERT_TRUE(cluster_->Run("CREATE TABLE k.t (p text, c int, v int, PRIMARY KEY (p, c))").ok());
    node_count_ = options.node_count;
  }

  void StartSession() {
    auto loop = cql::EventLoop::Create(clock_);
    ASSERT_TRUE(loop.ok());
    loop_ = *std::move(loop);
    cql::SessionOptions options;
    for (size_t node = 0; node < node_count_; ++node) {
      options.cluster.hosts.contacts.push_back({cluster_->host(node), cluster_->port()});
    }
    if (has_password_) {
      options.cluster.connection.allow_cleartext_password = true;
      options.cluster.connection.credentials = []() -> Result<cql::Credentials> {
        return cql::Credentials{"gateway", cql::Secret("secret")};
      };
    }
    options.cluster.hosts.retry_max_us = 2'000'000;
    options.cluster.connection.request_timeout_us = 1'000'000;
    options.cluster.connection.handshake_timeout_us = 2'000'000;
    session_ = std::make_unique<cql::Session>(*loop_, options);
  }

  void MakePages() {
    for (int page = 0; page < 12; ++page) {
      Page& out = pages_.emplace_back();
      out.partition = std::string(1, static_cast<char>('p' + rng_.Below(4)));
      for (int i = 0; i < 6; ++i) {
        Version version;
        version.c = static_cast<int32_t>(rng_.Below(8));
        version.v = static_cast<int32_t>(rng_.Below(100));
        version.timestamp_us = static_cast<int64_t>(1'000 + rng_.Below(30));
        version.ttl_s = rng_.OneIn(2) ? 0 : static_cast<int32_t>(10'000 + rng_.Below(3));
        version.is_deletion = rng_.OneIn(8);
        out.versions.push_back(version);
      }
    }
  }

  void Prepare(const char* cql, uint32_t* number) {
    bool is_done = false;
    bool is_asked = false;
    ASSERT_TRUE(TurnUntil([&] {
      if (!is_asked && !is_done && !IsPaused()) {
        is_asked = session_->Prepare(cql, [&](const cql::Outcome& outcome, uint32_t statement) {
          is_asked = false;
          is_done = outcome.kind == cql::OutcomeKind::kDone;
          if (!is_done) Pause(outcome.status);
          *number = statement;
        }).ok();
      }
      return is_done;
    })) << Explain();
  }

  // False: no room now. What fails comes back to `left`.
  bool Send(const Page& page, std::deque<Page>* left) {
    cql::BoundBatch batch;
    for (const Version& version : page.versions) {
      cql::ValueWriter values = batch.Begin(version.is_deletion ? delete_ : insert_);
      if (version.is_deletion) values.Bigint(version.timestamp_us);
      values.Value(page.partition);
      values.Int(version.c);
      if (version.is_deletion) continue;
      values.Int(version.v);
      values.Bigint(version.timestamp_us);
      values.Int(version.ttl_s);
    }
    cql::BatchOptions options;
    options.consistency = cql::Consistency::kLocalQuorum;
    options.now_in_seconds = static_cast<uint32_t>(kNow);
    const Status begun =
        session_->Batch(std::move(batch), options, [this, page, left](const cql::Outcome& outcome) {
          --in_flight_;
          if (outcome.kind == cql::OutcomeKind::kDone) return;
          Pause(outcome.status);
          left->push_back(page);
        });
    if (begun.ok()) ++in_flight_;
    if (!begun.ok()) last_ = begun;
    return begun.ok();
  }

  // What failed is sent again after a while, as every caller of a session must do: while no host
  // is up each request ends in the next turn, and time stands still as long as turns are busy.
  void Pause(const Status& why) {
    last_ = why;
    paused_until_us_ = clock_->MonotonicMicros() + kTurnUs;
  }
  bool IsPaused() { return clock_->MonotonicMicros() < paused_until_us_; }

  // Turns client and cluster; time passes when neither has anything to do. False: it takes too
  // long, or somebody is busy for ever.
  template <typename IsDone>
  bool TurnUntil(IsDone is_done) {
    constexpr int kQuietTurnsMax = 20'000;
    constexpr int kBusyTurnsMax = 100'000;  // one after another
    int quiet = 0;
    for (int busy = 0; quiet < kQuietTurnsMax && busy < kBusyTurnsMax;) {
      if (is_done()) return true;
      const bool cluster_was_busy = cluster_->Poll(0);
      const bool loop_was_busy = loop_->Wait(cluster_was_busy ? 0 : 100, 64) > 0;
      if (cluster_was_busy || loop_was_busy) {
        ++busy;
        continue;
      }
      clock_->AdvanceMicros(kTurnUs);
      ++quiet;
      busy = 0;
    }
    return false;
  }

  std::string Explain() {
    return "stuck at: " + last_.ToString() + "\naway: " + session_->away().ToString() +
           "\nin flight: " + std::to_string(session_->requests_in_flight()) + "\n" +
           cluster_->counters().ToString();
  }

  std::string Expected() {
    PartitionStore store;
    TablePtr table;
    cluster_->WithState([&](ClusterState& state) { table = *state.schema().Find("k", "t"); });
    for (const Page& page : pages_) {
      Mutation mutation{table, {page.partition}, Partition(table->order)};
      for (const Version& version : page.versions) {
        StoredRow row;
        const auto ttl_s = static_cast<uint32_t>(version.ttl_s);
        const int64_t expiry_s = ExpiryOf(kNow, ttl_s, StorageCompatibility::kNone);
        if (version.is_deletion) {
          row.deletion = {version.timestamp_us, kNow};
        } else {
          row.marker = {version.timestamp_us, ttl_s, expiry_s};
          row.cells["v"] = {version.timestamp_us, ttl_s, expiry_s, IntBytes(version.v)};
        }
        mutation.change.MergeRow({CellValue{version.c, ""}}, row);
      }
      store.Apply(mutation);
    }
    return store.Dump(*table, DumpKind::kEverything, kNow);
  }

  static constexpr int64_t kTurnUs = 20'000;
  static constexpr int64_t kNow = FakeClock::kStartWallUs / 1'000'000 - 3600;

  uint64_t seed_;
  Rng rng_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::unique_ptr<FakeCluster> cluster_;
  std::unique_ptr<cql::EventLoop> loop_;
  std::unique_ptr<cql::Session> session_;
  size_t node_count_ = 0;
  bool has_password_ = false;
  std::vector<Page> pages_;
  uint32_t insert_ = 0;
  uint32_t delete_ = 0;
  size_t in_flight_ = 0;
  int64_t paused_until_us_ = 0;
  Status last_;  // what went wrong last, for people
};

TEST(Scenario, TheClusterHoldsWhatWasWrittenWhateverGoesWrong) {
  const uint64_t only = testing::EnvNumber("CISTERN_SEED", 0);
  const uint64_t count = only != 0 ? 1 : testing::EnvNumber("CISTERN_RUNS", 40);
  uint64_t faults_met = 0;
  for (uint64_t i = 1; i <= count; ++i) {
    const uint64_t seed = only != 0 ? only : i;
    SCOPED_TRACE("CISTERN_SEED=" + std::to_string(seed));
    Scenario scenario(seed);
    ASSERT_NO_FATAL_FAILURE(scenario.Run());
    ASSERT_FALSE(HasFailure());
    faults_met += scenario.faults_met;
  }
  if (only == 0) {
    EXPECT_GT(faults_met, count);
  }
}

}  // namespace
}  // namespace cistern::fake_cassandra
