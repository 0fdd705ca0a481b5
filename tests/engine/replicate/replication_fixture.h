// A store, a cluster in the same thread, and a replication service between them; what was written
// is remembered beside them, and what the cluster must show follows from that alone.
#ifndef CISTERN_TESTS_ENGINE_REPLICATE_REPLICATION_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_REPLICATE_REPLICATION_FIXTURE_H_

#include <bit>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/replicate/schema_statements.h"
#include "engine/replication_service.h"
#include "lib/cql/ddl_print.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/fake_cassandra/fake_cluster.h"
#include "tests/support/stamp_model.h"

namespace cistern::testing {

// `value` as CQL serialises it, big-endian.
template <typename Int>
std::string BigBytes(Int value) {
  std::string bytes;
  PutBig(&bytes, value);
  return bytes;
}

class ReplicationFixture : public EngineFixture {
 protected:
  static constexpr int64_t kTurnUs = 20'000;
  static constexpr int64_t kCommitLogSyncUs = 10'000'000;  // as Cassandra's commitlog_sync_period

  // Some days after the rows.
  ReplicationFixture() { clock_->SetWallMicros(kStartUs + 10 * kDayMs * 1000); }
  void TearDown() override {
    service_.reset();
    EngineFixture::TearDown();
  }

  // --- the cluster
  void StartCluster(fake_cassandra::ClusterOptions options = {},
                    std::shared_ptr<fake_cassandra::FaultScript> script = nullptr) {
    options.clock = clock_;
    auto started = fake_cassandra::FakeCluster::Start(options, std::move(script));
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    cluster_ = *std::move(started);
    node_count_ = options.node_count;
    user_ = options.user;
    password_ = options.password;
    MustRun(
        "CREATE KEYSPACE plant WITH replication = {'class': 'SimpleStrategy', "
        "'replication_factor': " +
        std::to_string(node_count_) + "}");
  }
  void MustRun(const std::string& cql) {
    const Status s = cluster_->Run(cql);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  // One more table like kPumps, here and upstream.
  void CreateTableLikePumps(const std::string& name) {
    const std::string cql = "CREATE TABLE " + name +
                            " (sensor text, day date, ts timestamp, flow double, state text, "
                            "PRIMARY KEY ((sensor, day), ts)) "
                            "WITH comment = 'cistern: bucket day = 1 day'";
    ASSERT_TRUE(engine_->CreateTable(cql).ok());
    MustRun(cql);
  }
  // As this store has it.
  void CreateTableUpstream() {
    for (const std::string& type :
         replicate::CreateTypeStatements("plant", UserTypesOf(*schema_))) {
      ASSERT_NO_FATAL_FAILURE(MustRun(type));
    }
    MustRun(TableText(*schema_));
  }

  // --- the service
  void StartService() {
    ReplicationConfig config;
    for (size_t node = 0; node < node_count_; ++node) {
      config.session.cluster.hosts.contacts.push_back({cluster_->host(node), cluster_->port()});
    }
    if (!user_.empty()) {
      config.session.cluster.connection.allow_cleartext_password = true;
      config.session.cluster.connection.credentials = [this]() -> Result<cql::Credentials> {
        return cql::Credentials{user_, cql::Secret(std::string(password_))};
      };
    }
    config.session.cluster.hosts.retry_max_us = retry_us_max_;
    config.session.cluster.connection.request_timeout_us = 1'000'000;
    config.session.cluster.connection.handshake_timeout_us = 2'000'000;
    config.replicator = replicator_;
    auto started = ReplicationService::Start(engine_.get(), std::move(config));
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    service_ = *std::move(started);
  }
  // Turns store, service and cluster; time passes when the cluster has had nothing to do for some
  // turns: what is on its way through the kernel takes none. False: it takes too long.
  [[nodiscard]] bool TurnUntil(const std::function<bool()>& is_done) {
    constexpr int kQuietTurns = 4;
    constexpr int kTurnsMax = 400'000;
    for (int turn = 0, quiet = 0; turn < kTurnsMax; ++turn) {
      SyncCommitLogsIfDue();
      const bool was_busy = cluster_ && cluster_->Poll(0);
      const Result<ReplicationStatus> told = service_->Run(0);
      if (!told.ok()) {
        last_error_ = told.status();
      } else {
        status_ = *told;
      }
      if (is_done()) return true;
      quiet = was_busy ? 0 : quiet + 1;
      if (quiet < kQuietTurns) continue;
      quiet = 0;
      clock_->AdvanceMicros(kTurnUs);
    }
    return false;
  }
  void SyncCommitLogsIfDue() {
    const int64_t now_us = clock_->MonotonicMicros();
    if (now_us < synced_us_ + kCommitLogSyncUs) return;
    synced_us_ = now_us;
    cluster_->SyncCommitLogs();
  }
  void RunUntil(ReplicationPhase phase) {
    ASSERT_TRUE(TurnUntil([&] { return status_.phase == phase; })) << Explain();
  }
  void RunFor(int64_t us) {
    const int64_t end_us = clock_->MonotonicMicros() + us;
    ASSERT_TRUE(TurnUntil([&] { return clock_->MonotonicMicros() >= end_us; })) << Explain();
  }
  std::string Explain() {
    std::string text = "phase " + std::to_string(static_cast<int>(status_.phase)) + ", pushing " +
                       std::to_string(status_.seals_pushing) + ", holding " +
                       std::to_string(status_.seals_holding) +
                       ", away: " + status_.away.ToString() +
                       ", last error: " + last_error_.ToString();
    for (const auto& held : status_.held) {
      text += "\nheld: " + held.table + ": " + held.why.ToString();
    }
    return text + "\n" + (cluster_ ? cluster_->counters().ToString() : "");
  }

  // --- rows of kPumps, written here and remembered
  struct Written {
    std::string sensor;
    int64_t day = 0;  // since 1970
    int64_t ts = 0;
    int64_t write_us = 0;
    uint32_t ttl_s = 0;
    int64_t expiry_s = fake_cassandra::kNever;
    bool has_marker = true;
    bool deletes_row = false;
    std::optional<double> flow;
  };
  void Write(const std::string& sensor, int64_t ts, double flow, RowKind kind = RowKind::kInsert,
             uint32_t ttl_s = 0) {
    RowBatch batch(schema_);
    AddRow(&batch, sensor, ts, flow, kind,
           ttl_s == 0 ? std::nullopt : std::optional<uint32_t>(ttl_s));
    const auto appended = engine_->Append(batch);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
    Written row;
    row.sensor = sensor;
    row.day = ts / kDayMs;
    row.ts = ts;
    stamps_.Begin(clock_->WallMicros(), Core(), Core()->heads().active.get());
    row.write_us = schema_->timestamps == TimestampMode::kEventTime ? ts * 1000
                                                                    : stamps_.OfRow(sensor, ts);
    row.ttl_s = ttl_s;
    if (ttl_s != 0) row.expiry_s = Core()->clock().now_s() + ttl_s;
    row.has_marker = kind == RowKind::kInsert;
    row.deletes_row = kind == RowKind::kDeleteRow;
    if (!row.deletes_row) row.flow = flow;
    written_.push_back(std::move(row));
  }
  void WriteDays(int days, int rows = 3) {
    for (int day = 0; day < days; ++day) {
      for (int row = 0; row < rows; ++row) {
        ASSERT_NO_FATAL_FAILURE(
            Write("p" + std::to_string(row % 2), kStartMs + day * kDayMs + row * 1'000, row));
      }
    }
  }
  // What the cluster must show at `now_s` of what was written, whoever brought it.
  std::string Expected(int64_t now_s) {
    fake_cassandra::PartitionStore store;
    fake_cassandra::TablePtr table;
    cluster_->WithState([&](fake_cassandra::ClusterState& state) {
      table = *state.schema().Find("plant", "pumps");
    });
    for (const Written& row : written_) {
      const auto day = static_cast<uint32_t>(row.day + (int64_t{1} << 31));
      fake_cassandra::Mutation mutation{
          table, {row.sensor, BigBytes(day)}, fake_cassandra::Partition(table->order)};
      fake_cassandra::StoredRow stored;
      // Of two that expire together the value decides here, and not which TTL they came with.
      const uint32_t ttl_s = row.ttl_s == 0 ? 0 : 1;
      if (row.deletes_row) stored.deletion = {row.write_us, row.write_us / 1'000'000};
      if (row.has_marker && !row.deletes_row) {
        stored.marker = {row.write_us, ttl_s, row.expiry_s};
      }
      if (row.flow) {
        stored.cells["flow"] = {row.write_us, ttl_s, row.expiry_s,
                                BigBytes(std::bit_cast<uint64_t>(*row.flow))};
      }
      mutation.change.MergeRow({CellValue{row.ts, ""}}, stored);
      store.Apply(mutation);
    }
    return store.Dump(*table, fake_cassandra::DumpKind::kVisible, now_s);
  }
  // The cluster shows exactly what was written, now.
  void ExpectEqual() {
    const int64_t now_s = clock_->WallMicros() / 1'000'000;
    EXPECT_EQ(cluster_->Dump("plant", "pumps", fake_cassandra::DumpKind::kVisible, now_s),
              Expected(now_s));
  }

  std::unique_ptr<fake_cassandra::FakeCluster> cluster_;
  size_t node_count_ = 1;
  std::string user_;
  std::string password_;
  replicate::ReplicatorOptions replicator_;
  std::unique_ptr<ReplicationService> service_;
  ReplicationStatus status_;
  Status last_error_;
  int64_t retry_us_max_ = 2'000'000;  // of hosts that went
  int64_t synced_us_ = 0;
  StampModel stamps_;
  std::vector<Written> written_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_REPLICATE_REPLICATION_FIXTURE_H_
