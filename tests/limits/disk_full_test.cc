// Disks that are full, small, foreign, read-only or in use: a clear Status, nothing lost.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "bench/workload.h"
#include "cistern/cistern.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

constexpr size_t kBatchRows = 500;

EngineOptions Options() {
  EngineOptions options;
  options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  options.background_threads = false;
  return options;
}

// A store that is filled until it says no, and counted afterwards.
class DiskFullTest : public ::testing::Test {
 protected:
  void Open(const std::string& directory, const EngineOptions& options) {
    auto opened = Engine::Open(directory, options);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = std::move(opened).value();
    ASSERT_TRUE(engine_->CreateTable(bench::kGatewayTable).ok());
    schema_ = *engine_->FindTable("gateway.readings");
    batch_ = std::make_unique<RowBatch>(schema_);
    unknown_ += pending_;  // what was refused last is not tried again
    pending_ = 0;
  }
  // Appends one batch; acknowledged rows are counted.
  Status AppendOne() {
    if (pending_ == 0) {
      const Status filled = workload_.Fill(kBatchRows, batch_.get());
      if (!filled.ok()) return filled;
      pending_ = kBatchRows;
    }
    const auto answer = engine_->Append(*batch_, {Durability::kLog, BackPressure::kWait});
    if (!answer.ok()) return answer.status();
    acknowledged_ += pending_;
    pending_ = 0;
    return Status::Ok();
  }
  Status AppendUntilRefused(uint64_t batches_max) {
    for (uint64_t i = 0; i < batches_max; ++i) {
      if (const Status s = AppendOne(); !s.ok()) return s;
      if (const auto report = engine_->Tick(); !report.ok()) return report.status();
    }
    return Status::Ok();
  }
  // Rows that scans give, over all sensors.
  uint64_t CountRows() {
    uint64_t rows = 0;
    for (uint32_t sensor = 0; sensor < workload_.sensor_count(); ++sensor) {
      const std::string name = std::to_string(sensor);
      const std::string_view parts[] = {name};
      ScanRequest request;
      request.table = "gateway.readings";
      request.entity = *EntityFromText(*schema_, parts);
      request.from = bench::kFirstTimeMs;
      request.to = bench::kFirstTimeMs * 2;
      request.columns = {"ts"};
      auto cursor = engine_->Scan(request);
      EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
      if (!cursor.ok()) return 0;
      ResultBatch batch;
      while ((*cursor)->Next(&batch)) rows += batch.row_count;
      EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    }
    return rows;
  }
  // Everything acknowledged is there; what was refused last may be.
  void ExpectNothingLost() {
    const uint64_t rows = CountRows();
    EXPECT_GE(rows, acknowledged_);
    EXPECT_LE(rows, acknowledged_ + pending_ + unknown_);
  }

  TempDir root_{"cistern-full"};
  bench::GatewayWorkload workload_{1, 50};
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const TableSchema> schema_;
  std::unique_ptr<RowBatch> batch_;
  uint64_t pending_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t unknown_ = 0;  // rows whose write was refused: there or not
};

TEST_F(DiskFullTest, TheDiskBudgetRefusesRowsAndKeepsWhatItHas) {
  EngineOptions options = Options();
  options.disk_budget_bytes = limits::kDiskBudgetBytesMin;
  const std::string directory = root_.path() + "/store";
  Open(directory, options);
  const Status refused = AppendUntilRefused(100'000);
  ASSERT_EQ(refused.code(), StatusCode::kNoSpace) << refused.ToString();
  EXPECT_FALSE(refused.message().empty());
  EXPECT_LE(engine_->GetMetrics().disk_bytes_used, options.disk_budget_bytes);
  // Again and again: no growth, no other answer.
  for (int i = 0; i < 20; ++i) {
    const Status s = AppendOne();
    EXPECT_TRUE(s.ok() || s.code() == StatusCode::kNoSpace) << s.ToString();
  }
  ExpectNothingLost();
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  EXPECT_LE(bytes, options.disk_budget_bytes);
  Open(directory, options);
  ExpectNothingLost();
  // More room, and it goes on.
  ASSERT_TRUE(engine_->Close().ok());
  options.disk_budget_bytes *= 2;
  Open(directory, options);
  EXPECT_TRUE(AppendUntilRefused(20).ok());
  ExpectNothingLost();
}

TEST_F(DiskFullTest, AnotherProcessFillsTheDiskAndFreesItAgain) {
  const SmallDisk disk(root_.path() + "/disk", "size=48m");
  ASSERT_TRUE(disk.mounted()) << "mounts a tmpfs: run as root, or where users have namespaces";
  Open(disk.path() + "/store", Options());
  ASSERT_TRUE(AppendUntilRefused(50).ok());
  for (int round = 0; round < 3; ++round) {
    disk.Fill();
    const Status refused = AppendUntilRefused(100'000);
    ASSERT_FALSE(refused.ok());
    EXPECT_TRUE(refused.code() == StatusCode::kNoSpace || refused.code() == StatusCode::kIoError)
        << refused.ToString();
    EXPECT_FALSE(refused.message().empty());
    disk.Free();
    // It heals by itself, within bounded work.
    Status s;
    for (int i = 0; i < 400; ++i) {
      engine_->Tick().status().IgnoreError();  // may still report the full disk
      s = AppendOne();
      if (s.ok()) break;
      usleep(25'000);
    }
    ASSERT_TRUE(s.ok()) << "not healed: " << s.ToString();
    ASSERT_TRUE(AppendUntilRefused(20).ok());
    ExpectNothingLost();
  }
  ASSERT_TRUE(engine_->Close().ok());
}

TEST_F(DiskFullTest, OpensOnAFullDisk) {
  const SmallDisk disk(root_.path() + "/disk", "size=48m");
  ASSERT_TRUE(disk.mounted()) << "mounts a tmpfs: run as root, or where users have namespaces";
  Open(disk.path() + "/store", Options());
  ASSERT_TRUE(AppendUntilRefused(200).ok());
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  disk.Fill();
  auto opened = Engine::Open(disk.path() + "/store", Options());
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  engine_ = std::move(opened).value();
  ExpectNothingLost();
  disk.Free();
  Status s;
  for (int i = 0; i < 400 && !(s = AppendOne()).ok(); ++i) {
    engine_->Tick().status().IgnoreError();  // may still report the full disk
    usleep(25'000);
  }
  EXPECT_TRUE(s.ok()) << s.ToString();
  ExpectNothingLost();
}

TEST_F(DiskFullTest, AReadOnlyDiskIsSaidSo) {
  const SmallDisk disk(root_.path() + "/disk", "size=48m");
  ASSERT_TRUE(disk.mounted()) << "mounts a tmpfs: run as root, or where users have namespaces";
  Open(disk.path() + "/store", Options());
  ASSERT_TRUE(AppendUntilRefused(5).ok());
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  ASSERT_EQ(mount("tmpfs", disk.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=48m"), 0);
  const auto refused = Engine::Open(disk.path() + "/store", Options());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kReadOnly) << refused.status().ToString();
  // To read it, one asks for reading.
  EngineOptions reading = Options();
  reading.read_only = true;
  auto opened = Engine::Open(disk.path() + "/store", reading);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  engine_ = std::move(opened).value();
  ExpectNothingLost();
  const Status write = AppendOne();
  EXPECT_EQ(write.code(), StatusCode::kReadOnly) << write.ToString();
}

TEST_F(DiskFullTest, AStoreThatIsOpenElsewhereIsLocked) {
  Open(root_.path() + "/store", Options());
  const auto second = Engine::Open(root_.path() + "/store", Options());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kLocked) << second.status().ToString();
  EXPECT_TRUE(AppendUntilRefused(3).ok()) << "the first one goes on";
  ExpectNothingLost();
}

TEST_F(DiskFullTest, NoStoreThereIsNotFoundUnlessItMayBeCreated) {
  EngineOptions options = Options();
  options.create_if_missing = false;
  const auto opened = Engine::Open(root_.path() + "/none", options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kNotFound) << opened.status().ToString();
  EXPECT_FALSE(std::filesystem::exists(root_.path() + "/none")) << "nothing is made by asking";
}

}  // namespace
}  // namespace cistern::testing
