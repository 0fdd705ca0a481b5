// Replicas on the ring, as Cassandra's strategies place them.
#include "engine/cql/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "cistern/limits.h"
#include "engine/cql/topology_rows.h"
#include "lib/base/coding.h"
#include "tests/support/rng.h"

namespace cistern::cql {
namespace {

NodeInfo Node(char id, const std::string& data_center, const std::string& rack,
              std::vector<int64_t> tokens) {
  return {.host_id = std::string(16, id), .address = "10.0.0." + std::to_string(id - 'a' + 1),
          .port = 9042, .data_center = data_center, .rack = rack, .tokens = std::move(tokens)};
}

Replication Simple(uint32_t factor) {
  return ParseReplication({{"class", "org.apache.cassandra.locator.SimpleStrategy"},
                           {"replication_factor", std::to_string(factor)}});
}

Replication Network(std::map<std::string, std::string> factors) {
  factors["class"] = "org.apache.cassandra.locator.NetworkTopologyStrategy";
  return ParseReplication(factors);
}

using Places = std::vector<size_t>;

TEST(Replication, IsParsed) {
  EXPECT_EQ(Simple(3).kind, Replication::Kind::kSimple);
  EXPECT_EQ(Simple(3).factor, 3u);
  EXPECT_EQ(Network({{"dc1", "3"}, {"dc2", "2/1"}}).factor_of_data_center,
            (std::map<std::string, uint32_t>{{"dc1", 3}, {"dc2", 2}}));
  EXPECT_EQ(ParseReplication({}).kind, Replication::Kind::kUnknown);
  EXPECT_EQ(ParseReplication({{"class", "SimpleStrategy"}}).kind, Replication::Kind::kUnknown);
  EXPECT_EQ(ParseReplication({{"class", "SimpleStrategy"}, {"replication_factor", "x"}}).kind,
            Replication::Kind::kUnknown);
  EXPECT_EQ(ParseReplication({{"class", "SimpleStrategy"}, {"replication_factor", "99999999"}})
                .kind,
            Replication::Kind::kUnknown);
  EXPECT_EQ(ParseReplication({{"class", "org.apache.cassandra.locator.LocalStrategy"}}).kind,
            Replication::Kind::kUnknown);
}

TEST(TokenRing, TokenBelongsToTheFirstNodeNotBelowIt) {
  const NodeInfo nodes[] = {Node('a', "dc1", "r1", {-100}), Node('b', "dc1", "r1", {0}),
                            Node('c', "dc1", "r1", {100})};
  const TokenRing ring(nodes);
  EXPECT_EQ(ring.Replicas(-101, Simple(1)), Places({0}));
  EXPECT_EQ(ring.Replicas(-100, Simple(1)), Places({0}));
  EXPECT_EQ(ring.Replicas(-99, Simple(1)), Places({1}));
  EXPECT_EQ(ring.Replicas(100, Simple(1)), Places({2}));
  EXPECT_EQ(ring.Replicas(101, Simple(1)), Places({0}));  // around
  EXPECT_EQ(ring.Replicas(std::numeric_limits<int64_t>::max(), Simple(2)), Places({0, 1}));
  EXPECT_EQ(ring.Replicas(std::numeric_limits<int64_t>::min(), Simple(3)), Places({0, 1, 2}));
  EXPECT_EQ(ring.Replicas(50, Simple(9)), Places({2, 0, 1}));  // more than there are
  EXPECT_TRUE(ring.Replicas(0, Replication()).empty());
  EXPECT_TRUE(TokenRing().Replicas(0, Simple(1)).empty());
}

TEST(TokenRing, NodeWithManyTokensIsOneReplica) {
  const NodeInfo nodes[] = {Node('a', "dc1", "r1", {-300, -200, 10}),
                            Node('b', "dc1", "r1", {-100, 200})};
  EXPECT_EQ(TokenRing(nodes).Replicas(-300, Simple(2)), Places({0, 1}));
}

TEST(TokenRing, RacksComeFirst) {
  const NodeInfo nodes[] = {Node('a', "dc1", "r1", {10}), Node('b', "dc1", "r1", {20}),
                            Node('c', "dc1", "r2", {30}), Node('d', "dc1", "r3", {40})};
  const TokenRing ring(nodes);
  EXPECT_EQ(ring.Replicas(5, Network({{"dc1", "2"}})), Places({0, 2}));
  EXPECT_EQ(ring.Replicas(5, Network({{"dc1", "3"}})), Places({0, 2, 3}));
  // One more than racks: the second node of r1 is met in its turn.
  EXPECT_EQ(ring.Replicas(5, Network({{"dc1", "4"}})), Places({0, 1, 2, 3}));
  EXPECT_EQ(ring.Replicas(5, Network({{"dc1", "9"}})), Places({0, 1, 2, 3}));
  EXPECT_TRUE(ring.Replicas(5, Network({{"dc9", "3"}})).empty());
}

TEST(TokenRing, RacksOfTheSameNameInTwoDataCentersAreTwo) {
  const NodeInfo nodes[] = {Node('a', "dc1", "r1", {10}), Node('b', "dc2", "r1", {20}),
                            Node('c', "dc1", "r2", {30}), Node('d', "dc2", "r2", {40})};
  const TokenRing ring(nodes);
  EXPECT_EQ(ring.Replicas(5, Network({{"dc1", "1"}, {"dc2", "1"}})), Places({0, 1}));
  EXPECT_EQ(ring.Replicas(15, Network({{"dc1", "1"}, {"dc2", "1"}})), Places({1, 2}));
  EXPECT_EQ(ring.Replicas(5, Network({{"dc2", "2"}})), Places({1, 3}));
}

// A server of another kind may say that it has millions.
TEST(TopologyRows, TokensOfANodeAndOfAllAreBounded) {
  const auto cell = [](std::string_view bytes, std::string* cells) {
    PutBig(cells, static_cast<int32_t>(bytes.size()));
    cells->append(bytes);
  };
  const auto answer = [&cell](size_t node_count, size_t token_count) {
    std::string tokens;
    PutBig(&tokens, static_cast<int32_t>(token_count));
    for (size_t i = 0; i < token_count; ++i) cell("7", &tokens);
    std::string cells;
    for (size_t i = 0; i < node_count; ++i) {
      std::string host_id(8, 'a');
      PutBig(&host_id, static_cast<int64_t>(i));
      cell(host_id, &cells);
      cell(tokens, &cells);
    }
    return cells;
  };
  RowsResult rows;
  rows.metadata.columns = {{"host_id", "uuid"}, {"tokens", "set<text>"}};
  rows.metadata.column_count = 2;
  const auto read = [&rows](const std::string& cells, size_t node_count) {
    rows.rows = RowsView(cells, node_count, 2);
    return ReadNodes(rows, 9042);
  };
  EXPECT_EQ(read(answer(1, 100'000), 1)[0].tokens.size(), limits::kClusterTokensPerNodeMax);
  const std::vector<NodeInfo> nodes = read(answer(100, 2'000), 100);
  ASSERT_EQ(nodes.size(), 100u);
  size_t all = 0;
  for (const NodeInfo& node : nodes) all += node.tokens.size();
  EXPECT_LE(all, limits::kClusterTokensMax + nodes.size());
  EXPECT_EQ(nodes.back().tokens.size(), 1u);  // it is a node of the ring all the same
  EXPECT_EQ(read(answer(10, 1'000), 10).back().tokens.size(), 1'000u);
  // 15 MB of a single node: not read at all.
  EXPECT_TRUE(read(answer(1, 3'000'000), 1).empty());
}

// Whatever the ring, each data center has as many different replicas as it can, in as many racks
// as it can.
TEST(TokenRing, RandomRingsKeepTheRules) {
  cistern::testing::Rng rng(20260101);
  for (int round = 0; round < 300; ++round) {
    std::vector<NodeInfo> nodes;
    const size_t count = 1 + rng.Below(12);
    for (size_t i = 0; i < count; ++i) {
      NodeInfo node = Node(static_cast<char>('a' + i), "dc" + std::to_string(rng.Below(3)),
                           "r" + std::to_string(rng.Below(3)), {});
      for (uint64_t t = rng.Below(8); t > 0; --t) {
        node.tokens.push_back(static_cast<int64_t>(rng.Next()));
      }
      nodes.push_back(node);
    }
    const uint32_t factor = static_cast<uint32_t>(1 + rng.Below(4));
    const Replication replication =
        Network({{"dc0", std::to_string(factor)}, {"dc1", std::to_string(factor)}});
    const Places replicas =
        TokenRing(nodes).Replicas(static_cast<int64_t>(rng.Next()), replication);
    for (const std::string data_center : {"dc0", "dc1", "dc2"}) {
      std::vector<size_t> with_tokens;
      std::vector<std::string> racks;
      std::vector<std::string> racks_taken;
      size_t taken = 0;
      for (size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].data_center != data_center || nodes[i].tokens.empty()) continue;
        with_tokens.push_back(i);
        racks.push_back(nodes[i].rack);
        const auto times = std::count(replicas.begin(), replicas.end(), i);
        ASSERT_LE(times, 1);
        if (times == 1) racks_taken.push_back(nodes[i].rack);
        taken += static_cast<size_t>(times);
      }
      const size_t wanted = data_center == "dc2" ? 0 : std::min<size_t>(factor, with_tokens.size());
      ASSERT_EQ(taken, wanted);
      for (auto* one : {&racks, &racks_taken}) {
        std::sort(one->begin(), one->end());
        one->erase(std::unique(one->begin(), one->end()), one->end());
      }
      ASSERT_EQ(racks_taken.size(), std::min(wanted, racks.size()));
    }
  }
}

TEST(OrderHosts, LocalReplicasThenTheirNeighboursThenTheWorld) {
  std::vector<HostRank> hosts = {
      {.node = 1, .is_replica = true, .is_local = false, .load = 0},
      {.node = 2, .is_replica = false, .is_local = true, .load = 0},
      {.node = 3, .is_replica = true, .is_local = true, .load = 9},
      {.node = 4, .is_replica = true, .is_local = true, .load = 1},
      {.node = 5, .is_replica = false, .is_local = false, .load = 0}};
  for (uint64_t turn = 0; turn < 10; ++turn) {
    OrderHosts(&hosts, turn);
    Places order;
    for (const HostRank& host : hosts) order.push_back(host.node);
    EXPECT_EQ(order, Places({4, 3, 2, 1, 5}));
  }
}

TEST(OrderHosts, EqualsTakeTurns) {
  std::map<size_t, int> firsts;
  for (uint64_t turn = 0; turn < 30; ++turn) {
    std::vector<HostRank> hosts = {{.node = 1}, {.node = 2}, {.node = 3}};
    OrderHosts(&hosts, turn);
    ++firsts[hosts[0].node];
  }
  EXPECT_EQ(firsts, (std::map<size_t, int>{{1, 10}, {2, 10}, {3, 10}}));
}

}  // namespace
}  // namespace cistern::cql
