// The files of sealed windows stay few, however small the rounds are.
#include "storage/window_files.h"

#include <filesystem>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr char kMinutes[] =
    "CREATE TABLE minutes (sensor text, m timestamp, ts timestamp, flow double, PRIMARY KEY "
    "((sensor, m), ts)) WITH comment = 'cistern: bucket m = 1 minute'";

TEST(FileRuns, EightSmallNeighboursBecomeOne) {
  const auto run = [](const std::vector<uint64_t>& sizes) { return NextFilesToMerge(sizes); };
  std::vector<uint64_t> sizes(7, 10 * kKiB);
  EXPECT_EQ(run({}).count, 0u);
  EXPECT_EQ(run(sizes).count, 0u);
  sizes.insert(sizes.begin(), {600 * kKiB, 100 * kKiB});
  EXPECT_EQ(run(sizes).first, 1u) << "the larger class too";
  EXPECT_EQ(run(sizes).count, 8u);
  sizes.push_back(1);
  EXPECT_EQ(run(sizes).first, 2u) << "the smallest first";
  sizes[5] = 600 * kKiB;
  EXPECT_EQ(run(sizes).count, 0u) << "no eight side by side";
  EXPECT_EQ(run(std::vector<uint64_t>(20, kMergedFileBytesMax + 1)).count, 0u);
}

class WindowFilesTest : public EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    ASSERT_TRUE(engine_->CreateTable(kMinutes).ok());
    minutes_ = *engine_->FindTable("minutes");
  }
  // A round each.
  void LiveMinutes(int count) {
    for (int i = 0; i < count; ++i) {
      RowBatch batch(minutes_);
      for (int sensor = 0; sensor < 10; ++sensor) {
        batch.BeginRow();
        ASSERT_TRUE(batch.SetBytes(0, std::to_string(sensor)).ok());
        ASSERT_TRUE(batch.SetInt(2, clock_->WallMicros() / 1000).ok());
        ASSERT_TRUE(batch.SetDouble(3, rows_).ok() && batch.EndRow().ok());
      }
      ++rows_;
      ASSERT_TRUE(engine_->Append(batch, {Durability::kLog}).ok());
      clock_->AdvanceSeconds(61);
      ASSERT_NO_FATAL_FAILURE(TickAll());
    }
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
  std::shared_ptr<const TableSchema> minutes_;
  int rows_ = 0;
};

TEST_F(WindowFilesTest, AreBoundedWithBucketsOfAMinute) {
  LiveMinutes(200);
  EXPECT_GT(engine_->GetMetrics().buckets_sealed, 1800u);
  EXPECT_LE(FilesOfWindows(), 3 * 8u) << "of more than 180 rounds";
  ExpectSound();
  Reopen();
  ExpectSound();
  minutes_ = *engine_->FindTable("minutes");
  ScanRequest request;
  request.table = "minutes";
  const std::string_view parts[] = {"7"};
  request.entity = *EntityFromText(*minutes_, parts);
  request.from = kStartMs;
  request.to = kStartMs + kDayMs;
  request.columns = {"ts", "flow"};
  const Rows rows = Scan(request);
  ASSERT_EQ(rows.size(), 200u);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].second, static_cast<double>(i));
}

// Without room nothing is merged, and nothing fails.
TEST_F(WindowFilesTest, WaitForRoom) {
  auto faults = std::make_shared<FaultFileSystem>();
  faults->SetDiskBytes(64 << 20);
  fs_ = faults;
  Reopen();
  minutes_ = *engine_->FindTable("minutes");
  faults->SetForeignBytes((64 << 20) - faults->used_bytes() - (5 << 20));
  LiveMinutes(60);
  const size_t before = FilesOfWindows();
  EXPECT_GT(before, 40u);
  faults->SetForeignBytes(0);
  LiveMinutes(2);
  EXPECT_LE(FilesOfWindows(), 3 * 8u);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
