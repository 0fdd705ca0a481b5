// The files of sealed windows stay few, however small the rounds are.
#include "storage/window_files.h"

#include <atomic>
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
}

// As rounds leave them, one behind another: how many stay, and how often a byte is copied.
TEST(FileRuns, TheirNumberIsBoundedByBytesAndSoIsTheCopying) {
  for (const uint64_t bytes : {kKiB, 5 * kKiB, 20 * kKiB, 100 * kKiB}) {
    std::vector<uint64_t> sizes;
    uint64_t written = 0;
    uint64_t copied = 0;
    size_t most = 0;
    for (int round = 0; round < 5000; ++round) {
      sizes.push_back(bytes);
      written += bytes;
      for (FileRun run = RunOf(sizes); run.count > 0; run = RunOf(sizes)) {
        const auto first = sizes.begin() + static_cast<std::ptrdiff_t>(run.first);
        const auto last = first + static_cast<std::ptrdiff_t>(run.count);
        const uint64_t total = std::accumulate(first, last, uint64_t{0});
        EXPECT_LE(total, 2 * kMergedFileBytesMax);
        copied += total;
        *first = total;
        sizes.erase(first + 1, last);
      }
      const uint64_t large = written / kMergedFileBytesMax;
      most = std::max(most, sizes.size() - std::min<size_t>(large, sizes.size()));
    }
    EXPECT_LE(most, 3 * kFileClassRatio) << bytes;
    EXPECT_LE(copied, 3 * written) << bytes;
  }
}

// Damages what is written to the next table: a bit of its first block.
class RottenWrites : public rocksdb::FileSystemWrapper {
 public:
  RottenWrites() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "RottenWrites"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override {
    const rocksdb::IOStatus s = FileSystemWrapper::NewWritableFile(path, options, file, dbg);
    if (s.ok() && path.ends_with(".sst") && is_armed_.exchange(false)) {
      *file = std::make_unique<File>(std::move(*file));
      ++damaged_;
    }
    return s;
  }
  void Arm() { is_armed_ = true; }
  [[nodiscard]] int damaged() const { return damaged_; }

 private:
  class File : public rocksdb::FSWritableFileOwnerWrapper {
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
  std::atomic<bool> is_armed_{false};
  std::atomic<int> damaged_{0};
};

RottenWrites* g_rotten = nullptr;  // of the test that runs

class WindowFilesTest : public EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    ASSERT_TRUE(engine_->CreateTable(kMinutes).ok());
    minutes_ = *engine_->FindTable("minutes");
  }
  // A round every third.
  void LiveMinutes(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(AppendMinute().ok());
      clock_->AdvanceSeconds(61);
      ASSERT_NO_FATAL_FAILURE(TickAll());
    }
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
  size_t FilesOfWindows() {
    size_t files = 0;
    const auto view = Core()->store().spills().view();
    for (const auto& window : view->windows) {
      rocksdb::ColumnFamilyMetaData found;
      window->family->db()->GetColumnFamilyMetaData(window->family->handle(), &found);
      files += found.file_count;
    }
    return files;
  }
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
  EXPECT_LE(FilesOfWindows(), 3 * 8u) << "of some sixty rounds";
  ExpectSound();
  Reopen();
  ExpectSound();
  ExpectAllRows();
}

// What RocksDB wrote is read back before the files that it was made of are gone.
TEST_F(WindowFilesTest, AMergedFileThatIsDamagedReplacesNothing) {
  auto rotten = std::make_shared<RottenWrites>();
  fs_ = rotten;
  Reopen();
  minutes_ = *engine_->FindTable("minutes");
  g_rotten = rotten.get();
  g_crash_hook = [](const char* name) {
    if (std::string_view(name) == "files:before_merge" && g_rotten->damaged() == 0) g_rotten->Arm();
  };
  int failures = 0;
  while (rows_ < 60 && failures < 10) {
    if (!AppendMinute().ok()) ++failures;  // the store is opened anew
    clock_->AdvanceSeconds(61);
    for (int step = 0; step < 20; ++step) (void)engine_->Tick();
  }
  g_crash_hook = nullptr;
  EXPECT_EQ(rotten->damaged(), 1);
  EXPECT_EQ(rows_, 60);
  Reopen();
  ExpectSound();
  ExpectAllRows();
}

// Without room nothing is merged, and nothing fails.
TEST_F(WindowFilesTest, WaitForRoom) {
  auto faults = std::make_shared<FaultFileSystem>();
  faults->SetDiskBytes(64 << 20);
  fs_ = faults;
  Reopen();
  minutes_ = *engine_->FindTable("minutes");
  faults->SetForeignBytes((64 << 20) - faults->used_bytes() - (5 << 20));
  LiveMinutes(150);
  const size_t before = FilesOfWindows();
  EXPECT_GT(before, 40u);
  faults->SetForeignBytes(0);
  LiveMinutes(2);
  EXPECT_LE(FilesOfWindows(), 3 * 8u);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
