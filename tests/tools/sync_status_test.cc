#include "tools/sync_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cistern::tool {
namespace {

constexpr int64_t kNowS = 1'704'067'200;  // 2024-01-01T00:00:00Z

ParkedSeal Parked() {
  ParkedSeal parked;
  parked.table = "plant.air";
  parked.entity = "a";
  parked.bucket = "'2013-03-01'";
  parked.seal = 17;
  parked.versions = 20;
  parked.parked_us = kNowS * 1'000'000;
  parked.attempts = 1;
  parked.error_code = 0x2200;
  parked.words = "Invalid: \"no\"\n  such thing\x07";
  return parked;
}

TEST(SyncStatus, TheAgeComesFirst) {
  SyncStatus status;
  status.now_s = kNowS;
  status.outbox = {.seals_waiting = 2,
                   .versions_waiting = 1,
                   .seals_parked = 1,
                   .versions_parked = 20,
                   .versions_confirmed = 9000,
                   .versions_confirmed_by_count = 3000,
                   .versions_confirmed_by_rows = 1,
                   .bytes_waiting = 1536,
                   .bytes_parked = 160,
                   .bytes_confirmed = 3 << 20,
                   .oldest_end_s = kNowS - 3 * 3600 - 12 * 60 - 5,
                   .open = {}};
  status.parked = {Parked()};
  status.outbox.open.versions = 7;
  status.outbox.open.bytes = 2048;
  status.outbox.open.oldest_us = (kNowS - 7200) * 1'000'000;
  EXPECT_EQ(SyncStatusText(status),
            "oldest unconfirmed bucket ended 3 h 12 min ago\n"
            "waiting: 2 seals, 1 row version, 1.5 KiB\n"
            "parked: 1 seal, 20 row versions, 160 B\n"
            "confirmed: 9000 row versions, 3.0 MiB, 3000 proved by count, 1 by rows\n"
            "not sealed yet: 7 row versions, 2.0 KiB, the oldest written 2 h ago\n"
            "parked: plant.air, entity a, bucket '2013-03-01', seal 17: Invalid: \"no\" such "
            "thing \n");
}

TEST(SyncStatus, ABucketThatGoesOnAndNoneAtAll) {
  SyncStatus status;
  status.now_s = kNowS;
  status.outbox.oldest_end_s = kNowS + 90;
  EXPECT_THAT(SyncStatusText(status),
              ::testing::StartsWith("oldest unconfirmed bucket ends in 1 min 30 s\nwaiting: "));
  status.outbox.oldest_end_s.reset();
  EXPECT_EQ(SyncStatusText(status),
            "all that is sealed is confirmed\n"
            "waiting: 0 seals, 0 row versions, 0 B\n"
            "parked: 0 seals, 0 row versions, 0 B\n"
            "confirmed: 0 row versions, 0 B, 0 proved by count, 0 by rows\n"
            "not sealed yet: 0 row versions, 0 B\n");
}

TEST(SyncStatus, Json) {
  SyncStatus status;
  status.now_s = kNowS;
  status.outbox.oldest_end_s = kNowS - 60;
  status.outbox.seals_parked = 2;
  status.outbox.versions_confirmed_by_count = 3;
  status.outbox.versions_confirmed_by_rows = 2;
  status.outbox.bytes_waiting = 11;
  status.outbox.bytes_parked = 12;
  status.outbox.bytes_confirmed = 13;
  status.outbox.open.bytes = 14;
  status.parked = {Parked(), Parked()};
  status.parked[1].error_code = 0;
  status.parked[1].split = 3;
  const std::string text = SyncStatusJson(status);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["oldest_unconfirmed_end"], "2023-12-31T23:59:00Z");
  EXPECT_EQ(json["oldest_unconfirmed_age_s"], 60);
  EXPECT_EQ(json["seals_parked"], 2);
  EXPECT_EQ(json["versions_confirmed_by_count"], 3);
  EXPECT_EQ(json["versions_confirmed_by_rows"], 2);
  EXPECT_EQ(json["bytes_waiting"], 11);
  EXPECT_EQ(json["bytes_parked"], 12);
  EXPECT_EQ(json["bytes_confirmed"], 13);
  EXPECT_EQ(json["bytes_open"], 14);
  for (const char* name : {"seals_waiting", "versions_waiting", "versions_parked",
                           "versions_confirmed", "versions_open"}) {
    EXPECT_EQ(json[name], 0) << name;
  }
  const auto& parked = json["parked"];
  ASSERT_EQ(parked.size(), 2u);
  EXPECT_EQ(parked[0]["table"], "plant.air");
  EXPECT_EQ(parked[0]["entity"], "a");
  EXPECT_EQ(parked[0]["bucket"], "'2013-03-01'");
  EXPECT_EQ(parked[0]["seal"], 17);
  EXPECT_EQ(parked[0]["versions"], 20);
  EXPECT_EQ(parked[0]["parked_at"], "2024-01-01T00:00:00.000000Z");
  EXPECT_EQ(parked[0]["attempts"], 1);
  EXPECT_EQ(parked[0]["error_code"], 0x2200);
  EXPECT_EQ(parked[0]["words"], Parked().words);
  EXPECT_TRUE(parked[1]["error_code"].is_null());
  EXPECT_EQ(parked[1]["split"], 3);
  status.outbox.oldest_end_s.reset();
  const auto none = nlohmann::json::parse(SyncStatusJson(status));
  EXPECT_TRUE(none["oldest_unconfirmed_end"].is_null());
  EXPECT_TRUE(none["oldest_unconfirmed_age_s"].is_null());
}

// An alert on the age alone notices rows that nobody seals.
TEST(SyncStatus, OpenRowsCountAndAreExplained) {
  SyncStatus status;
  status.now_s = kNowS;
  status.outbox.open = {.versions = 96'180,
                        .oldest_us = (kNowS - 86'400) * 1'000'000,
                        .buckets_overdue = 2,
                        .versions_overdue = 90,
                        .overdue_since_us = (kNowS - 3600) * 1'000'000,
                        .why = Status::Busy("the clock is not trusted")};
  EXPECT_THAT(SyncStatusText(status),
              ::testing::EndsWith("not sealed yet: 96180 row versions, 0 B, the oldest written 1 d "
                                  "ago\n"
                                  "overdue: 2 buckets, 90 row versions, the first for 1 h\n"
                                  "why: the clock is not trusted\n"));
  const auto json = nlohmann::json::parse(SyncStatusJson(status));
  EXPECT_TRUE(json["oldest_unconfirmed_end"].is_null());
  EXPECT_EQ(json["oldest_unconfirmed_age_s"], 86'400);
  EXPECT_EQ(json["versions_open"], 96'180);
  EXPECT_EQ(json["oldest_open_written"], "2023-12-31T00:00:00.000000Z");
  EXPECT_EQ(json["buckets_overdue"], 2);
  EXPECT_EQ(json["versions_overdue"], 90);
  EXPECT_EQ(json["overdue_since"], "2023-12-31T23:00:00.000000Z");
  EXPECT_EQ(json["not_sealed_because"], "the clock is not trusted");
  status.outbox.oldest_end_s = kNowS - 100'000;
  EXPECT_EQ(nlohmann::json::parse(SyncStatusJson(status))["oldest_unconfirmed_age_s"], 100'000);
  status.outbox.oldest_end_s = kNowS - 10;
  EXPECT_EQ(nlohmann::json::parse(SyncStatusJson(status))["oldest_unconfirmed_age_s"], 86'400);
}

TEST(SyncStatus, Ages) {
  const std::pair<int64_t, const char*> ages[] = {
      {0, "0 s"},          {59, "59 s"},           {60, "1 min"},        {61, "1 min 1 s"},
      {3600, "1 h"},       {3601, "1 h"},          {3660, "1 h 1 min"},  {86'399, "23 h 59 min"},
      {86'400, "1 d"},     {86'460, "1 d"},        {90'000, "1 d 1 h"},  {864'000'000, "10000 d"}};
  for (const auto& [seconds, text] : ages) EXPECT_EQ(AgeText(seconds), text);
}

TEST(SyncStatus, ALineHasNothingThatATerminalWouldObey) {
  EXPECT_EQ(OneLine("one\n   two\x7f" "three"), "one two three");
  EXPECT_EQ(OneLine("a\xc2\x9b" "31m r\xc3\xa4""ck"), "a?31m r\xc3\xa4""ck");
  EXPECT_EQ(OneLine("a\x9b" "31m"), "a?31m");
}

TEST(SyncStatus, WhatIsAdvisedWhileItIsAwayGoesByTheCode) {
  ReplicationStatus status;
  status.away = Status::InvalidArgument("db-1:9042 answered: unavailable (0x1000)");
  EXPECT_EQ(AwayText(status), "db-1:9042 answered: unavailable (0x1000)") << "some server's words";
  status.away_error_code = 0x1000;
  EXPECT_EQ(AwayText(status),
            "db-1:9042 answered: unavailable (0x1000); nodes are down, or its keyspace asks for "
            "more replicas than there are nodes");
}

TEST(SyncStatus, ASplitIsNamed) {
  ParkedSeal parked = Parked();
  parked.split = 2;
  parked.words = "no";
  EXPECT_EQ(ParkedText(parked), "plant.air, entity a, bucket '2013-03-01', split 2, seal 17: no");
}

}  // namespace
}  // namespace cistern::tool
