// The fake cluster as a client on a socket meets it.
#include "tests/support/fake_cassandra/fake_cluster.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/engine/cql/fake_cassandra/raw_client.h"
#include "tests/support/fake_clock.h"

namespace cistern::fake_cassandra {
namespace {

using cql::Compression;
using cql::Consistency;
using cql::ProtocolVersion;

constexpr const char* kInsert =
    "INSERT INTO k.t (p, c, v) VALUES ('s', 1, 2) USING TIMESTAMP 9";

class FakeClusterTest : public ::testing::Test {
 protected:
  void Start(size_t node_count = 1, int factor = 1) {
    options_.node_count = node_count;
    options_.clock = clock_;
    Result<std::unique_ptr<FakeCluster>> started = FakeCluster::Start(options_, script_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    cluster_ = *std::move(started);
    ASSERT_TRUE(cluster_->Run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', "
                              "'replication_factor': " + std::to_string(factor) + "}").ok());
    ASSERT_TRUE(cluster_->Run("CREATE TABLE k.t (p text, c int, v int, PRIMARY KEY (p, c))").ok());
  }
  std::string Dump() { return cluster_->Dump("k", "t"); }

  ClusterOptions options_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<PlannedFaults> script_ = std::make_shared<PlannedFaults>();
  std::unique_ptr<FakeCluster> cluster_;
};

class HandshakeTest
    : public FakeClusterTest,
      public ::testing::WithParamInterface<std::tuple<ProtocolVersion, Compression>> {};

TEST_P(HandshakeTest, AsksForThePasswordAndThenAnswers) {
  options_.user = "gateway";
  options_.password = "secret";
  Start();
  const auto [version, compression] = GetParam();
  RawClient wrong(cluster_.get(), 0, version, compression);
  EXPECT_FALSE(wrong.Handshake("gateway", "wrong"));
  RawClient client(cluster_.get(), 0, version, compression);
  ASSERT_TRUE(client.Handshake("gateway", "secret"));
  EXPECT_EQ(client.Word(kInsert), "void");
  EXPECT_EQ(client.Word("SELECT * FROM k.t WHERE p = 's'"), "rows 1");
  EXPECT_EQ(client.Word("SELECT * FROM system.local WHERE key = 'local'"), "rows 1");
  EXPECT_EQ(client.Word("SELECT * FROM k.u"), "invalid");
  EXPECT_EQ(client.Word("SELEC"), "syntax error");
  cluster_->SetPassword("changed");
  EXPECT_EQ(client.Word(kInsert), "void");  // who is in stays in
  RawClient late(cluster_.get(), 0, version, compression);
  EXPECT_FALSE(late.Handshake("gateway", "secret"));
  EXPECT_EQ(cluster_->counters().refused_logins, 2u);
  EXPECT_EQ(cluster_->counters().protocol_errors, 0u);
  EXPECT_EQ(Dump(), "k.t p='s' | c=1 | v=2@9\n");
}

INSTANTIATE_TEST_SUITE_P(
    All, HandshakeTest,
    ::testing::Combine(::testing::Values(ProtocolVersion::kV4, ProtocolVersion::kV5),
                       ::testing::Values(Compression::kNone, Compression::kLz4)));

TEST_F(FakeClusterTest, RefusesAVersionThatItDoesNotSpeak) {
  options_.speaks_v5 = false;
  Start();
  RawClient newer(cluster_.get(), 0, ProtocolVersion::kV5);
  EXPECT_FALSE(newer.Handshake());
  EXPECT_FALSE(newer.Receive().has_value());
  EXPECT_EQ(newer.end(), RawClient::End::kClosed);
  RawClient older(cluster_.get(), 0, ProtocolVersion::kV4);
  EXPECT_TRUE(older.Handshake());
}

TEST_F(FakeClusterTest, DamagedBytesEndTheConnection) {
  Start();
  RawClient client(cluster_.get(), 0);
  ASSERT_TRUE(client.Handshake());
  RawClient other(cluster_.get(), 0);
  EXPECT_EQ(other.WordOf(other.Ask(std::string(40, '\x7f'))), "protocol error");
  EXPECT_FALSE(other.Receive().has_value());
  EXPECT_NE(other.end(), RawClient::End::kOpen);
  EXPECT_EQ(cluster_->counters().protocol_errors, 1u);
  EXPECT_EQ(client.Word(kInsert), "void");
}

// --- prepared statements

std::string IntBytes(int32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

class PreparedTest : public FakeClusterTest {
 protected:
  void SetUp() override {
    Start();
    client_ = std::make_unique<RawClient>(cluster_.get(), 0);
    ASSERT_TRUE(client_->Handshake());
  }
  std::optional<cql::PreparedResult> Prepare(std::string_view cql) {
    std::string out;
    EXPECT_TRUE(cql::AppendPrepare(client_->head(), cql, &out).ok());
    const std::optional<cql::Response> response = client_->Ask(out);
    if (!response.has_value()) return std::nullopt;
    const auto* prepared = std::get_if<cql::PreparedResult>(&response->message);
    return prepared == nullptr ? std::nullopt : std::optional(*prepared);
  }
  // A batch of rows c = first, first + 1, ...
  std::string Batch(const cql::PreparedIds& ids, int32_t first, int32_t count) {
    cql::BoundBatch batch;
    for (int32_t c = first; c < first + count; ++c) {
      cql::ValueWriter values = batch.Begin(0);
      values.Value("s");
      values.Int(c);
      values.Int(100 + c);
    }
    cql::BatchOptions options;
    options.default_timestamp_us = 77;
    std::string out;
    EXPECT_TRUE(cql::AppendBatch(client_->head(), std::span(&ids, 1), batch, options, &out).ok());
    return client_->WordOf(client_->Ask(out));
  }
  std::unique_ptr<RawClient> client_;
};

TEST_F(PreparedTest, BatchesWriteAndTheirStatementsAreForgottenWithTheTable) {
  const std::string insert = "INSERT INTO k.t (p, c, v) VALUES (?, ?, ?)";
  const std::optional<cql::PreparedResult> prepared = Prepare(insert);
  ASSERT_TRUE(prepared.has_value());
  EXPECT_EQ(prepared->key_markers, (std::vector<uint16_t>{0}));
  ASSERT_EQ(prepared->markers.columns.size(), 3u);
  EXPECT_EQ(prepared->markers.columns[1], (cql::ColumnMetadata{"c", "int"}));
  EXPECT_EQ(Batch(prepared->ids, 1, 2), "void");
  EXPECT_EQ(Dump(), "k.t p='s' | c=1 | v=101@77\nk.t p='s' | c=2 | v=102@77\n");
  ASSERT_TRUE(cluster_->Run("ALTER TABLE k.t ADD w text").ok());
  EXPECT_EQ(Batch(prepared->ids, 3, 1), "unprepared");
  ASSERT_TRUE(Prepare(insert).has_value());
  EXPECT_EQ(Batch(prepared->ids, 3, 1), "void");
  ASSERT_TRUE(cluster_->Run("ALTER TABLE k.t DROP v").ok());
  EXPECT_EQ(Batch(prepared->ids, 4, 1), "unprepared");
  EXPECT_FALSE(Prepare(insert).has_value());
  EXPECT_EQ(cluster_->counters().batches, 4u);
  EXPECT_EQ(cluster_->counters().protocol_errors, 0u);
}

TEST_F(PreparedTest, RowsComeInPagesWithTheirNewColumnsWhenThoseChanged) {
  const std::optional<cql::PreparedResult> insert =
      Prepare("INSERT INTO k.t (p, c, v) VALUES (?, ?, ?)");
  ASSERT_TRUE(insert.has_value());
  ASSERT_EQ(Batch(insert->ids, 0, 5), "void");
  std::string state;
  size_t rows_seen = 0;
  size_t pages = 0;
  do {
    cql::QueryOptions options;
    options.page_rows = 2;
    options.paging_state = state;
    std::string out;
    ASSERT_TRUE(cql::AppendQuery(client_->head(), "SELECT c FROM k.t WHERE p = 's'", options, {},
                                 &out).ok());
    const std::optional<cql::Response> response = client_->Ask(out);
    ASSERT_TRUE(response.has_value());
    const auto* rows = std::get_if<cql::RowsResult>(&response->message);
    ASSERT_NE(rows, nullptr);
    cql::RowReader reader(rows->rows);
    while (reader.Next()) EXPECT_EQ(*reader[0], IntBytes(static_cast<int32_t>(rows_seen++)));
    state = rows->metadata.paging_state;
    ++pages;
  } while (!state.empty());
  EXPECT_EQ(rows_seen, 5u);
  EXPECT_EQ(pages, 3u);
}

// --- several nodes

TEST_F(FakeClusterTest, AQuorumOutlivesOneNodeAndHintsBringItUpToDate) {
  Start(3, 3);
  RawClient client(cluster_.get(), 0);
  ASSERT_TRUE(client.Handshake());
  cluster_->TakeDown(2);
  EXPECT_EQ(client.Word(kInsert, Consistency::kAll), "unavailable");
  EXPECT_EQ(Dump(), "");
  EXPECT_EQ(client.Word(kInsert, Consistency::kQuorum), "void");
  EXPECT_EQ(client.Word("SELECT * FROM k.t WHERE p = 's'", Consistency::kQuorum), "rows 1");
  cluster_->TakeDown(1);
  EXPECT_EQ(client.Word(kInsert, Consistency::kQuorum), "unavailable");
  EXPECT_EQ(client.Word("SELECT * FROM k.t WHERE p = 's'", Consistency::kQuorum), "unavailable");
  EXPECT_EQ(client.Word("SELECT * FROM k.t WHERE p = 's'", Consistency::kOne), "rows 1");
  RawClient refused(cluster_.get(), 2);
  EXPECT_EQ(refused.end(), RawClient::End::kReset);
  ASSERT_TRUE(cluster_->BringUp(2).ok());
  cluster_->WithState([](ClusterState& state) {
    EXPECT_EQ(state.DumpNode(2, "k", "t", DumpKind::kVisible, 0), "k.t p='s' | c=1 | v=2@9\n");
  });
  RawClient again(cluster_.get(), 2);
  EXPECT_TRUE(again.Handshake());
}

TEST_F(FakeClusterTest, AnAcknowledgementIsNoFsync) {
  options_.syncs_later = true;
  Start();
  RawClient client(cluster_.get(), 0);
  ASSERT_TRUE(client.Handshake());
  EXPECT_EQ(client.Word(kInsert), "void");
  cluster_->SyncCommitLogs();
  EXPECT_EQ(client.Word("INSERT INTO k.t (p, c) VALUES ('s', 2) USING TIMESTAMP 5"), "void");
  cluster_->TakeDown(0, CommitLog::kUnsyncedLost);
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  EXPECT_EQ(Dump(), "k.t p='s' | c=1 | v=2@9\n");
  RawClient later(cluster_.get(), 0);
  ASSERT_TRUE(later.Handshake());
  EXPECT_EQ(later.Word("INSERT INTO k.t (p, c) VALUES ('s', 3) USING TIMESTAMP 5"), "void");
  cluster_->TakeDown(0, CommitLog::kReplayed);
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  EXPECT_EQ(Dump(), "k.t p='s' | c=1 | v=2@9\nk.t p='s' | c=3 |\n");
}

TEST_F(FakeClusterTest, DescribesItselfAndTellsOfChanges) {
  Start(3, 2);
  RawClient client(cluster_.get(), 1);
  ASSERT_TRUE(client.Handshake());
  EXPECT_EQ(client.Word("SELECT peer, native_address, native_port, tokens, host_id FROM "
                        "system.peers_v2"), "rows 2");
  EXPECT_EQ(client.Word("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = "
                        "'k'"), "rows 1");
  EXPECT_EQ(client.Word("SELECT default_time_to_live, comment FROM system_schema.tables WHERE "
                        "keyspace_name = 'k' AND table_name = 't'"), "rows 1");
  EXPECT_EQ(client.Word("SELECT column_name, kind, position, clustering_order, type FROM "
                        "system_schema.columns WHERE keyspace_name = 'k' AND table_name = 't'"),
            "rows 3");
  ASSERT_TRUE(cluster_->Run("ALTER TABLE k.t DROP v").ok());
  EXPECT_EQ(client.Word("SELECT dropped_time, kind, type FROM system_schema.dropped_columns WHERE "
                        "keyspace_name = 'k' AND table_name = 't' AND column_name = 'v'"),
            "rows 1");
  std::string out;
  cql::AppendRegister(client.head(), &out);
  ASSERT_TRUE(client.Ask(out).has_value());
  ASSERT_TRUE(cluster_->Run("ALTER TABLE k.t ADD w text").ok());
  std::optional<cql::Response> event = client.Receive();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->stream, cql::kEventStream);
  ASSERT_TRUE(std::holds_alternative<cql::SchemaChange>(event->message));
  EXPECT_EQ(std::get<cql::SchemaChange>(event->message).change, "UPDATED");
  cluster_->TakeDown(2);
  event = client.Receive();
  ASSERT_TRUE(event.has_value());
  ASSERT_TRUE(std::holds_alternative<cql::NodeEvent>(event->message));
  EXPECT_EQ(std::get<cql::NodeEvent>(event->message).kind, cql::NodeEvent::Kind::kDown);
  EXPECT_EQ(std::get<cql::NodeEvent>(event->message).address, std::string("\x7f\0\0\3", 4));
}

}  // namespace
}  // namespace cistern::fake_cassandra
