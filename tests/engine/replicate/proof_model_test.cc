// Random seals, pushed to a server that is tampered with at random: a proof must say what a naive
// judge says, who looks at everything that the server stores.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/replicate/seal_proof.h"
#include "lib/row/reconcile.h"
#include "lib/row/row_order.h"
#include "tests/engine/replicate/proof_test_util.h"
#include "tests/support/rng.h"

namespace cistern::replicate {
namespace {

using fake_cassandra::ClusteringKey;
using fake_cassandra::kNever;
using fake_cassandra::StoredCell;
using testing::Rng;

constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kWriteS = kDayStartS + 86'400;
constexpr int64_t kSlackS = 2;

struct Shape {
  const char* cql;
  std::vector<std::string_view> entity;
};

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> kAll = {
      {"CREATE TABLE ks.t (id text, day date, ts timestamp, a int, b text, c double, "
       "PRIMARY KEY ((id, day), ts))",
       {"p1"}},
      {"CREATE TABLE ks.t (site int, id text, day text, shard int, ts bigint, n text, k int, "
       "\"Late\" boolean, w date, PRIMARY KEY ((site, day, id, shard), ts, n, k)) "
       "WITH CLUSTERING ORDER BY (ts DESC, n ASC, k DESC) AND comment = "
       "'cistern: bucket day = 1 day; split shard = hash 4; time ts = us' "
       "AND default_time_to_live = 900",
       {"7", "x"}},
      {"CREATE TABLE ks.u (id uuid, day timestamp, at timeuuid, v frozen<list<int>>, "
       "PRIMARY KEY ((id, day), at)) WITH comment = 'cistern: bucket day = 1 day'",
       {"00112233-4455-6677-8899-aabbccddeeff"}},
      {"CREATE TABLE ks.k (id text, day date, ts timestamp, n int, PRIMARY KEY ((id, day), ts, n)) "
       "WITH CLUSTERING ORDER BY (ts ASC, n DESC)",
       {"only keys"}},
  };
  return kAll;
}

std::string WireOf(const ColumnType& type, const Cell& cell) {
  std::string wire;
  AppendWireValue(type, cell.fixed, cell.bytes, &wire);
  return wire;
}

// What a proof must come to.
struct Expected {
  bool differs = false;
  bool is_sent_again = false;
  ProofTally tally;
};

// One run: a table, a seal, a server that has it more or less.
class Scenario {
 public:
  Scenario(uint64_t seed, bool expires)
      : rng_(seed),
        expires_(expires),
        shape_(Shapes()[rng_.Below(Shapes().size())]),
        schema_(ParseTable(shape_.cql)),
        server_(schema_) {
    source_.binder = BinderOf(schema_, shape_.entity);
    MakeSeal();
    server_.Push(source_, kWriteS + 100);
    now_s_ = kWriteS + 100 + rng_.Between(0, 100);
  }

  void Tamper();
  void ForeignWrites();
  [[nodiscard]] Expected Judge(bool was_sent_again);
  [[nodiscard]] bool DropALivingRow();

  [[nodiscard]] SealProof Proof(ProofLevel level) {
    ProofOptions options;
    options.level = level;
    options.page_rows_max = static_cast<uint32_t>(1 + rng_.Below(9));
    options.expiry_slack_s = kSlackS;
    return SealProof(options, source_);
  }
  void Run(SealProof* proof) { RunProof(proof, &server_, now_s_); }
  void SendAgain(SealProof* proof) {
    if (!rng_.OneIn(4)) server_.Push(proof->source_to_send(), now_s_);
    proof->SentAgain();
  }

 private:
  struct Row {
    int64_t deleted_us = kNothingDeleted;
    fake_cassandra::RowMarker marker;
    std::map<size_t, StoredCell> cells;  // by column
  };
  void MakeSeal();
  [[nodiscard]] std::vector<Cell> RandomKey();
  [[nodiscard]] Cell RandomCell(const ColumnType& type);
  [[nodiscard]] TestVersion RandomVersion();
  void TamperRow(StoredRow* row);
  void MergeVersion(const TestVersion& version);
  [[nodiscard]] ClusteringKey KeyOf(const TestVersion& version) const;
  [[nodiscard]] Finding JudgeCell(const Row& ours, size_t column, const StoredCell* theirs) const;
  [[nodiscard]] Finding JudgeRow(const Row& ours, const StoredRow* theirs) const;
  [[nodiscard]] bool IsOver(int64_t end_s) const {
    return end_s != kNever && end_s <= now_s_ + kSlackS;
  }

  Rng rng_;
  const bool expires_;
  const Shape& shape_;
  const std::shared_ptr<const TableSchema> schema_;
  ProofServer server_;
  SealSource source_;
  int64_t write_us_ = kWriteS * kMicros;
  int64_t now_s_ = 0;
  std::vector<RangeDelete> deletes_;
  std::map<ClusteringKey, Row, fake_cassandra::ClusteringLess> rows_{
      fake_cassandra::ClusteringLess{server_.order()}};
};

Cell Scenario::RandomCell(const ColumnType& type) {
  switch (type.kind) {
    case CqlType::kText: return Cell::Bytes(std::string(rng_.Below(3), 'x'));
    case CqlType::kBoolean: return Cell::Fixed(static_cast<int64_t>(rng_.Below(2)));
    case CqlType::kList: return Cell::Bytes(std::string(4, '\0'));
    default: return Cell::Fixed(rng_.Between(-2, 2));
  }
}

std::vector<Cell> Scenario::RandomKey() {
  const int64_t ticks = (kDayStartS + rng_.Between(0, 7)) * TicksPerSecond(schema_->time_unit);
  std::vector<Cell> key = {Cell::Fixed(ticks)};
  if (schema_->columns[schema_->time_column()].type.kind == CqlType::kTimeuuid) {
    bool is_below = false;
    std::string uuid;
    EXPECT_TRUE(AppendEventTime(*schema_, ticks, &is_below, &uuid));
    uuid[15] = static_cast<char>(rng_.OneIn(2) ? 0x01 : 0x80);
    key = {Cell::Bytes(std::move(uuid))};
  }
  for (size_t k = 1; k < schema_->clustering_columns.size(); ++k) {
    key.push_back(RandomCell(schema_->columns[schema_->clustering_columns[k]].type));
  }
  return key;
}

TestVersion Scenario::RandomVersion() {
  TestVersion version;
  write_us_ += rng_.Between(1, 20) * (rng_.OneIn(3) ? kMicros / 10 : 1);
  version.write_us = write_us_;
  version.cells = RandomKey();
  const bool deletes_row = rng_.OneIn(8);
  const bool has_marker = schema_->regular_columns.empty() || rng_.OneIn(2);
  version.flags = deletes_row ? kVersionDeleteRow : has_marker ? kVersionLiveness : 0;
  if (expires_ && !deletes_row && rng_.OneIn(2)) {
    version.expiry_s = static_cast<uint32_t>(kWriteS + rng_.Between(1, 400));
  }
  for (const size_t c : schema_->regular_columns) {
    const uint64_t draw = deletes_row ? 0 : rng_.Below(5);
    version.cells.push_back(draw <= 1   ? Cell::Absent()
                            : draw == 2 ? Cell::Null()
                                        : RandomCell(schema_->columns[c].type));
  }
  return version;
}

ClusteringKey Scenario::KeyOf(const TestVersion& version) const {
  ClusteringKey key;
  for (size_t k = 0; k < schema_->clustering_columns.size(); ++k) {
    key.push_back({version.cells[k].fixed, version.cells[k].bytes});
  }
  return key;
}

// By the rules of the model of Cassandra, which are not those of lib/row.
void Scenario::MergeVersion(const TestVersion& version) {
  Row& row = rows_[KeyOf(version)];
  if ((version.flags & kVersionDeleteRow) != 0) {
    row.deleted_us = std::max(row.deleted_us, version.write_us);
    return;
  }
  const uint32_t ttl_s = version.expiry_s == 0 ? 0 : 1;
  const int64_t end_s = version.expiry_s == 0 ? kNever : int64_t{version.expiry_s};
  if ((version.flags & kVersionLiveness) != 0) {
    row.marker = Winner(row.marker, {version.write_us, ttl_s, end_s});
  }
  for (size_t k = 0; k < schema_->regular_columns.size(); ++k) {
    const size_t c = schema_->regular_columns[k];
    const Cell& cell = version.cells[schema_->clustering_columns.size() + k];
    if (cell.state == CellState::kAbsent) continue;
    StoredCell stored{version.write_us, 0, 1, ""};
    if (cell.state == CellState::kValue) {
      stored = {version.write_us, ttl_s, end_s, WireOf(schema_->columns[c].type, cell)};
    }
    const auto [at, is_new] = row.cells.try_emplace(c, stored);
    if (!is_new) at->second = StoredCell(Winner(at->second, stored));
  }
}

void Scenario::MakeSeal() {
  std::vector<TestVersion> versions;
  for (uint64_t left = rng_.Below(60); left > 0; --left) versions.push_back(RandomVersion());
  std::stable_sort(versions.begin(), versions.end(), [&](const auto& a, const auto& b) {
    return CompareRows(*schema_, PageOf(*schema_, {a}), 0, PageOf(*schema_, {b}), 0) < 0;
  });
  std::vector<VersionColumns> pages;
  for (size_t v = 0; v < versions.size();) {
    std::vector<TestVersion> page;
    for (uint64_t room = 1 + rng_.Below(12); room > 0 && v < versions.size(); --room, ++v) {
      MergeVersion(versions[v]);
      page.push_back(versions[v]);
    }
    pages.push_back(PageOf(*schema_, page));
  }
  const int64_t tick = TicksPerSecond(schema_->time_unit);
  while (rng_.OneIn(3)) {
    const int64_t from = (kDayStartS + rng_.Between(0, 6)) * tick;
    deletes_.push_back({from, from + rng_.Between(1, 4) * tick,
                        kWriteS * kMicros + rng_.Between(0, write_us_ - kWriteS * kMicros), 0});
  }
  if (rng_.OneIn(10)) deletes_.push_back({.write_us = kWriteS * kMicros + rng_.Between(0, 99)});
  source_.content = ContentOf(std::move(pages), deletes_);
  for (auto& [key, row] : rows_) {
    row.deleted_us = std::max(row.deleted_us, DeletedUpTo(deletes_, EventTimeOf(*schema_, key)));
  }
}

// --- what goes wrong, or is done by others

void Scenario::TamperRow(StoredRow* row) {
  for (auto& [name, cell] : row->cells) {
    if (!rng_.OneIn(3)) continue;
    switch (rng_.Below(5)) {
      case 0: cell = {cell.timestamp_us + 7, 0, 1, ""}; break;
      case 1: cell.timestamp_us += rng_.Between(-3, 3); break;
      case 2: cell.local_deletion_s = cell.is_tombstone() ? cell.local_deletion_s : kNever; break;
      case 3:
        if (cell.is_tombstone()) break;
        cell.ttl_s = 600;
        cell.local_deletion_s = now_s_ + 600;
        break;
      default:
        if (!cell.value.empty()) cell.value.back() ^= 1;
    }
    if (cell.local_deletion_s == kNever) cell.ttl_s = 0;
  }
  if (rng_.OneIn(8)) row->deletion = {write_us_, now_s_};
  if (rng_.OneIn(6)) row->marker = {};
}

void Scenario::Tamper() {
  if (rng_.OneIn(3)) server_.ForgetRanges();
  const uint64_t one_in = 1 + rng_.Below(12);
  server_.ChangeRows([&](const ClusteringKey&, StoredRow* row) {
    if (!rng_.OneIn(one_in)) return true;
    if (rng_.OneIn(4)) return false;
    if (rng_.OneIn(3)) row->deletion = {};
    TamperRow(row);
    return true;
  });
}

void Scenario::ForeignWrites() {
  for (uint64_t left = rng_.Below(12); left > 0; --left) {
    const TestVersion version = RandomVersion();
    const int64_t write_us = kWriteS * kMicros + rng_.Between(-10, 3'000'000);
    StoredRow row;
    if ((version.flags & kVersionDeleteRow) != 0) row.deletion = {write_us, now_s_};
    if ((version.flags & kVersionLiveness) != 0) row.marker.timestamp_us = write_us;
    for (size_t k = 0; k < schema_->regular_columns.size(); ++k) {
      const ColumnSpec& column = schema_->columns[schema_->regular_columns[k]];
      const Cell& cell = version.cells[schema_->clustering_columns.size() + k];
      if (cell.state != CellState::kValue) continue;
      row.cells[column.name] = {write_us, 0, kNever, WireOf(column.type, cell)};
    }
    server_.Write(KeyOf(version), row);
  }
}

// --- the naive judge

Finding Scenario::JudgeCell(const Row& ours, size_t column, const StoredCell* theirs) const {
  const auto at = ours.cells.find(column);
  const bool is_ours = at != ours.cells.end() && at->second.timestamp_us > ours.deleted_us;
  const bool is_null = is_ours && at->second.is_tombstone();
  const bool deletes = is_null || ours.deleted_us != kNothingDeleted;
  if (theirs == nullptr) {
    if (!is_ours || is_null) return deletes ? Finding::kDeleted : Finding::kNothing;
    return IsOver(at->second.local_deletion_s) ? Finding::kOver : Finding::kAbsent;
  }
  if (theirs->timestamp_us <= ours.deleted_us) return Finding::kOlder;
  if (!is_ours) return deletes ? Finding::kNewer : Finding::kNothing;
  if (theirs->timestamp_us > at->second.timestamp_us) return Finding::kNewer;
  if (is_null || theirs->timestamp_us < at->second.timestamp_us) return Finding::kOlder;
  const bool is_same =
      theirs->value == at->second.value && theirs->is_expiring() == at->second.is_expiring();
  if (is_same) return Finding::kAsSent;
  // Which TTL a cell was written with is not to be read back: of equal expiries the value decides.
  StoredCell mine = at->second;
  if (mine.is_expiring() && theirs->is_expiring()) mine.ttl_s = theirs->ttl_s;
  return &Winner(*theirs, mine) == theirs ? Finding::kDiffers : Finding::kOlder;
}

Finding Scenario::JudgeRow(const Row& ours, const StoredRow* theirs) const {
  if (theirs != nullptr && !theirs->IsLive(now_s_)) theirs = nullptr;
  Finding finding = Finding::kNothing;
  const auto add = [&finding](Finding other) { finding = std::max(finding, other); };
  if (ours.deleted_us != kNothingDeleted) add(Finding::kDeleted);
  const bool has_marker = ours.marker.exists() && ours.marker.timestamp_us > ours.deleted_us;
  const bool marker_is_over = IsOver(ours.marker.expiry_s);
  if (has_marker && marker_is_over) add(Finding::kOver);
  if (has_marker && !marker_is_over) add(theirs ? Finding::kAsSent : Finding::kAbsent);
  bool shows_cells = false;
  for (const size_t c : schema_->regular_columns) {
    const StoredCell* cell = nullptr;
    if (theirs != nullptr) {
      const auto at = theirs->cells.find(schema_->columns[c].name);
      if (at != theirs->cells.end() && at->second.IsLive(now_s_)) cell = &at->second;
    }
    shows_cells |= cell != nullptr;
    add(JudgeCell(ours, c, cell));
  }
  const bool is_unseen = theirs != nullptr && !shows_cells && !has_marker;
  if (is_unseen && ours.deleted_us != kNothingDeleted) add(Finding::kUnseen);
  return finding;
}

Expected Scenario::Judge(bool was_sent_again) {
  Expected out;
  const auto take = [&](Finding finding, bool is_ours) {
    const uint64_t one = is_ours ? 1 : 0;
    switch (finding) {
      case Finding::kNothing: out.tally.empty += one; return;
      case Finding::kDeleted: out.tally.deleted += one; return;
      case Finding::kOver: out.tally.expired += one; return;
      case Finding::kAsSent: out.tally.proven += one; return;
      case Finding::kNewer: out.tally.newer += one; return;
      case Finding::kDiffers: out.differs = true; return;
      default: break;
    }
    if (!was_sent_again) {
      out.is_sent_again = true;
    } else if (finding == Finding::kOlder) {
      out.differs = true;
    } else {
      ++(finding == Finding::kAbsent ? out.tally.shadowed : out.tally.newer);
      if (!is_ours) --out.tally.newer;
    }
  };
  const auto& stored = server_.partition().rows();
  for (const auto& [key, row] : rows_) {
    const auto at = stored.find(key);
    take(JudgeRow(row, at == stored.end() ? nullptr : &at->second), true);
  }
  // Rows of others, up to our last one.
  const fake_cassandra::ClusteringLess less{server_.order()};
  for (const auto& [key, theirs] : stored) {
    if (rows_.empty() || rows_.count(key) != 0 || !theirs.IsLive(now_s_)) continue;
    const bool is_before = less({key[0]}, {rows_.begin()->first[0]});
    if (is_before || !less(key, rows_.rbegin()->first)) continue;
    Row ours;
    ours.deleted_us = DeletedUpTo(deletes_, EventTimeOf(*schema_, key));
    if (ours.deleted_us != kNothingDeleted) take(JudgeRow(ours, &theirs), false);
  }
  return out;
}

// False: the seal has none.
bool Scenario::DropALivingRow() {
  for (const auto& [key, row] : rows_) {
    bool lives = row.marker.timestamp_us > row.deleted_us;
    for (const auto& [c, cell] : row.cells) {
      lives |= cell.timestamp_us > row.deleted_us && !cell.is_tombstone();
    }
    if (!lives || rng_.OneIn(3)) continue;
    server_.ChangeRows(
        [&, dropped = key](const ClusteringKey& at, StoredRow*) { return !(at == dropped); });
    return true;
  }
  return false;
}

TEST(ProofModelTest, SaysWhatTheNaiveJudgeSays) {
  const uint64_t first_seed = testing::EnvNumber("CISTERN_SEED", 1);
  const uint64_t runs = testing::EnvNumber("CISTERN_RUNS", 600);
  uint64_t ends[3] = {};
  uint64_t mended = 0;
  ProofTally all;
  for (uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    SCOPED_TRACE("CISTERN_SEED=" + std::to_string(seed));
    Scenario run(seed, true);
    if (seed % 3 != 0) run.ForeignWrites();
    if (seed % 4 != 0) run.Tamper();
    SealProof proof = run.Proof(ProofLevel::kRows);
    run.Run(&proof);
    Expected expected = run.Judge(false);
    const ProofEnd end = expected.differs         ? ProofEnd::kNotProven
                         : expected.is_sent_again ? ProofEnd::kSendAgain
                                                  : ProofEnd::kProven;
    ASSERT_EQ(proof.end(), end) << proof.why();
    if (end == ProofEnd::kSendAgain) {
      run.SendAgain(&proof);
      run.Run(&proof);
      expected = run.Judge(true);
      ASSERT_EQ(proof.end(), expected.differs ? ProofEnd::kNotProven : ProofEnd::kProven)
          << proof.why();
      mended += expected.differs ? 0 : 1;
    }
    if (proof.end() == ProofEnd::kProven) {
      ASSERT_EQ(proof.tally(), expected.tally);
      all.Add(proof.tally());
    }
    ++ends[static_cast<size_t>(proof.end())];
  }
  if (runs < 600) return;
  // All of it happens.
  EXPECT_GT(ends[0], runs / 4);
  EXPECT_GT(ends[2], runs / 40);
  EXPECT_GT(mended, runs / 10);
  for (const uint64_t count : {all.proven, all.newer, all.expired, all.deleted, all.shadowed}) {
    EXPECT_GT(count, runs / 20);
  }
}

// As long as nothing is counted that is not expected.
TEST(ProofModelTest, ACountMissesNoLivingRow) {
  uint64_t dropped = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Scenario run(seed, false);
    SealProof before = run.Proof(ProofLevel::kCount);
    run.Run(&before);
    ASSERT_EQ(before.end(), ProofEnd::kProven);
    ASSERT_NE(before.reached(), ProofLevel::kRows);
    if (!run.DropALivingRow()) continue;
    ++dropped;
    SealProof after = run.Proof(ProofLevel::kCount);
    run.Run(&after);
    ASSERT_EQ(after.reached(), ProofLevel::kRows);
    ASSERT_EQ(after.end(), ProofEnd::kSendAgain);
  }
  EXPECT_GT(dropped, 100u);
}

}  // namespace
}  // namespace cistern::replicate
