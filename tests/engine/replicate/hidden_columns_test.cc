// Columns that were dropped upstream and added again: what they hide, and to what a person agrees.
#include "engine/replicate/hidden_columns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/replicate/accepted_drop.h"
#include "engine/replicate/schema_drift.h"
#include "tests/engine/replicate/schema_model.h"

namespace cistern::replicate {
namespace {

const char kReadings[] =
    "CREATE TABLE readings (sensor text, day date, ts timestamp, temperature double, state text, "
    "tags frozen<set<text>>, PRIMARY KEY ((sensor, day), ts))";

SchemaDrift Compare(const std::shared_ptr<const TableSchema>& declared,
                    const ModelCluster& cluster) {
  return CompareSchema(std::vector{declared}, cluster.Read("plant", declared->name));
}

TEST(HiddenColumns, HideWhatWasWrittenUpToADropUntilSomebodyAgrees) {
  constexpr int64_t kDroppedMs = 1'795'383'461'280;
  constexpr int64_t kLastUs = kDroppedMs * 1000 + 999;  // told in whole milliseconds
  ModelCluster cluster = ClusterWith(kReadings);
  cluster.tables[{"plant", "readings"}].dropped = {{"state", "regular", "text"}};
  const auto declared = Declared(kReadings);
  SchemaDrift drift = Compare(declared, cluster);
  EXPECT_EQ(drift.HiddenUpTo(), kLastUs);
  EXPECT_TRUE(drift.CheckShown(kLastUs + 1).ok());
  const Status hidden = drift.CheckShown(kLastUs);
  EXPECT_EQ(hidden.code(), StatusCode::kInvalidArgument);
  const std::string drop = "plant.readings.state@2026-11-22T21:37:41.280Z";
  for (const std::string& part : {std::string("some buckets are not sent to plant.readings: the "
                                              "column 'state' was dropped"),
                                  "--accept-hidden " + drop + "`", std::string("--proof rows")}) {
    EXPECT_NE(hidden.message().find(part), std::string::npos) << hidden.message();
  }
  HiddenColumns columns = drift.HiddenColumnsOf(*declared);
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns[1], (HiddenColumn{kLastUs, false, drop}));
  EXPECT_TRUE(Hides(columns, 1, kLastUs));
  EXPECT_FALSE(Hides(columns, 1, kLastUs + 1));
  EXPECT_FALSE(Hides(columns, 0, INT64_MIN));
  EXPECT_FALSE(Hides({}, 1, 0));

  // An agreement is of one column, and of drops up to its time.
  for (const AcceptedDrop& other :
       {AcceptedDrop{"plant.readings", "state", kDroppedMs - 1},
        AcceptedDrop{"plant.readings", "tags", kDroppedMs},
        AcceptedDrop{"plant.other", "state", kDroppedMs}}) {
    drift.Accept(std::vector{other});
    EXPECT_TRUE(drift.HiddenUpTo().has_value()) << other.table << other.column;
  }
  drift.Accept(std::vector{AcceptedDrop{"plant.readings", "state", kDroppedMs}});
  EXPECT_EQ(drift.HiddenUpTo(), std::nullopt);
  EXPECT_TRUE(drift.CheckShown(INT64_MIN).ok());
  EXPECT_FALSE(drift.Has(DriftWeight::kBlocks));
  EXPECT_TRUE(drift.Has(DriftWeight::kWarns));
  columns = drift.HiddenColumnsOf(*declared);
  EXPECT_EQ(columns[1], (HiddenColumn{kLastUs, true, drop}));
}

TEST(HiddenColumns, NoDropIsTooLate) {
  ModelCluster cluster = ClusterWith(kReadings);
  ModelTable& table = cluster.tables[{"plant", "readings"}];
  for (const int64_t dropped_ms : {INT64_MAX, INT64_MAX / 1000}) {
    table.dropped = {{"state", "regular", "text", dropped_ms}};
    const SchemaDrift drift = Compare(Declared(kReadings), cluster);
    EXPECT_EQ(drift.HiddenUpTo(), INT64_MAX);
    EXPECT_FALSE(drift.CheckShown(INT64_MAX).ok());
  }
}

TEST(AcceptedDropText, IsReadBack) {
  for (const AcceptedDrop& drop :
       {AcceptedDrop{"plant.pumps", "flow", 1'800'000'000'123}, AcceptedDrop{"P.t", "a.b@c", 0},
        AcceptedDrop{"plant.pumps", "flow", INT64_MAX}}) {
    const std::string text = AcceptedDropText(drop);
    const Result<AcceptedDrop> read = ParseAcceptedDrop(text);
    ASSERT_TRUE(read.ok()) << text << ": " << read.status().ToString();
    EXPECT_EQ(*read, drop) << text;
  }
  EXPECT_EQ(AcceptedDropText({"plant.pumps", "flow", 1'800'000'000'123}),
            "plant.pumps.flow@2027-01-15T08:00:00.123Z");
  for (const char* text : {"", "@", "plant.pumps.flow", "plant.pumps@2027-01-15", "..@2027-01-15",
                           "plant..flow@2027-01-15", "plant.pumps.@2027-01-15",
                           "plant.pumps.flow@yesterday", "plant.pumps.flow@"}) {
    const Status refused = ParseAcceptedDrop(text).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(refused.message().find("KEYSPACE.TABLE.COLUMN@TIME"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace cistern::replicate
