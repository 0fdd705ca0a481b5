// What upstream has confirmed stays confirmed in a salvaged store, and what is not known to be is
// sent again.
#include <fstream>
#include <set>

#include "cistern/salvage.h"
#include "storage/confirmed_seals.h"
#include "storage/file_kind.h"
#include "tests/engine/push_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

enum class Loss : uint8_t { kNothing, kManifest, kManifestAndFirstCopy };

class SalvageConfirmedTest : public PushFixture, public ::testing::WithParamInterface<Loss> {
 protected:
  SalvageConfirmedTest() { options_.keep_confirmed_s = 365 * kDayS; }

  void Shut() {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
  // The salvaged store is open then.
  void DamageAndSalvage() {
    Shut();
    if (GetParam() != Loss::kNothing) {
      for (const auto& entry : fs::directory_iterator(directory())) {
        if (FileKindOf(entry.path().string()) == FileKind::kManifest) fs::remove(entry.path());
      }
    }
    if (GetParam() == Loss::kManifestAndFirstCopy) {
      fs::remove(fs::path(directory()) / "CATALOG-1");
    }
    const std::string to = (fs::path(temp_.path()) / "salvaged").string();
    const auto report = Salvage(directory(), to, {.clock = clock_});
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->versions_lost, 0u);
    report_ = *report;
    directory_ = to;
    Open();
    ASSERT_NE(engine_, nullptr);
    EXPECT_TRUE(engine_->Recovery().clean);
  }
  // The starts of the buckets that wait, once all is sealed.
  std::multiset<int64_t> DaysThatWait() {
    SealAll();
    std::multiset<int64_t> days;
    for (const SealName& name : Outbox()) {
      days.insert((name.bucket.start_s - kStartMs / 1000) / kDayS);
    }
    return days;
  }

  SalvageReport report_;
};

TEST_P(SalvageConfirmedTest, WithTheProofOfItsArrivalAndTheRestIsSent) {
  LiveDays(4);
  const std::vector<SealName> names = Outbox();
  ASSERT_EQ(names.size(), 4u);
  Confirm({names[0]});
  Confirm({names[1]}, ProofLevel::kCount);
  Confirm({names[3]}, ProofLevel::kRows);
  MustAppend("a", kStartMs + 4 * kDayMs, 4);
  written_.emplace_back(kStartMs + 4 * kDayMs, 4);
  Rotate();
  MustAppend("a", kStartMs + 4 * kDayMs + 1, 5);
  written_.emplace_back(kStartMs + 4 * kDayMs + 1, 5);
  DamageAndSalvage();
  EXPECT_EQ(ScanEverything(), written_);
  ASSERT_EQ(report_.tables.size(), 1u);
  EXPECT_EQ(report_.tables[0].versions_saved, written_.size());
  EXPECT_EQ(report_.tables[0].versions_confirmed, 6u);
  EXPECT_EQ(report_.tables[0].buckets, 5u);
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.versions_confirmed, 6u);
  EXPECT_EQ(m.versions_confirmed_by_count, 2u);
  EXPECT_EQ(m.versions_confirmed_by_rows, 2u);
  EXPECT_EQ(m.versions_open, written_.size() - 6);
  ExpectReconciled();
  EXPECT_EQ(DaysThatWait(), (std::multiset<int64_t>{2, 4}));
  EXPECT_EQ(ScanEverything(), written_);
  ExpectReconciled();
}

// What came after the answer of a bucket is not confirmed by it.
TEST_P(SalvageConfirmedTest, AnAmendmentIsSentAndNothingElse) {
  LiveDays(1);
  Confirm(Outbox());
  const int64_t later = kStartMs + 60'000;
  MustAppend("a", later, 7);
  SealAll();
  const std::vector<SealName> amended = Outbox();
  ASSERT_EQ(amended.size(), 1u);
  MustAppend("a", later, 8);
  ASSERT_TRUE(engine_->DeleteRange(schema_->name, Entity("a"),
                                   TimeRange{kStartMs + kDayMs / 2, kStartMs + kDayMs}).ok());
  Rotate();
  const Rows rows = {{kStartMs, 0}, {later, 8}};
  ASSERT_EQ(ScanEverything(), rows);
  DamageAndSalvage();
  EXPECT_EQ(ScanEverything(), rows);
  EXPECT_EQ(Confirmed(), 1u);
  EXPECT_EQ(DaysThatWait(), (std::multiset<int64_t>{0}));
  EXPECT_EQ(ScanEverything(), rows);
  ExpectReconciled();
}

TEST_P(SalvageConfirmedTest, WhatIsToBeSentAgainWaits) {
  LiveDays(6);
  Confirm(Outbox());
  ASSERT_TRUE(Outbox().empty());
  SealResend resend{1, kStartMs / 1000 + 2 * kDayS, kStartMs / 1000 + 4 * kDayS};
  while (!resend.is_over) {
    const auto more = Core()->maintenance().Resend(&resend);
    ASSERT_TRUE(more.ok()) << more.status().ToString();
  }
  ASSERT_EQ(Outbox().size(), 2u);
  DamageAndSalvage();
  EXPECT_EQ(ScanEverything(), written_);
  EXPECT_EQ(DaysThatWait(), (std::multiset<int64_t>{2, 3}));
  ExpectReconciled();
}

// Windows are made one, and their seals keep their numbers.
TEST_P(SalvageConfirmedTest, ThroughMergesOfWindows) {
  for (int day = 0; day < 40; ++day) {
    LiveDays(1);
    if (day % 3 != 0) Confirm({Outbox().back()});
    TickAll();
  }
  ASSERT_GT(engine_->GetMetrics().window_merges, 0u);
  std::multiset<int64_t> waiting;
  for (const SealName& name : Outbox()) {
    waiting.insert((name.bucket.start_s - kStartMs / 1000) / kDayS);
  }
  ASSERT_EQ(waiting.size(), 14u);
  const size_t windows = Windows().size();
  DamageAndSalvage();
  EXPECT_EQ(ScanEverything(), written_);
  EXPECT_LE(Windows().size(), windows);
  EXPECT_EQ(DaysThatWait(), waiting);
  EXPECT_EQ(ScanEverything(), written_);
  ExpectReconciled();
}

INSTANTIATE_TEST_SUITE_P(Files, SalvageConfirmedTest,
                         ::testing::Values(Loss::kNothing, Loss::kManifest,
                                           Loss::kManifestAndFirstCopy),
                         [](const auto& run) {
                           return std::string(run.param == Loss::kNothing    ? "whole"
                                              : run.param == Loss::kManifest ? "no_manifest"
                                                                             : "one_copy");
                         });

class SalvageCareTest : public PushFixture {
 protected:
  std::string InTemp(const std::string& name) {
    return (fs::path(temp_.path()) / name).string();
  }
};

// An outbox that lacks an entry would call that seal confirmed, which upstream never had.
TEST_F(SalvageCareTest, AnOutboxWithAHoleConfirmsNothing) {
  LiveDays(3);
  const std::vector<SealName> names = Outbox();
  ASSERT_EQ(names.size(), 3u);
  Confirm({names[0]});
  const auto view = Core()->store().spills().view();
  for (const auto& window : view->windows) {
    ASSERT_TRUE(view->meta->db()
                    ->Delete({}, view->meta->handle(), OutboxKey(window->id, names[1].seal))
                    .ok());
  }
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  for (const char* copy : {"CATALOG-1", "CATALOG-2"}) fs::remove(fs::path(directory()) / copy);
  const auto report = Salvage(directory(), InTemp("salvaged"), {.clock = clock_});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->tables.at(0).versions_confirmed, 0u);
  EXPECT_FALSE(report->problems.empty());
  directory_ = InTemp("salvaged");
  Open();
  SealAll();
  EXPECT_EQ(Outbox().size(), 3u);
  EXPECT_EQ(ScanEverything(), written_);
}

// Without its copies the catalog is all there is, and a key of it that means nothing ends the walk.
TEST_F(SalvageCareTest, WhatWasNotLookedAtIsNotCalledWhole) {
  LiveDays(3);
  const auto view = Core()->store().spills().view();
  for (const auto& window : view->windows) {
    const std::string key = ManifestKeyFrom(window->id, EntityPrefix(1, "zz")) + "?";
    ASSERT_TRUE(view->meta->db()->Put({}, view->meta->handle(), key, "").ok());
  }
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  for (const char* copy : {"CATALOG-1", "CATALOG-2"}) fs::remove(fs::path(directory()) / copy);
  const auto report = Salvage(directory(), InTemp("salvaged"), {.clock = clock_});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_FALSE(report->saw_all_buckets);
  EXPECT_FALSE(report->knows_losses());
  EXPECT_EQ(report->versions_lost, 0u);
  EXPECT_FALSE(report->complete());
  directory_ = InTemp("salvaged");
  Open();
}

TEST_F(SalvageCareTest, WhatTheCatalogLacksIsNotCalledWhole) {
  LiveDays(3);
  const auto view = Core()->store().spills().view();
  rocksdb::DB* const db = view->meta->db();
  const std::string prefix = ManifestKeyFrom(view->windows.front()->id, "");
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, view->meta->handle()));
  it->Seek(prefix);
  ASSERT_TRUE(it->Valid() && it->key().starts_with(prefix));
  ASSERT_TRUE(db->Delete({}, view->meta->handle(), it->key()).ok());
  it.reset();
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  for (const char* copy : {"CATALOG-1", "CATALOG-2"}) fs::remove(fs::path(directory()) / copy);
  const auto report = Salvage(directory(), InTemp("salvaged"), {.clock = clock_});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_LT(report->tables.at(0).versions_saved, written_.size());
  EXPECT_FALSE(report->knows_losses());
  directory_ = InTemp("salvaged");
  Open();
}

TEST_F(SalvageCareTest, WhatIsInTheWayStays) {
  LiveDays(1);
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  fs::create_directories(InTemp("stick/rescue"));
  std::ofstream(InTemp("stick/rescue/photo")) << "of somebody else";
  const auto report = Salvage(directory(), InTemp("stick"), {.clock = clock_});
  EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument) << report.status().ToString();
  EXPECT_TRUE(fs::exists(InTemp("stick/rescue/photo")));
}

TEST(ConfirmedSealsTest, TheLastChangeOfASealCounts) {
  std::string bytes;
  PutConfirmed({{16, ProofLevel::kAck}, {17, ProofLevel::kRows}, {18, ProofLevel::kAck}}, &bytes);
  PutWaiting({18, 16}, &bytes);
  PutConfirmed({{16, ProofLevel::kCount}}, &bytes);
  const auto confirmed = DecodeConfirmed(bytes);
  ASSERT_TRUE(confirmed.ok());
  EXPECT_EQ(*confirmed, (ConfirmedSeals{{16, ProofLevel::kCount}, {17, ProofLevel::kRows}}));
  bytes.push_back(9);
  EXPECT_EQ(DecodeConfirmed(bytes).status().code(), StatusCode::kCorruption);
  EXPECT_TRUE(DecodeConfirmed("")->empty());
}

TEST(ConfirmedSealsTest, MoreThanOneChangeHolds) {
  ConfirmedSeals all;
  for (uint64_t seal = 0; seal < 200'000; ++seal) all.Confirm(2 * seal, 1, ProofLevel::kAck);
  std::string bytes;
  PutConfirmed(all, &bytes);
  const auto confirmed = DecodeConfirmed(bytes);
  ASSERT_TRUE(confirmed.ok());
  EXPECT_EQ(*confirmed, all);
}

}  // namespace
}  // namespace cistern::testing
