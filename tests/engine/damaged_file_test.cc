// Damage to one file of spilled segments costs what was in the damaged place, is told at once,
// and costs no more afterwards.
#include <utility>

#include "cistern/salvage.h"
#include "storage/file_kind.h"
#include "storage/header_iterator.h"
#include "tests/engine/quarantine_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kSensors[] = "abcdefghij";  // a page each: a tenth of their rotation's file
constexpr size_t kPages = 10;
constexpr size_t kRowsOfPage = 10;

class DamagedFileTest : public QuarantineFixture {
 protected:
  DamagedFileTest() { expect_gaps_ = true; }

  // A day for each rotation, all in one family.
  void FillDays(int64_t days) {
    for (int64_t day = 0; day < days; ++day) {
      next_ts_ = kStartMs + day * kDayMs;
      clock_->PassTo(next_ts_ * 1000);
      Fill(kSensors);
    }
    ASSERT_EQ(Families().size(), 1u);
  }
  // The rows of two rotations, of one sensor in one: more than a memtable takes.
  void FillTwice(char sensor) {
    for (int half = 0; half < 2; ++half) {
      RowBatch batch(schema_);
      for (size_t i = 0; i < kRowsPerRotation; ++i) {
        batch.BeginRow();
        ASSERT_TRUE(batch.SetBytes(0, std::string(1, sensor)).ok());
        ASSERT_TRUE(batch.SetInt(2, next_ts_).ok());
        ASSERT_TRUE(batch.SetDouble(3, 1.0).ok());
        std::string noise;
        for (int k = 0; k < 8000; ++k) noise.push_back(static_cast<char>('!' + random_.Below(90)));
        ASSERT_TRUE(batch.SetBytes(4, noise).ok());
        ASSERT_TRUE(batch.EndRow().ok());
        expected_[std::string(1, sensor)].emplace_back(next_ts_++, 1.0);
      }
      ASSERT_TRUE(engine_->Append(batch, {Durability::kLog}).ok());
    }
    Rotate();
  }
  // The newest file of spilled segments that has no header; empty: there is none.
  fs::path FileOfPages() {
    std::vector<rocksdb::LiveFileMetaData> files;
    Core()->store().db().db()->GetLiveFilesMetaData(&files);
    std::string key;
    fs::path path;
    for (const auto& file : files) {
      if (FamilyKindOf(file.column_family_name) != FamilyKind::kSpill) continue;
      if (ParseHeaderKey(file.smallestkey) || file.smallestkey < key) continue;
      key = file.smallestkey;
      path = fs::path(directory()) / file.relative_filename;
    }
    return path;
  }
  // A day of rows, and a rotation of k in two files; that of pages alone is pages_. Closed.
  void FillBesideAFileOfPages() {
    FillDays(1);
    FillTwice('k');
    pages_ = FileOfPages();
    ASSERT_FALSE(pages_.empty());
    Shut();
  }
  fs::path pages_;
  size_t CountRows(bool descending) {
    size_t count = 0;
    for (const char sensor : std::string_view(kSensors)) {
      ScanRequest request =
          Request(std::string(1, sensor), kStartMs, kStartMs + 30 * kDayMs);
      if (descending) std::swap(request.from, request.to);
      auto cursor = engine_->Scan(request);
      EXPECT_TRUE(cursor.ok());
      Rows rows;
      Drain(cursor->get(), &rows);
      count += rows.size();
      EXPECT_EQ((*cursor)->status().ok(), rows.size() == expected_[std::string(1, sensor)].size())
          << (*cursor)->status().ToString();
    }
    return count;
  }
  // Every version is in one state, those of the damage in theirs.
  void ExpectReconciled(uint64_t quarantined) {
    const Metrics m = engine_->GetMetrics();
    EXPECT_EQ(m.versions_quarantined, quarantined);
    EXPECT_EQ(m.versions_written, m.versions_open + m.versions_sealed + m.versions_superseded +
                                      m.versions_expired + m.versions_shed + quarantined);
  }
  uint64_t BytesOfTables() {
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(directory())) {
      if (entry.path().extension() == ".sst") bytes += entry.file_size();
    }
    return bytes;
  }
};

// Each rotation is one file here.
class DamagedPageTest : public DamagedFileTest {
 protected:
  DamagedPageTest() { options_.memory_budget_bytes = 64 << 20; }
};

TEST_F(DamagedPageTest, ItCostsItsRowsWhereverItIsInTheFile) {
  FillDays(3);
  const size_t written = 3 * kPages * kRowsOfPage;
  for (const fs::path& path : Tables("spill-")) {
    Shut();
    const std::string whole = ReadFile(path);
    for (size_t page = 0; page < kPages; ++page) {
      SCOPED_TRACE(path.filename().string() + ", page " + std::to_string(page));
      FlipBit(path.string(), static_cast<int64_t>(whole.size() * (2 * page + 1) / (2 * kPages)));
      Open();
      EXPECT_EQ(engine_->Recovery().files_damaged, 0u);
      EXPECT_EQ(CountRows(false), written - kRowsOfPage);
      EXPECT_EQ(CountRows(true), written - kRowsOfPage);
      ExpectReconciled(kRowsOfPage);
      Shut();
      WriteFile(path, whole);
    }
    Open();
  }
}

// The pages of a rotation of short rows share a block with the file's last key. Who looks backwards
// for a bucket of the next rotation is led there by RocksDB.
TEST_F(DamagedPageTest, TheLastBlockOfAFileHidesNoOtherRotation) {
  text_bytes_ = 80;
  FillDays(3);
  const std::vector<fs::path> files = Tables("spill-");
  ASSERT_EQ(files.size(), 3u);
  for (const fs::path& path : files) {
    SCOPED_TRACE(path.filename().string());
    Shut();
    const std::string whole = ReadFile(path);
    FlipBit(path.string(), static_cast<int64_t>(whole.size() / 2));
    Open();
    EXPECT_EQ(engine_->Recovery().files_damaged, 0u);
    EXPECT_EQ(CountRows(false), 2 * kPages * kRowsOfPage);
    EXPECT_EQ(CountRows(true), 2 * kPages * kRowsOfPage);
    {
      ScanRequest newest = Request("a", kStartMs + 30 * kDayMs, kStartMs);
      newest.limit = 1;
      auto cursor = engine_->Scan(newest);
      ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
      Rows rows;
      Drain(cursor->get(), &rows);
      EXPECT_EQ(rows.size(), 1u);
    }
    Shut();
    WriteFile(path, whole);
    Open();
  }
}

TEST_F(DamagedPageTest, SalvageLosesNoMore) {
  FillDays(3);
  const fs::path path = Tables("spill-").front();
  Shut();
  for (const int64_t at : {int64_t{0}, int64_t{5}}) {
    const std::string whole = ReadFile(path);
    const auto tenth = static_cast<int64_t>(whole.size() / kPages);
    FlipBit(path.string(), at * tenth + tenth / 2);
    SalvageOptions options;
    options.clock = clock_;
    const auto report =
        Salvage(directory(), fs::path(temp_.path()) / std::to_string(at), options);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->tables[0].versions_saved, 3 * kPages * kRowsOfPage - kRowsOfPage);
    EXPECT_EQ(report->tables[0].versions_lost, kRowsOfPage);
    EXPECT_EQ(report->versions_lost, 0u);
    WriteFile(path, whole);
  }
  Open();
}

TEST_F(DamagedPageTest, AHeaderCostsItsFile) {
  FillDays(3);
  const fs::path path = Tables("spill-").front();
  Shut();
  FlipBit(path.string(), 40);
  Open();
  EXPECT_EQ(engine_->Recovery().files_damaged, 1u);
  EXPECT_EQ(engine_->Recovery().versions_quarantined, kPages * kRowsOfPage);
  ExpectReconciled(kPages * kRowsOfPage);
  EXPECT_EQ(CountRows(false), 2 * kPages * kRowsOfPage);
  EXPECT_EQ(CountRows(true), 2 * kPages * kRowsOfPage);
}

// Without a catalog, too: what the file with the headers had is counted as lost.
TEST_F(DamagedFileTest, AFileOfPagesIsNotItsRotation) {
  FillDays(1);
  FillTwice('k');
  const fs::path pages = FileOfPages();
  std::vector<rocksdb::LiveFileMetaData> files;
  Core()->store().db().db()->GetLiveFilesMetaData(&files);
  uint64_t rotation = 0;
  for (const auto& file : files) {
    if (pages.filename() == file.relative_filename) rotation = RotationOfKey(file.smallestkey);
  }
  ASSERT_NE(rotation, 0u);
  Shut();
  for (const auto& file : files) {
    const bool has_headers = FamilyKindOf(file.column_family_name) == FamilyKind::kSpill &&
                             ParseHeaderKey(file.smallestkey) &&
                             RotationOfKey(file.smallestkey) == rotation;
    if (has_headers) fs::remove(fs::path(directory()) / file.relative_filename);
  }
  for (const auto& entry : fs::directory_iterator(directory())) {
    if (FileKindOf(entry.path().string()) == FileKind::kManifest) fs::remove(entry.path());
  }
  const auto report =
      Salvage(directory(), (fs::path(temp_.path()) / "saved").string(), {.clock = clock_});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_GE(report->versions_lost, kRowsPerRotation);
  EXPECT_EQ(report->tables.at(0).versions_saved + report->versions_lost, 3 * kRowsPerRotation);
  EXPECT_FALSE(report->knows_losses());
}

// A rotation of more than one memtable has several files; the headers are in the last of them.
// Who looks for headers is led to the first page of the others too.
TEST_F(DamagedFileTest, AFileThatBeginsWithADamagedPageIsLostAlone) {
  FillBesideAFileOfPages();
  const fs::path pages = pages_;
  const std::string whole = ReadFile(pages);
  FlipBit(pages.string(), 1000);
  Open();
  EXPECT_EQ(engine_->Recovery().files_damaged, 1u);
  const uint64_t lost = engine_->Recovery().versions_quarantined;
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(CountRows(false), kPages * kRowsOfPage);
  EXPECT_EQ(CountRows(true), kPages * kRowsOfPage);
  EXPECT_EQ(ScanAll("k").size(), 2 * kRowsPerRotation - lost);
  ExpectReconciled(lost);
  Shut();
  WriteFile(pages, whole);
  Open();
  expect_gaps_ = false;
  ExpectAllBut("");
  ExpectSound();
}

TEST_F(DamagedFileTest, WhatALostFileOfPagesHeldIsToldAtOnce) {
  FillBesideAFileOfPages();
  const fs::path pages = pages_;
  const std::string whole = ReadFile(pages);
  fs::remove(pages);
  Open();
  const RecoveryReport recovery = engine_->Recovery();
  EXPECT_FALSE(recovery.clean);
  EXPECT_EQ(recovery.files_damaged, 1u);
  const uint64_t lost = recovery.versions_quarantined;
  EXPECT_GT(lost, kRowsPerRotation / 2);
  ASSERT_EQ(recovery.notes.size(), 1u);
  EXPECT_NE(recovery.notes[0].find(std::to_string(lost) + " row versions"), std::string::npos)
      << recovery.notes[0];
  ExpectReconciled(lost);
  for (int look = 0; look < 2; ++look) {
    EXPECT_EQ(ScanAll("k").size(), 2 * kRowsPerRotation - lost);
    EXPECT_EQ(CountRows(look == 1), kPages * kRowsOfPage) << "others lack nothing";
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->problems.back(), recovery.notes[0]);
    ExpectReconciled(lost);
  }
  const auto sealed = engine_->Seal({.due_only = false});
  ASSERT_TRUE(sealed.ok()) << sealed.status().ToString();
  EXPECT_EQ(sealed->buckets, kPages) << "all but that of k";
  EXPECT_EQ(sealed->problems.size(), 1u);
  ExpectReconciled(lost);
  Shut();
  WriteFile(pages, whole);
  Open();
  EXPECT_TRUE(engine_->Recovery().clean);
  expect_gaps_ = false;
  ExpectAllBut("");
  ExpectSound();
}

// What cannot be rewritten as a whole is not begun, at any opening, and is in nobody's way.
TEST_F(DamagedFileTest, AFamilyWithALostFileIsNotRewritten) {
  FillUntilRespillIsDue();
  const uint64_t damaged = Oldest();
  const fs::path path = Tables(SpillFamilyName(damaged)).front();
  Shut();
  const std::string whole = ReadFile(path);
  fs::remove(path);
  Open();
  const uint64_t lost = engine_->Recovery().versions_quarantined;
  EXPECT_GT(lost, 0u);
  const uint64_t bytes = BytesOfTables();
  for (int opened = 0; opened < 4; ++opened) {
    TickUntilIdle();
    EXPECT_EQ(engine_->GetMetrics().respill_bytes, 0u);
    EXPECT_LE(BytesOfTables(), bytes + 32'768) << "records alone";
    Shut();
    Open();
  }
  EXPECT_FALSE(Said("was given up"));
  const auto oldest_but_one = Families()[1]->id;
  for (int i = 0; i < 40 && Families()[1]->id == oldest_but_one; ++i) {
    Fill(kSensors);
    TickUntilIdle();
  }
  EXPECT_NE(Families()[1]->id, oldest_but_one) << "the others are rewritten";
  EXPECT_EQ(Oldest(), damaged);
  EXPECT_LE(Families().size(), SpillLimits{}.family_count_max + 2);
  ExpectReconciled(lost);
  Shut();
  WriteFile(path, whole);
  Open();
  TickUntilIdle();
  EXPECT_GT(Oldest(), damaged) << "it is whole again, and its turn has come";
  expect_gaps_ = false;
  ExpectAllBut("");
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
