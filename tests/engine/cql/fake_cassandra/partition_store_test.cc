// Cassandra's rules of what a partition holds, as the fake cluster has them.
#include "tests/support/fake_cassandra/partition_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/rng.h"

namespace cistern::fake_cassandra {
namespace {

constexpr int64_t kNow = 1'700'000'000;

TablePtr MakeTable(const std::string& options = "") {
  Result<TableDefinition> table = DefineTable(
      "CREATE TABLE plant.air (sensor text, ts int, seq int, a int, b text, "
      "PRIMARY KEY ((sensor), ts, seq)) WITH CLUSTERING ORDER BY (ts DESC, seq ASC)" + options);
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  table->id = "0123456789abcdef";
  return std::make_shared<const TableDefinition>(*std::move(table));
}

std::string IntBytes(int32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

ClusteringKey Key(int32_t ts, int32_t seq) { return {CellValue{ts, ""}, CellValue{seq, ""}}; }

// A store of one table, and short words for writing to one partition of it.
class PartitionStoreTest : public ::testing::Test {
 protected:
  void Insert(const ClusteringKey& key, int64_t timestamp_us, int32_t a, uint32_t ttl_s = 0) {
    StoredRow row = Cell("a", timestamp_us, IntBytes(a), ttl_s);
    row.marker = {timestamp_us, ttl_s, ExpiryOf(kNow, ttl_s, StorageCompatibility::kNone)};
    Apply(key, row);
  }
  void Update(const ClusteringKey& key, int64_t timestamp_us, int32_t a, uint32_t ttl_s = 0) {
    Apply(key, Cell("a", timestamp_us, IntBytes(a), ttl_s));
  }
  void SetNull(const ClusteringKey& key, int64_t timestamp_us) {
    StoredRow row;
    row.cells["a"] = {timestamp_us, 0, kNow, ""};
    Apply(key, row);
  }
  void DeleteRow(const ClusteringKey& key, int64_t timestamp_us) {
    StoredRow row;
    row.deletion = {timestamp_us, kNow};
    Apply(key, row);
  }
  void DeleteRange(RangeTombstone range, int64_t timestamp_us) {
    range.deletion = {timestamp_us, kNow};
    Mutation mutation = MutationOf("s");
    mutation.change.MergeRange(range);
    store_.Apply(mutation);
  }
  void DeletePartition(int64_t timestamp_us) {
    Mutation mutation = MutationOf("s");
    mutation.change.MergeDeletion({timestamp_us, kNow});
    store_.Apply(mutation);
  }
  void Apply(const ClusteringKey& key, const StoredRow& row) {
    Mutation mutation = MutationOf("s");
    mutation.change.MergeRow(key, row);
    store_.Apply(mutation);
  }
  Mutation MutationOf(const std::string& sensor) const {
    return {table_, {sensor}, Partition(table_->order)};
  }
  static StoredRow Cell(const std::string& name, int64_t timestamp_us, std::string value,
                        uint32_t ttl_s) {
    StoredRow row;
    row.cells[name] = {timestamp_us, ttl_s, ExpiryOf(kNow, ttl_s, StorageCompatibility::kNone),
                       std::move(value)};
    return row;
  }
  std::string Visible(int64_t now_s = kNow) const {
    return store_.Dump(*table_, DumpKind::kVisible, now_s);
  }
  std::string Everything() const { return store_.Dump(*table_, DumpKind::kEverything, kNow); }

  TablePtr table_ = MakeTable();
  PartitionStore store_;
};

TEST_F(PartitionStoreTest, ShowsLiveRowsInClusteringOrderWithWriteTimesAndExpiries) {
  Insert(Key(1, 2), 10, 7);
  Insert(Key(2, 1), 11, 8, 60);
  Insert(Key(1, 1), 12, 9);
  EXPECT_EQ(Visible(),
            "plant.air sensor='s' | ts=2 seq=1 | a=8@11 until 1700000060\n"
            "plant.air sensor='s' | ts=1 seq=1 | a=9@12\n"
            "plant.air sensor='s' | ts=1 seq=2 | a=7@10\n");
}

TEST_F(PartitionStoreTest, AnInsertWithoutCellsIsARowAndAnUpdateIsNot) {
  StoredRow marker;
  marker.marker = {5, 0, kNever};
  Apply(Key(1, 1), marker);
  EXPECT_EQ(Visible(), "plant.air sensor='s' | ts=1 seq=1 |\n");
  Update(Key(2, 1), 5, 1);
  SetNull(Key(2, 1), 6);
  EXPECT_EQ(Visible(), "plant.air sensor='s' | ts=1 seq=1 |\n");
}

TEST_F(PartitionStoreTest, ARowOfAnUpdateEndsWithItsLastCellAndThatOfAnInsertDoesNot) {
  Update(Key(1, 1), 5, 1, 60);
  Insert(Key(2, 1), 5, 1);
  Update(Key(2, 1), 6, 2, 60);
  EXPECT_EQ(Visible(kNow + 59),
            "plant.air sensor='s' | ts=2 seq=1 | a=2@6 until 1700000060\n"
            "plant.air sensor='s' | ts=1 seq=1 | a=1@5 until 1700000060\n");
  // The expired cell still shadows the older value.
  EXPECT_EQ(Visible(kNow + 60), "plant.air sensor='s' | ts=2 seq=1 |\n");
}

TEST_F(PartitionStoreTest, AMarkerExpires) {
  Insert(Key(1, 1), 5, 1, 60);
  Update(Key(1, 1), 6, 2, 120);
  EXPECT_EQ(Visible(kNow + 100), "plant.air sensor='s' | ts=1 seq=1 | a=2@6 until 1700000120\n");
  EXPECT_EQ(Visible(kNow + 120), "");
}

TEST_F(PartitionStoreTest, ARowDeletionTakesWhatIsNotNewer) {
  DeleteRow(Key(1, 1), 10);
  Insert(Key(1, 1), 10, 1);
  EXPECT_EQ(Visible(), "");
  Update(Key(1, 1), 11, 2);
  EXPECT_EQ(Visible(), "plant.air sensor='s' | ts=1 seq=1 | a=2@11\n");
  EXPECT_EQ(Everything(), "plant.air sensor='s' | ts=1 seq=1 | row-deleted@10 a=2@11\n");
}

TEST_F(PartitionStoreTest, ARangeHasItsBoundsInOrOut) {
  for (int32_t ts = 1; ts <= 4; ++ts) Insert(Key(ts, 1), 10, ts);
  DeleteRange({{}, RangeBound{{1, ""}, false}, RangeBound{{3, ""}, true}, {}}, 10);
  EXPECT_EQ(Visible(),
            "plant.air sensor='s' | ts=4 seq=1 | a=4@10\n"
            "plant.air sensor='s' | ts=1 seq=1 | a=1@10\n");
  DeleteRange({{}, RangeBound{{4, ""}, true}, std::nullopt, {}}, 10);
  EXPECT_EQ(Visible(), "plant.air sensor='s' | ts=1 seq=1 | a=1@10\n");
  EXPECT_EQ(Everything(),
            "plant.air sensor='s' | range ts > 1 <= 3 deleted@10\n"
            "plant.air sensor='s' | range ts >= 4 deleted@10\n"
            "plant.air sensor='s' | ts=1 seq=1 | marker@10 a=1@10\n");
}

TEST_F(PartitionStoreTest, ARangeOfAPrefixTakesItsRows) {
  Insert(Key(1, 1), 10, 1);
  Insert(Key(1, 2), 11, 2);
  Insert(Key(2, 1), 10, 3);
  DeleteRange({{CellValue{1, ""}}, std::nullopt, std::nullopt, {}}, 10);
  EXPECT_EQ(Visible(),
            "plant.air sensor='s' | ts=2 seq=1 | a=3@10\n"
            "plant.air sensor='s' | ts=1 seq=2 | a=2@11\n");
}

TEST_F(PartitionStoreTest, APartitionDeletionTakesAllThatIsNotNewer) {
  Insert(Key(1, 1), 10, 1);
  Insert(Key(2, 1), 11, 2);
  DeletePartition(10);
  Insert(Key(3, 1), 9, 3);
  EXPECT_EQ(Visible(), "plant.air sensor='s' | ts=2 seq=1 | a=2@11\n");
}

TEST_F(PartitionStoreTest, ADroppedColumnLosesItsCells) {
  Insert(Key(1, 1), 10, 1);
  Update(Key(2, 1), 10, 1);
  const Result<TableDefinition> without = WithoutColumn(*table_, "a", 9);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(store_.Dump(*without, DumpKind::kVisible, 0), "plant.air sensor='s' | ts=1 seq=1 |\n");
  store_.Purge(*without, 0);
  EXPECT_EQ(Everything(), "plant.air sensor='s' | ts=1 seq=1 | marker@10\n");
}

TEST_F(PartitionStoreTest, AColumnThatIsThereAgainShowsWhatIsNewerThanItsDrop) {
  Update(Key(1, 1), 10, 1);
  Update(Key(2, 1), 11, 2);
  const Result<TableDefinition> without = WithoutColumn(*table_, "a", 10);
  ASSERT_TRUE(without.ok());
  const Result<TableDefinition> again =
      WithColumn(*without, table_->columns[*table_->Find("a")]);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(store_.Dump(*again, DumpKind::kVisible, 0),
            "plant.air sensor='s' | ts=2 seq=1 | a=2@11\n");
}

TEST_F(PartitionStoreTest, AfterGcGraceADeletionIsForgottenAndOldRowsRise) {
  DeleteRow(Key(1, 1), 10);
  SetNull(Key(2, 1), 10);
  Insert(Key(3, 1), 10, 1, 60);
  store_.Purge(*table_, kNow + table_->gc_grace_s);
  Insert(Key(1, 1), 9, 1);
  Update(Key(2, 1), 9, 1);
  EXPECT_EQ(Visible(kNow + 100), "");
  store_.Purge(*table_, kNow + table_->gc_grace_s + 1);
  Insert(Key(1, 1), 9, 1);
  Update(Key(2, 1), 9, 1);
  EXPECT_EQ(Visible(kNow + 100),
            "plant.air sensor='s' | ts=2 seq=1 | a=1@9\n"
            "plant.air sensor='s' | ts=1 seq=1 | a=1@9\n");
  // Of the expired INSERT the marker stays longer: its gc_grace counts from its expiry.
  EXPECT_NE(Everything().find("ts=3 seq=1 | marker@10 until 1700000060\n"), std::string::npos);
}

TEST_F(PartitionStoreTest, TheSameMutationsInAnyOrderAndNumberGiveTheSamePartition) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    testing::Rng rng(seed);
    std::vector<Mutation> mutations;
    for (int i = 0; i < 25; ++i) {
      Mutation mutation = MutationOf("s");
      const ClusteringKey key = Key(static_cast<int32_t>(rng.Below(3)), 0);
      const auto timestamp_us = static_cast<int64_t>(rng.Below(6));
      const uint32_t ttl_s = rng.OneIn(2) ? 0 : static_cast<uint32_t>(1 + rng.Below(3));
      StoredRow row = Cell("a", timestamp_us, IntBytes(static_cast<int32_t>(rng.Below(3))), ttl_s);
      if (rng.OneIn(3)) row.marker = {timestamp_us, ttl_s, row.cells["a"].local_deletion_s};
      if (rng.OneIn(6)) row = StoredRow{{}, {timestamp_us, kNow}, {}, {}};
      mutation.change.MergeRow(key, row);
      if (rng.OneIn(12)) mutation.change.MergeDeletion({timestamp_us, kNow});
      if (rng.OneIn(8)) {
        mutation.change.MergeRange({{}, RangeBound{key[0], rng.OneIn(2)}, std::nullopt,
                                    {timestamp_us, kNow}});
      }
      mutations.push_back(std::move(mutation));
    }
    PartitionStore forward;
    for (const Mutation& mutation : mutations) forward.Apply(mutation);
    PartitionStore shuffled;
    for (size_t i = 0; i < 4 * mutations.size(); ++i) {
      shuffled.Apply(mutations[rng.Below(mutations.size())]);
    }
    for (size_t i = mutations.size(); i-- > 0;) shuffled.Apply(mutations[i]);
    ASSERT_EQ(forward.Dump(*table_, DumpKind::kEverything, kNow),
              shuffled.Dump(*table_, DumpKind::kEverything, kNow)) << "seed " << seed;
    PartitionStore merged;
    merged.MergeTable(*table_, shuffled);
    merged.MergeTable(*table_, forward);
    ASSERT_EQ(merged.Dump(*table_, DumpKind::kEverything, kNow),
              forward.Dump(*table_, DumpKind::kEverything, kNow)) << "seed " << seed;
  }
}

TEST(Ttl, ComesFromTheStatementOrTheTable) {
  const TablePtr plain = MakeTable();
  const TablePtr with_default = MakeTable(" AND default_time_to_live = 100");
  using Kind = TtlRequest::Kind;
  constexpr auto kMode = StorageCompatibility::kCassandra4;
  EXPECT_EQ(*ResolveTtl(*plain, {}, kNow, kMode), 0u);
  EXPECT_EQ(*ResolveTtl(*with_default, {}, kNow, kMode), 100u);
  EXPECT_EQ(*ResolveTtl(*with_default, {Kind::kUnset, 0}, kNow, kMode), 100u);
  EXPECT_EQ(*ResolveTtl(*with_default, {Kind::kNull, 0}, kNow, kMode), 0u);
  EXPECT_EQ(*ResolveTtl(*with_default, {Kind::kValue, 0}, kNow, kMode), 0u);
  EXPECT_EQ(*ResolveTtl(*with_default, {Kind::kValue, 7}, kNow, kMode), 7u);
}

TEST(Ttl, IsRefusedInTheServersWords) {
  const TablePtr table = MakeTable();
  using Kind = TtlRequest::Kind;
  const auto refusal = [&](int32_t ttl_s, StorageCompatibility mode) {
    return ResolveTtl(*table, {Kind::kValue, ttl_s}, kNow, mode).status().message();
  };
  EXPECT_EQ(refusal(-1, StorageCompatibility::kNone),
            "A TTL must be greater or equal to 0, but was -1");
  EXPECT_EQ(refusal(630'720'001, StorageCompatibility::kNone),
            "ttl is too large. requested (630720001) maximum (630720000)");
  EXPECT_EQ(refusal(630'720'000, StorageCompatibility::kNone), "");
  EXPECT_EQ(refusal(630'720'000, StorageCompatibility::kCassandra4).rfind(
                "Request on table plant.air with ttl of 630720000 seconds exceeds maximum "
                "supported expiration date of 2038-01-19T03:14:06+00:00.", 0), 0u);
}

TEST(Ttl, MayEndInTheLastSecondThatTheModeStores) {
  const TablePtr table = MakeTable();
  for (const auto mode : {StorageCompatibility::kCassandra4, StorageCompatibility::kNone}) {
    const int64_t now_s = ExpirySecondsMax(mode) - 1000;
    EXPECT_TRUE(ResolveTtl(*table, {TtlRequest::Kind::kValue, 1000}, now_s, mode).ok());
    EXPECT_FALSE(ResolveTtl(*table, {TtlRequest::Kind::kValue, 1001}, now_s, mode).ok());
    EXPECT_EQ(ExpiryOf(now_s, 1000, mode), ExpirySecondsMax(mode));
    EXPECT_EQ(ExpiryOf(now_s, 1001, mode), ExpirySecondsMax(mode));
    EXPECT_EQ(ExpiryOf(now_s, 0, mode), kNever);
  }
  EXPECT_EQ(ExpirySecondsMax(StorageCompatibility::kCassandra4), 2'147'483'646);
  EXPECT_EQ(ExpirySecondsMax(StorageCompatibility::kNone), 4'294'967'293);
}

}  // namespace
}  // namespace cistern::fake_cassandra
