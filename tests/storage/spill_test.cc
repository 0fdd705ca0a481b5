// Segments on their way out and back: writer, what counts, reader, and damaged bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cistern/limits.h"
#include "storage/keyspace.h"
#include "storage/segment_walker.h"
#include "storage/spill_writer.h"
#include "storage/store.h"
#include "storage/version_source.h"
#include "tests/lib/row/row_test_util.h"
#include "tests/storage/temp_store.h"
#include "tests/support/rng.h"

namespace cistern {
namespace {

using row_test::Version;
using testing::Rng;

constexpr int64_t kDayS = 86'400;

class SpillTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    auto opened = Store::Open(temp_.config, &report_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    store_ = *std::move(opened);
  }
  void Reopen() {
    family_.reset();
    store_.reset();
    Open();
  }
  uint64_t NextSequence() {
    const auto sequence = store_->NextSequence();
    EXPECT_TRUE(sequence.ok());
    return *sequence;
  }
  void NewFamily() {
    family_id_ = NextSequence();
    auto made = store_->CreateSpill(family_id_);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    family_ = *made;
  }

  static BucketKey Bucket(const std::string& entity, int64_t day, uint32_t split = 0) {
    return {1, entity, day * kDayS, split};
  }
  // `count` rows from event time `first` on, a write timestamp each.
  VersionColumns Rows(int64_t first, size_t count, int64_t write_us = 1) const {
    VersionColumns rows = VersionColumns::For(*schema_);
    for (size_t i = 0; i < count; ++i) {
      const auto step = static_cast<int64_t>(i);
      Version v{.ts = first + step, .write_us = write_us + step, .flags = kVersionLiveness};
      v.a_state = CellState::kValue;
      v.a = step * 7;
      row_test::Append(*schema_, v, &rows);
    }
    return rows;
  }
  // One rotation that writes the buckets and flushes, committed or not.
  uint64_t Write(const std::vector<BucketKey>& buckets, bool commit, size_t rows_each = 10) {
    const uint64_t rotation = NextSequence();
    SpillWriter writer(FamilyKind::kSpill, family_, rotation);
    for (const BucketKey& bucket : buckets) {
      writer.Begin(bucket, schema_.get(), 0, rotation, rotation + 1);
      EXPECT_TRUE(writer.AddRows(Rows(bucket.start_s * 1000, rows_each)).ok());
      EXPECT_TRUE(writer.End({}).ok());
    }
    EXPECT_TRUE(writer.Flush().ok());
    if (commit) Commit({rotation}, writer.version_count(), writer.byte_count());
    return rotation;
  }
  void Commit(const std::vector<uint64_t>& rotations, uint64_t versions, uint64_t bytes,
              std::optional<uint64_t> superseded = {}) {
    SpillCommit commit;
    commit.family_id = family_id_;
    commit.family = family_;
    commit.rotations = rotations;
    commit.version_count = versions;
    commit.byte_count = bytes;
    commit.superseded_family = superseded;
    commit.state = store_->state();
    commit.state.versions_written += versions;
    auto view = store_->CommitSpill(commit);
    ASSERT_TRUE(view.ok()) << view.status().ToString();
    store_->spills().Publish(*std::move(view));
  }
  std::vector<SegmentRef> Segments(const BucketKey& bucket) {
    auto found = ListSegments(*store_->spills().view(), bucket);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() ? *std::move(found) : std::vector<SegmentRef>();
  }
  std::vector<std::pair<std::string, uint64_t>> Walk(const std::string& from = "") {
    std::vector<std::pair<std::string, uint64_t>> out;
    const Status s = VisitSegments(store_->spills().view(), from,
                                   [&](const BucketKey& key, SegmentRef ref) -> Result<bool> {
                                     out.emplace_back(EncodeBucketKey(key), ref.id);
                                     return true;
                                   });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return out;
  }
  // Event times of all rows that the segments of the bucket give.
  Result<std::vector<int64_t>> Times(const SegmentRef& segment) {
    std::vector<int64_t> times;
    const BootBases bases(1);
    const auto table =
        std::make_shared<const Table>(1, std::vector<TableVersion>(6, TableVersion{schema_, 0}));
    SegmentSource source(table, 5, segment, {}, nullptr, bases);
    while (true) {
      CISTERN_ASSIGN_OR_RETURN(const auto chunk, source.NextChunk());
      if (!chunk) return times;
      const auto& ts = chunk->columns[*schema_->FindColumn("ts")].fixed;
      times.insert(times.end(), ts.begin(), ts.end());
    }
  }
  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(family_->db()->Put({}, family_->handle(), key, value).ok());
  }
  std::string Get(const std::string& key) {
    std::string value;
    EXPECT_TRUE(family_->db()->Get({}, family_->handle(), key, &value).ok());
    return value;
  }

  const std::shared_ptr<const TableSchema> schema_ = row_test::PlainTable();
  TempStore temp_;
  RecoveryReport report_;
  std::unique_ptr<Store> store_;
  uint64_t family_id_ = 0;
  FamilyPtr family_;
};

TEST_F(SpillTest, RowsAreCutIntoPagesAndComeBack) {
  NewFamily();
  const BucketKey bucket = Bucket("a", 1);
  const uint64_t rotation = NextSequence();
  {
    SpillWriter writer(FamilyKind::kSpill, family_, rotation);
    writer.Begin(Bucket("0", 1), schema_.get(), 0, 3, 4);
    ASSERT_TRUE(writer.End({{1, 5, 9, 0}, {2, 6, 10, 0}}).ok());  // deletes alone
    writer.Begin(bucket, schema_.get(), 5, 1, 9);
    const VersionColumns first = Rows(bucket.start_s * 1000, limits::kPageRowsMax + 100);
    const VersionColumns second = Rows(bucket.start_s * 1000 + 5000, 100);
    ASSERT_TRUE(writer.AddRows(first).ok());
    ASSERT_TRUE(writer.AddRows(second).ok());
    ASSERT_TRUE(writer.End({{1, 5, 9, 0}}).ok());
    ASSERT_TRUE(writer.Flush().ok());
    EXPECT_EQ(writer.version_count(), limits::kPageRowsMax + 200u + 3);
    Commit({rotation}, writer.version_count(), writer.byte_count());
  }
  for (int opened = 0; opened < 2; ++opened) {
    if (opened == 1) Reopen();
    const auto deletes = Segments(Bucket("0", 1));
    ASSERT_EQ(deletes.size(), 1u);
    EXPECT_TRUE(deletes[0].header.pages.empty());
    EXPECT_EQ(deletes[0].header.deletes.size(), 2u);
    const auto segments = Segments(bucket);
    ASSERT_EQ(segments.size(), 1u);
    const SegmentHeader& header = segments[0].header;
    EXPECT_EQ(segments[0].id, rotation << kSegmentIndexBits | 1);
    EXPECT_EQ(header.schema_version, 5u);
    EXPECT_EQ(header.journal_first, 1u);
    EXPECT_EQ(header.journal_last, 9u);
    EXPECT_EQ(header.row_count, limits::kPageRowsMax + 200u);
    EXPECT_EQ(header.first_time, bucket.start_s * 1000);
    EXPECT_EQ(header.last_time, bucket.start_s * 1000 + 5099);
    EXPECT_EQ(header.pages.size(), 3u);
    EXPECT_EQ(header.deletes, (std::vector<RangeDelete>{{1, 5, 9, 0}}));
    const auto times = Times(segments[0]);
    ASSERT_TRUE(times.ok()) << times.status().ToString();
    ASSERT_EQ(times->size(), header.row_count);
    EXPECT_TRUE(std::is_sorted(times->begin(), times->end()));
    EXPECT_EQ(times->back(), header.last_time);
  }
}

TEST_F(SpillTest, AnUnfinishedRotationDoesNotCountAndNeverWill) {
  NewFamily();
  const uint64_t counted = Write({Bucket("a", 1), Bucket("b", 1)}, true);
  const uint64_t lost = Write({Bucket("a", 1), Bucket("a", 2), Bucket("c", 1)}, false);
  for (int opened = 0; opened < 2; ++opened) {
    if (opened == 1) Reopen();
    ASSERT_EQ(Segments(Bucket("a", 1)).size(), 1u);
    EXPECT_EQ(RotationOf(Segments(Bucket("a", 1))[0].id), counted);
    EXPECT_TRUE(Segments(Bucket("a", 2)).empty());
    EXPECT_EQ(Walk().size(), 2u);
    BucketFrontier frontier(store_->spills().view(), 1, "c", false);
    EXPECT_EQ(*frontier.Next(INT64_MIN), std::nullopt);
    EXPECT_GT(NextSequence(), lost);  // no later rotation can bring its pages to life
  }
  const auto& family = store_->spills().view()->families.front();
  family_ = family->family;
  family_id_ = family->id;
  Write({Bucket("a", 2)}, true);
  EXPECT_EQ(Segments(Bucket("a", 2)).size(), 1u);
  EXPECT_TRUE(Segments(Bucket("c", 1)).empty());
}

TEST_F(SpillTest, AFamilyThatNeverCountedIsGoneAfterTheNextOpen) {
  NewFamily();
  Write({Bucket("a", 1)}, false);
  Reopen();
  EXPECT_TRUE(store_->spills().view()->families.empty());
  store_.reset();
  auto opened = temp_.Open();
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->families.size(), 2u);  // default and meta
}

TEST_F(SpillTest, ARewrittenFamilyStopsCountingAsItsSuccessorBegins) {
  NewFamily();
  Write({Bucket("a", 1)}, true);
  const uint64_t old_id = family_id_;
  const FamilyPtr old_family = family_;
  const auto held = store_->spills().view();
  NewFamily();
  const uint64_t rotation = Write({Bucket("a", 1)}, false);
  Commit({rotation}, 10, 100, old_id);
  ASSERT_EQ(Segments(Bucket("a", 1)).size(), 1u);
  EXPECT_EQ(RotationOf(Segments(Bucket("a", 1))[0].id), rotation);
  ASSERT_TRUE(store_->DropSpill(old_id, old_family).ok());
  // Who still holds the old view reads the old pages.
  const auto before = ListSegments(*held, Bucket("a", 1));
  ASSERT_TRUE(before.ok());
  ASSERT_EQ(before->size(), 1u);
  const auto times = Times((*before)[0]);
  ASSERT_TRUE(times.ok()) << times.status().ToString();
  EXPECT_EQ(times->size(), 10u);
}

TEST_F(SpillTest, ASupersededFamilyThatWasNotDroppedGoesAtTheNextOpen) {
  NewFamily();
  Write({Bucket("a", 1)}, true);
  const uint64_t old_id = family_id_;
  NewFamily();
  const uint64_t rotation = Write({Bucket("a", 1)}, false);
  Commit({rotation}, 10, 100, old_id);
  for (int opened = 0; opened < 2; ++opened) {
    Reopen();
    ASSERT_EQ(store_->spills().view()->families.size(), 1u);
    EXPECT_EQ(store_->spills().view()->families[0]->id, family_id_);
    EXPECT_EQ(Walk().size(), 1u);
  }
}

TEST_F(SpillTest, ADamagedOrMissingPageIsAStatusThatNamesIt) {
  NewFamily();
  const uint64_t rotation = Write({Bucket("a", 1), Bucket("b", 1)}, true, 5000);  // two pages each
  const uint64_t segment = rotation << kSegmentIndexBits;
  const std::string where = "page 1 of segment " + std::to_string(segment) + " in spill family " +
                            std::to_string(family_id_);
  const std::string whole = Get(PageKey(segment, 1));
  std::string damaged = whole;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  std::vector<std::string> pages = {damaged, "", whole.substr(0, whole.size() - 1),
                                    Get(PageKey(segment, 0))};  // the last one: of another page
  for (const std::string& page : pages) {
    Put(PageKey(segment, 1), page);
    const auto times = Times(Segments(Bucket("a", 1))[0]);
    ASSERT_EQ(times.status().code(), StatusCode::kCorruption);
    EXPECT_NE(times.status().message().find(where), std::string::npos) << times.status().message();
    EXPECT_EQ(Times(Segments(Bucket("b", 1))[0])->size(), 5000u);
  }
  ASSERT_TRUE(family_->db()->Delete({}, family_->handle(), PageKey(segment, 1)).ok());
  const auto times = Times(Segments(Bucket("a", 1))[0]);
  EXPECT_EQ(times.status().code(), StatusCode::kCorruption);
  EXPECT_EQ(times.status().message(), where + " is missing");
}

TEST_F(SpillTest, ADamagedHeaderIsAStatusThatNamesItsRotation) {
  NewFamily();
  const uint64_t rotation = Write({Bucket("a", 1), Bucket("b", 1)}, true);
  const std::string where =
      "rotation " + std::to_string(rotation) + " of spill family " + std::to_string(family_id_);
  const std::string key = HeaderKey(rotation, Bucket("a", 1));
  const std::string whole = Get(key);
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    Put(key, whole.substr(0, cut));
    const auto found = ListSegments(*store_->spills().view(), Bucket("a", 1));
    ASSERT_EQ(found.status().code(), StatusCode::kCorruption) << cut;
    EXPECT_NE(found.status().message().find(where), std::string::npos) << found.status().message();
  }
  EXPECT_EQ(Segments(Bucket("b", 1)).size(), 1u);
  Put(key, whole);
  Put(key + "more", whole);  // a key that is no bucket's
  const Status walked =
      VisitSegments(store_->spills().view(), "",
                    [](const BucketKey&, SegmentRef) -> Result<bool> { return true; });
  EXPECT_EQ(walked.code(), StatusCode::kCorruption);
  EXPECT_NE(walked.message().find(where), std::string::npos) << walked.message();
}

// Random rotations into random families, some never committed, against a map.
TEST_F(SpillTest, RandomRotationsAreFoundAsAMapFindsThem) {
  Rng random(7);
  std::map<std::string, std::vector<uint64_t>> expected;  // bucket key -> segments, oldest first
  std::set<std::string> entities;
  for (int round = 0; round < 25; ++round) {
    if (round == 0 || random.OneIn(6)) NewFamily();
    std::set<std::string> bytes;
    std::vector<BucketKey> buckets;
    for (uint64_t n = 1 + random.Below(12); n > 0; --n) {
      const std::string entity(1 + random.Below(2), static_cast<char>('a' + random.Below(3)));
      entities.insert(entity);
      const auto split = static_cast<uint32_t>(random.Below(2));
      bytes.insert(EncodeBucketKey(Bucket(entity, random.Between(-3, 3), split)));
    }
    for (const std::string& b : bytes) buckets.push_back(*DecodeBucketKey(b));
    const bool commit = !random.OneIn(4);
    const uint64_t rotation = Write(buckets, commit);
    uint64_t index = 0;
    for (const std::string& b : bytes) {
      if (commit) expected[b].push_back(rotation << kSegmentIndexBits | index);
      ++index;
    }
  }
  Reopen();
  std::vector<std::pair<std::string, uint64_t>> walk;
  for (const auto& [bytes, ids] : expected) {
    for (const uint64_t id : ids) walk.emplace_back(bytes, id);
    std::vector<uint64_t> found;
    for (const SegmentRef& s : Segments(*DecodeBucketKey(bytes))) found.push_back(s.id);
    EXPECT_EQ(found, ids);
  }
  EXPECT_EQ(Walk(), walk);
  const std::string middle = walk[walk.size() / 2].first;
  std::erase_if(walk, [&](const auto& item) { return item.first < middle; });
  EXPECT_EQ(Walk(middle), walk);
  for (const std::string& entity : entities) {
    for (const bool descending : {false, true}) {
      std::set<int64_t> starts;
      for (const auto& [bytes, ids] : expected) {
        const BucketKey key = *DecodeBucketKey(bytes);
        if (key.entity == entity) starts.insert(descending ? -key.start_s : key.start_s);
      }
      BucketFrontier frontier(store_->spills().view(), 1, entity, descending);
      int64_t at = descending ? INT64_MAX : INT64_MIN;
      for (const int64_t start : starts) {
        const int64_t want = descending ? -start : start;
        ASSERT_EQ(*frontier.Next(at), want) << entity << (descending ? " descending" : "");
        at = descending ? want - 1 : want + 1;
      }
      EXPECT_EQ(*frontier.Next(at), std::nullopt);
    }
  }
}

}  // namespace
}  // namespace cistern
