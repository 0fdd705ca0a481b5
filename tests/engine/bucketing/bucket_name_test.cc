#include "engine/bucketing/bucket_name.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>

#include "cistern/entity.h"

namespace cistern {
namespace {

constexpr int64_t kDayS = 86'400;
constexpr int64_t kStartS = 1'799'971'200;  // 2027-01-15T00:00:00Z

std::string Name(const std::string& columns, const std::string& key, const std::string& comment,
                 int64_t start_s, const std::string& table = "plant.pumps") {
  const auto schema = ParseCreateTable("CREATE TABLE " + table + " (pump text, " + columns +
                                       ", ts timestamp, PRIMARY KEY ((" + key +
                                       "), ts)) WITH comment = 'cistern: " + comment + "'");
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  if (!schema.ok()) return "";
  const std::string_view parts[] = {"p1"};
  return BucketName(**schema, EntityFromText(**schema, parts)->bytes, start_s, 3);
}

TEST(BucketName, HasThePartsAsTheToolTakesThem) {
  EXPECT_EQ(Name("day date", "pump, day", "bucket day = 1 day", kStartS),
            "plant.pumps p1 2027-01-15");
  EXPECT_EQ(Name("day date", "pump, day", "bucket day = 1 day", kStartS, "pumps"),
            "pumps p1 2027-01-15");
  EXPECT_EQ(Name("day date, shard int", "pump, day, shard",
                 "bucket day = 1 day; split shard = hash 4", kStartS),
            "plant.pumps p1 2027-01-15 split 3");
}

// A damaged key may say anything.
TEST(BucketName, TellsTheTimeWhereNoBucketStarts) {
  const auto by_months = [](int64_t start_s) {
    return Name("month text", "pump, month", "bucket month = 1 month", start_s);
  };
  EXPECT_EQ(by_months(kStartS - 14 * kDayS), "plant.pumps p1 2027-01");
  EXPECT_EQ(by_months(kStartS), "plant.pumps p1 at 2027-01-15T00:00:00Z");
  EXPECT_EQ(by_months(kStartS - 14 * kDayS + 1), "plant.pumps p1 at 2027-01-01T00:00:01Z");
  for (const int64_t start_s : {INT64_MIN, INT64_MIN / 2, INT64_MAX / 2, INT64_MAX}) {
    EXPECT_EQ(by_months(start_s), "plant.pumps p1 at " + std::to_string(start_s));
    EXPECT_EQ(Name("day date", "pump, day", "bucket day = 1 day", start_s),
              "plant.pumps p1 at " + std::to_string(start_s));
  }
}

}  // namespace
}  // namespace cistern
