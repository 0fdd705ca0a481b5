#include "tools/contact_options.h"

#include <gtest/gtest.h>

#include "engine/cluster_access.h"

namespace cistern::tool {
namespace {

TEST(ContactOptions, HostsWithAndWithoutPort) {
  const std::pair<const char*, cql::Endpoint> right[] = {
      {"db-1", {"db-1", 9042}},
      {"10.1.2.3:19042", {"10.1.2.3", 19042}},
      {"[fd00::1]", {"fd00::1", 9042}},
      {"[fd00::1%eth0]:65535", {"fd00::1%eth0", 65535}},
  };
  for (const auto& [text, endpoint] : right) {
    const Result<cql::Endpoint> parsed = ParseContact("--contact", text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(*parsed, endpoint);
  }
}

TEST(ContactOptions, WhatIsNoHost) {
  for (const char* text : {"", ":1", "db:", "db:x", "db:1x", "db:-1", "db:0", "db:65536", "a:b:c",
                           "fd00::1", "[", "[]", "[db]", "[::1]x", "[::1]:", "[::1]:0", "a b",
                           "a/b", "cql://db", "db]"}) {
    const Result<cql::Endpoint> parsed = ParseContact("--contact", text);
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(parsed.status().message().find(std::string("'") + text + "'"), std::string::npos);
  }
}

TEST(ContactOptions, NoPasswordIsRepeatedThatStandsBeforeAHost) {
  const Status refused = ParseContact("--contact", "edge:hunter2@db-1:9042").status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message().find("hunter2"), std::string::npos) << refused.ToString();
  EXPECT_NE(refused.message().find("HOST[:PORT] is wanted"), std::string::npos);
}

TEST(ContactOptions, ConsistencyOfWrites) {
  const auto quorum = ParseConsistency("--consistency", "local_quorum");
  ASSERT_TRUE(quorum.ok());
  EXPECT_EQ(*quorum, Consistency::kLocalQuorum);
  const auto all = ParseConsistency("--consistency", "ALL");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(*all, Consistency::kAll);
  for (const char* text : {"", "SERIAL", "LOCAL_SERIAL", "QUORUM ", "MOST"}) {
    const auto parsed = ParseConsistency("--consistency", text);
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(ContactOptions, WhatThePlanHolds) {
  ContactOptions options;
  options.contacts = {"a,b:1", "[::1]"};
  options.local_dc = "north";
  options.connect_timeout = "2s";
  const Result<ContactPlan> plan = PlanContact(options);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  const cql::ClusterOptions& cluster = plan->session.cluster;
  EXPECT_EQ(cluster.hosts.contacts,
            (std::vector<cql::Endpoint>{{"a", 9042}, {"b", 1}, {"::1", 9042}}));
  EXPECT_EQ(cluster.hosts.data_center, "north");
  EXPECT_EQ(plan->connect_timeout_us, 2'000'000);
  EXPECT_EQ(cluster.connection.transport.connect_timeout_us, 2'000'000);
  EXPECT_FALSE(cluster.connection.transport.tls.has_value());
  EXPECT_FALSE(cluster.connection.credentials);
  EXPECT_FALSE(cluster.connection.allow_cleartext_password);
}

TEST(ContactOptions, VersionAndCompression) {
  ContactOptions options;
  options.contacts = {"a"};
  const auto connection_of = [&options] {
    const Result<ContactPlan> plan = PlanContact(options);
    EXPECT_TRUE(plan.ok()) << plan.status().ToString();
    return plan->session.cluster.connection;
  };
  EXPECT_EQ(connection_of().version, cql::ProtocolVersion::kV5);
  EXPECT_TRUE(connection_of().allow_v4);
  EXPECT_TRUE(connection_of().use_lz4);
  options.protocol = "v5";
  options.compression = "lz4";
  EXPECT_EQ(connection_of().version, cql::ProtocolVersion::kV5);
  EXPECT_FALSE(connection_of().allow_v4);
  EXPECT_TRUE(connection_of().use_lz4);
  options.protocol = "v4";
  options.compression = "none";
  EXPECT_EQ(connection_of().version, cql::ProtocolVersion::kV4);
  EXPECT_FALSE(connection_of().use_lz4);
  for (std::string* text : {&options.protocol, &options.compression}) {
    const std::string before = *text;
    *text = "V5";
    EXPECT_EQ(PlanContact(options).status().code(), StatusCode::kInvalidArgument);
    *text = before;
  }
}

}  // namespace
}  // namespace cistern::tool
