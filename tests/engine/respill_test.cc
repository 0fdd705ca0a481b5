// Rewriting the oldest of too many spill families, whole and damaged.
#include "engine/ingest/respill.h"

#include <optional>
#include <string>

#include "storage/keyspace.h"
#include "storage/segment_walker.h"
#include "tests/engine/spill_fixture.h"

namespace cistern::testing {
namespace {

class RespillTest : public SpillFixture {
 protected:
  // The first segment of the sensor in the oldest family.
  void FindOldest(const std::string& sensor, SegmentRef* out) {
    auto view = std::make_shared<SpillView>();
    view->families.push_back(Families().front());
    const Status s = VisitSegments(
        view, "", [&](const BucketKey& key, SegmentRef segment) -> Result<bool> {
          if (key.entity != Entity(sensor).bytes) return true;
          *out = std::move(segment);
          return false;
        });
    ASSERT_TRUE(s.ok()) << s.ToString();
    ASSERT_NE(out->family, nullptr);
  }
  // Replaces a value of a spill family, or removes it, and returns what it was.
  static std::string Replace(const SegmentFamily& family, const std::string& key,
                             const std::optional<std::string>& value) {
    rocksdb::DB* db = family.family->db();
    std::string before;
    EXPECT_TRUE(db->Get({}, family.family->handle(), key, &before).ok());
    const rocksdb::Status s = value ? db->Put({}, family.family->handle(), key, *value)
                                    : db->Delete({}, family.family->handle(), key);
    EXPECT_TRUE(s.ok());
    return before;
  }
  [[nodiscard]] bool SaidThatItGaveUp() const { return Said("was given up"); }
  void ExpectDamaged(const std::string& sensor) {
    auto cursor = engine_->Scan(Request(sensor, kStartMs, kStartMs + kDayMs));
    ASSERT_TRUE(cursor.ok());
    Rows seen;
    Drain(cursor->get(), &seen);
    EXPECT_EQ((*cursor)->status().code(), StatusCode::kCorruption);
  }
};

TEST_F(RespillTest, TheOldestFamilyMovesAndIsDroppedWhole) {
  FillUntilRespillIsDue();
  const uint64_t oldest = Oldest();
  TickUntilIdle();
  EXPECT_GT(Oldest(), oldest);
  EXPECT_GT(engine_->GetMetrics().respill_bytes, 0u);
  EXPECT_FALSE(SaidThatItGaveUp());
  ExpectAllBut("");
  ExpectSound();
}

// What is damaged stays where it is: nothing is dropped, all else is readable and new rows
// are taken; and once the page is whole again, the rewriting goes through.
TEST_F(RespillTest, ADamagedPageEndsTheRewritingAndLosesNothing) {
  FillUntilRespillIsDue();
  const uint64_t oldest = Oldest();
  const size_t families = Families().size();
  const Metrics before = engine_->GetMetrics();
  std::string page_key;
  std::string whole;
  {
    SegmentRef segment;
    FindOldest("e", &segment);
    page_key = PageKey(segment.id, 0);
    std::string page = Replace(*segment.family, page_key, "");
    whole = page;
    page[page.size() / 2] = static_cast<char>(page[page.size() / 2] ^ 1);
    Replace(*segment.family, page_key, page);
  }
  for (int opened = 0; opened < 2; ++opened) {
    log_.clear();
    TickUntilIdle();
    EXPECT_TRUE(SaidThatItGaveUp());
    EXPECT_TRUE(engine_->Health().ok());
    EXPECT_EQ(Oldest(), oldest);
    EXPECT_EQ(Families().size(), families);
    const Metrics after = engine_->GetMetrics();
    EXPECT_EQ(after.versions_open, before.versions_open);
    EXPECT_EQ(after.versions_superseded, before.versions_superseded);
    ExpectAllBut("e");
    ExpectDamaged("e");
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->problems.size(), 1u);
    EXPECT_NE(report->problems[0].find("page 0"), std::string::npos) << report->problems[0];
    const uint64_t damaged = engine_->GetMetrics().versions_quarantined;
    EXPECT_GT(damaged, 0u) << "known since it was read";
    EXPECT_EQ(report->versions + damaged, after.versions_open);
    Reopen();
  }
  Replace(*Families().front(), page_key, whole);
  TickUntilIdle();
  EXPECT_GT(Oldest(), oldest);
  ExpectAllBut("");
  Fill("abc");
  ExpectAllBut("");
  ExpectSound();
}

// A header that is gone would take its rows along without a word: the counters notice.
TEST_F(RespillTest, AMissingHeaderEndsTheRewritingToo) {
  FillUntilRespillIsDue();
  const uint64_t oldest = Oldest();
  std::string key;
  std::string whole;
  {
    SegmentRef segment;
    FindOldest("e", &segment);
    const BucketKey bucket{1, Entity("e").bytes, kStartMs / 1000, 0};
    key = HeaderKey(RotationOf(segment.id), bucket);
    whole = Replace(*segment.family, key, std::nullopt);
  }
  TickUntilIdle();
  EXPECT_TRUE(SaidThatItGaveUp());
  EXPECT_EQ(Oldest(), oldest);
  const auto report = engine_->Verify();
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_NE(report->problems[0].find("its record says"), std::string::npos);
  {
    const auto family = Families().front();
    ASSERT_TRUE(family->family->db()->Put({}, family->family->handle(), key, whole).ok());
  }
  Reopen();
  TickUntilIdle();
  EXPECT_GT(Oldest(), oldest);
  ExpectAllBut("");
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
