// Every fault of the fake cluster: what the client sees, and what was written.
#include "tests/support/fake_cassandra/fault_script.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/cql/fake_cassandra/raw_client.h"
#include "tests/support/fake_cassandra/fake_cluster.h"
#include "tests/support/fake_clock.h"

namespace cistern::fake_cassandra {
namespace {

using End = RawClient::End;

constexpr const char* kFirst = "INSERT INTO k.t (p, c) VALUES ('s', 1) USING TIMESTAMP 9";
constexpr const char* kSecond = "INSERT INTO k.t (p, c) VALUES ('s', 2) USING TIMESTAMP 9";
constexpr const char* kFirstRow = "k.t p='s' | c=1 |\n";
constexpr const char* kSecondRow = "k.t p='s' | c=2 |\n";

struct Known {
  Fault fault;
  const char* word;  // what the client gets for its write
  End end;           // of its connection
  bool is_written;
};

class FaultTest : public ::testing::TestWithParam<Known> {
 protected:
  void SetUp() override {
    options_.clock = clock_;
    options_.node_count = 3;
    options_.syncs_later = true;
    options_.keeps_hints = false;
    Result<std::unique_ptr<FakeCluster>> started = FakeCluster::Start(options_, script_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    cluster_ = *std::move(started);
    ASSERT_TRUE(cluster_->Run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', "
                              "'replication_factor': 3}").ok());
    ASSERT_TRUE(cluster_->Run("CREATE TABLE k.t (p text, c int, PRIMARY KEY (p, c))").ok());
  }
  std::string Dump() { return cluster_->Dump("k", "t"); }

  ClusterOptions options_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<PlannedFaults> script_ = std::make_shared<PlannedFaults>();
  std::unique_ptr<FakeCluster> cluster_;
};

TEST_P(FaultTest, IsSeenByTheClientAndWritesWhatItSays) {
  const Known& known = GetParam();
  script_->AtWrite(0, {known.fault, 5'000'000, {}});
  RawClient client(cluster_.get(), 0);
  ASSERT_TRUE(client.Handshake());
  if (known.word == std::string("nothing") && known.end == End::kOpen) client.ExpectNothing();
  EXPECT_EQ(client.Word(kFirst, cql::Consistency::kQuorum), known.word);
  EXPECT_EQ(client.end(), known.end);
  EXPECT_EQ(Dump(), known.is_written ? kFirstRow : "");
  EXPECT_EQ(cluster_->counters().of(known.fault), 1u);
  EXPECT_EQ(cluster_->counters().fault_count(), 1u);
  // Another connection, or this one, goes on; a node that went down is back in time.
  clock_->AdvanceSeconds(6);
  cluster_->Poll();
  RawClient other(cluster_.get(), 0);
  ASSERT_TRUE(other.Handshake());
  EXPECT_EQ(other.Word(kSecond), "void");
  EXPECT_EQ(Dump(), (known.is_written ? kFirstRow : "") + std::string(kSecondRow));
  EXPECT_EQ(cluster_->counters().protocol_errors, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultTest,
    ::testing::Values(
        Known{Fault::kCloseBefore, "nothing", End::kClosed, false},
        Known{Fault::kCloseAfter, "nothing", End::kClosed, true},
        Known{Fault::kResetBefore, "nothing", End::kReset, false},
        Known{Fault::kResetAfter, "nothing", End::kReset, true},
        Known{Fault::kSwallowBefore, "nothing", End::kOpen, false},
        Known{Fault::kSwallowAfter, "nothing", End::kOpen, true},
        Known{Fault::kBlackHole, "nothing", End::kOpen, false},
        Known{Fault::kDelay, "nothing", End::kOpen, true},
        Known{Fault::kSplitReply, "void", End::kOpen, true},
        Known{Fault::kCutReply, "nothing", End::kReset, true},
        Known{Fault::kGarbage, "nothing", End::kOpen, true},
        Known{Fault::kOverloaded, "overloaded", End::kOpen, false},
        Known{Fault::kUnavailable, "unavailable", End::kOpen, false},
        Known{Fault::kBootstrapping, "bootstrapping", End::kOpen, false},
        Known{Fault::kUnauthorized, "unauthorized", End::kOpen, false},
        Known{Fault::kInvalid, "invalid", End::kOpen, false},
        Known{Fault::kServerError, "server error", End::kOpen, false},
        Known{Fault::kUnprepared, "void", End::kOpen, true},
        Known{Fault::kWriteTimeout, "write timeout", End::kOpen, false},
        Known{Fault::kWriteTimeoutApplied, "write timeout", End::kOpen, true},
        Known{Fault::kWriteTimeoutPartly, "write timeout", End::kOpen, true},
        Known{Fault::kWriteFailure, "write failure", End::kOpen, false},
        Known{Fault::kWriteFailureApplied, "write failure", End::kOpen, true},
        Known{Fault::kNodeDownBefore, "nothing", End::kReset, false},
        Known{Fault::kNodeDownAfter, "nothing", End::kReset, true},
        Known{Fault::kNodeLosesUnsynced, "nothing", End::kReset, true},
        Known{Fault::kNodeLosesPower, "nothing", End::kOpen, true}),
    [](const ::testing::TestParamInfo<Known>& one) {
      std::string name(FaultName(one.param.fault));
      std::erase_if(name, [](char c) { return c == ' ' || c == ','; });
      return name;
    });

TEST_F(FaultTest, ADelayedAnswerComesByTheClockAndLetsOthersPass) {
  script_->AtWrite(0, {Fault::kDelay, 1'000'000, {}});
  RawClient client(cluster_.get(), 0);
  ASSERT_TRUE(client.Handshake());
  std::string first;
  ASSERT_TRUE(cql::AppendQuery({cql::ProtocolVersion::kV5, 1}, kFirst, {}, {}, &first).ok());
  std::string second;
  ASSERT_TRUE(cql::AppendQuery({cql::ProtocolVersion::kV5, 2}, kSecond, {}, {}, &second).ok());
  client.Send(first);
  client.Send(second);
  std::optional<cql::Response> response = client.Receive();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->stream, 2);
  client.ExpectNothing();
  EXPECT_FALSE(client.Receive().has_value());
  EXPECT_EQ(cluster_->connection_count(), 1u);
  clock_->AdvanceMicros(1'000'000);
  client.ExpectAnswers();
  response = client.Receive();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->stream, 1);
}

TEST_F(FaultTest, GarbageIsNoAnswer) {
  script_->AtWrite(0, {Fault::kGarbage, 0, {}});
  RawClient client(cluster_.get(), 0);
  ASSERT_TRUE(client.Handshake());
  EXPECT_EQ(client.Word(kFirst), "nothing");
  EXPECT_FALSE(client.status().ok());
}

TEST_F(FaultTest, ATimeoutMayLeaveOneReplicaBehind) {
  script_->AtWrite(0, {Fault::kWriteTimeoutPartly, 0, {}});
  RawClient client(cluster_.get(), 0);
  ASSERT_TRUE(client.Handshake());
  EXPECT_EQ(client.Word(kFirst, cql::Consistency::kQuorum), "write timeout");
  size_t copies = 0;
  cluster_->WithState([&](ClusterState& state) {
    for (size_t node = 0; node < 3; ++node) {
      copies += state.DumpNode(node, "k", "t", DumpKind::kVisible, 0) == kFirstRow ? 1 : 0;
    }
  });
  EXPECT_EQ(copies, 1u);
}

TEST_F(FaultTest, AnEventComesBeforeItsRequest) {
  script_->AtWrite(1, {Fault::kNone, 0, [](FakeCluster& cluster) {
                         EXPECT_TRUE(cluster.RunLocked("DROP TABLE k.t").ok());
                       }});
  RawClient client(cluster_.get(), 0);
  ASSERT_TRUE(client.Handshake());
  EXPECT_EQ(client.Word(kFirst), "void");
  EXPECT_EQ(client.Word(kSecond), "invalid");
}

TEST_F(FaultTest, WhatIsRefusedInEarnestIsNotCalledATimeout) {
  script_->AtRequest(1, {Fault::kWriteTimeoutApplied, 0, {}});
  RawClient client(cluster_.get(), 0);
  ASSERT_TRUE(client.Handshake());
  EXPECT_EQ(client.Word("INSERT INTO k.t (p) VALUES ('s')"), "invalid");
}

TEST(SeededFaults, AreTheSameForTheSameSeedAndAllKindsCome) {
  const auto draw = [](uint64_t seed) {
    SeededFaults script(seed, {.one_in = 2, .fault_count_max = 400, .faults = {}, .events = {}});
    std::vector<Fault> out;
    for (uint64_t i = 0; i < 2000; ++i) {
      out.push_back(script.Next({i, i, 0, cql::Opcode::kBatch, true}).fault);
    }
    return out;
  };
  const std::vector<Fault> drawn = draw(1);
  EXPECT_EQ(drawn, draw(1));
  EXPECT_NE(drawn, draw(2));
  EXPECT_EQ(std::set<Fault>(drawn.begin(), drawn.end()).size(), kFaultCount);
  EXPECT_EQ(drawn.back(), Fault::kNone);  // the cluster is well after so many
  SeededFaults calm(1, {.one_in = 1, .with_handshakes = false, .faults = {}, .events = {}});
  EXPECT_EQ(calm.Next({0, 0, 0, cql::Opcode::kStartup, false}).fault, Fault::kNone);
  EXPECT_NE(calm.Next({1, 0, 0, cql::Opcode::kQuery, false}).fault, Fault::kNone);
}

}  // namespace
}  // namespace cistern::fake_cassandra
