// A file of spilled segments is lost, its buckets are sealed from what is left, the file comes
// back: what is in it is open again, once.
#include "storage/outbox.h"
#include "tests/engine/quarantine_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

class ReturnedFileTest : public QuarantineFixture {
 protected:
  // Rows of a and b in a file that is gone now, and more of them in another one.
  void LoseOneFile() {
    FillSmall();
    const auto first = Tables("spill-");
    ASSERT_EQ(first.size(), 1u);
    path_ = first[0];
    FillSmall();
    Lose();
    ASSERT_EQ(engine_->Recovery().versions_quarantined, 100u);
  }
  void Lose() {
    Shut();
    bytes_ = ReadFile(path_);
    fs::remove(path_);
    Open();
    ASSERT_EQ(engine_->Recovery().files_damaged, 1u);
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

  ExpireReport Expired() {
    const auto report = engine_->Expire();
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? *report : ExpireReport{};
  }
  void ConfirmAll() {
    const auto view = Core()->store().spills().view();
    std::vector<SealName> seals;
    for (const auto& window : view->windows) {
      OutboxWalker walker(view, window->id);
      for (auto entry = walker.Next(); entry.ok() && *entry; entry = walker.Next()) {
        seals.push_back(**entry);
      }
    }
    ASSERT_TRUE(TryConfirm(seals).ok());
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

// Expired by then, and kept all the same: what these seals shadow may still come back.
TEST_F(ReturnedFileTest, TheWindowOfSuchASealWaitsForTheFile) {
  std::string brief(kPumps);
  brief.replace(brief.rfind(';'), 1, " AND default_time_to_live = 86400;");
  ASSERT_TRUE(engine_->AlterTable(brief).ok());
  schema_ = *engine_->FindTable("pumps");
  LoseOneFile();
  EXPECT_EQ(Sealed(), 2u);
  clock_->AdvanceSeconds(3 * 86'400);
  const ExpireReport report = Expired();
  EXPECT_EQ(report.windows, 0u);
  ASSERT_EQ(report.left.size(), 1u);
  EXPECT_TRUE(report.left[0].why.starts_with("stays until files are back")) << report.left[0].why;
  EXPECT_FALSE(report.left[0].ends_at_s.has_value());
  BringItBack();
  EXPECT_EQ(engine_->GetMetrics().versions_open, 100u);
  EXPECT_EQ(Expired().windows, 0u) << "its rows are not sealed yet";
  EXPECT_TRUE(ScanAll("a").empty());
  EXPECT_EQ(Sealed(), 2u);
  TickUntilIdle();
  Expired();
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 200u);
  ExpectSound();
}

// The rows of the lost file are deleted, and one is written over, in another that is sealed,
// confirmed and kept for long enough.
TEST_F(ReturnedFileTest, WhatASealShadowsDoesNotRise) {
  MustAppend("a", kStartMs + 1, 1);
  MustAppend("a", kStartMs + 2, 2);
  MustAppend("b", kStartMs + 1, 1);
  Rotate();
  path_ = Tables("spill-").at(0);
  ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), {kStartMs, kStartMs + 10}).ok());
  RowBatch brief(schema_);
  AddRow(&brief, "b", kStartMs + 1, 7, RowKind::kInsert, 3600);
  ASSERT_TRUE(engine_->Append(brief).ok());
  Rotate();
  Lose();
  EXPECT_EQ(Sealed(), 2u);
  ConfirmAll();
  clock_->AdvanceSeconds(40 * 86'400);
  EXPECT_EQ(Expired().windows, 0u);
  BringItBack();
  EXPECT_TRUE(ScanAll("a").empty());
  EXPECT_TRUE(ScanAll("b").empty());
  // Rewritten before it is sealed it is awaited where it is then.
  while (Tables("spill-").size() < 40 && fs::exists(path_)) {
    MustAppend("c", next_ts_++, 1);
    Rotate();
    TickUntilIdle();
  }
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_EQ(Expired().windows, 0u);
  EXPECT_TRUE(ScanAll("a").empty());
  Reopen();
  EXPECT_EQ(Expired().windows, 0u);
  EXPECT_GE(Sealed(), 2u);
  TickUntilIdle();
  ConfirmAll();
  clock_->AdvanceSeconds(80 * 86'400);
  EXPECT_GE(Expired().windows, 1u);
  EXPECT_TRUE(ScanAll("a").empty());
  EXPECT_TRUE(ScanAll("b").empty());
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
