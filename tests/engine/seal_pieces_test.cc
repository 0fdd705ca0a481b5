// A bucket that leaves in pieces, and what comes between two of them: the end of the process, of
// the window that has the first ones, or of the MANIFEST.
#include <filesystem>

#include "lib/base/crash_point.h"
#include "tests/engine/disk_cycle_fixture.h"

namespace cistern::testing {
namespace {

std::function<void(std::string_view)> g_at_point;
void AtPoint(const char* name) {
  if (g_at_point) g_at_point(name);
}

class SealPiecesTest : public FullDiskFixture {
 protected:
  SealPiecesTest() { options_.seal_when_due = false; }
  void TearDown() override {
    g_crash_hook = nullptr;
    g_at_point = nullptr;
    FullDiskFixture::TearDown();
  }
  // Generations of half a megabyte of one bucket, beside a row of another one in each.
  void MakeGenerations(int count) {
    for (int i = 0; i < 5 * count; ++i) {
      ASSERT_TRUE(AppendWide("a").ok());
      if (i % 5 != 4) continue;
      MustAppend("straggler", ++ts_, 1);
      ++taken_;
      Rotate();
    }
    rows_ = ScanAll("a");
    ASSERT_EQ(rows_.size(), 500u * count);
  }
  Result<SealReport> SealA() {
    SealRequest request;
    request.due_only = false;
    request.table = schema_->name;
    request.entity = Entity("a");
    return engine_->Seal(request);
  }
  // What is left becomes sealed too, and every row is there once before and after.
  void ExpectWhole() {
    EXPECT_EQ(ScanAll("a"), rows_);
    const auto report = SealA();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(report->stopped.ok()) << report->stopped.ToString();
    EXPECT_TRUE(report->problems.empty()) << report->problems.front();
    EXPECT_EQ(ScanAll("a"), rows_);
    ExpectSound();
  }

  Rows rows_;
};

TEST_F(SealPiecesTest, AProcessMayEndBetweenTwo) {
  MakeGenerations(8);
  std::vector<std::string> left;
  g_at_point = [&](std::string_view point) {
    if (point == "seal:before_commit" || point == "seal:after_commit") left.push_back(CopyStore());
  };
  g_crash_hook = AtPoint;
  LeaveFree(3 << 20);
  const auto report = SealA();
  g_at_point = nullptr;
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_GE(report->amendments, 2u) << "in pieces";
  ASSERT_GE(left.size(), 6u);
  faults_->SetDiskBytes(0);
  for (const std::string& copy : left) {
    SCOPED_TRACE(copy);
    GoOnWith(copy);
    ExpectWhole();
  }
}

TEST_F(SealPiecesTest, TheWindowOfTheFirstOnesMayEnd) {
  MakeGenerations(12);
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(4 << 20);
  const auto some = SealA();
  ASSERT_TRUE(some.ok()) << some.status().ToString();
  ASSERT_EQ(some->stopped.code(), StatusCode::kNoSpace);
  ASSERT_NO_FATAL_FAILURE(ConfirmAll());
  // The first ticks let meta be merged, and no window ends for want of room meanwhile.
  ASSERT_NO_FATAL_FAILURE(TickAll());
  LetCompactionsEnd();
  ASSERT_NO_FATAL_FAILURE(TickAll());
  const Metrics m = engine_->GetMetrics();
  ASSERT_GT(m.versions_shed, 0u);
  ASSERT_EQ(m.versions_sealed, 0u);
  const auto shed = static_cast<ptrdiff_t>(m.versions_shed);
  ASSERT_LT(m.versions_shed, rows_.size());
  rows_.erase(rows_.begin(), rows_.begin() + shed);  // the oldest ones, which came first
  EXPECT_EQ(ScanAll("a"), rows_);
  faults_->SetForeignBytes(0);
  Reopen();
  ExpectWhole();
  Reopen();
  ExpectWhole();
}

TEST_F(SealPiecesTest, TheManifestMayBeLost) {
  MakeGenerations(12);
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(4 << 20);
  const auto some = SealA();
  ASSERT_TRUE(some.ok()) << some.status().ToString();
  ASSERT_EQ(some->stopped.code(), StatusCode::kNoSpace);
  ASSERT_GE(some->buckets, 1u);
  faults_->SetForeignBytes(0);
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  size_t lost = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    if (FileKindOf(entry.path().string()) != FileKind::kManifest) continue;
    lost += std::filesystem::remove(entry.path()) ? 1 : 0;
  }
  ASSERT_GE(lost, 1u);
  const std::string to = std::filesystem::path(temp_.path()) / "salvaged";
  SalvageOptions options;
  options.clock = clock_;
  const auto report = Salvage(directory(), to, options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->versions_lost, 0u);
  directory_ = to;
  Open();
  ExpectWhole();
}

}  // namespace
}  // namespace cistern::testing
