// The directory of an open store is renamed, removed or replaced: nothing is acknowledged that will
// not be there, nothing is created in its place, and the store is whole where it went.
#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

namespace files = std::filesystem;

class MovedStoreTest : public EngineFixture {
 protected:
  void SetUp() override {
    options_.log_sink = [this](LogLevel level, std::string_view line) {
      if (level != LogLevel::kError) return;
      const std::lock_guard lock(mutex_);
      errors_.emplace_back(line);
    };
    EngineFixture::SetUp();
    for (int i = 0; i < 10; ++i) MustAppend("a", kStartMs + i, i);
  }
  [[nodiscard]] std::string Elsewhere() const { return temp_.path() + "/elsewhere"; }
  void Move() { files::rename(directory(), Elsewhere()); }
  static std::map<std::string, std::string> ContentOf(const std::string& directory) {
    std::map<std::string, std::string> content;
    for (const auto& entry : files::directory_iterator(directory)) {
      std::ifstream file(entry.path(), std::ios::binary);
      content[entry.path().filename()] =
          std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return content;
  }
  // Time for several attempts.
  Status TickForAWhile() {
    Status last;
    for (int i = 0; i < 8; ++i) {
      clock_->AdvanceSeconds(10);
      last = engine_->Tick().status();
    }
    return last;
  }
  // Writes are refused, health and the log say why, and however long it takes nothing is opened.
  void ExpectAway() {
    EXPECT_FALSE(Append("a", kStartMs + 50, 50).ok());
    EXPECT_EQ(engine_->Health().code(), StatusCode::kIoError) << engine_->Health().ToString();
    const Status ticked = TickForAWhile();
    EXPECT_EQ(ticked.code(), StatusCode::kIoError) << ticked.ToString();
    EXPECT_NE(ticked.message().find(directory()), std::string::npos) << ticked.ToString();
    EXPECT_EQ(engine_->Health().code(), StatusCode::kIoError);
    // Firmware that takes kNotFound for a new device would begin a second history.
    EXPECT_EQ(engine_->FindTable("plant.pumps").status().code(), StatusCode::kIoError);
    EXPECT_EQ(engine_->CreateTable(kPumps).code(), StatusCode::kIoError);
    EXPECT_EQ(Append("a", kStartMs + 51, 51).code(), StatusCode::kIoError);
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(errors_.empty());
  }
  void ExpectTenRowsIn(const std::string& directory) {
    auto opened = OpenEngineOver(directory, options_, fs_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    EXPECT_FALSE((*opened)->Recovery().recovered_with_loss);
    auto cursor = (*opened)->Scan(Request("a", kStartMs, kStartMs + 10));
    ASSERT_TRUE(cursor.ok());
    Rows rows;
    Drain(cursor->get(), &rows);
    EXPECT_EQ(rows.size(), 10u);
  }

  std::mutex mutex_;
  std::vector<std::string> errors_;
};

TEST_F(MovedStoreTest, OneThatWasRenamedIsWholeAtItsNewPlace) {
  Move();
  ExpectAway();
  EXPECT_FALSE(files::exists(directory()));
  ExpectTenRowsIn(Elsewhere());
}

TEST_F(MovedStoreTest, OneThatIsPutBackGoesOnByItself) {
  Move();
  ExpectAway();
  files::rename(Elsewhere(), directory());
  const Status back = TickForAWhile();
  ASSERT_TRUE(back.ok()) << back.ToString();
  EXPECT_TRUE(engine_->Health().ok()) << engine_->Health().ToString();
  MustAppend("a", kStartMs + 60, 60);
  EXPECT_GE(ScanAll("a").size(), 11u);
  ExpectSound();
}

TEST_F(MovedStoreTest, AnEmptyDirectoryInItsPlaceStaysEmpty) {
  Move();
  files::create_directory(directory());
  ExpectAway();
  EXPECT_TRUE(files::is_empty(directory()));
  ExpectTenRowsIn(Elsewhere());
}

TEST_F(MovedStoreTest, AnotherStoreInItsPlaceIsNotTouched) {
  const std::string other = temp_.path() + "/other";
  {
    auto opened = OpenEngineOver(other, options_, fs_);
    ASSERT_TRUE(opened.ok());
    ASSERT_TRUE((*opened)->CreateTable(kPumps).ok());
    ASSERT_TRUE((*opened)->Close().ok());
  }
  const auto before = ContentOf(other);
  Move();
  files::rename(other, directory());
  EXPECT_FALSE(engine_->Rotate().ok());
  ExpectAway();
  EXPECT_EQ(ContentOf(directory()), before);
  ExpectTenRowsIn(Elsewhere());
}

TEST_F(MovedStoreTest, OneThatWasRemovedTakesNothing) {
  files::remove_all(directory());
  ExpectAway();
  EXPECT_FALSE(files::exists(directory()));
}

TEST_F(MovedStoreTest, OneWhoseFilesWereRemovedTakesNothing) {
  for (const auto& entry : files::directory_iterator(directory())) files::remove_all(entry);
  EXPECT_FALSE(Append("a", kStartMs + 50, 50).ok());
  EXPECT_FALSE(TickForAWhile().ok());
  EXPECT_FALSE(Append("a", kStartMs + 51, 51).ok());
  EXPECT_FALSE(files::exists(directory() + "/CISTERN"));
}

TEST_F(MovedStoreTest, HealthAndTicksLookForItWithoutAWrite) {
  Move();
  EXPECT_EQ(engine_->Health().code(), StatusCode::kIoError);
  files::rename(Elsewhere(), directory());
  ASSERT_TRUE(TickForAWhile().ok());
  Move();
  EXPECT_FALSE(engine_->Tick().ok());
  files::rename(Elsewhere(), directory());
  EXPECT_TRUE(TickForAWhile().ok());
}

// Rows that were answered before a sync are promised up to the sync alone, which fails.
TEST_F(MovedStoreTest, ASyncOfWhatWasWrittenBeforeFails) {
  MustAppend("a", kStartMs + 40, 40, {Durability::kLog});
  Move();
  EXPECT_FALSE(engine_->Sync().ok());
  EXPECT_FALSE(engine_->Health().ok());
}

// An older copy of the same store: what was acknowledged since is named as lost.
TEST_F(MovedStoreTest, AnOlderCopyInItsPlaceIsALoss) {
  const std::string copy = CopyStore();
  MustAppend("a", kStartMs + 30, 30);
  Move();
  files::rename(copy, directory());
  EXPECT_FALSE(engine_->Health().ok());
  ASSERT_TRUE(TickForAWhile().ok());
  EXPECT_TRUE(engine_->Recovery().recovered_with_loss);
  EXPECT_FALSE(engine_->Recovery().clean);
  MustAppend("a", kStartMs + 31, 31);
}

TEST_F(MovedStoreTest, AStoreIsOpenOnceWhateverPathLeadsToIt) {
  const std::string link = temp_.path() + "/link";
  files::create_directory_symlink(directory(), link);
  const auto by_link = OpenEngineOver(link, options_, fs_);
  EXPECT_EQ(by_link.status().code(), StatusCode::kLocked) << by_link.status().ToString();
  // Nobody has noticed yet: the engine still has it.
  Move();
  const auto moved = OpenEngineOver(Elsewhere(), options_, fs_);
  EXPECT_EQ(moved.status().code(), StatusCode::kLocked) << moved.status().ToString();
  files::rename(Elsewhere(), directory());
  MustAppend("a", kStartMs + 70, 70);
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  const auto closed = OpenEngineOver(link, options_, fs_);
  EXPECT_TRUE(closed.ok()) << closed.status().ToString();
}

}  // namespace
}  // namespace cistern::testing
