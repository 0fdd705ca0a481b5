// Random seals pushed to a model of the server, interrupted, repeated and shuffled: the cluster
// must hold what merging the versions here gives, with their write times and expiries.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "lib/row/reconcile.h"
#include "lib/row/row_order.h"
#include "tests/engine/replicate/push_test_util.h"
#include "tests/support/rng.h"

namespace cistern::replicate {
namespace {

using fake_cassandra::Partition;
using testing::Rng;

constexpr int64_t kFirstWriteS = kDayStartS + 86'400;
constexpr int64_t kMicros = 1'000'000;

struct Seal {
  std::vector<VersionColumns> pages;
  std::vector<RangeDelete> deletes;
};

struct Shape {
  const char* cql;
  std::vector<std::string_view> entity;
};

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> kAll = {
      {"CREATE TABLE t (id text, day date, ts timestamp, a int, b text, c double, "
       "PRIMARY KEY ((id, day), ts))",
       {"p1"}},
      {"CREATE TABLE k.t (site int, id text, day text, shard int, ts bigint, n text, "
       "\"Late\" boolean, w date, PRIMARY KEY ((site, day, id, shard), ts, n)) "
       "WITH CLUSTERING ORDER BY (ts DESC, n ASC) AND comment = "
       "'cistern: bucket day = 1 day; split shard = hash 4; time ts = us' "
       "AND default_time_to_live = 900",
       {"7", "x"}},
      {"CREATE TABLE k.u (id uuid, day timestamp, at timeuuid, v frozen<list<int>>, "
       "PRIMARY KEY ((id, day), at)) WITH comment = 'cistern: bucket day = 1 day'",
       {"00112233-4455-6677-8899-aabbccddeeff"}},
  };
  return kAll;
}

std::shared_ptr<const RowBinder> MakeBinder(const std::shared_ptr<const TableSchema>& schema,
                                            const std::vector<std::string_view>& entity) {
  const auto key = EntityFromText(*schema, entity);
  EXPECT_TRUE(key.ok()) << key.status().ToString();
  auto made = RowBinder::Make(StatementsOf(schema), {key->bytes, kDayStartS, 0});
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return std::make_shared<const RowBinder>(std::move(*made));
}

// One run: a table, its seals, and how they are pushed.
constexpr uint32_t kUpstreamDefaultTtlS = 7;

class Scenario {
 public:
  Scenario(uint64_t seed, TimestampMode mode, bool names_now)
      : rng_(seed),
        mode_(mode),
        names_now_(names_now),
        shape_(Shapes()[rng_.Below(Shapes().size())]),
        schema_(ParseTable(shape_.cql)),
        binder_(MakeBinder(schema_, shape_.entity)) {
    MakeSeals();
  }

  void Push(ServerModel* server);
  void PushShuffled(ServerModel* server);
  void ExpectEqual(const Partition& partition, int64_t now_s);
  [[nodiscard]] int64_t now_s() const { return now_s_; }
  [[nodiscard]] ServerModel NewServer() const {
    // Not what is declared: whoever alters the table upstream may do so while rows are sent.
    return ServerModel(StatementsOf(schema_), kUpstreamDefaultTtlS);
  }
  [[nodiscard]] const std::vector<PushBatch>& batches() const { return batches_; }
  [[nodiscard]] uint64_t restarts() const { return restarts_; }

 private:
  void MakeSeals();
  [[nodiscard]] std::vector<Cell> RandomKey();
  [[nodiscard]] Cell RandomCell(const ColumnType& type);
  [[nodiscard]] Cell RandomTime();
  [[nodiscard]] TestVersion RandomVersion();
  void PushSeal(size_t index, ServerModel* server);
  [[nodiscard]] BatchStream StreamFrom(size_t index, const PushPosition& from);
  void ExpectRow(const std::vector<VersionRef>& versions, const Partition& partition,
                 int64_t now_s);

  Rng rng_;
  const TimestampMode mode_;
  const bool names_now_;
  const Shape& shape_;
  const std::shared_ptr<const TableSchema> schema_;
  const std::shared_ptr<const RowBinder> binder_;
  std::vector<Seal> seals_;
  std::vector<RangeDelete> deletes_;  // of all seals
  int64_t write_us_ = kFirstWriteS * kMicros;
  int64_t now_s_ = 0;
  std::vector<PushBatch> batches_;
  uint64_t restarts_ = 0;
};

// Few times, so that many versions share a key.
Cell Scenario::RandomTime() {
  const int64_t second = kDayStartS + rng_.Between(0, 5);
  const ColumnType& type = schema_->columns[schema_->time_column()].type;
  if (type.kind != CqlType::kTimeuuid) {
    return Cell::Fixed(second * TicksPerSecond(schema_->time_unit));
  }
  bool is_below = false;
  std::string uuid;
  EXPECT_TRUE(AppendEventTime(*schema_, second * TicksPerSecond(schema_->time_unit), &is_below,
                              &uuid));
  uuid[15] = static_cast<char>(rng_.OneIn(2) ? 0x01 : 0x80);
  return Cell::Bytes(std::move(uuid));
}

Cell Scenario::RandomCell(const ColumnType& type) {
  switch (type.kind) {
    case CqlType::kText: return Cell::Bytes(std::string(rng_.Below(3), 'x'));
    case CqlType::kBoolean: return Cell::Fixed(static_cast<int64_t>(rng_.Below(2)));
    case CqlType::kList: return Cell::Bytes(std::string(4, '\0'));
    default: return Cell::Fixed(rng_.Between(-2, 2));
  }
}

std::vector<Cell> Scenario::RandomKey() {
  std::vector<Cell> key = {RandomTime()};
  for (size_t k = 1; k < schema_->clustering_columns.size(); ++k) {
    key.push_back(RandomCell(schema_->columns[schema_->clustering_columns[k]].type));
  }
  return key;
}

TestVersion Scenario::RandomVersion() {
  TestVersion version;
  write_us_ += rng_.Between(1, 20) * (rng_.OneIn(3) ? kMicros : 1);
  version.write_us = write_us_;
  version.cells = RandomKey();
  const bool takes_deletes = mode_ == TimestampMode::kWriteTime;
  const bool deletes_row = takes_deletes && rng_.OneIn(8);
  if (deletes_row) {
    version.flags = kVersionDeleteRow;
  } else {
    version.flags = rng_.OneIn(2) ? kVersionLiveness : 0;
    const int64_t write_s = write_us_ / kMicros;
    if (rng_.OneIn(2)) version.expiry_s = static_cast<uint32_t>(write_s + rng_.Between(1, 90));
    if (rng_.OneIn(40)) version.expiry_s = static_cast<uint32_t>(write_s + 630'720'000);
    // In event time, values decide between those that expire together. Over v4 no expiry is exact.
    if (mode_ == TimestampMode::kEventTime && names_now_ && rng_.OneIn(3)) {
      version.expiry_s = static_cast<uint32_t>(kFirstWriteS + 5'000 + rng_.Between(0, 2));
    }
  }
  for (const size_t c : schema_->regular_columns) {
    const uint64_t draw = deletes_row ? 0 : rng_.Below(5);
    if (draw <= 1) {
      version.cells.push_back(Cell::Absent());
    } else if (draw == 2 && takes_deletes) {
      version.cells.push_back(Cell::Null());
    } else {
      version.cells.push_back(RandomCell(schema_->columns[c].type));
    }
  }
  return version;
}

void Scenario::MakeSeals() {
  const uint64_t seal_count = 1 + rng_.Below(3);
  for (uint64_t s = 0; s < seal_count; ++s) {
    std::vector<VersionColumns> versions;  // one each, to be put in order
    const uint64_t count = rng_.Below(40);
    for (uint64_t v = 0; v < count; ++v) versions.push_back(PageOf(*schema_, {RandomVersion()}));
    if (mode_ == TimestampMode::kEventTime) {
      for (VersionColumns& v : versions) {
        v.write_us[0] = MicrosOfTicks(schema_->time_unit, EventTime(*schema_, v, 0));
      }
    }
    std::stable_sort(versions.begin(), versions.end(), [&](const auto& a, const auto& b) {
      return CompareRows(*schema_, a, 0, b, 0) < 0;
    });
    Seal seal;
    for (size_t v = 0; v < versions.size();) {
      VersionColumns page = VersionColumns::For(*schema_);
      for (uint64_t room = 1 + rng_.Below(12); room > 0 && v < versions.size(); --room, ++v) {
        for (size_t c = 0; c < page.columns.size(); ++c) {
          if (versions[v].columns[c].size() == 0) continue;
          page.columns[c].AppendFrom(versions[v].columns[c], 0);
        }
        page.write_us.push_back(versions[v].write_us[0]);
        page.expiry_s.push_back(versions[v].expiry_s[0]);
        page.flags.push_back(versions[v].flags[0]);
        ++page.row_count;
      }
      seal.pages.push_back(std::move(page));
    }
    const int64_t tick = TicksPerSecond(schema_->time_unit);
    while (mode_ == TimestampMode::kWriteTime && rng_.OneIn(3)) {
      RangeDelete range;
      if (!rng_.OneIn(4)) range.from = (kDayStartS + rng_.Between(-1, 5)) * tick;
      if (!rng_.OneIn(4)) range.to = (kDayStartS + rng_.Between(0, 6)) * tick;
      range.write_us = kFirstWriteS * kMicros + rng_.Between(0, write_us_ - kFirstWriteS * kMicros);
      seal.deletes.push_back(range);
      deletes_.push_back(range);
    }
    seals_.push_back(std::move(seal));
  }
  now_s_ = write_us_ / kMicros + rng_.Between(0, 60);
}

BatchStream Scenario::StreamFrom(size_t index, const PushPosition& from) {
  PushOptions options;
  options.names_now = names_now_;
  options.mode = mode_;
  options.older_may_exist = index > 0;
  options.statement_count_max = 1 + rng_.Below(8);
  options.byte_count_max = 100 + rng_.Below(2000);
  return BatchStream(binder_, options, ContentOf(seals_[index].pages, seals_[index].deletes),
                     from);
}

// Any batch may be the last one of an attempt; the next attempt begins at any position that was
// reached, later.
void Scenario::PushSeal(size_t index, ServerModel* server) {
  std::vector<PushPosition> reached = {PushPosition{}};
  std::optional<BatchStream> stream(StreamFrom(index, {}));
  for (int restarts_left = 4; !stream->at_end();) {
    if (restarts_left > 0 && rng_.OneIn(6)) {
      --restarts_left;
      ++restarts_;
      now_s_ += rng_.Between(0, 40);
      const PushPosition from = reached[rng_.Below(reached.size())];
      const auto stored = DecodePushPosition(EncodePushPosition({from, "id"}));
      ASSERT_TRUE(stored.ok()) << stored.status().ToString();
      ASSERT_EQ(stored->position, from);
      stream.emplace(StreamFrom(index, stored->position));
    }
    PushBatch batch;
    const Status next = stream->Next(now_s_, &batch);
    ASSERT_TRUE(next.ok()) << next.ToString();
    server->Apply(batch, now_s_);
    reached.push_back(batch.next);
    batches_.push_back(std::move(batch));
    now_s_ += rng_.OneIn(5) ? 7 : 0;
  }
}

void Scenario::Push(ServerModel* server) {
  for (size_t s = 0; s < seals_.size(); ++s) PushSeal(s, server);
}

void Scenario::PushShuffled(ServerModel* server) {
  std::vector<size_t> order;
  for (size_t i = 0; i < batches_.size(); ++i) order.insert(order.end(), 1 + rng_.Below(2), i);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.Below(i)]);
  for (const size_t i : order) server->Apply(batches_[i], now_s_ - rng_.Between(0, 5));
}

void Scenario::ExpectRow(const std::vector<VersionRef>& versions, const Partition& partition,
                    int64_t now_s) {
  const VersionRef& first = versions[0];
  fake_cassandra::ClusteringKey key;
  for (const size_t c : schema_->clustering_columns) {
    const ColumnData& column = first.rows->columns[c];
    const bool is_fixed = column.lane == Lane::kFixed;
    key.push_back({is_fixed ? column.fixed[first.index] : 0,
                   is_fixed ? "" : std::string(column.bytes(first.index))});
  }
  RowMerger merger(*schema_, schema_->regular_columns);
  const int64_t deleted = DeletedUpTo(deletes_, EventTime(*schema_, *first.rows, first.index));
  const bool exists = merger.Merge(versions, deleted, now_s);
  const auto at = partition.rows().find(key);
  ASSERT_EQ(exists, at != partition.rows().end() && at->second.IsLive(now_s)) << "at " << now_s;
  if (!exists) return;
  for (size_t k = 0; k < schema_->regular_columns.size(); ++k) {
    const size_t c = schema_->regular_columns[k];
    const auto cell = at->second.cells.find(schema_->columns[c].name);
    const bool shown = cell != at->second.cells.end() && cell->second.IsLive(now_s);
    ASSERT_EQ(merger.winner(k).has_value(), shown) << schema_->columns[c].name << " at " << now_s;
    if (!shown) continue;
    const VersionRef winner = *merger.winner(k);
    const ColumnData& column = winner.rows->columns[c];
    std::string wire;
    AppendWireValue(schema_->columns[c].type,
                    column.lane == Lane::kFixed ? column.fixed[winner.index] : 0,
                    column.lane == Lane::kFixed ? "" : column.bytes(winner.index), &wire);
    ASSERT_EQ(cell->second.value, wire);
    ASSERT_EQ(cell->second.timestamp_us, winner.rows->write_us[winner.index]);
    const uint32_t expiry_s = winner.rows->expiry_of(winner.index);
    const int64_t expected = expiry_s == 0 ? fake_cassandra::kNever : int64_t{expiry_s};
    ASSERT_EQ(cell->second.local_deletion_s, expected);
  }
}

void Scenario::ExpectEqual(const Partition& partition, int64_t now_s) {
  std::vector<VersionRef> all;
  for (const Seal& seal : seals_) {
    for (const VersionColumns& page : seal.pages) {
      for (size_t i = 0; i < page.row_count; ++i) all.push_back({&page, i});
    }
  }
  const auto compare = [&](const VersionRef& a, const VersionRef& b) {
    return CompareRows(*schema_, *a.rows, a.index, *b.rows, b.index);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return compare(a, b) < 0; });
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin + 1;
    while (end < all.size() && compare(all[begin], all[end]) == 0) ++end;
    const auto at = all.begin() + static_cast<ptrdiff_t>(begin);
    ExpectRow({at, at + static_cast<ptrdiff_t>(end - begin)}, partition, now_s);
    if (::testing::Test::HasFatalFailure()) return;
    begin = end;
  }
}

class PushModel : public ::testing::TestWithParam<std::pair<TimestampMode, bool>> {};

TEST_P(PushModel, TheClusterHoldsWhatMergingGives) {
  const auto [mode, names_now] = GetParam();
  const uint64_t first_seed = testing::EnvNumber("CISTERN_SEED", 1);
  const uint64_t runs = testing::EnvNumber("CISTERN_RUNS", 200);
  uint64_t restarts = 0;
  uint64_t batches = 0;
  for (uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    SCOPED_TRACE("CISTERN_SEED=" + std::to_string(seed));
    Scenario run(seed, mode, names_now);
    ServerModel server = run.NewServer();
    run.Push(&server);
    ASSERT_FALSE(HasFailure());
    // On v4 what is over may be given one second, in which it shadows.
    const int64_t settled_s = run.now_s() + (names_now ? 0 : 2);
    for (const int64_t later_s : {0, 1, 15, 60, 100'000}) {
      run.ExpectEqual(server.partition(), settled_s + later_s);
      ASSERT_FALSE(HasFailure());
    }
    restarts += run.restarts();
    batches += run.batches().size();
    if (!names_now) continue;  // on v4 a repeat is built anew, with the TTL that remains then
    ServerModel shuffled = run.NewServer();
    run.PushShuffled(&shuffled);
    for (const int64_t later_s : {0, 30}) {
      run.ExpectEqual(shuffled.partition(), settled_s + later_s);
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(restarts, runs / 4);
  EXPECT_GT(batches, runs);
}

INSTANTIATE_TEST_SUITE_P(ModesAndVersions, PushModel,
                         ::testing::Values(std::pair(TimestampMode::kWriteTime, true),
                                           std::pair(TimestampMode::kWriteTime, false),
                                           std::pair(TimestampMode::kEventTime, true),
                                           std::pair(TimestampMode::kEventTime, false)));

}  // namespace
}  // namespace cistern::replicate
