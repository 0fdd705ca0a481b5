// Salvage of a store whose database cannot be opened, and what an opening puts right by itself.
// Rows come from the files, and what counts of them is told by the copy of the catalog.
#include <cstdio>
#include <fstream>
#include <functional>

#include "lib/base/crash_point.h"
#include "tests/engine/salvage_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

TEST_F(SalvageFilesTest, WithoutAManifestEveryRowIsThere) {
  MakeStore();
  for (const std::string& name : FilesOf(FileKind::kManifest)) Remove(name);
  ExpectDoesNotOpen();
  ExpectSalvaged();
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_NE(problems_[0].find("files were read without it"), std::string::npos) << problems_[0];
}

TEST_F(SalvageFilesTest, WithoutFilesOfTheCatalogEveryRowIsThere) {
  MakeStore();
  for (const std::string& name : TablesOf("meta")) Remove(name);
  ExpectDoesNotOpen();
  ExpectSalvaged();
}

TEST_F(SalvageFilesTest, WithoutAnythingButRowsAndOneCopyEveryRowIsThere) {
  MakeStore();
  for (const std::string& name : TablesOf("meta")) Empty(name);
  for (const std::string& name : FilesOf(FileKind::kManifest)) Empty(name);
  for (const char* name : {"CURRENT", "IDENTITY", "CISTERN", "CATALOG-1"}) Remove(name);
  ExpectDoesNotOpen();
  ExpectSalvaged();
}

// What is superseded lies about still when a process ends in the middle of its work.
TEST_F(SalvageFilesTest, WhatIsEndedOrSupersededDoesNotRise) {
  options_.keep_confirmed_s = 3600;
  MakeStore();
  Open();
  // Files that are dropped are kept aside, and put back behind the engine's back.
  const std::string kept = (fs::path(temp_.path()) / "kept").string();
  fs::copy(directory(), kept, fs::copy_options::recursive);
  SealRequest all;
  all.due_only = false;
  ASSERT_TRUE(engine_->Seal(all).ok());
  for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
  Shut();
  size_t put_back = 0;
  for (const auto& entry : fs::directory_iterator(kept)) {
    const fs::path back = fs::path(directory()) / entry.path().filename();
    if (FileKindOf(entry.path().string()) != FileKind::kSst || fs::exists(back)) continue;
    fs::copy(entry.path(), back);
    ++put_back;
  }
  EXPECT_GT(put_back, 0u);
  for (const std::string& name : FilesOf(FileKind::kManifest)) Remove(name);
  ExpectSalvaged();
}

// Its rows are in a spill family still, which another bucket holds: the manifests say that they are
// not open, and are gone with the database.
TEST_F(SalvageFilesTest, RowsOfAnEndedWindowDoNotRise) {
  options_.event_future_s_max = 100 * 86'400;
  options_.keep_unconfirmed_s = 3 * 86'400;
  Reopen();
  Write("a", kStartMs, 1);
  Write("b", kStartMs + 40 * kDayMs, 2);
  Rotate();
  SealRequest request;
  request.due_only = false;
  request.table = schema_->name;
  request.entity = Entity("a");
  request.time = kStartMs;
  ASSERT_TRUE(engine_->Seal(request).ok());
  clock_->AdvanceSeconds(10 * 86'400);
  Write("c", kStartMs + 10 * kDayMs, 3);
  const auto report = engine_->Expire();
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->versions_shed, 1u);
  ASSERT_EQ(engine_->GetMetrics().spill_families, 1u);
  const int64_t to = kStartMs + 50 * kDayMs;
  for (const char* sensor : kSensors) expected_[sensor] = Scan(sensor, kStartMs, to);
  ASSERT_TRUE(expected_["a"].empty());
  Shut();
  for (const std::string& name : FilesOf(FileKind::kManifest)) Remove(name);
  const std::string damaged = directory();
  for (const bool is_known : {true, false}) {
    size_t ended = 0;
    for (const std::string& name : FilesOf(FileKind::kOther)) {
      if (!name.starts_with("ENDED-")) continue;
      ++ended;
      if (!is_known) Remove(name);
    }
    EXPECT_EQ(ended, 1u);
    const std::string out = (fs::path(temp_.path()) / (is_known ? "known" : "unknown")).string();
    const auto saved = Salvage(damaged, out, {.clock = clock_});
    ASSERT_TRUE(saved.ok()) << saved.status().ToString();
    EXPECT_EQ(saved->problems.size(), is_known ? 1u : 2u);
    directory_ = out;
    Open();
    EXPECT_EQ(Scan("a", kStartMs, to).empty(), is_known);
    EXPECT_EQ(Scan("b", kStartMs, to), expected_["b"]);
    EXPECT_EQ(Scan("c", kStartMs, to), expected_["c"]);
    Shut();
    directory_ = damaged;
  }
}

// A MANIFEST that was cut is a smaller one: RocksDB opens it and deletes what it does not list. ACK
// knows how long it was; without that the copy of the catalog knows what was listed.
TEST_F(SalvageFilesTest, AnOldManifestDeletesNothing) {
  MakeStore();
  const std::string manifest = FilesOf(FileKind::kManifest).front();
  const auto whole = fs::file_size(PathOf(manifest));
  const std::vector<std::string> tables = FilesOf(FileKind::kSst);
  const std::string store = directory();
  for (const bool is_length_known : {true, false}) {
    size_t refused = 0;
    // Some way back, it lists files of the catalog that were merged into others and are gone. So
    // its last changes are cut off one by one too.
    std::vector<uintmax_t> cuts;
    for (uintmax_t n = 1; n < 8; ++n) cuts.push_back(whole * n / 8);
    for (uintmax_t n = 1; n < 24; ++n) cuts.push_back(whole - 40 * n);
    for (const uintmax_t left : cuts) {
      SCOPED_TRACE(std::to_string(left) + " of " + std::to_string(whole));
      directory_ = (fs::path(temp_.path()) / "cut").string();
      fs::remove_all(directory_);
      fs::copy(store, directory_, fs::copy_options::recursive);
      fs::resize_file(PathOf(manifest), left);
      if (!is_length_known) Remove("ACK");
      auto opened = TryOpen(options_);
      if (opened.ok()) {
        EXPECT_FALSE(is_length_known);
        engine_ = *std::move(opened);
        for (const auto& [sensor, rows] : expected_) EXPECT_EQ(ScanAll(sensor), rows) << sensor;
        Shut();
      } else {
        ++refused;
        EXPECT_EQ(opened.status().code(), StatusCode::kCorruption) << opened.status().ToString();
        EXPECT_EQ(FilesOf(FileKind::kSst), tables);
        ExpectSalvaged();
      }
    }
    EXPECT_GT(refused, 0u);
  }
}

// What a process leaves that is killed at a point of writing the copy, by the name of the point.
struct KilledStores {
  rocksdb::DB* db = nullptr;
  fs::path from;
  fs::path to;
  std::map<std::string, size_t> passed;
  std::vector<std::pair<fs::path, std::map<std::string, Rows>>> left;
  std::map<std::string, Rows> rows;  // that were acknowledged by now
};
KilledStores* g_killed = nullptr;

// Of each point the first few times and then ever fewer.
void KeepWhatIsLeft(const char* name) {
  const std::string point = name;
  if (!point.starts_with("catalog:")) return;
  const size_t n = ++g_killed->passed[point];
  if ((n & (n - 1)) != 0) return;
  ASSERT_TRUE(g_killed->db->PauseBackgroundWork().ok());
  ASSERT_TRUE(g_killed->db->DisableFileDeletions().ok());
  const fs::path copy = g_killed->to / std::to_string(g_killed->left.size());
  fs::copy(g_killed->from, copy, fs::copy_options::recursive);
  g_killed->left.emplace_back(copy, g_killed->rows);
  ASSERT_TRUE(g_killed->db->EnableFileDeletions(false).ok());
  ASSERT_TRUE(g_killed->db->ContinueBackgroundWork().ok());
}

TEST_F(SalvageFilesTest, KilledWhileTheCopyIsWrittenNoRowIsLost) {
  KilledStores killed;
  killed.from = directory();
  killed.to = fs::path(temp_.path()) / "killed";
  fs::create_directories(killed.to);
  killed.db = (*EngineImpl::Of(engine_.get())->core())->store().db().db();
  g_killed = &killed;
  g_crash_hook = KeepWhatIsLeft;
  for (int64_t day = 0; day < 12; ++day) {
    for (const char* sensor : kSensors) {
      Write(sensor, kStartMs + day * kDayMs, static_cast<double>(day));
      killed.rows[sensor].emplace_back(kStartMs + day * kDayMs, static_cast<double>(day));
    }
    Rotate();
    clock_->AdvanceSeconds(86'400);
    if (day % 3 == 2) Seal();
  }
  g_crash_hook = nullptr;
  Shut();
  for (const char* point : {"catalog:before_change", "catalog:after_first",
                            "catalog:after_second"}) {
    EXPECT_GT(killed.passed[point], 10u) << point;
  }
  EXPECT_GT(killed.left.size(), 10u);
  for (const auto& [left, rows] : killed.left) {
    SCOPED_TRACE(left.string());
    expected_ = rows;
    // A clean opening, of what salvage found before.
    directory_ = (fs::path(temp_.path()) / "without").string();
    fs::remove_all(directory_);
    fs::copy(left, directory_, fs::copy_options::recursive);
    for (const std::string& name : FilesOf(FileKind::kManifest)) Remove(name);
    if (rows.size() == std::size(kSensors)) ExpectSalvaged();
    directory_ = left.string();
    Open();
    EXPECT_TRUE(engine_->Recovery().clean);
    for (const auto& [sensor, expected] : rows) EXPECT_EQ(ScanAll(sensor), expected);
    Shut();
  }
}

// KEYSPACE.md has the figures that this prints.
TEST_F(SalvageFilesTest, TheCopyCostsLittle) {
  const auto bytes = [this] {  // nothing is written anew meanwhile
    return fs::file_size(PathOf("CATALOG-1")) + fs::file_size(PathOf("CATALOG-2"));
  };
  constexpr uint64_t kRounds = 24;
  uint64_t rotations = 0;
  uint64_t seals = 0;
  for (uint64_t day = 0; day < kRounds; ++day) {
    for (const char* sensor : kSensors) {
      MustAppend(sensor, kStartMs + static_cast<int64_t>(day) * kDayMs, 1);
    }
    const uint64_t before = bytes();
    Rotate();
    rotations += bytes() - before;
    clock_->AdvanceSeconds(2 * 86'400);
    const uint64_t between = bytes();
    Seal();
    seals += bytes() - between;
  }
  std::printf("in both files: %llu bytes a rotation, %llu a seal round\n",
              static_cast<unsigned long long>(rotations / kRounds),
              static_cast<unsigned long long>(seals / kRounds));
  EXPECT_LT(rotations / kRounds, 1024u);
  EXPECT_LT(seals / kRounds, 2048u);
}

TEST_F(SalvageFilesTest, NothingInTheDamagedStoreIsChanged) {
  MakeStore();
  for (const std::string& name : FilesOf(FileKind::kManifest)) Remove(name);
  std::map<std::string, std::pair<uintmax_t, fs::file_time_type>> before;
  for (const auto& entry : fs::directory_iterator(directory())) {
    before[entry.path().string()] = {entry.file_size(), entry.last_write_time()};
  }
  ExpectSalvaged();
  std::map<std::string, std::pair<uintmax_t, fs::file_time_type>> after;
  for (const auto& entry : fs::directory_iterator(directory())) {
    after[entry.path().string()] = {entry.file_size(), entry.last_write_time()};
  }
  EXPECT_EQ(before, after);
}

TEST_F(SalvageFilesTest, WhatACrashLeavesOfSmallFilesIsRemoved) {
  MakeStore();
  const std::vector<std::string> ours = {"ENDED-0000000000000005.tmp", "CATALOG-1.tmp", "ACK.tmp",
                                         "CISTERN.tmp"};
  for (const std::string& name : ours) std::ofstream(PathOf(name)) << "half";
  std::ofstream(PathOf("notes.tmp")) << "of somebody else";
  Open();
  Shut();
  for (const std::string& name : ours) EXPECT_FALSE(fs::exists(PathOf(name))) << name;
  EXPECT_TRUE(fs::exists(PathOf("notes.tmp")));
}

// A reader changes nothing, and says how it is put right. Salvage says what is wrong alone.
TEST_F(SalvageFilesTest, CurrentIsWrittenAnew) {
  MakeStore();
  const std::vector<std::pair<std::string, std::function<void()>>> damages = {
      {"CURRENT is missing", [this] { Remove("CURRENT"); }},
      {"CURRENT is empty", [this] { Empty("CURRENT"); }},
      {"CURRENT names no MANIFEST", [this] { std::ofstream(PathOf("CURRENT")) << "hello"; }},
  };
  for (const auto& [told, damage] : damages) {
    SCOPED_TRACE(told);
    damage();
    EngineOptions reader = options_;
    reader.read_only = true;
    const std::string refused = TryOpen(reader).status().ToString();
    EXPECT_NE(refused.find(told + "; opening the store for writing repairs it: `cistern backup "
                           "--store " + directory() + " --to BACKUPS`"), std::string::npos)
        << refused;
    ExpectSalvaged();
    EXPECT_TRUE(HasProblem(told));
    EXPECT_FALSE(HasProblem("repairs it"));
    ExpectOpened(told);
  }
}

TEST_F(SalvageFilesTest, CurrentIsNotGuessed) {
  MakeStore();
  const std::string manifest = FilesOf(FileKind::kManifest).front();
  fs::copy(PathOf(manifest), PathOf("MANIFEST-000001"));
  Remove("CURRENT");
  ExpectDoesNotOpen();
  EngineOptions reader = options_;
  reader.read_only = true;
  const std::string refused = TryOpen(reader).status().ToString();
  EXPECT_NE(refused.find("cistern salvage --store " + directory()), std::string::npos) << refused;
  Remove("MANIFEST-000001");
  fs::resize_file(PathOf(manifest), 0);
  ExpectDoesNotOpen();
  ExpectSalvaged();
}

TEST_F(SalvageFilesTest, IdentityAndFormatAreWrittenAnew) {
  MakeStore();
  Remove("IDENTITY");
  ExpectOpened("IDENTITY is missing");
  Empty("IDENTITY");
  ExpectOpened("IDENTITY is damaged");
  Remove("CISTERN");
  ExpectOpened("CISTERN is missing or damaged");
  Empty("CISTERN");
  ExpectOpened("CISTERN is missing or damaged");
}

TEST_F(SalvageFilesTest, TheCopyIsWrittenAnewWhereItIsLost) {
  MakeStore();
  for (const char* name : {"CATALOG-1", "CATALOG-2"}) Remove(name);
  Open();
  Shut();
  for (const std::string& name : TablesOf("meta")) Remove(name);
  ExpectSalvaged();
}

}  // namespace
}  // namespace cistern::testing
