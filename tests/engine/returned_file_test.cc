// A file of spilled segments is lost, its buckets are sealed from what is left, the file comes
// back: what is in it is open again, once.
#include "tests/engine/quarantine_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kBrief[] = R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day' AND default_time_to_live = 86400;
)";

class ReturnedFileTest : public QuarantineFixture {
 protected:
  // Rows of a and b in a file that is gone now, and more of them in another one.
  void LoseOneFile() {
    FillSmall();
    const auto first = Tables("spill-");
    ASSERT_EQ(first.size(), 1u);
    path_ = first[0];
    FillSmall();
    Shut();
    bytes_ = ReadFile(path_);
    fs::remove(path_);
    Open();
    ASSERT_EQ(engine_->Recovery().versions_quarantined, 100u);
  }
  void BringItBack() {
    Shut();
    WriteFile(path_, bytes_);
    Open();
    ASSERT_TRUE(engine_->Recovery().clean);
  }
  uint64_t Sealed() {
    const auto report = engine_->Seal({.due_only = false});
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? report->buckets : 0;
  }

  fs::path path_;
  std::string bytes_;
};

TEST_F(ReturnedFileTest, ItsRowsAmendTheBucketsThatWereSealedWithoutIt) {
  LoseOneFile();
  EXPECT_EQ(Sealed(), 2u);
  EXPECT_EQ(Sealed(), 0u) << "what is sealed is sealed";
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  BringItBack();
  ExpectAllBut("");
  EXPECT_EQ(engine_->GetMetrics().versions_open, 100u);
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 100u);
  ExpectSound();
  EXPECT_EQ(Sealed(), 2u);
  EXPECT_EQ(engine_->GetMetrics().amendments, 2u);
  EXPECT_EQ(Sealed(), 0u);
  TickUntilIdle();
  EXPECT_TRUE(Tables("spill-").empty()) << "its family goes when all in it is sealed";
  for (int opened = 0; opened < 2; ++opened) {
    ExpectAllBut("");
    ExpectSound();
    Shut();
    Open();
  }
}

// It is lost twice; rows come, and are sealed, each time.
TEST_F(ReturnedFileTest, EachSealHasWhatWasThere) {
  LoseOneFile();
  EXPECT_EQ(Sealed(), 2u);
  FillSmall();
  EXPECT_EQ(Sealed(), 2u);
  BringItBack();
  ExpectAllBut("");
  ExpectSound();
  Shut();
  fs::remove(path_);
  Open();
  FillSmall();
  EXPECT_EQ(Sealed(), 2u);
  EXPECT_EQ(engine_->GetMetrics().versions_quarantined, 100u);
  BringItBack();
  ExpectAllBut("");
  ExpectSound();
  EXPECT_EQ(Sealed(), 2u);
  ExpectAllBut("");
  ExpectSound();
}

// What is rewritten of it is as open as it was.
TEST_F(ReturnedFileTest, ItIsRewrittenWithoutWhatIsSealed) {
  LoseOneFile();
  EXPECT_EQ(Sealed(), 2u);
  BringItBack();
  FillUntilRespillIsDue();
  TickUntilIdle();
  EXPECT_FALSE(fs::exists(path_));
  ExpectAllBut("");
  ExpectSound();
  Sealed();
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  ExpectAllBut("");
  ExpectSound();
}

// The manifest that tells what its seal had stays while the file's neighbours may be read.
TEST_F(ReturnedFileTest, ItComesBackWhenTheWindowOfTheSealHasEnded) {
  ASSERT_TRUE(engine_->AlterTable(kBrief).ok());
  schema_ = *engine_->FindTable("pumps");
  LoseOneFile();
  EXPECT_EQ(Sealed(), 2u);
  clock_->AdvanceSeconds(3 * 86'400);
  const auto expired = engine_->Expire();
  ASSERT_TRUE(expired.ok()) << expired.status().ToString();
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 100u);
  BringItBack();
  EXPECT_EQ(engine_->GetMetrics().versions_open, 100u);
  EXPECT_TRUE(ScanAll("a").empty());
  ExpectSound();
  EXPECT_EQ(Sealed(), 2u);
  ASSERT_TRUE(engine_->Expire().ok());
  TickUntilIdle();
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 200u);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
