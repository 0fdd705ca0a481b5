// ParseCreateTable: what a CREATE TABLE text becomes.
#include <gtest/gtest.h>

#include "cistern/limits.h"
#include "cistern/schema.h"

namespace cistern {
namespace {

constexpr char kPumps[] = R"(
-- readings of all pumps
CREATE TABLE IF NOT EXISTS plant.readings (
    sensor text, day date, shard tinyint,  /* partition key */
    ts timestamp, seq int,
    temperature double, "Label" varchar, tags frozen<map<text, frozen<list<int>>>>,
    PRIMARY KEY ((sensor, day, shard), ts, seq)
) WITH CLUSTERING ORDER BY (ts DESC, seq ASC)
  AND comment = 'The pump''s readings. cistern: bucket day = 1 day; split shard = hash 8'
  AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': 1,
                    'compaction_window_unit': 'DAYS'}
  AND default_time_to_live = 7776000 AND gc_grace_seconds = 3600
  AND speculative_retry = '99p' AND bloom_filter_fp_chance = 0.01;
)";

TEST(Schema, ReadsAWholeTable) {
  const auto parsed = ParseCreateTable(kPumps);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const TableSchema& t = **parsed;
  EXPECT_EQ(t.keyspace, "plant");
  EXPECT_EQ(t.name, "readings");
  ASSERT_EQ(t.columns.size(), 8u);
  EXPECT_EQ(t.columns[6].name, "Label");
  EXPECT_EQ(t.columns[6].type.kind, CqlType::kText);
  EXPECT_EQ(t.columns[7].type.ToCql(), "frozen<map<text, frozen<list<int>>>>");
  EXPECT_EQ(t.partition_key, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(t.entity_columns, (std::vector<size_t>{0}));
  EXPECT_EQ(t.bucket_column, 1u);
  EXPECT_EQ(t.split_column, std::optional<size_t>(2));
  EXPECT_EQ(t.clustering_columns, (std::vector<size_t>{3, 4}));
  EXPECT_EQ(t.regular_columns, (std::vector<size_t>{5, 6, 7}));
  EXPECT_EQ(t.columns[1].role, ColumnRole::kBucket);
  EXPECT_EQ(t.columns[2].role, ColumnRole::kSplit);
  EXPECT_TRUE(t.columns[3].descending);
  EXPECT_FALSE(t.columns[4].descending);
  EXPECT_EQ(t.bucket, (BucketRule{BucketUnit::kDay, 1, BucketEncoding::kDate}));
  EXPECT_EQ(t.split, (SplitRule{SplitKind::kHash, 8}));
  EXPECT_EQ(t.time_unit, TimeUnit::kMillis);
  EXPECT_EQ(t.default_ttl_s, 7'776'000u);
  EXPECT_EQ(t.gc_grace_s, 3'600u);
  EXPECT_EQ(t.compaction.at("compaction_window_size"), "1");
  EXPECT_EQ(t.comment, "The pump's readings. cistern: bucket day = 1 day; split shard = hash 8");
  EXPECT_EQ(t.other_options.at("speculative_retry"), "'99p'");
  EXPECT_EQ(t.other_options.at("bloom_filter_fp_chance"), "0.01");
}

TEST(Schema, CanonicalTextReadsBackEqual) {
  const auto first = ParseCreateTable(kPumps);
  ASSERT_TRUE(first.ok());
  const auto second = ParseCreateTable((*first)->ToCql());
  ASSERT_TRUE(second.ok()) << second.status().ToString() << "\n" << (*first)->ToCql();
  EXPECT_EQ((*second)->ToCql(), (*first)->ToCql());
  EXPECT_EQ((*second)->columns, (*first)->columns);
  EXPECT_EQ((*second)->comment, (*first)->comment);
}

}  // namespace
}  // namespace cistern
