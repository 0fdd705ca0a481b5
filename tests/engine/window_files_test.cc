// The files of sealed windows stay few, however small the rounds are.
#include "storage/window_files.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "lib/base/crash_point.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr char kMinutes[] =
    "CREATE TABLE minutes (sensor text, m timestamp, ts timestamp, flow double, PRIMARY KEY "
    "((sensor, m), ts)) WITH comment = 'cistern: bucket m = 1 minute'";

FileRun RunOf(const std::vector<uint64_t>& sizes) { return NextFilesToMerge(sizes); }

TEST(FileRuns, NeighboursThatAreSmallTogetherBecomeOne) {
  EXPECT_EQ(RunOf({}).count, 0u);
  EXPECT_EQ(RunOf({3 * kKiB, 5 * kKiB}).count, 0u) << "8 KiB stay";
  EXPECT_EQ(RunOf({3 * kKiB, 5 * kKiB, 1}).count, 3u);
  EXPECT_EQ(RunOf({60 * kKiB, 5 * kKiB}).count, 2u) << "more than 64 KiB";
  EXPECT_EQ(RunOf({600 * kKiB, 100 * kKiB, 412 * kKiB, 600 * kKiB}).count, 0u) << "512 KiB stay";
  const FileRun large = RunOf({600 * kKiB, 100 * kKiB, 413 * kKiB, 600 * kKiB});
  EXPECT_EQ(large.first, 1u);
  EXPECT_EQ(large.count, 2u);
  const FileRun small = RunOf({500 * kKiB, 500 * kKiB, 6 * kKiB, 6 * kKiB});
  EXPECT_EQ(small.first, 2u) << "the smallest first";
  EXPECT_EQ(small.count, 2u);
  EXPECT_EQ(RunOf(std::vector<uint64_t>(20, kMergedFileBytesMax + 1)).count, 0u);
  EXPECT_EQ(RunOf({UINT64_MAX, 3 * kKiB, UINT64_MAX, 3 * kKiB, UINT64_MAX}).count, 0u);
}

// As rounds leave them, one behind another: how many stay, and how often a record is copied. A
// table takes its overhead beside the records, and a merge leaves all but one of these behind.
TEST(FileRuns, TheirNumberIsBoundedByBytesAndSoIsTheCopying) {
  constexpr uint64_t kRounds[] = {200, 500, kKiB, 5 * kKiB, 20 * kKiB, 100 * kKiB};
  for (const uint64_t bytes : kRounds) {
    std::vector<uint64_t> files;  // bytes of records
    uint64_t written = 0;
    uint64_t copied = 0;
    size_t most = 0;
    for (int round = 0; round < 5000; ++round) {
      files.push_back(bytes);
      written += bytes;
      while (true) {
        std::vector<uint64_t> counted;
        for (const uint64_t records : files) {
          counted.push_back(RecordBytesOf(records + kTableOverheadBytes));
        }
        const FileRun run = RunOf(counted);
        if (run.count == 0) break;
        const auto first = files.begin() + static_cast<std::ptrdiff_t>(run.first);
        const auto last = first + static_cast<std::ptrdiff_t>(run.count);
        const uint64_t total = std::accumulate(first, last, uint64_t{0});
        EXPECT_LE(total, 2 * kMergedFileBytesMax);
        copied += total;
        *first = total;
        files.erase(first + 1, last);
      }
      const uint64_t large = written / kMergedFileBytesMax;
      most = std::max(most, files.size() - std::min<size_t>(large, files.size()));
    }
    EXPECT_LE(most, kFileClasses * kFileClassRatio) << bytes;
    EXPECT_LE(copied, kFileClasses * written) << bytes;
  }
}

TEST(FileRuns, TheSmallestFilesAreManyToARun) {
  EXPECT_EQ(RecordBytesOf(0), kRecordBytesMin);
  EXPECT_EQ(RecordBytesOf(kTableOverheadBytes + 5000), 5000u);
  const std::vector<uint64_t> smallest(20, RecordBytesOf(1));
  EXPECT_EQ(RunOf(smallest).count, kFileClassRatio + 1);
}

// A disk that, once armed, damages the first block of the next table that is written, or fails the
// next read of the first block of a table that is not the first of a merge.
class RottenDisk : public rocksdb::FileSystemWrapper {
 public:
  RottenDisk() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "RottenDisk"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override {
    const rocksdb::IOStatus s = FileSystemWrapper::NewWritableFile(path, options, file, dbg);
    if (s.ok() && path.ends_with(".sst") && damages_write_.exchange(false)) {
      *file = std::make_unique<DamagedFile>(std::move(*file));
      ++damaged_;
    }
    return s;
  }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    const rocksdb::IOStatus s = FileSystemWrapper::NewRandomAccessFile(path, options, file, dbg);
    if (s.ok() && path.ends_with(".sst")) {
      *file = std::make_unique<ReadFile>(std::move(*file), this);
    }
    return s;
  }
  void DamageNextWrite() { damages_write_ = true; }
  // Reads of first blocks: the nth fails.
  void FailFirstBlock(int nth) { reads_until_failure_ = nth; }
  [[nodiscard]] int damaged() const { return damaged_; }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  class DamagedFile : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
    using FSWritableFileOwnerWrapper::Append;
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* dbg) override {
      std::string bytes = data.ToString();
      if (!std::exchange(is_done_, true)) bytes[20] = static_cast<char>(bytes[20] ^ 4);
      return FSWritableFileOwnerWrapper::Append(bytes, options, dbg);
    }

   private:
    bool is_done_ = false;
  };
  class ReadFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
   public:
    ReadFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, RottenDisk* disk)
        : FSRandomAccessFileOwnerWrapper(std::move(file)), disk_(disk) {}
    rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options,
                           rocksdb::Slice* result, char* scratch,
                           rocksdb::IODebugContext* dbg) const override {
      if (offset == 0 && disk_->reads_until_failure_ > 0 && --disk_->reads_until_failure_ == 0) {
        ++disk_->failed_;
        return rocksdb::IOStatus::IOError("the device does not answer");
      }
      return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, dbg);
    }

   private:
    RottenDisk* const disk_;
  };
  std::atomic<bool> damages_write_{false};
  std::atomic<int> reads_until_failure_{0};
  std::atomic<int> damaged_{0};
  std::atomic<int> failed_{0};
};

std::function<void()> g_before_merge;  // of the test that runs
void AtPoint(const char* name) {
  if (std::string_view(name) == "files:before_merge" && g_before_merge) g_before_merge();
}

class WindowFilesTest : public EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    ASSERT_TRUE(engine_->CreateTable(kMinutes).ok());
    minutes_ = *engine_->FindTable("minutes");
    g_crash_hook = AtPoint;
  }
  void TearDown() override {
    g_crash_hook = nullptr;
    g_before_merge = nullptr;
    EngineFixture::TearDown();
  }
  // A round every third.
  void LiveMinutes(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(AppendMinute().ok());
      clock_->AdvanceSeconds(61);
      ASSERT_NO_FATAL_FAILURE(TickAll());
    }
  }
  // On a disk whose rest is too little for a merge of files.
  std::shared_ptr<FaultFileSystem> LiveWithoutRoom() {
    auto faults = std::make_shared<FaultFileSystem>();
    faults->SetDiskBytes(64 << 20);
    fs_ = faults;
    Reopen();
    minutes_ = *engine_->FindTable("minutes");
    faults->SetForeignBytes((64 << 20) - faults->used_bytes() - (15 << 19));
    LiveMinutes(150);
    return faults;
  }
  // A row of each sensor.
  Status AppendMinute() {
    RowBatch batch(minutes_);
    for (int sensor = 0; sensor < 10; ++sensor) {
      batch.BeginRow();
      EXPECT_TRUE(batch.SetBytes(0, std::to_string(sensor)).ok());
      EXPECT_TRUE(batch.SetInt(2, clock_->WallMicros() / 1000).ok());
      EXPECT_TRUE(batch.SetDouble(3, rows_).ok() && batch.EndRow().ok());
    }
    const Status s = engine_->Append(batch, {Durability::kLog}).status();
    if (s.ok()) ++rows_;
    return s;
  }
  // The tables of windows, in the order of their keys where they are not to be moved any more.
  std::vector<std::string> WindowTables() {
    std::vector<std::string> paths;
    const auto view = Core()->store().spills().view();
    for (const auto& window : view->windows) {
      rocksdb::ColumnFamilyMetaData found;
      window->family->db()->GetColumnFamilyMetaData(window->family->handle(), &found);
      for (auto level = found.levels.rbegin(); level != found.levels.rend(); ++level) {
        for (const auto& file : level->files) paths.push_back(file.db_path + file.name);
      }
    }
    return paths;
  }
  size_t FilesOfWindows() { return WindowTables().size(); }
  // Each sensor has a row of each minute.
  void ExpectAllRows() {
    minutes_ = *engine_->FindTable("minutes");
    ScanRequest request;
    request.table = "minutes";
    const std::string_view parts[] = {"7"};
    request.entity = *EntityFromText(*minutes_, parts);
    request.from = kStartMs;
    request.to = kStartMs + kDayMs;
    request.columns = {"ts", "flow"};
    const Rows rows = Scan(request);
    ASSERT_EQ(rows.size(), static_cast<size_t>(rows_));
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].second, static_cast<double>(i));
  }
  std::shared_ptr<const TableSchema> minutes_;
  int rows_ = 0;
};

TEST_F(WindowFilesTest, AreBoundedWithBucketsOfAMinute) {
  LiveMinutes(200);
  EXPECT_GT(engine_->GetMetrics().buckets_sealed, 1800u);
  EXPECT_LE(FilesOfWindows(), kFileClasses * kFileClassRatio) << "of some sixty rounds";
  ExpectSound();
  Reopen();
  ExpectSound();
  ExpectAllRows();
}

// What RocksDB wrote is read back while the files that it was made of are there.
TEST_F(WindowFilesTest, RecordsThatAMergedFileLacksArePutBack) {
  auto disk = std::make_shared<RottenDisk>();
  fs_ = disk;
  Reopen();
  minutes_ = *engine_->FindTable("minutes");
  g_before_merge = [&] {
    if (disk->damaged() == 0) disk->DamageNextWrite();
  };
  ASSERT_NO_FATAL_FAILURE(LiveMinutes(60));
  EXPECT_EQ(disk->damaged(), 1);
  ExpectSound();
  ExpectAllRows();
  Reopen();
  ExpectSound();
  ExpectAllRows();
}

// A compaction of RocksDB 7.8 may take the failure for the end of a file.
TEST_F(WindowFilesTest, AReadThatFailsDuringAMergeCostsNoRow) {
  int failed_reads = 0;
  for (const int nth : {1, 2, 3, 5}) {
    auto disk = std::make_shared<RottenDisk>();
    fs_ = disk;
    Reopen();
    minutes_ = *engine_->FindTable("minutes");
    bool is_armed = false;
    g_before_merge = [&] {
      if (!std::exchange(is_armed, true)) disk->FailFirstBlock(nth);
    };
    const int rows = rows_ + 60;
    int failures = 0;
    while (rows_ < rows && failures < 10) {
      if (!AppendMinute().ok()) ++failures;  // the store is opened anew
      clock_->AdvanceSeconds(61);
      for (int step = 0; step < 20; ++step) (void)engine_->Tick();
    }
    EXPECT_TRUE(is_armed);
    EXPECT_EQ(rows_, rows);
    failed_reads += disk->failed();
    disk->FailFirstBlock(0);
    Reopen();
    ExpectSound();
    ExpectAllRows();
  }
  EXPECT_GT(failed_reads, 0);
}

// One damaged block stays what it is: its file is left out, and nothing fails for it.
TEST_F(WindowFilesTest, ADamagedFileIsLeftAlone) {
  bool has_merged = false;
  g_before_merge = [&] { has_merged = true; };
  std::string path;
  for (int i = 0; i < 100 && path.empty(); ++i) {
    LiveMinutes(1);
    const auto files = WindowTables();
    if (files.size() >= 3) path = files[1];
  }
  ASSERT_FALSE(path.empty());
  ASSERT_NO_FATAL_FAILURE(FlipBit(path, 20));
  Reopen();  // nothing of it is cached
  minutes_ = *engine_->FindTable("minutes");
  ASSERT_NO_FATAL_FAILURE(LiveMinutes(100));
  EXPECT_TRUE(has_merged) << "others are merged";
  EXPECT_TRUE(Core()->committer().failure().ok());
  EXPECT_FALSE(Core()->store().db().opened().config.segments_rest) << "no opening since";
  const auto files = WindowTables();
  EXPECT_NE(std::find(files.begin(), files.end(), path), files.end());
  EXPECT_LE(files.size(), kFileClasses * kFileClassRatio);
}

// Where many wait, as behind an update, the device has other things to do as well.
TEST_F(WindowFilesTest, AreMergedInATenthOfTheTime) {
  const auto faults = LiveWithoutRoom();
  ASSERT_GT(FilesOfWindows(), 40u);
  int merges = 0;
  g_before_merge = [&] {
    ++merges;
    clock_->AdvanceMicros(20'000);
  };
  faults->SetForeignBytes(0);
  TickAll();
  EXPECT_EQ(merges, 1);
  EXPECT_LE(Core()->maintenance().idle_us(), 180'000);
  clock_->AdvanceMicros(179'999);
  TickAll();
  EXPECT_EQ(merges, 1);
  for (int i = 2; i <= 4; ++i) {
    clock_->AdvanceMicros(i == 2 ? 1 : 180'000);
    TickAll();
    EXPECT_EQ(merges, i);
  }
  for (int i = 0; i < 40; ++i) {
    clock_->AdvanceMicros(180'000);
    TickAll();
  }
  EXPECT_LE(FilesOfWindows(), kFileClasses * kFileClassRatio);
  ExpectSound();
}

// Without room nothing is merged, and nothing fails.
TEST_F(WindowFilesTest, WaitForRoom) {
  const auto faults = LiveWithoutRoom();
  const size_t before = FilesOfWindows();
  EXPECT_GT(before, 40u);
  faults->SetForeignBytes(0);
  LiveMinutes(2);
  EXPECT_LE(FilesOfWindows(), kFileClasses * kFileClassRatio);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
