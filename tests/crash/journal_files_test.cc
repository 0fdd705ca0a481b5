// A day of rotations and reopens on a fake clock: what lies on the disk stays small.
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "bench/workload.h"
#include "cistern/cistern.h"
#include "storage/family_kind.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

// Beside the SST files, of which a rotation makes one.
constexpr size_t kFilesMax = 24;
constexpr int kMinutes = 24 * 60;

struct DirectoryCount {
  size_t sst_files = 0;
  size_t other_files = 0;
  size_t options_files = 0;
  uint64_t wal_bytes = 0;
};

DirectoryCount CountFiles(const std::string& directory) {
  DirectoryCount count;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    std::error_code gone;  // RocksDB deletes files in its own threads
    const uint64_t size = entry.file_size(gone);
    if (gone || !entry.is_regular_file(gone)) continue;
    ++(entry.path().extension() == ".sst" ? count.sst_files : count.other_files);
    const std::string name = entry.path().filename().string();
    if (name.rfind("OPTIONS", 0) == 0) ++count.options_files;
    if (entry.path().extension() == ".log") count.wal_bytes += size;
  }
  return count;
}

class JournalFilesTest : public ::testing::Test {
 protected:
  void Open() {
    EngineOptions options;
    options.clock = clock_;
    options.clock_floor_s = bench::kFirstTimeMs / 1000 - 1;
    options.background_threads = false;
    options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
    auto opened = Engine::Open(directory_, options);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = std::move(opened).value();
    ASSERT_TRUE(engine_->CreateTable(bench::kGatewayTable).ok());
  }

  // The place that holds CURRENT is RocksDB's own directory.
  [[nodiscard]] std::string RocksDbDirectory() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (entry.path().filename() == "CURRENT") return entry.path().parent_path().string();
    }
    return "";
  }

  // Looks at the closed store as RocksDB sees it.
  void ExpectNoJournalSst() const {
    const std::string path = RocksDbDirectory();
    std::vector<std::string> names;
    ASSERT_TRUE(rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), path, &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) {
      families.emplace_back(name, rocksdb::ColumnFamilyOptions());
    }
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* raw = nullptr;
    const rocksdb::Status s =
        rocksdb::DB::OpenForReadOnly(rocksdb::DBOptions(), path, families, &handles, &raw);
    ASSERT_TRUE(s.ok()) << s.ToString();
    const std::unique_ptr<rocksdb::DB> db(raw);
    size_t journals = 0;
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      if (FamilyKindOf(handle->GetName()) == FamilyKind::kJournal) {
        ++journals;
        rocksdb::ColumnFamilyMetaData meta;
        db->GetColumnFamilyMetaData(handle, &meta);
        EXPECT_EQ(meta.file_count, 0u) << handle->GetName() << " has an SST";
      }
      db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    EXPECT_GE(journals, 1u);
    EXPECT_LE(journals, 3u) << "the current journal, the one ahead, and one being dropped";
  }

  TempDir root_{"cistern-day"};
  const std::string directory_ = root_.path() + "/store";
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(bench::kFirstTimeMs * 1000);
  std::unique_ptr<Engine> engine_;
};

TEST_F(JournalFilesTest, StayFewAndSmallForADay) {
  Open();
  bench::GatewayWorkload workload(1, 60);
  uint64_t journal_at_rotation = 0;
  uint64_t journal_bytes_max = 0;
  uint64_t rotations = 0;
  uint64_t rotations_seen = 0;
  size_t files_max = 0;
  uint64_t wal_bytes_max = 0;
  for (int minute = 1; minute <= kMinutes; ++minute) {
    RowBatch batch(*engine_->FindTable("gateway.readings"));
    for (int i = 0; i < 6; ++i) {
      ASSERT_TRUE(workload.Fill(600, &batch).ok());
      clock_->AdvanceSeconds(10);
      ASSERT_TRUE(engine_->Append(batch, {Durability::kLog, BackPressure::kWait}).ok());
    }
    bool more = true;
    while (more) {
      const auto report = engine_->Tick();
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      more = report->more_due;
    }
    if (minute % 45 == 0) {
      ASSERT_TRUE(engine_->Rotate().ok());
    }
    const Metrics metrics = engine_->GetMetrics();
    journal_bytes_max = std::max(journal_bytes_max, metrics.journal_bytes - journal_at_rotation);
    if (metrics.rotations != rotations_seen) {
      rotations += metrics.rotations - rotations_seen;
      rotations_seen = metrics.rotations;
      journal_at_rotation = metrics.journal_bytes;
    }
    const DirectoryCount count = CountFiles(directory_);
    files_max = std::max(files_max, count.other_files);
    ASSERT_LE(count.sst_files, rotations + 2 * limits::kSpillFamilyCountMax);
    wal_bytes_max = std::max(wal_bytes_max, count.wal_bytes);
    ASSERT_EQ(count.options_files, 0u) << "minute " << minute;
    if (minute % 120 == 0) {
      ASSERT_TRUE(engine_->Close().ok());
      engine_.reset();
      ExpectNoJournalSst();
      Open();
      rotations_seen = 0;
      journal_at_rotation = 0;
    }
  }
  EXPECT_GT(rotations, 20u);
  EXPECT_LE(files_max, kFilesMax);
  // Two journals and one head; a head holds what one journal protects, less compressed:
  // its rows take at most their logical bytes there.
  const uint64_t head_bytes_max = limits::kMemoryBudgetBytesMin;
  EXPECT_LE(wal_bytes_max, 2 * journal_bytes_max + head_bytes_max);
  std::printf("%llu rotations, at most %zu files beside SST files, WAL at most %llu KiB,"
              " journal at most %llu KiB\n",
              static_cast<unsigned long long>(rotations), files_max,
              static_cast<unsigned long long>(wal_bytes_max / 1024),
              static_cast<unsigned long long>(journal_bytes_max / 1024));
  EXPECT_EQ(engine_->GetMetrics().versions_written, workload.rows_made());
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  ExpectNoJournalSst();
}

}  // namespace
}  // namespace cistern::testing
