// Hosts: who is tried when, who takes requests, and whom a cluster's description brings and takes.
#include "engine/cql/host_pool.h"

#include <gtest/gtest.h>

namespace cistern::cql {
namespace {

using Ids = std::vector<HostId>;

NodeInfo Node(char id, const std::string& data_center, std::vector<int64_t> tokens) {
  return {.host_id = std::string(16, id),
          .address = "10.0.0." + std::to_string(id - 'a' + 1),
          .port = 9042,
          .data_center = data_center,
          .rack = "r1",
          .tokens = std::move(tokens)};
}

std::map<std::string, Replication> OneCopy() {
  return {{"ks", ParseReplication({{"class", "SimpleStrategy"}, {"replication_factor", "1"}})}};
}

Ids Plan(HostPool& pool, std::optional<int64_t> token = std::nullopt) {
  return pool.Plan(token, "ks", [](HostId) { return 0u; });
}

TEST(HostPool, NameOfADataCenterIsMadeReadable) {
  HostPool pool({.contacts = {{"one", 9042}, {"two", 9042}}});
  pool.NoteConnecting(1);
  EXPECT_TRUE(pool.NoteUp(1, Node('a', "dc\x1b[2J\xc2\x9b", {0}), 0));
  EXPECT_TRUE(pool.NoteUp(2, Node('b', "elsewhere", {1}), 0));
  pool.NoteDown(1, Status::IoError("one is away"), 0);
  const std::string words = pool.Away().message();
  EXPECT_NE(words.find("two:9042 is in data center elsewhere, and only nodes of dc?[2J? are asked"),
            std::string::npos)
      << words;
}

TEST(HostPool, ContactsAreDueAtOnceAndAgainAfterABackoff) {
  HostPool pool({.contacts = {{"one", 9042}, {"two", 9042}}});
  EXPECT_EQ(pool.DueForConnect(0), Ids({1, 2}));
  EXPECT_NE(pool.Away().message().find("two:9042 has not been asked yet"), std::string::npos);
  pool.NoteConnecting(1);
  pool.NoteConnecting(2);
  EXPECT_TRUE(pool.DueForConnect(0).empty());
  EXPECT_FALSE(pool.NextDueUs());
  pool.NoteDown(1, Status::IoError("one is away"), 1'000'000);
  const auto due_us = pool.NextDueUs();
  ASSERT_TRUE(due_us);
  EXPECT_GT(*due_us, 1'125'000 - 1);
  EXPECT_LE(*due_us, 1'250'000);
  EXPECT_TRUE(pool.DueForConnect(*due_us - 1).empty());
  EXPECT_EQ(pool.DueForConnect(*due_us), Ids({1}));
  EXPECT_EQ(pool.Away().code(), StatusCode::kNotFound);
  EXPECT_NE(pool.Away().message().find("one is away; two:9042 was asked and has not "
                                            "answered yet: check that the server"),
            std::string::npos);
  pool.NoteDown(1, Status::InvalidArgument("wrong password"), 0);
  pool.NoteDown(2, Status::InvalidArgument("wrong password"), 0);
  EXPECT_EQ(pool.Away().code(), StatusCode::kInvalidArgument);
}

TEST(HostPool, DescriptionBringsAndTakesHosts) {
  HostPool pool({.contacts = {{"one", 9042}}});
  pool.NoteConnecting(1);
  ASSERT_TRUE(pool.NoteUp(1, Node('a', "dc1", {0}), 0));
  EXPECT_EQ(pool.data_center(), "dc1");
  EXPECT_TRUE(pool.Apply({Node('a', "dc1", {0}), Node('b', "dc1", {100}), Node('c', "dc2", {200})},
                         OneCopy()).empty());
  EXPECT_EQ(pool.hosts().at(1).endpoint.host, "one");  // the name that works is kept
  EXPECT_EQ(pool.DueForConnect(0), Ids({2}));          // c is in another data center
  pool.NoteConnecting(2);
  ASSERT_TRUE(pool.NoteUp(2, Node('b', "dc1", {100}), 0));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Plan(pool, 50), Ids({2, 1}));
    EXPECT_EQ(Plan(pool, -50), Ids({1, 2}));
  }
  EXPECT_EQ(pool.Apply({Node('a', "dc1", {0})}, OneCopy()), Ids({2}));
  EXPECT_EQ(Plan(pool, 50), Ids({1}));
  // A contact stays, whatever the cluster says.
  EXPECT_TRUE(pool.Apply({Node('z', "dc1", {0})}, OneCopy()).empty());
  EXPECT_TRUE(pool.hosts().contains(1));
  // Nodes that join or leave have no tokens or no address.
  NodeInfo joining = Node('d', "dc1", {});
  NodeInfo hidden = Node('e', "dc1", {7});
  hidden.address.clear();
  const size_t before = pool.hosts().size();
  EXPECT_TRUE(pool.Apply({Node('z', "dc1", {0}), joining, hidden}, OneCopy()).empty());
  EXPECT_EQ(pool.hosts().size(), before);
}

TEST(HostPool, SecondNameOfAHostIsNotConnectedTwice) {
  HostPool pool({.contacts = {{"one", 9042}, {"also-one", 9042}}});
  pool.NoteConnecting(1);
  pool.NoteConnecting(2);
  ASSERT_TRUE(pool.NoteUp(1, Node('a', "dc1", {0}), 0));
  EXPECT_FALSE(pool.NoteUp(2, Node('a', "dc1", {0}), 0));
  EXPECT_EQ(Plan(pool), Ids({1}));
  EXPECT_FALSE(pool.NextDueUs());
  // The first name fails: the second is tried at once.
  pool.NoteDown(1, Status::IoError("away"), 5'000'000);
  EXPECT_EQ(pool.DueForConnect(5'000'000), Ids({2}));
  pool.NoteConnecting(2);
  EXPECT_TRUE(pool.NoteUp(2, Node('a', "dc1", {0}), 0));
  EXPECT_EQ(Plan(pool), Ids({2}));
}

TEST(HostPool, NameThatWorksTakesThePlaceOfAnAddressThatDoesNot) {
  HostPool pool({.contacts = {{"one", 9042}, {"two", 9042}}});
  pool.NoteConnecting(1);
  pool.NoteConnecting(2);
  ASSERT_TRUE(pool.NoteUp(1, Node('a', "dc1", {0}), 0));
  EXPECT_TRUE(
      pool.Apply({Node('a', "dc1", {0}), Node('b', "dc1", {100})}, OneCopy()).empty());
  pool.NoteConnecting(3);
  pool.NoteDown(3, Status::IoError("10.0.0.2 is not routed"), 0);
  ASSERT_TRUE(pool.NoteUp(2, Node('b', "dc1", {100}), 0));
  EXPECT_FALSE(pool.hosts().contains(3));
  EXPECT_EQ(Plan(pool, 50), Ids({2, 1}));
}

TEST(HostPool, OtherDataCentersAreUsedOnlyWhenTold) {
  for (const bool is_used : {false, true}) {
    HostPool pool({.contacts = {{"far", 9042}}, .data_center = "dc1",
                   .use_other_data_centers = is_used});
    pool.NoteConnecting(1);
    ASSERT_TRUE(pool.NoteUp(1, Node('a', "dc2", {0}), 0));
    EXPECT_EQ(Plan(pool), is_used ? Ids({1}) : Ids());
    if (is_used) continue;
    EXPECT_NE(pool.Away().message().find("far:9042 is in data center dc2, and only nodes of dc1 "
                                         "are asked"),
              std::string::npos);
  }
}

TEST(HostPool, HintShortensAWaitAndNeverLengthensIt) {
  HostPool pool({.contacts = {{"10.0.0.1", 9042}}, .retry_first_us = 60'000'000});
  pool.NoteDown(1, Status::IoError("away"), 0);
  pool.NoteHint("10.0.0.1", 1'000'000);
  EXPECT_EQ(pool.NextDueUs(), 1'000'000);
  pool.NoteHint("10.0.0.1", 9'000'000);
  pool.NoteHint("10.9.9.9", 0);
  EXPECT_EQ(pool.NextDueUs(), 1'000'000);
}

TEST(HostPool, ConnectsToNoMoreThanItsBound) {
  HostPool pool({.contacts = {{"one", 1}, {"two", 1}, {"three", 1}}, .connected_max = 2});
  EXPECT_EQ(pool.DueForConnect(0), Ids({1, 2}));
  pool.NoteConnecting(1);
  EXPECT_EQ(pool.DueForConnect(0), Ids({2}));
  pool.NoteConnecting(2);
  EXPECT_TRUE(pool.DueForConnect(0).empty());
  pool.NoteDown(1, Status::IoError("away"), 0);
  EXPECT_EQ(pool.DueForConnect(0), Ids({3}));
}

}  // namespace
}  // namespace cistern::cql
