// A copy of the catalog that knows more than the database: nothing that it counts is deleted.
#include "tests/engine/left_store_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

class CutCatalogTest : public LeftStoreFixture {
 protected:
  // The directory of what is left.
  std::string RotateAndEndAt(const std::string& point) {
    return EndAt(point, [this] { Rotate(); });
  }
};

// A crash between a change of the copy and the batch that makes it true leaves the copy ahead. What
// it counts beyond the database is dropped once the copy says so too, and not before: a salvage
// goes by the copy.
TEST_F(CutCatalogTest, NothingIsDroppedWhileTheCopyCannotBeWritten) {
  Write("a", kStartMs, 1);
  Write("b", kStartMs, 2);
  // When the copy has the rotation and the database has not.
  const std::string ahead = RotateAndEndAt("catalog:after_second");
  for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
  Shut();
  directory_ = ahead;
  const std::vector<std::string> tables = FilesOf(FileKind::kSst);
  // No new file: the copy cannot be written anew, and the database needs none to open.
  for (const char* name : {"CATALOG-1.tmp", "CATALOG-2.tmp"}) {
    fs::create_directories(fs::path(PathOf(name)) / "in the way");
  }
  Open();
  for (const auto& [sensor, rows] : expected_) EXPECT_EQ(ScanAll(sensor), rows) << sensor;
  Shut();
  const std::vector<std::string> left = FilesOf(FileKind::kSst);
  EXPECT_TRUE(std::includes(left.begin(), left.end(), tables.begin(), tables.end()));
  for (const std::string& manifest : FilesOf(FileKind::kManifest)) Remove(manifest);
  ExpectSalvaged();
}

// The log had the commit of a rotation, and its damage takes it. The rows are in a table that the
// copy of the catalog knows.
class CutLogTest : public CutCatalogTest {
 protected:
  // Two rotations of which the log alone has the second one; shut.
  void Prepare() {
    Write("a", kStartMs, 1);
    Rotate();
    Reopen();  // of the first one nothing is in a log
    for (const auto& log : FilesOf(FileKind::kWal)) before_[log] = fs::file_size(PathOf(log));
    const Status made = engine_->CreateTable(kValves);
    ASSERT_TRUE(made.ok()) << made.ToString();
    Write("b", kStartMs, 2);
    clock_->AdvanceMicros(1'100'000);
    ASSERT_TRUE(engine_->Tick({100}).ok());  // ACK follows
    for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
    const std::string left = RotateAndEndAt("spill:after_commit");
    Shut();
    directory_ = left;
  }
  // Opening takes back what the log has lost, and says so once; and without the database the copy
  // says the same.
  void ExpectKept() {
    for (int opening = 0; opening < 3; ++opening) {
      Open();
      ASSERT_NE(engine_, nullptr);
      EXPECT_EQ(engine_->Recovery().clean, opening > 0) << opening;
      EXPECT_EQ(engine_->ListTables().size(), 2u);
      for (const auto& [sensor, rows] : expected_) EXPECT_EQ(ScanAll(sensor), rows) << sensor;
      ExpectSound();
      Shut();
    }
    for (const std::string& manifest : FilesOf(FileKind::kManifest)) Remove(manifest);
    ExpectSalvaged();
  }

  std::map<std::string, uintmax_t> before_;  // sizes of logs before the second rotation
};

TEST_F(CutLogTest, WhatACutLogHadOfTheCatalogIsKept) {
  Prepare();
  size_t flipped = 0;
  for (const std::string& log : FilesOf(FileKind::kWal)) {
    if (fs::file_size(PathOf(log)) <= before_[log] + 20) continue;
    FlipBit(PathOf(log), static_cast<int64_t>(before_[log] + 20));
    ++flipped;
  }
  ASSERT_GT(flipped, 0u);
  ExpectKept();
}

TEST_F(CutLogTest, WhatALostLogHadOfTheCatalogIsKept) {
  Prepare();
  for (const std::string& log : FilesOf(FileKind::kWal)) Remove(log);
  ExpectKept();
}

// An old MANIFEST in force lists none of the newer tables and logs, and RocksDB deletes them while
// it opens. The copy of the catalog knows better, and then everything must be there still.
TEST_F(CutCatalogTest, AnOldManifestInForceDeletesNeitherTablesNorLogs) {
  Write("a", kStartMs, 1);
  Rotate();
  Reopen();
  const std::string old = CopyStore();
  Write("b", kStartMs, 2);
  Rotate();
  Reopen();
  Write("c", kStartMs, 3);
  for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
  const std::string newer = CopyStore();
  Shut();
  directory_ = newer;
  fs::remove(PathOf("ACK"));  // which knows of a newer MANIFEST
  for (const auto& entry : fs::directory_iterator(old)) {
    const std::string name = entry.path().filename().string();
    if (name != "CURRENT" && FileKindOf(name) != FileKind::kManifest) continue;
    fs::copy(entry.path(), PathOf(name), fs::copy_options::overwrite_existing);
  }
  std::vector<std::string> before;
  for (const FileKind kind : {FileKind::kSst, FileKind::kWal, FileKind::kManifest}) {
    for (const std::string& name : FilesOf(kind)) before.push_back(name);
  }
  ExpectDoesNotOpen();
  for (const std::string& name : before) EXPECT_TRUE(fs::exists(PathOf(name))) << name;
  ExpectSalvaged();
}

}  // namespace
}  // namespace cistern::testing
